//! When clearing begins: known without a replay, as nothing is cleared before.

use super::frontier::{Copies, Front, Take};
use super::prepared::Prepared;
use crate::policy::{ClearToolUses, Trigger, TriggerCmp};

/// Whether a trigger counts uses, and the value at which it fires.
pub(super) fn fires_at(p: &Prepared, trigger: Trigger) -> (bool, i64) {
    let assume = &p.settings.assume;
    let counts_uses = matches!(trigger, Trigger::ToolUses(_));
    let base = if counts_uses || assume.trigger_counts_base { 0 } else { p.trace.base_tokens as i64 };
    let value = i64::try_from(trigger.value()).unwrap_or(i64::MAX);
    (counts_uses, value.saturating_add(i64::from(assume.trigger_cmp == TriggerCmp::Gt)).saturating_add(base))
}

/// When clearing begins under one edit or another. Where it is recomputed with every request, edits of the same `keep` and
/// `clear_at_least` that begin at the same request have the same outcome, whatever their triggers.
#[derive(Debug)]
pub struct FirstClear<'p> {
    p: &'p Prepared<'p>,
    /// Of never fetching anything again.
    copies: Copies,
    /// The trigger asked about last, and the first request at which it fires.
    fires: Option<(Trigger, u32)>,
}

impl<'p> FirstClear<'p> {
    /// Asks about `prepared`.
    pub fn new(prepared: &'p Prepared<'p>) -> Self {
        let mut copies = Copies::default();
        copies.reset(0);
        Self { p: prepared, copies, fires: None }
    }

    /// The first request at which `edit`, of the excluded tools and cleared inputs that were prepared for, takes anything; `None`: none does.
    pub fn of(&mut self, edit: &ClearToolUses) -> Option<u32> {
        let p = self.p;
        let fires = match self.fires {
            Some((trigger, fires)) if trigger == edit.trigger => fires,
            _ => {
                let (counts_uses, value) = fires_at(p, edit.trigger);
                let fires = if counts_uses {
                    p.stops[..p.original.len()].partition_point(|stop| i64::from(stop.counted) < value)
                } else {
                    p.original.partition_point(|&original| original < value)
                };
                self.fires = Some((edit.trigger, fires as u32));
                fires as u32
            }
        };
        let mut take = Take::new(p.settings.assume.selection, edit.clear_at_least, p.sticky());
        take.look_ahead(p, &self.copies, Front::default());
        let open = *p.open_at.get(take.next.saturating_add(edit.keep) as usize)?;
        let begins = open.max(fires);
        ((begins as usize) < p.original.len()).then_some(begins)
    }
}
