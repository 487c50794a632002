//! The choice of superpages to demote if memory is short or too much was added.

use super::{Ward, WardProcess, used};
use crate::budget::Shortage;
use crate::seen::{Headroom, LiveBacking, LiveMapping, ProcessId};
use crate::view::view;
use broadleaf_policy::{Point, Verdict};

/// The maximum number of demotions in a tick. Their effect is observed before the next ones.
const AT_ONCE: usize = 128;

impl Ward {
    /// Returns the headroom of the processes' cgroups.
    pub(super) fn cgroups(&self) -> impl Iterator<Item = Headroom> {
        self.known.values().filter_map(|known| known.headroom)
    }

    /// Returns the shortage of memory.
    pub(super) fn shortage(&self) -> Shortage {
        self.budgets.shortage(&self.machine, self.cgroups())
    }

    /// Returns the superpages to demote now. The superpages that added most come first, until the
    /// shortage or the excess is covered. Superpages that the policy wants to demote follow.
    pub(super) fn demotions(&mut self) -> Vec<(ProcessId, u64)> {
        let shortage = self.shortage();
        let added = self.charged_bytes();
        let allowed = self
            .budgets
            .added
            .bytes(self.held_bytes().saturating_sub(added));
        let too_much = added.saturating_sub(allowed);
        let mut chosen = self.left_over();
        if too_much == 0 && !shortage.is_any() {
            return chosen;
        }
        let mut wanted = too_much.max(shortage.wanted());
        let mut whole = self.whole();
        whole.sort_by_key(|(process, block, added)| (std::cmp::Reverse(*added), *process, *block));
        for (process, block, added) in whole {
            if chosen.len() >= AT_ONCE {
                break;
            }
            let for_memory = wanted > 0 && added > 0;
            if for_memory || self.policy_breaks(process, block) {
                wanted = wanted.saturating_sub(added);
                chosen.push((process, block));
            }
        }
        chosen
    }

    /// Returns the blocks whose superpages the program broke and that still hold added pages. The
    /// program does not want all of the block.
    fn left_over(&self) -> Vec<(ProcessId, u64)> {
        let known = self.known.iter();
        let marks = known
            .flat_map(|(id, known)| known.marks.iter().map(|(block, mark)| (*id, *block, mark)));
        let left = marks.filter(|(.., mark)| mark.is_left_over(self.at));
        left.map(|(process, block, _)| (process, block))
            .take(AT_ONCE)
            .collect()
    }

    /// Returns the ward's superpages, with the bytes that each added. The list leaves out shared
    /// memory, because a demotion of shared memory frees nothing. It also leaves out superpages
    /// whose demotion failed a short while ago.
    fn whole(&self) -> Vec<(ProcessId, u64, u64)> {
        let of = |(process, known): (&ProcessId, &WardProcess)| {
            let gives_back = |block: u64| {
                let mapping = LiveMapping::of_block(&known.pages.mappings, block);
                mapping.is_some_and(|mapping| mapping.backing == LiveBacking::Anonymous)
            };
            let marks = known.marks.iter().filter(|(block, mark)| {
                mark.made.is_some() && mark.waits(self.at).is_none() && gives_back(**block)
            });
            let each = marks.map(|(block, mark)| (*process, *block, mark.charged_bytes()));
            each.collect::<Vec<_>>()
        };
        self.known.iter().flat_map(of).collect()
    }

    /// Returns true if the policy may demote a superpage now.
    fn policy_demotes(&self) -> bool {
        self.policy.needs().asked_when_short && self.shortage().is_any()
    }

    fn policy_breaks(&self, process: ProcessId, block: u64) -> bool {
        let Some(known) = self.known.get(&process) else {
            return false;
        };
        // Before the first measurement, no superpage is known to be unused.
        if !self.policy_demotes() || self.weighs_use && known.used.is_empty() {
            return false;
        }
        let mapping = LiveMapping::of_block(&known.pages.mappings, block);
        let (Some(mapping), Some(seen)) = (mapping, known.pages.block(block)) else {
            return false;
        };
        let extent_free = self.machine.free_blocks > 0;
        let view = view(mapping, seen, extent_free, true);
        let view = used::view(view, known.used.get(&block));
        self.policy.decide(Point::Short, &view) == Verdict::Demote
    }
}
