//! The outcomes of a ward's decisions.

use super::Ward;
use super::found::FoundSuperpage;
use crate::plan::{Came, Outcome};
use crate::seen::{BLOCK_BYTES, BlockSeen};
use broadleaf_policy::Refusal;
use std::time::Duration;

impl Ward {
    /// Takes in the outcomes of a plan.
    pub fn learn(&mut self, outcomes: &[Outcome]) {
        if !outcomes.is_empty() {
            self.decided = None;
        }
        let mut exhausted = None;
        for outcome in outcomes {
            self.learn_one(outcome);
            match outcome.came {
                Came::Promoted(_) => exhausted = Some(false),
                Came::Refused(reason @ (Refusal::NoExtent | Refusal::NoCharge)) => {
                    self.lacking = reason;
                    exhausted = exhausted.or(Some(true));
                }
                _ => {}
            }
        }
        match exhausted {
            // No block could be promoted and memory is low, so the next attempt would fail too.
            // (The kernel gives the same answer for unmapped ranges. In that case only the block
            // waits.)
            Some(true) if self.is_memory_low() => {
                self.pause
                    .wait(self.at, Duration::from_secs(1), Duration::from_secs(10))
            }
            Some(false) => self.pause.end(),
            Some(true) | None => {}
        }
        if !outcomes.is_empty() {
            self.note_peaks();
        }
    }

    /// Returns true if there are hardly any extents, or a cgroup is nearly full.
    fn is_memory_low(&self) -> bool {
        let mut left = self.known.values().filter_map(|known| known.headroom);
        self.machine.free_blocks < 64 || left.any(|left| left.bytes < 64 * BLOCK_BYTES)
    }

    fn learn_one(&mut self, outcome: &Outcome) {
        let Outcome {
            process,
            block,
            came,
        } = *outcome;
        let at = self.at;
        if let Came::Refused(reason) = came {
            self.note(process, block, reason);
        }
        let Some(known) = self.known.get_mut(&process) else {
            return;
        };
        let mark = known.marks.entry(block).or_default();
        let now = match came {
            Came::Promoted(before) => {
                mark.promoted(before);
                self.tally.promotions += 1;
                Some(BlockSeen::superpage(block))
            }
            Came::WasHuge => {
                mark.found = Some(FoundSuperpage::after(
                    known.pages.block(block),
                    mark.all_left(),
                ));
                Some(BlockSeen::superpage(block))
            }
            Came::Refused(Refusal::Unreachable) => {
                known.unreachable = true;
                None
            }
            Came::Refused(reason) => {
                mark.refused(reason, at);
                None
            }
            Came::Demoted(now) => {
                let held = if mark.made.is_some() {
                    self.tally.demotions += 1;
                    BLOCK_BYTES
                } else {
                    let seen = known.pages.block(block);
                    seen.map_or(0, BlockSeen::resident_bytes)
                };
                mark.demoted(&now, at);
                self.tally.returned_bytes += held.saturating_sub(now.resident_bytes());
                Some(now)
            }
            Came::StillHuge => {
                mark.refused(Refusal::Busy, at);
                None
            }
            Came::Gone => None,
        };
        if let Some(now) = now {
            known.pages.note(now);
        }
    }
}
