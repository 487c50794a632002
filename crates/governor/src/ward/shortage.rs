//! Which superpages are broken, where memory is short or too much was added.

use super::Ward;
use crate::seen::{BLOCK_BYTES, Headroom, Mapping, ProcessId};
use crate::view::view;
use broadleaf_policy::{Point, Verdict};

/// Superpages broken in a tick at most, so that what it brings is looked at before more are.
const AT_ONCE: usize = 128;

impl Ward {
    /// The cgroup that leaves the least.
    pub(super) fn tightest(&self) -> Option<Headroom> {
        let all = self.known.values().filter_map(|known| known.headroom);
        all.min_by_key(|left| left.bytes)
    }

    /// Bytes that are short, 0 where memory is not.
    pub(super) fn shortage(&self) -> u64 {
        self.budgets.shortage(&self.machine, self.tightest())
    }

    /// The superpages to break now: those that added most first, until what is short or too much is made up for, and those that the policy would break.
    pub(super) fn demotions(&mut self) -> Vec<(ProcessId, u64)> {
        let shortage = self.shortage();
        let added = self.added_bytes();
        let allowed = self
            .budgets
            .added
            .bytes(self.rss_bytes().saturating_sub(added));
        let too_much = added.saturating_sub(allowed);
        self.tally.short += u64::from(shortage > 0);
        let mut chosen = self.left_over();
        if too_much == 0 && shortage == 0 && !self.policy_demotes() {
            return chosen;
        }
        // While processes wait for memory, nobody can say how much would do.
        let waited_for = shortage == 1;
        let mut wanted = too_much.max(if waited_for { u64::MAX } else { shortage });
        let mut standing = self.standing();
        standing
            .sort_by_key(|(process, block, added)| (std::cmp::Reverse(*added), *process, *block));
        for (process, block, added) in standing {
            if chosen.len() >= AT_ONCE {
                break;
            }
            let for_memory = wanted > 0 && added > 0;
            if for_memory || self.policy_breaks(process, block, shortage > 0) {
                wanted = wanted.saturating_sub(added);
                chosen.push((process, block));
            }
        }
        chosen
    }

    /// The blocks whose superpages the program broke, and which hold still what was added. It has said that it does not want all of it.
    fn left_over(&self) -> Vec<(ProcessId, u64)> {
        let known = self.known.iter();
        let marks = known
            .flat_map(|(id, known)| known.marks.iter().map(|(block, mark)| (*id, *block, mark)));
        let left = marks.filter(|(.., mark)| mark.is_left_over(self.at));
        left.map(|(process, block, _)| (process, block))
            .take(AT_ONCE)
            .collect()
    }

    /// The superpages that were made here and stand, with what each added. Those that were to be broken in vain a short while ago are left out.
    fn standing(&self) -> Vec<(ProcessId, u64, u64)> {
        let known = self.known.iter();
        let marks = known
            .flat_map(|(id, known)| known.marks.iter().map(|(block, mark)| (*id, *block, mark)));
        marks
            .filter(|(.., mark)| mark.made.is_some() && mark.waits(self.at).is_none())
            .map(|(process, block, mark)| (process, block, mark.added_bytes()))
            .collect()
    }

    /// Whether the policy ever breaks a superpage of its own accord.
    fn policy_demotes(&self) -> bool {
        self.policy.needs().asked_when_short && self.shortage() > 0
    }

    fn policy_breaks(&self, process: ProcessId, block: u64, short: bool) -> bool {
        if !self.policy_demotes() {
            return false;
        }
        let Some(known) = self.known.get(&process) else {
            return false;
        };
        let mapping = Mapping::of_block(&known.pages.mappings, block);
        let (Some(mapping), Some(seen)) = (mapping, known.block(block)) else {
            return false;
        };
        let extent_free = self.machine.free_blocks > 0;
        let verdict = self
            .policy
            .decide(Point::Short, &view(mapping, seen, extent_free, short));
        verdict == Verdict::Demote
    }

    /// Bytes that breaking everything that was made here could give back.
    pub fn returnable_bytes(&self) -> u64 {
        self.standing()
            .iter()
            .map(|(.., added)| added.min(&BLOCK_BYTES))
            .sum()
    }
}
