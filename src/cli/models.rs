//! `cleartune models`: what the catalogue knows.

use std::io::{self, Write};

use anyhow::bail;
use clap::{Args, ValueEnum};
use cleartune::policy::CacheMode;
use cleartune::price::{Catalogue, Model};
use serde_json::{Value, json};

/// Models with their prices and the day that these are of
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  cleartune models\n  cleartune models haiku\n  cleartune models claude-sonnet-4-6 --format json")]
pub struct ModelsArgs {
    /// A model in any usual spelling, or a part of a name
    name: Option<String>,

    /// Models of every provider, not only of Anthropic, OpenAI and Google
    #[arg(long)]
    all: bool,

    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people, within 80 columns
    Table,
    /// An object with the models and the catalogue's version and date
    Json,
    /// One row a model, a column a price and tier
    Csv,
}

/// Parts of names of models that answer in pictures or speech, or do not answer at all: no agent runs on them.
const NO_AGENT: &[&str] =
    &["image", "audio", "realtime", "tts", "transcribe", "live", "omni", "robotics", "search", "embedding", "whisper", "banana", "gemma"];

/// Runs the command: to standard output.
pub fn run(args: &ModelsArgs) -> anyhow::Result<()> {
    let catalogue = Catalogue::shipped();
    let models = select(args, catalogue)?;
    let bytes = match args.format {
        Format::Table => table(&models, catalogue, args),
        Format::Json => format!("{:#}\n", document(&models, catalogue)),
        Format::Csv => csv(&models)?,
    };
    let mut out = io::stdout().lock();
    out.write_all(bytes.as_bytes())?;
    out.flush()?;
    Ok(())
}

fn select(args: &ModelsArgs, catalogue: &Catalogue) -> anyhow::Result<Vec<Model>> {
    let owned = |models: Vec<&Model>| models.into_iter().cloned().collect::<Vec<_>>();
    let pool = || owned(if args.all { catalogue.models() } else { catalogue.home_models() });
    let Some(name) = args.name.as_deref().map(str::trim) else {
        let of_agents = |m: &Model| !NO_AGENT.iter().any(|part| m.name.contains(part)) && m.cache_mode != CacheMode::Off;
        return Ok(pool().into_iter().filter(|m| args.all || of_agents(m)).collect());
    };
    if let Some(model) = catalogue.find(name) {
        return Ok(vec![model]);
    }
    let part = name.to_lowercase();
    let containing: Vec<Model> = pool().into_iter().filter(|m| !part.is_empty() && m.name.contains(&part)).collect();
    if containing.is_empty() {
        let nearest = catalogue.nearest(name, 4).join(", ");
        bail!("unknown model \"{}\": write one of the nearest, {nearest}, or a part of a name", name.escape_debug());
    }
    Ok(containing)
}

fn table(models: &[Model], catalogue: &Catalogue, args: &ModelsArgs) -> String {
    const NAME: usize = 25;
    let mut lines = vec![
        format!("Prices in USD per million tokens on {}.", catalogue.date()),
        catalogue.version(),
        String::new(),
        format!("{:<NAME$} {:>6} {:>6} {:>7} {:>7} {:>6} {:>6} {:>6}", "model", "input", "read", "write", "1h", "output", "min", "window"),
    ];
    let mut provider = None;
    for model in models {
        if provider.replace(&model.provider).is_some_and(|previous| *previous != model.provider) {
            lines.push(String::new());
        }
        let p = &model.prices;
        let hour = if model.ttl.one_hour() { usd(p.cache_write_1h) } else { String::new() };
        let window = model.context_window.map_or_else(String::new, tokens);
        let cells = |name: &str, [input, read, write, hour, output]: [String; 5], min: &str, window: &str| {
            // A name that does not fit gets its own line, so that columns stay in place.
            let (head, name) = if name.len() > NAME { (format!("{name}\n"), "") } else { (String::new(), name) };
            let row = format!("{head}{name:<NAME$} {input:>6} {read:>6} {write:>7} {hour:>7} {output:>6} {min:>6} {window:>6}");
            row.trim_end().to_owned()
        };
        let row = [usd(p.input), usd(p.cache_read), usd(p.cache_write), hour, usd(p.output)];
        lines.push(cells(&model.name, row, &tokens(model.min_tokens), &window));
        for tier in &p.tiers {
            let cell = |price: Option<f64>| price.map_or_else(String::new, usd);
            let hour = if model.ttl.one_hour() { cell(tier.cache_write_1h) } else { String::new() };
            let row = [cell(tier.input), cell(tier.cache_read), cell(tier.cache_write), hour, cell(tier.output)];
            lines.push(cells(&format!("  prompts above {}", tokens(tier.above)), row, "", ""));
        }
    }
    lines.push(String::new());
    lines.push("read, write, 1h: cache reads, writes for the default lifetime and for 1 h.".to_owned());
    lines.push("min: smallest cacheable prompt. window: context window. In tokens.".to_owned());
    if !args.all && args.name.is_none() {
        lines.push("Only models of these providers that cache prompts; --all lists every one.".to_owned());
    }
    lines.push(String::new());
    lines.join("\n")
}

fn document(models: &[Model], catalogue: &Catalogue) -> Value {
    let list: Vec<Value> = models
        .iter()
        .map(|m| {
            json!({
                "name": m.name, "provider": m.provider, "price": m.prices, "min_tokens": m.min_tokens, "cache_mode": m.cache_mode,
                "default_ttl_ms": m.ttl.default_ms(), "ttl_choices_ms": m.ttl.choices_ms(), "context_window": m.context_window,
            })
        })
        .collect();
    json!({ "catalogue": catalogue.version(), "prices_of": catalogue.date(), "unit": "USD per million tokens", "models": list })
}

fn csv(models: &[Model]) -> anyhow::Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "name",
        "provider",
        "above_tokens",
        "input_usd_per_mtok",
        "cache_read_usd_per_mtok",
        "cache_write_usd_per_mtok",
        "cache_write_1h_usd_per_mtok",
        "output_usd_per_mtok",
        "min_tokens",
        "cache_mode",
        "default_ttl_ms",
        "context_window",
    ])?;
    for m in models {
        let mode = match m.cache_mode {
            CacheMode::Entries => "entries",
            CacheMode::Prefix => "prefix",
            CacheMode::Off => "off",
        };
        let mut row = |above: u64, prices: [Option<f64>; 5]| {
            let mut cells = vec![m.name.clone(), m.provider.clone(), above.to_string()];
            cells.extend(prices.map(|price| price.map_or_else(String::new, |p| p.to_string())));
            cells.extend([m.min_tokens.to_string(), mode.to_owned(), m.ttl.default_ms().to_string()]);
            cells.push(m.context_window.map_or_else(String::new, |w| w.to_string()));
            writer.write_record(cells)
        };
        let p = &m.prices;
        row(0, [p.input, p.cache_read, p.cache_write, p.cache_write_1h, p.output].map(Some))?;
        for t in &p.tiers {
            row(t.above, [t.input, t.cache_read, t.cache_write, t.cache_write_1h, t.output])?;
        }
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

/// A price as short as it is exact.
fn usd(price: f64) -> String {
    price.to_string()
}

/// `4096`, `272k`, `1m`, `1049k`: exact below ten thousand, in thousands above.
fn tokens(n: u64) -> String {
    match n {
        0..10_000 => n.to_string(),
        _ if n.is_multiple_of(1_000_000) => format!("{}m", n / 1_000_000),
        _ => format!("{}k", (n + 500) / 1_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(name: Option<&str>, all: bool) -> ModelsArgs {
        ModelsArgs { name: name.map(str::to_owned), all, format: Format::Table }
    }

    #[test]
    fn the_table_fits_80_columns() {
        let catalogue = Catalogue::shipped();
        let args = args(None, false);
        let text = table(&select(&args, catalogue).unwrap(), catalogue, &args);
        assert!(text.lines().count() > 50);
        // A name that is too long stands on its own line; every row of numbers fits.
        let long: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(long.is_empty(), "{long:?}");
        assert!(text.contains(catalogue.date()));
    }

    #[test]
    fn a_name_a_part_and_a_slip() {
        let catalogue = Catalogue::shipped();
        let names = |name: &str| select(&args(Some(name), false), catalogue).map(|m| m.into_iter().map(|m| m.name).collect::<Vec<_>>());
        assert_eq!(names("anthropic/claude-sonnet-4.6").unwrap(), ["claude-sonnet-4-6"]);
        assert!(names("haiku").unwrap().contains(&"claude-haiku-4-5".to_owned()));
        let error = names("claude-sonet-4-6").unwrap_err().to_string();
        assert!(error.contains("nearest, claude-sonnet-4-6"), "{error}");
    }

    #[test]
    fn csv_has_a_row_a_tier() {
        let models = select(&args(Some("claude-haiku-5-5"), false), Catalogue::shipped()).unwrap();
        let text = csv(&models).unwrap();
        let rows: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(rows[0], "claude-haiku-5-5,anthropic,0,0.1,0.01,0.125,0.2,0.5,512,entries,300000,1000000");
        assert_eq!(rows[1], "claude-haiku-5-5,anthropic,100000,0.5,0.05,0.625,1,2.5,512,entries,300000,1000000");
    }
}
