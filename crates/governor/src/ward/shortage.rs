//! Which superpages are broken, where memory is short or too much was added.

use super::{Known, Ward};
use crate::budget::Shortage;
use crate::seen::{Behind, Headroom, Mapping, ProcessId};
use crate::view::view;
use broadleaf_policy::{Point, Verdict};

/// Superpages broken in a tick at most, so that what it brings is looked at before more are.
const AT_ONCE: usize = 128;

impl Ward {
    /// What is left of the limits of the processes' cgroups.
    pub(super) fn cgroups(&self) -> impl Iterator<Item = Headroom> {
        self.known.values().filter_map(|known| known.headroom)
    }

    /// What memory is short of.
    pub(super) fn shortage(&self) -> Shortage {
        self.budgets.shortage(&self.machine, self.cgroups())
    }

    /// The superpages to break now: those that added most first, until what is short or too much is made up for, and those that the policy would break.
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
        let mut standing = self.standing();
        standing
            .sort_by_key(|(process, block, added)| (std::cmp::Reverse(*added), *process, *block));
        for (process, block, added) in standing {
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

    /// The superpages that were made here and stand, with what each added. Left out are those that were to be broken in vain a short while ago, and shared memory:
    /// breaking that gives nothing back.
    fn standing(&self) -> Vec<(ProcessId, u64, u64)> {
        let of = |(process, known): (&ProcessId, &Known)| {
            let gives_back = |block: u64| {
                let mapping = Mapping::of_block(&known.pages.mappings, block);
                mapping.is_some_and(|mapping| mapping.behind == Behind::Anonymous)
            };
            let marks = known.marks.iter().filter(|(block, mark)| {
                mark.made.is_some() && mark.waits(self.at).is_none() && gives_back(**block)
            });
            let each = marks.map(|(block, mark)| (*process, *block, mark.charged_bytes()));
            each.collect::<Vec<_>>()
        };
        self.known.iter().flat_map(of).collect()
    }

    /// Whether the policy ever breaks a superpage of its own accord.
    fn policy_demotes(&self) -> bool {
        self.policy.needs().asked_when_short && self.shortage().is_any()
    }

    fn policy_breaks(&self, process: ProcessId, block: u64) -> bool {
        if !self.policy_demotes() {
            return false;
        }
        let Some(known) = self.known.get(&process) else {
            return false;
        };
        let mapping = Mapping::of_block(&known.pages.mappings, block);
        let (Some(mapping), Some(seen)) = (mapping, known.pages.block(block)) else {
            return false;
        };
        let extent_free = self.machine.free_blocks > 0;
        let verdict = self
            .policy
            .decide(Point::Short, &view(mapping, seen, extent_free, true));
        verdict == Verdict::Demote
    }
}
