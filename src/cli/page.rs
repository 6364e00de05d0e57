//! The page of a sweep: what it shows is gathered here.

use cleartune::decide::Advice;
use cleartune::findings;
use cleartune::profile::Profile;
use cleartune::replay::replay;
use cleartune::report::page::{PageView, Timeline, edits_by_value, page, rows_shown, sessions_shown};
use cleartune::report::snippets::{Snippet, snippets};
use cleartune::report::{Headline, RowFindings};
use cleartune::sweep::{Outcome, Transcript};
use rayon::prelude::*;
use serde_json::Value;

use super::paste::ForShape;
use super::source::Loaded;

/// Edits that are looked at until one is sound, at most.
const MOST_LOOKED_AT: usize = 64;

/// A sweep that is done.
pub struct Swept<'a> {
    /// What stands above the answer.
    pub head: &'a Headline,
    /// The sources.
    pub loaded: &'a Loaded,
    /// The transcripts with their settings.
    pub transcripts: &'a [Transcript],
    /// All rows.
    pub outcome: &'a Outcome,
    /// The advice.
    pub advice: Option<&'a Advice>,
    /// The answers for the shapes that were asked for.
    pub shapes: &'a [ForShape],
}

impl Swept<'_> {
    /// `report.html`. Replays a few transcripts again, on the threads of the current pool.
    pub fn page(&self, findings: &[RowFindings], manifest: &Value) -> String {
        let profile = Profile::new(self.loaded.documents.iter().zip(self.transcripts.iter().map(|t| &t.trace)));
        let edit = self.best_edit();
        page(&PageView {
            edit,
            head: self.head,
            outcome: self.outcome,
            advice: self.advice,
            findings,
            profile: &profile,
            timelines: &self.timelines(edit),
            manifest,
            snippets: &self.snippets(),
        })
    }

    /// The best edit of the API that does not fire for ever, of the first few; `None` too where the answer is about one anyway.
    fn best_edit(&self) -> Option<usize> {
        let rows = &self.outcome.rows;
        if self.advice?.decision.best.is_some_and(|i| rows[i].knobs.edit.is_some()) {
            return None;
        }
        let sound = |&i: &usize| rows[i].knobs.edit.as_ref().is_some_and(|edit| !findings::is_saturated(edit, self.transcripts));
        edits_by_value(self.outcome, self.advice?).into_iter().take(MOST_LOOKED_AT).find(sound)
    }

    /// The recommended config in the shapes in which people run it.
    fn snippets(&self) -> Vec<Snippet> {
        let row = self.advice.filter(|_| self.head.paste.is_some()).map(|advice| &self.outcome.rows[advice.decision.row]);
        let mut all = row.map_or_else(Vec::new, |row| snippets(&row.knobs));
        // Values that were replayed for a framework take the place of those of the API.
        for snippet in self.shapes.iter().filter(|shape| !shape.is_of_api()).filter_map(|shape| shape.snippet.as_ref()) {
            match all.iter_mut().find(|s| s.title == snippet.title) {
                Some(place) => *place = snippet.clone(),
                None => all.push(snippet.clone()),
            }
        }
        all
    }

    fn timelines(&self, edit: Option<usize>) -> Vec<Timeline> {
        let Some(advice) = self.advice else { return Vec::new() };
        let requests: Vec<usize> = self.transcripts.iter().map(|t| t.trace.requests.len()).collect();
        let rows = rows_shown(advice, edit);
        sessions_shown(&requests).into_par_iter().map(|i| self.timeline(i, &rows)).collect()
    }

    fn timeline(&self, transcript: usize, rows: &[usize]) -> Timeline {
        let Transcript { trace, settings } = &self.transcripts[transcript];
        let replays = rows.iter().map(|&row| {
            let mut settings = settings.clone();
            self.outcome.rows[row].knobs.apply(&mut settings);
            (row, replay(trace, &settings))
        });
        Timeline { name: trace.id.clone(), window: settings.context_window, replays: replays.collect() }
    }
}
