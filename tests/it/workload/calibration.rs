//! Generated sessions against the measured tables.

use cleartune::workload::{Spec, shipped_text};

use super::measure::{BACK, Figures, mean, measure, quantile};

const TRANSCRIPTS: usize = 200;

/// The measured table of one group of sessions.
struct Table {
    uses: [f64; 3],
    first_prompt: (f64, f64),
    /// Of sessions with 100 uses or more: the measured peaks are those of the long ones.
    peak_long: (f64, f64),
    growth_p50: (f64, f64),
    growth_p90: (f64, f64),
    uses_per_call: f64,
    /// Class, share of uses (where measured), p10 / p50 / p90 / p99 in characters, share of errors.
    classes: &'static [(&'static str, f64, [f64; 4], f64)],
    /// Class (none: all), needed at all, last needed more than 1, 3, 5, 10, 20, 50 uses back.
    reuse: &'static [(Option<&'static str>, [f64; 7])],
}

const RESEARCH: Table = Table {
    uses: [92.0, 103.0, 157.0],
    first_prompt: (13_000.0, 13_000.0),
    peak_long: (214_000.0, 297_000.0),
    growth_p50: (1200.0, 1600.0),
    growth_p90: (4500.0, 9400.0),
    uses_per_call: 1.14,
    classes: &[
        ("edit", 0.40, [41.0, 51.0, 1100.0, 3800.0], 0.0),
        ("exec", 0.27, [43.0, 621.0, 3400.0, 17_000.0], 0.03),
        ("web", 0.19, [35.0, 683.0, 26_000.0, 36_000.0], 0.14),
        ("search", 0.07, [33.0, 348.0, 992.0, 1500.0], 0.07),
        ("read", 0.07, [57.0, 5800.0, 29_000.0, 42_000.0], 0.03),
    ],
    reuse: &[
        (None, [0.18, 0.17, 0.17, 0.16, 0.14, 0.13, 0.08]),
        (Some("read"), [0.54, 0.54, 0.49, 0.49, 0.46, 0.46, 0.41]),
        (Some("web"), [0.31, 0.28, 0.27, 0.27, 0.27, 0.25, 0.17]),
    ],
};

const CODING: Table = Table {
    uses: [3.0, 21.0, 133.0],
    first_prompt: (20_000.0, 37_000.0),
    peak_long: (99_000.0, 181_000.0),
    growth_p50: (400.0, 1400.0),
    growth_p90: (2000.0, 4000.0),
    uses_per_call: 1.18,
    // The measured mix sums to 101 %.
    classes: &[
        ("edit", 0.25, [72.0, 92.0, 127.0, 1500.0], 0.05),
        ("exec", 0.22, [12.0, 179.0, 2600.0, 16_000.0], 0.12),
        ("read", 0.18, [455.0, 1900.0, 11_000.0, 30_000.0], 0.0),
        ("search", 0.15, [32.0, 224.0, 1900.0, 7600.0], 0.08),
        ("web", 0.06, [98.0, 3900.0, 8400.0, 16_000.0], 0.08),
    ],
    reuse: &[
        (None, [0.22, 0.17, 0.13, 0.12, 0.08, 0.05, 0.01]),
        (Some("read"), [0.48, 0.35, 0.29, 0.25, 0.17, 0.15, 0.05]),
        (Some("search"), [0.28, 0.21, 0.14, 0.13, 0.10, 0.05, 0.02]),
        (Some("exec"), [0.13, 0.08, 0.05, 0.04, 0.04, 0.02, 0.02]),
    ],
};

/// Collects what is out of bounds; everything measured is kept beside it for the message of a failure.
#[derive(Default)]
struct Check {
    violations: Vec<String>,
    lines: Vec<String>,
}

impl Check {
    fn within(&mut self, what: &str, value: f64, low: f64, high: f64) {
        let line = format!("{what}: {value:.3}, allowed {low:.3} to {high:.3}");
        if !(low..=high).contains(&value) {
            self.violations.push(line.clone());
        }
        self.lines.push(line);
    }

    fn relative(&mut self, what: &str, value: f64, target: f64, tolerance: f64) {
        self.within(what, value, target * (1.0 - tolerance), target * (1.0 + tolerance));
    }

    fn absolute(&mut self, what: &str, value: f64, target: f64, tolerance: f64) {
        self.within(what, value, target - tolerance, target + tolerance);
    }
}

/// Medians within 15 %, p90 within 25 %, shares within 0.04, ranges met; p10 and p99 of sizes, where few results lie, within 35 %.
fn check(figures: &Figures, table: &Table) -> Check {
    let mut check = Check::default();
    check.relative("uses p10", quantile(&figures.uses, 0.1), table.uses[0], 0.25);
    check.relative("uses p50", quantile(&figures.uses, 0.5), table.uses[1], 0.15);
    check.relative("uses p90", quantile(&figures.uses, 0.9), table.uses[2], 0.25);
    let (low, high) = table.first_prompt;
    let slack = if low < high { 0.0 } else { 0.15 };
    check.within("first prompt p50", quantile(&figures.first_prompt, 0.5), low * (1.0 - slack), high * (1.0 + slack));
    let (low, high) = table.peak_long;
    check.within("peak prompt of long sessions p50", quantile(&figures.peak_long, 0.5), low, high);
    check.within("peak prompt of long sessions p10", quantile(&figures.peak_long, 0.1), low * 0.75, high);
    check.within("peak prompt of long sessions p90", quantile(&figures.peak_long, 0.9), low, high * 1.25);
    check.within("growth p50", quantile(&figures.growth, 0.5), table.growth_p50.0, table.growth_p50.1);
    check.within("growth p90", quantile(&figures.growth, 0.9), table.growth_p90.0, table.growth_p90.1);
    check.absolute("uses per call", mean(&figures.batch), table.uses_per_call, 0.04);
    check.within("gap p50", quantile(&figures.gap_s, 0.5), 6.0, 15.0);
    check.within("gap p90", quantile(&figures.gap_s, 0.9), 35.0, 82.0);
    check.within("gaps over 300 s p10", quantile(&figures.long_gaps, 0.1), 0.0, 5.0);
    check.within("gaps over 300 s p95", quantile(&figures.long_gaps, 0.95), 1.0, 5.0);
    check.relative("invalidations of long sessions", mean(&figures.invalidations_long), 17.0 / 11.0, 0.25);
    let small = figures.all_bytes().iter().filter(|b| **b < 300.0).count() as f64 / figures.all_bytes().len() as f64;
    check.within("results under 300 characters", small, 1.0 / 3.0, 2.0 / 3.0);
    check.within("largest tenth of results", figures.largest_tenth(), 0.64, 0.77);
    for (class, mix, sizes, errors) in table.classes {
        let of = &figures.classes[*class];
        check.absolute(&format!("{class} share of uses"), figures.mix(class), *mix, 0.02);
        for ((q, size), tolerance) in [0.1, 0.5, 0.9, 0.99].iter().zip(sizes).zip([0.35, 0.15, 0.25, 0.35]) {
            check.relative(&format!("{class} size p{:.0}", q * 100.0), quantile(&of.bytes, *q), *size, tolerance);
        }
        check.absolute(&format!("{class} errors"), of.errors as f64 / of.bytes.len() as f64, *errors, 0.02);
    }
    for (class, shares) in table.reuse {
        let name = class.unwrap_or("all");
        check.absolute(&format!("{name} needed again"), figures.reuse(*class, 0), shares[0], 0.04);
        for (back, share) in BACK.iter().zip(&shares[1..]) {
            check.absolute(&format!("{name} last needed more than {back} back"), figures.reuse(*class, *back), *share, 0.04);
        }
    }
    check
}

fn check_research(spec: &Spec) -> Check {
    let figures = measure(spec, TRANSCRIPTS);
    let mut check = check(&figures, &RESEARCH);
    let ever = figures.reuse(None, 0);
    check.absolute("share of reuse more than 10 back", figures.reuse(None, 10) / ever, 0.82, 0.04);
    check.absolute("share of reuse more than 50 back", figures.reuse(None, 50) / ever, 0.39, 0.04);
    check
}

fn check_coding(spec: &Spec) -> Check {
    check(&measure(spec, TRANSCRIPTS), &CODING)
}

fn shipped_spec(name: &str) -> Spec {
    Spec::from_toml(shipped_text(name).unwrap()).unwrap()
}

#[test]
fn research_agent_looks_like_the_measured_sessions() {
    let check = check_research(&shipped_spec("research_agent"));
    println!("{}", check.lines.join("\n"));
    assert!(check.violations.is_empty(), "{:#?}", check.violations);
}

#[test]
fn coding_agent_looks_like_the_measured_sessions() {
    let check = check_coding(&shipped_spec("coding_agent"));
    println!("{}", check.lines.join("\n"));
    assert!(check.violations.is_empty(), "{:#?}", check.violations);
}

/// The shipped workload with one value replaced by another; the path's numbers index arrays.
fn moved(name: &str, path: &str, value: toml::Value) -> Spec {
    let mut table = toml::Value::Table(shipped_text(name).unwrap().parse().unwrap());
    let mut place = &mut table;
    for key in path.split('.') {
        place = match key.parse::<usize>() {
            Ok(index) => place.get_mut(index),
            Err(_) => place.get_mut(key),
        }
        .unwrap_or_else(|| panic!("{path} is no parameter of {name}"));
    }
    assert_ne!(*place, value, "{path} is not moved");
    *place = value;
    Spec::from_toml(&toml::to_string(&table).unwrap()).unwrap()
}

/// Each parameter moved alone must break a line of the table that depends on it.
fn assert_noticed(name: &str, check: fn(&Spec) -> Check, moves: &[(&str, f64, &str)]) {
    let mut unnoticed = Vec::new();
    for (path, value, part) in moves {
        let violations = check(&moved(name, path, toml::Value::Float(*value))).violations;
        if !violations.iter().any(|v| v.starts_with(part)) {
            unnoticed.push(format!("{path} = {value} breaks no {part:?} but {violations:#?}"));
        }
    }
    assert!(unnoticed.is_empty(), "{}", unnoticed.join("\n"));
}

#[test]
fn a_moved_parameter_of_research_agent_is_noticed() {
    assert_noticed(
        "research_agent",
        check_research,
        &[
            ("bytes_per_token", 2.0, "peak prompt"),
            ("session.first_user_tokens.median", 3900.0, "first prompt"),
            ("session.uses.quantiles.2.1", 130.0, "uses p50"),
            ("session.parallel", 0.2, "uses per call"),
            ("output.thinking_tokens.median", 1500.0, "growth p50"),
            ("gaps.call_seconds.median", 18.0, "gap p50"),
            ("gaps.call_seconds.sigma", 0.8, "gap p90"),
            ("cache.invalidation", 0.025, "invalidations"),
            ("phases.0.until", 0.8, "read share of uses"),
            ("phases.1.mix.exec", 0.5, "exec share of uses"),
            ("synthesis.share.0", 0.05, "edit share of uses"),
            ("reuse.revisit_uses.median", 60.0, "share of reuse more than 50 back"),
            ("classes.read.needed.synthesis", 0.45, "read needed again"),
            ("classes.web.needed.synthesis", 0.2, "web needed again"),
            ("classes.edit.needed.revisit", 0.8, "all needed again"),
            ("classes.read.result_bytes.quantiles.4.1", 8500.0, "read size p50"),
            ("classes.web.result_bytes.quantiles.3.1", 16_000.0, "web size p90"),
            ("classes.exec.result_bytes.quantiles.2.1", 900.0, "exec size p50"),
            ("classes.web.errors.share", 0.08, "web errors"),
        ],
    );
}

#[test]
fn a_moved_parameter_of_coding_agent_is_noticed() {
    assert_noticed(
        "coding_agent",
        check_coding,
        &[
            ("session.uses.quantiles.2.1", 35.0, "uses p50"),
            ("session.turn_end", 0.05, "read needed again"),
            ("session.parallel", 0.3, "uses per call"),
            ("output.thinking_share", 0.9, "peak prompt"),
            ("gaps.turn_seconds.median", 240.0, "gap p90"),
            ("reuse.recency_uses.median", 15.0, "read last needed more than 10 back"),
            ("paging.share", 0.9, "read last needed more than 1 back"),
            ("classes.read.needed.follow_up", 0.2, "read needed again"),
            ("classes.read.needed.recency", 0.4, "read last needed more than 1 back"),
            ("classes.search.needed.revisit", 0.35, "search last needed more than 10 back"),
            ("classes.exec.needed.follow_up", 0.9, "exec needed again"),
            ("classes.exec.errors.share", 0.2, "exec errors"),
        ],
    );
}
