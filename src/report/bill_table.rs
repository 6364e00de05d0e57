//! The bill against the replay as text for the terminal, within 80 columns.

use std::fmt::Write;

use super::bill::{BillCheck, Side};
use super::number::{percent, short, usd};

/// A difference is explained from this share of the recorded cost on.
const EXPLAINED_FROM: f64 = 0.01;

/// Sessions as a table: recorded above replayed, then what they differ by, and the natural invalidations by cause with dollars.
///
/// Causes that add less than 0.1 % of the recorded cost are left out, unless the whole differs by more than 1 %.
pub fn bill_table(sessions: &[BillCheck]) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{:16}  {:>8}  {:>6} {:>6} {:>7} {:>6} {:>9} {:>8}",
        "session", "requests", "prompt", "read", "written", "output", "cost", "differs"
    );
    for session in sessions {
        let name: String = session.session.chars().take(16).collect();
        if session.requests_with_usage == 0 {
            let _ = writeln!(out, "{name:16}  {:>8}  no usage is recorded", session.requests);
            continue;
        }
        side(&mut out, &name, &session.requests_with_usage.to_string(), &session.recorded, "");
        let differs = session.relative().map_or_else(|| "-".to_owned(), signed);
        side(&mut out, "  replayed", "", &session.replayed, &differs);
        if session.under_recorded_config > 0 {
            let of = count(session.under_recorded_config, "transcript");
            let _ = writeln!(out, "  recorded with clearing on: {of} replayed under the recorded config");
        }
        if session.cleared_requests > 0 {
            let _ = writeln!(out, "  {} had results cleared, which the replay sends whole", count(session.cleared_requests, "request"));
        }
        let all = session.relative().is_some_and(|r| r.abs() > EXPLAINED_FROM);
        for d in &session.differences {
            let share = d.usd / session.recorded.cost_usd;
            if all || share.abs() >= EXPLAINED_FROM / 10.0 {
                let _ = writeln!(
                    out,
                    "  differs by {:18} {:>9} ({}) at {}",
                    d.why.name(),
                    usd(d.usd),
                    signed(share),
                    count(d.requests, "request")
                );
            }
        }
        for i in &session.invalidations {
            let _ = writeln!(
                out,
                "  invalidated: {:18} {:>7} tokens, {} at {}",
                i.cause.name(),
                short(i.tokens as f64),
                usd(i.usd),
                count(i.requests, "request")
            );
        }
        let _ = writeln!(
            out,
            "  flush_above at {} of {}, kept warm at {}",
            session.flushed_requests,
            count(session.requests, "request"),
            session.kept_warm
        );
    }
    out
}

fn side(out: &mut String, name: &str, requests: &str, side: &Side, differs: &str) {
    let line = format!(
        "{name:16}  {requests:>8}  {:>6} {:>6} {:>7} {:>6} {:>9} {differs:>8}",
        short(side.prompt_tokens as f64),
        short(side.cache_read as f64),
        short((side.cache_write + side.uncached) as f64),
        short(side.output_tokens as f64),
        usd(side.cost_usd)
    );
    let _ = writeln!(out, "{}", line.trim_end());
}

/// How the replay compares with the bill over all sessions with usage, in one line; `None` where there is none.
pub fn bill_line(sessions: &[BillCheck]) -> Option<String> {
    let billed: Vec<&BillCheck> = sessions.iter().filter(|s| s.recorded.cost_usd > 0.0).collect();
    let recorded: f64 = billed.iter().map(|s| s.recorded.cost_usd).sum();
    let replayed: f64 = billed.iter().map(|s| s.replayed.cost_usd).sum();
    let relative = (recorded > 0.0).then(|| replayed / recorded - 1.0)?;
    let costs = match percent(relative.abs()) {
        same if same == "0 %" => "costs the same as".to_owned(),
        share => format!("costs {share} {} than", if relative < 0.0 { "less" } else { "more" }),
    };
    let mut usage = format!("{} with usage", count(billed.len() as u64, "session"));
    let with = |of: fn(&BillCheck) -> u64| billed.iter().filter(|s| of(s) > 0).count() as u64;
    let (recorded_config, whole) = (with(|s| s.under_recorded_config), with(|s| s.cleared_requests));
    if recorded_config > 0 {
        let _ = write!(usage, ", {recorded_config} under the recorded config as recorded with clearing on");
    }
    if whole > 0 {
        let _ = write!(usage, ", {whole} with results cleared which the replay sends whole");
    }
    Some(format!("The replay without clearing {costs} the bill ({usage})."))
}

fn signed(share: f64) -> String {
    format!("{:+.2} %", share * 100.0)
}

fn count(n: u64, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::super::bill::{Difference, PricedCause, Why};
    use super::*;
    use crate::trace::Cause;

    fn check(recorded: f64, replayed: f64) -> BillCheck {
        BillCheck {
            session: "0123456789abcdef".to_owned(),
            requests: 20,
            requests_with_usage: 20,
            recorded: Side { prompt_tokens: 1_234_567, cost_usd: recorded, ..Side::default() },
            replayed: Side { prompt_tokens: 1_234_567, cost_usd: replayed, ..Side::default() },
            differences: vec![Difference {
                why: Why::Invalidation(Cause::LookbackExceeded),
                requests: 1,
                usd: replayed - recorded,
                last: 0,
            }],
            invalidations: vec![PricedCause { cause: Cause::TtlExpired, requests: 2, tokens: 98_765, usd: 0.5 }],
            ..BillCheck::default()
        }
    }

    #[test]
    fn the_line_says_less_more_or_the_same() {
        let line = |recorded, replayed| bill_line(&[check(recorded, replayed)]);
        assert_eq!(line(10.0, 9.97).unwrap(), "The replay without clearing costs 0.3 % less than the bill (1 session with usage).");
        assert_eq!(line(10.0, 11.5).unwrap(), "The replay without clearing costs 15 % more than the bill (1 session with usage).");
        assert_eq!(line(10.0, 10.001).unwrap(), "The replay without clearing costs the same as the bill (1 session with usage).");
        assert_eq!(bill_line(&[BillCheck::default()]), None);
        let cleared = BillCheck { under_recorded_config: 1, cleared_requests: 3, ..check(10.0, 10.0) };
        let text = bill_line(std::slice::from_ref(&cleared)).unwrap();
        assert!(text.contains("1 under the recorded config") && text.contains("1 with results cleared"), "{text}");
        let text = bill_table(&[cleared]);
        assert!(
            text.contains("1 transcript replayed under the recorded config") && text.contains("3 requests had results cleared"),
            "{text}"
        );
        let both = bill_line(&[check(10.0, 9.0), check(10.0, 11.0), BillCheck::default()]).unwrap();
        assert!(both.contains("the same") && both.contains("2 sessions"), "{both}");
    }

    #[test]
    fn the_table_fits_and_explains_what_matters() {
        let text = bill_table(&[check(10.0, 12.5), BillCheck { requests: 3, ..BillCheck::default() }]);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("+25.00 %") && text.contains("lookback_exceeded") && text.contains("ttl_expired"), "{text}");
        assert!(text.contains("no usage is recorded"));
        assert!(bill_table(&[check(10.0, 10.02)]).contains("differs by"));
        assert!(!bill_table(&[check(10.0, 10.005)]).contains("differs by"));
    }
}
