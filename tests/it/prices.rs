//! Bills, and who settles each price, cache key and window.

use cleartune::policy::{Cache, CacheMode, CachePatch, Config, Settings, from_json};
use cleartune::price::{Catalogue, ModelNote, Origin, Overrides, PriceError, Prices, Tier, Window, resolve};

fn config(json: &str) -> Config {
    from_json(json).unwrap_or_else(|e| panic!("{json}: {e}"))
}

fn line(price: &str) -> Overrides {
    Overrides { price: price.parse().unwrap(), ..Overrides::default() }
}

fn settle(json: &str, overrides: &Overrides, trace: Option<&str>) -> (Settings, ModelNote) {
    resolve(&config(json), overrides, trace, Catalogue::shipped()).unwrap_or_else(|e| panic!("{json}: {e}"))
}

fn close(got: f64, want: f64) {
    assert!((got - want).abs() < 1e-9 * want, "{got}, expected {want}");
}

#[test]
fn three_published_usage_rows() {
    let (s, _) = settle("{}", &line("input=10,cache_read=1,output=60"), None);
    for (fresh, cached, output, usd) in [(631, 219_136, 297, 0.243_266), (955, 219_136, 298, 0.246_566), (182_408, 0, 112, 1.830_8)] {
        close(s.prices.cost(fresh + cached, fresh, cached, 0, output, false), usd);
    }
}

#[test]
fn a_controlled_run_on_haiku_4_5() {
    let p = Catalogue::shipped().find("claude-haiku-4-5").unwrap().prices;
    let round = |usd: f64| (usd * 1e4).round() / 1e4;
    assert_eq!(round(p.cost(20_000, 0, 146_572, 29_446, 0, false)), 0.0515);
    assert_eq!(round(p.cost(20_000, 0, 0, 85_876, 0, false)), 0.1073);
    // Written for an hour: 2 times the input price in place of 1.25.
    close(p.cost(20_000, 0, 0, 85_876, 0, true), 85_876.0 * 2.0 / 1e6);
}

#[test]
fn nothing_known_means_the_defaults_and_assumed_dollars() {
    for trace in [None, Some("test"), Some("<synthetic>")] {
        let (s, note) = settle("{}", &Overrides::default(), trace);
        assert_eq!(s, Settings::default());
        assert_eq!(note, ModelNote::Assumed { named: trace.map(str::to_owned) });
        assert!(note.is_assumed() && note.to_string().contains("dollars are assumed"));
    }
    assert_eq!(
        Settings::default().prices,
        Prices { input: 3.0, cache_read: 0.3, cache_write: 3.75, cache_write_1h: 6.0, output: 15.0, tiers: vec![] }
    );
}

#[test]
fn the_line_wins_over_the_config_over_the_trace() {
    let trace = Some("claude-haiku-4-5");
    let named = |json: &str, price: &str| {
        let overrides = if price.is_empty() { Overrides::default() } else { line(price) };
        match settle(json, &overrides, trace).1 {
            ModelNote::Known { name, origin } => (name, origin),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(named("{}", ""), ("claude-haiku-4-5".to_owned(), Origin::Trace));
    assert_eq!(named(r#"{"price": "claude-opus-5"}"#, ""), ("claude-opus-5".to_owned(), Origin::Config));
    assert_eq!(named(r#"{"price": "claude-opus-5"}"#, "gpt-5.4"), ("gpt-5.4".to_owned(), Origin::CommandLine));
    assert_eq!(named(r#"{"price": {"input": 1}}"#, "input=2"), ("claude-haiku-4-5".to_owned(), Origin::Trace));
}

#[test]
fn single_prices_win_over_names_at_the_same_place() {
    let trace = Some("claude-haiku-4-5");
    let input = |json: &str, price: &str| {
        let overrides = if price.is_empty() { Overrides::default() } else { line(price) };
        settle(json, &overrides, trace).0.prices.input
    };
    assert_eq!(input("{}", ""), 1.0);
    assert_eq!(input(r#"{"price": {"input": 7}}"#, ""), 7.0);
    assert_eq!(input(r#"{"price": {"input": 7, "model": "claude-opus-5"}}"#, ""), 7.0);
    assert_eq!(input(r#"{"price": {"output": 7, "model": "claude-opus-5"}}"#, ""), 5.0);
    // A name on the command line asks for that model's prices, whatever the config states.
    assert_eq!(input(r#"{"price": {"input": 7}}"#, "claude-opus-5"), 5.0);
    assert_eq!(input(r#"{"price": {"input": 7}}"#, "claude-opus-5,input=9"), 9.0);
    assert_eq!(input(r#"{"price": {"input": 7}}"#, "output=9"), 7.0);
    assert_eq!(input(r#"{"price": {"input": 7}}"#, "input=9"), 9.0);
}

#[test]
fn a_single_price_holds_above_the_cliff_too() {
    let (s, _) = settle(r#"{"price": {"model": "claude-haiku-5-5", "input": 7}}"#, &Overrides::default(), None);
    let [tier] = s.prices.tiers.as_slice() else { panic!() };
    assert_eq!((tier.above, tier.input, tier.output), (100_000, None, Some(2.5)));
    // Tiers that are stated stand, and an empty list takes them away.
    let (s, _) =
        settle(r#"{"price": {"model": "claude-haiku-5-5", "input": 7, "tiers": [{"above": 5, "input": 8}]}}"#, &Overrides::default(), None);
    assert_eq!(s.prices.tiers, [Tier { above: 5, input: Some(8.0), ..Tier::default() }]);
    let (s, _) = settle(r#"{"price": {"model": "claude-haiku-5-5", "tiers": []}}"#, &Overrides::default(), None);
    assert_eq!(s.prices.tiers, []);
    // The command line's single price also takes its place in the tiers of the config.
    let (s, _) = settle(r#"{"price": {"tiers": [{"above": 5, "input": 8}]}}"#, &line("input=1"), None);
    assert_eq!((s.prices.input, s.prices.tiers.len()), (1.0, 0));
}

#[test]
fn tiers_apply_in_their_order_to_larger_prompts_only() {
    let json = r#"{"price": {"tiers": [{"above": 200, "input": 9}, {"above": 100, "input": 8, "output": 1}]}}"#;
    let p = settle(json, &Overrides::default(), None).0.prices;
    let input = |prompt| p.cost(prompt, 1_000_000, 0, 0, 0, false);
    assert_eq!((input(100), input(101), input(200), input(201)), (3.0, 8.0, 8.0, 8.0));
    assert_eq!((p.cost(100, 0, 0, 0, 1_000_000, false), p.cost(101, 0, 0, 0, 1_000_000, false)), (15.0, 1.0));
}

#[test]
fn all_prices_stated_means_no_assumption() {
    let all = r#"{"price": {"input": 1, "cache_read": 1, "cache_write": 1, "output": 1}}"#;
    assert_eq!(settle(all, &Overrides::default(), Some("test")).1, ModelNote::Stated);
    assert_eq!(settle("{}", &line("input=1,cache_read=1,cache_write=1,output=1"), None).1, ModelNote::Stated);
    assert!(settle("{}", &line("input=1"), None).1.is_assumed());
}

#[test]
fn what_follows_from_a_name_fills_only_what_nobody_states() {
    let trace = Some("gpt-5.6");
    let (s, _) = settle("{}", &Overrides::default(), trace);
    let follows = Cache { mode: CacheMode::Prefix, default_ttl_ms: 1_800_000, ..Cache::default() };
    assert_eq!((&s.cache, s.context_window), (&follows, Some(1_050_000)));

    let stated = r#"{"cache": {"mode": "entries", "min_tokens": 5, "lookback": 3, "ttl_ms": 7}, "context_window": 9}"#;
    for overrides in [Overrides::default(), line("claude-opus-5")] {
        let (s, _) = settle(stated, &overrides, trace);
        assert_eq!((s.cache.mode, s.cache.min_tokens, s.cache.lookback, s.cache.ttl_ms), (CacheMode::Entries, 5, 3, Some(7)));
        assert_eq!(s.context_window, Some(9));
    }
    let overrides = Overrides {
        cache: CachePatch { ttl_ms: Some(8), lookback: Some(4), ..CachePatch::default() },
        window: Window::Tokens(10),
        ..Overrides::default()
    };
    let (s, _) = settle(stated, &overrides, trace);
    assert_eq!((s.cache.min_tokens, s.cache.lookback, s.cache.ttl_ms, s.context_window), (5, 4, Some(8), Some(10)));
    let none = Overrides { window: Window::None, ..Overrides::default() };
    assert_eq!(settle(stated, &none, trace).0.context_window, None);
}

#[test]
fn a_name_alone_never_overrides_the_ttl_of_requests() {
    let ttl = |json: &str, trace: &str, of_request| settle(json, &Overrides::default(), Some(trace)).0.cache.ttl(of_request);
    assert_eq!(ttl("{}", "claude-sonnet-4-6", None), 300_000);
    assert_eq!(ttl("{}", "claude-sonnet-4-6", Some(3_600_000)), 3_600_000);
    assert_eq!(ttl("{}", "gpt-5.6", None), 1_800_000);
    assert_eq!(ttl("{}", "gpt-5.6", Some(60_000)), 60_000);
    assert_eq!(ttl(r#"{"cache": {"ttl_ms": 5}}"#, "gpt-5.6", Some(60_000)), 5);
    assert_eq!(ttl("{}", "test", None), 300_000);
}

#[test]
fn a_name_that_the_user_mistyped_is_an_error_with_the_nearest() {
    let error = |json: &str, overrides: &Overrides| resolve(&config(json), overrides, None, Catalogue::shipped()).unwrap_err();
    let from_config = error(r#"{"price": "claude-sonet-4-6"}"#, &Overrides::default());
    let PriceError::UnknownModel { name, origin, nearest } = &from_config;
    assert_eq!((name.as_str(), *origin, nearest[0].as_str()), ("claude-sonet-4-6", Origin::Config, "claude-sonnet-4-6"));
    let text = from_config.to_string();
    assert!(text.starts_with("price: unknown model \"claude-sonet-4-6\"") && text.contains("claude-sonnet-4-6,"), "{text}");

    let text = error("{}", &line("gpt-5.44")).to_string();
    assert!(text.starts_with("--price: ") && text.contains("gpt-5.4"), "{text}");
    // Also where the command line names a good one.
    error(r#"{"price": "claude-sonet-4-6"}"#, &line("gpt-5.4"));
    assert!(!text.contains('\n'));
}
