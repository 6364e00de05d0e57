//! The grid: what it holds, and that nothing depends on threads or on neighbours.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cleartune::policy::{ClearToolInputs, Settings};
use cleartune::replay::replay;
use cleartune::report::csv;
use cleartune::sweep::{Axes, Axis, Block, Grid, Outcome, Profile, Transcript, run};
use cleartune::trace::Trace;

use super::random;

fn transcripts(n: u64) -> Vec<Transcript> {
    (0..n).map(|seed| Transcript { trace: Trace::from_document(&random::document(seed)).unwrap(), settings: Settings::default() }).collect()
}

fn grid() -> Grid {
    let axes = Axes {
        trigger: Axis::Values(vec![0, 5_000, 40_000]),
        keep: Axis::Values(vec![0, 1, 3, 9]),
        clear_at_least: Axis::Values(vec![0, 4_000, 30_000]),
        exclude_tools: Some(vec![vec![], vec!["bash".to_owned(), "memory".to_owned()]]),
        clear_tool_inputs: vec![ClearToolInputs::No, ClearToolInputs::Yes],
        ..Axes::default()
    };
    Grid::new(&axes, &Profile::default().auto(), &[])
}

fn sweep(transcripts: &[Transcript], grid: &Grid, threads: usize) -> (Outcome, Vec<u8>) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let mut out = csv::PerTranscript::new(Vec::new(), &grid.configs, false).unwrap();
        let outcome = run(transcripts, &grid.configs, None, &AtomicBool::new(false), &|_| {}, |block: Block<'_>| {
            let trace = &transcripts[block.transcript].trace;
            out.add(&trace.id, &trace.session, block.totals)
        })
        .unwrap();
        (outcome, out.finish().unwrap())
    })
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let (transcripts, grid) = (transcripts(60), grid());
    let (one, one_csv) = sweep(&transcripts, &grid, 1);
    for threads in [2, 5] {
        let (many, many_csv) = sweep(&transcripts, &grid, threads);
        assert_eq!(one, many);
        assert!(one_csv == many_csv);
        assert_eq!(csv::sweep(&one.rows), csv::sweep(&many.rows));
    }
}

#[test]
fn rows_are_the_sums_of_single_replays() {
    let (transcripts, grid) = (transcripts(12), grid());
    let (outcome, _) = sweep(&transcripts, &grid, 2);
    assert_eq!(outcome.rows.len(), 1 + 3 * 4 * 3 * 2 * 2);
    let none_cost = outcome.rows[0].totals.cost_usd;
    for (i, row) in outcome.rows.iter().enumerate() {
        let totals: Vec<_> =
            transcripts.iter().map(|t| replay(&t.trace, &Settings { edit: row.knobs.edit.clone(), ..t.settings.clone() }).totals).collect();
        assert_eq!(row.totals.requests, totals.iter().map(|t| t.requests).sum::<u64>());
        assert_eq!(row.totals.freed_tokens, totals.iter().map(|t| t.freed_tokens).sum::<i64>());
        assert_eq!(row.totals.peak_prompt_tokens, totals.iter().map(|t| t.peak_prompt_tokens).max().unwrap());
        let peaks: u64 = totals.iter().map(|t| t.peak_prompt_tokens).sum();
        let written: u64 = totals.iter().map(|t| t.cache_write_tokens).sum();
        assert_eq!(row.derived.rewrite_factor, Some(written as f64 / peaks as f64));
        assert_eq!(row.derived.cost_vs_none, Some(row.totals.cost_usd / none_cost));
        for (t, total) in totals.iter().enumerate() {
            assert_eq!(outcome.costs[t][i], total.cost_usd);
        }
    }
    assert_eq!(outcome.rows[0].derived.cost_vs_none, Some(1.0));
}

#[test]
fn a_stopped_sweep_tells_how_far_it_got() {
    let (transcripts, grid) = (transcripts(60), grid());
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let progress = |n: u64| {
        if done.fetch_add(n, Ordering::Relaxed) > 2_000 {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let outcome = run::<()>(&transcripts, &grid.configs, None, &stop, &progress, |_| Ok(())).unwrap();
    assert!(outcome.transcripts_done < 60);
    let (whole, _) = sweep(&transcripts[..outcome.transcripts_done], &grid, 1);
    assert_eq!(outcome, whole);
}

#[test]
fn the_head_of_sweep_csv_is_fixed() {
    let (outcome, per_transcript) = sweep(&transcripts(1), &grid(), 1);
    let text = String::from_utf8(csv::sweep(&outcome.rows)).unwrap();
    let mut lines = text.lines();
    assert_eq!(
        lines.next().unwrap(),
        "policy,trigger,trigger_type,keep,clear_at_least,exclude_tools,clear_tool_inputs,transcripts,requests,refetch_requests,\
         refetches,costly_refetches,lost_needs,unmet_needs,clear_events,cleared_uses,freed_tokens,cache_invalidations,\
         invalidated_tokens,prompt_tokens,cache_read_tokens,cache_write_tokens,uncached_tokens,output_tokens,peak_prompt_tokens,\
         cost_usd,overflowed_transcripts,cost_vs_none,freed_tokens_per_invalidated_token,refetches_per_100_requests,\
         clear_events_per_100_requests,rewrite_factor,cache_read_share,params"
    );
    let none = lines.next().unwrap();
    assert!(none.starts_with("none,,,,,,,1,"), "an empty cell is not applicable: {none}");
    assert!(lines.any(|line| line.contains(",bash|memory,true,1,")));
    assert!(per_transcript.starts_with(b"transcript,session,policy,trigger,"));
}
