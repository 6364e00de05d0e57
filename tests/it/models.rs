//! The catalogue: spellings of names, what is never mistaken for another model, and what is known of each.

use cleartune::policy::CacheMode;
use cleartune::price::{Catalogue, Model, Prices, Tier};

fn model(name: &str) -> Model {
    Catalogue::shipped().find(name).unwrap_or_else(|| panic!("{name} is unknown"))
}

fn name(name: &str) -> Option<String> {
    Catalogue::shipped().find(name).map(|m| m.name)
}

#[test]
fn every_usual_spelling_is_understood() {
    for (spelling, expected) in [
        ("claude-sonnet-4-6", "claude-sonnet-4-6"),
        ("Claude-Sonnet-4-6", "claude-sonnet-4-6"),
        (" claude-sonnet-4-6 ", "claude-sonnet-4-6"),
        ("claude-sonnet-4.6", "claude-sonnet-4-6"),
        ("claude-sonnet-4-6-20260217", "claude-sonnet-4-6"),
        ("claude-sonnet-4-6-latest", "claude-sonnet-4-6"),
        ("claude-sonnet-4-6[1m]", "claude-sonnet-4-6"),
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("claude-4.5-sonnet", "claude-sonnet-4-5"),
        ("claude-4.5-sonnet-thinking", "claude-sonnet-4-5"),
        ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
        ("claude-opus-5-5@20260901", "claude-opus-5-5"),
        ("claude-opus-4-20250514", "claude-opus-4-0"),
        ("claude-opus-4", "claude-opus-4-0"),
        ("claude-3-5-sonnet-20241022", "claude-3-5-sonnet"),
        ("claude-3-5-haiku", "claude-3-5-haiku-latest"),
        ("claude-fable-5-2", "claude-fable-5-2"),
        ("claude-fable-5-2-20261101", "claude-fable-5-2"),
        ("anthropic/claude-sonnet-4.6", "claude-sonnet-4-6"),
        ("anthropic/claude-fable-5.2", "claude-fable-5-2"),
        ("openrouter/anthropic/claude-sonnet-4.6", "claude-sonnet-4-6"),
        ("openrouter/anthropic/claude-sonnet-4.6:beta", "claude-sonnet-4-6"),
        ("litellm_proxy/claude-opus-4-8", "claude-opus-4-8"),
        ("vertex_ai/claude-haiku-4-5@20251001", "google/claude-haiku-4-5"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "aws/regional.anthropic.claude-sonnet-4-5-20250929-v1:0"),
        ("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", "aws/regional.anthropic.claude-sonnet-4-5-20250929-v1:0"),
        ("global.anthropic.claude-sonnet-4-5-20250929-v1:0", "aws/global.anthropic.claude-sonnet-4-5-20250929-v1:0"),
        // A Bedrock id that Bedrock's own list lacks: the maker's model.
        ("us.anthropic.claude-fable-5-2-v1:0", "claude-fable-5-2"),
        ("gpt-5.4", "gpt-5.4"),
        ("gpt-5-4", "gpt-5.4"),
        ("gpt-5-2025-08-07", "gpt-5"),
        ("gpt-5-codex", "gpt-5"),
        ("openai/gpt-4o-mini", "gpt-4o-mini"),
        ("gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
        ("gpt-5.6", "gpt-5.6-sol"),
        ("google/gemini-3-pro-preview", "gemini-3-pro-preview"),
        ("gemini/gemini-2.5-pro", "gemini-2.5-pro"),
        ("gemini-2.5-pro-preview-06-05", "gemini-2.5-pro"),
        ("glm-4.7", "zhipuai/glm-4.7"),
    ] {
        assert_eq!(name(spelling).as_deref(), Some(expected), "{spelling}");
    }
}

#[test]
fn a_name_that_merely_begins_alike_is_unknown() {
    let long = "claude".repeat(1_000);
    for unknown in [
        "",
        " ",
        "test",
        "...",
        "<synthetic>",
        "claude",
        "claude-sonnet",
        "claude-sonnet-4-66",
        "claude-sonnet-4-6-turbo",
        "claude-sonnet-9",
        "xclaude-sonnet-4-6",
        "gpt-5-ca",
        "openai/gpt-5-ca",
        "gpt-5.99",
        "gemini-2.5-professional",
        "ollama/gemma3",
        "[1m]",
        "/",
        "a//b",
        "@20250929",
        "-latest",
        "ключ/модель",
        &long,
    ] {
        assert_eq!(name(unknown), None, "{unknown}");
    }
}

#[test]
fn sonnet_4_6_has_the_default_prices_and_a_window_of_a_million() {
    let m = model("claude-sonnet-4-6");
    assert_eq!(m.prices, Prices::default());
    assert_eq!((m.min_tokens, m.cache_mode, m.context_window), (1_024, CacheMode::Entries, Some(1_000_000)));
    assert_eq!(m.ttl.choices_ms(), [300_000, 3_600_000]);
    assert!(m.ttl.one_hour());
}

#[test]
fn the_overrides_hold() {
    let fable = model("claude-fable-5-2").prices;
    assert_eq!(fable, Prices { input: 8.0, cache_read: 0.2, cache_write: 10.0, cache_write_1h: 16.0, output: 40.0, tiers: vec![] });
    assert_eq!(model("claude-fable-5-1").prices.cache_read, 0.25);
    let sonnet = model("claude-sonnet-5-5");
    assert_eq!((sonnet.prices.input, sonnet.prices.cache_read), (2.0, 0.1));
    for (tokens, names) in [
        (512, &["claude-fable-5", "claude-fable-5-1", "claude-opus-5", "claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"][..]),
        (1_024, &["claude-opus-4-8", "claude-opus-4-1", "claude-opus-4", "claude-sonnet-5", "claude-sonnet-4-5", "claude-sonnet-4"]),
        (2_048, &["claude-opus-4-7", "claude-3-5-haiku", "gemini-2.5-pro"]),
        (4_096, &["claude-opus-4-6", "claude-opus-4-5", "claude-haiku-4-5", "gemini-3.8-flash"]),
    ] {
        for name in names {
            assert_eq!(model(name).min_tokens, tokens, "{name}");
        }
    }
}

#[test]
fn cliffs_are_found_where_they_are() {
    let haiku = model("claude-haiku-5-5").prices;
    let [tier] = haiku.tiers.as_slice() else { panic!("{:?}", haiku.tiers) };
    assert_eq!(tier.above, 100_000);
    assert_eq!((haiku.input, tier.input), (0.1, Some(0.5)));
    assert_eq!((haiku.cache_read, tier.cache_read), (0.01, Some(0.05)));
    assert_eq!((haiku.cache_write, tier.cache_write), (0.125, Some(0.625)));
    assert_eq!((haiku.cache_write_1h, tier.cache_write_1h), (0.2, Some(1.0)));
    assert_eq!((haiku.output, tier.output), (0.5, Some(2.5)));
    // The whole request, from the first token above.
    assert_eq!(haiku.cost(100_000, 100_000, 0, 0, 0, false), 0.01);
    assert!((haiku.cost(100_001, 100_001, 0, 0, 0, false) - 0.050_000_5).abs() < 1e-12);

    for name in ["gpt-5.4", "gpt-5.5", "gpt-5.6-sol", "gpt-6-sol", "gpt-6.1-terra"] {
        let p = model(name).prices;
        let [tier] = p.tiers.as_slice() else { panic!("{name}: {:?}", p.tiers) };
        assert_eq!((tier.above, tier.input, tier.output), (272_000, Some(2.0 * p.input), Some(1.5 * p.output)), "{name}");
    }
    assert_eq!(model("gemini-3.1-pro-preview").prices.tiers[0].above, 200_000);
    assert_eq!(model("claude-sonnet-4-6").prices.tiers, []);
    // Two steps.
    let two = model("openrouter/qwen/qwen3-coder-flash").prices.tiers;
    assert_eq!(two.iter().map(|t: &Tier| t.above).collect::<Vec<_>>(), [32_000, 128_000]);
}

#[test]
fn each_provider_caches_in_its_own_way() {
    let old = model("gpt-5.4");
    // Free writes: a written token costs what an uncached one does.
    assert_eq!((old.cache_mode, old.prices.cache_write), (CacheMode::Prefix, old.prices.input));
    assert_eq!((old.ttl.default_ms(), old.min_tokens), (300_000, 1_024));
    let new = model("gpt-5.6");
    assert_eq!((new.cache_mode, new.prices.cache_write), (CacheMode::Prefix, 1.25 * new.prices.input));
    assert_eq!(new.ttl.default_ms(), 1_800_000);
    // No price for an hour: the 5 m price.
    assert_eq!(new.prices.cache_write_1h, new.prices.cache_write);
    let gemini = model("gemini-2.5-pro");
    assert_eq!((gemini.cache_mode, gemini.prices.cache_write), (CacheMode::Prefix, gemini.prices.input));
    assert_eq!(gemini.context_window, Some(1_048_576));
    assert_eq!(model("gpt-5-pro").cache_mode, CacheMode::Off);
}

#[test]
fn a_cloud_has_its_own_price_and_the_makers_cache() {
    let bedrock = model("us.anthropic.claude-opus-4-5-20251101-v1:0");
    assert_eq!((bedrock.provider.as_str(), bedrock.prices.input), ("aws", 5.5));
    assert_eq!((bedrock.min_tokens, bedrock.cache_mode, bedrock.ttl.one_hour()), (4_096, CacheMode::Entries, true));
    assert_eq!(bedrock.context_window, Some(200_000));
}

#[test]
fn the_suffix_1m_widens_the_window_and_nothing_else() {
    let (narrow, wide) = (model("claude-sonnet-4-5"), model("claude-sonnet-4-5[1m]"));
    assert_eq!((narrow.context_window, wide.context_window), (Some(200_000), Some(1_000_000)));
    assert_eq!(narrow.prices, wide.prices);
}

#[test]
fn near_names_come_nearest_first() {
    let nearest = |name: &str| Catalogue::shipped().nearest(name, 3);
    assert_eq!(nearest("claude-sonet-4-6")[0], "claude-sonnet-4-6");
    assert_eq!(nearest("anthropic/claude-haiku-4-6")[0], "claude-haiku-4-5");
    assert_eq!(nearest("sonnet-4.6")[0], "claude-sonnet-4-6");
    assert_eq!(nearest("gpt5.4")[0], "gpt-5.4");
    assert_eq!(nearest("gemini-2.5-pr")[0], "gemini-2.5-pro");
    assert_eq!(nearest("").len(), 3);
    assert_eq!(Catalogue::shipped().nearest("x", 0), Vec::<String>::new());
}

#[test]
fn every_listed_model_is_found_by_its_name_and_can_be_billed() {
    let models = Catalogue::shipped().home_models();
    assert!(models.len() > 80, "{}", models.len());
    for m in models {
        let found = model(&m.name);
        assert_eq!(&found, m);
        let p = &m.prices;
        for price in [p.input, p.cache_read, p.cache_write, p.cache_write_1h, p.output] {
            assert!(price.is_finite() && price >= 0.0, "{}: {p:?}", m.name);
        }
        assert!(p.tiers.is_sorted_by_key(|t| t.above));
        assert!(m.context_window.is_none_or(|w| w > 1_000), "{}", m.name);
        assert!(m.ttl.default_ms() > 0 && !m.ttl.choices_ms().is_empty());
    }
}

#[test]
fn the_stamp_names_the_data_and_their_day() {
    let catalogue = Catalogue::shipped();
    assert!(catalogue.version().contains(catalogue.date()));
    let lock = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.lock")).unwrap();
    let package = lock.split("[[package]]").find(|p| p.contains("name = \"genai-prices\"")).unwrap();
    let version = package.lines().find_map(|l| l.strip_prefix("version = ")).unwrap().trim_matches('"');
    assert!(catalogue.version().starts_with(&format!("genai-prices {version} ")), "{}", catalogue.version());
}
