//! The page tables of all groups, for lookups that miss.

use super::Misses;
use super::groups::Group;
use crate::members::Superpages;
use crate::{PageId, Size, Walks};
use broadleaf_memory::BlockId;

/// The page tables of all groups, for lookups that miss.
pub(super) struct PageTables<'a> {
    pub(super) groups: &'a mut [Group],
    pub(super) superpages: &'a Superpages,
    pub(super) ids: &'a [PageId],
    /// The number of lookups that missed the first level, on all machines.
    pub(super) missed: u64,
}

impl Walks for PageTables<'_> {
    #[inline]
    fn second_hit(&mut self, lane: usize, machine: usize) {
        self.missed += 1;
        self.groups[lane].misses[machine].second_hits += 1;
    }

    #[inline(always)]
    fn sizes(&self, lane: usize) -> impl Fn(PageId) -> (bool, bool) {
        let (members, superpages) = (self.groups[lane].members, self.superpages);
        #[inline(always)]
        move |id| {
            let huge = superpages.of(BlockId(id.block())) & members;
            (huge != 0, (huge != 0) & (huge != members))
        }
    }

    fn count(&mut self, lane: usize, machine: usize, second_hits: u64, walks: [u64; 2]) {
        let [base_walks, super_walks] = walks;
        self.missed += second_hits + base_walks + super_walks;
        self.groups[lane].misses[machine].add(&Misses {
            second_hits,
            base_walks,
            super_walks,
        });
    }

    #[inline]
    fn walk(&mut self, lane: usize, machine: usize, at: usize) -> Option<Size> {
        let group = &mut self.groups[lane];
        let misses = &mut group.misses[machine];
        let huge = self.superpages.of(BlockId(self.ids[at].block())) & group.members;
        self.missed += u64::from(huge == 0 || huge == group.members);
        if huge == 0 {
            misses.base_walks += 1;
            Some(Size::Base)
        } else if huge == group.members {
            misses.super_walks += 1;
            Some(Size::Superpage)
        } else {
            None
        }
    }
}
