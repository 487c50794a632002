//! A family of machines under all policies of a team. Policies share TLBs as long as their TLBs
//! hold the same entries in the same order.
//!
//! The machines of a family have equal first levels. A *group* is some policies on some of these
//! machines: it looks its first level up once for all of them. Two machines of a group part if
//! their lower levels find a page in two sizes. Groups of different machines are united once their
//! first levels hold the same entries.
//!
//! If most lookups miss the first level, as in random updates, each group looks up a whole batch
//! before the next group does ([`Tlbs::set_apart`]), and groups are compared often: such a trace
//! soon replaces the entries in which two TLBs differ. Each group then has one machine, and groups
//! that differ in strays alone are joined ([`Tlbs::join`]). Families rely on LRU replacement, on
//! two page sizes, and on page tables that name no frames.

mod families;
mod groups;
mod mark;
mod page_tables;
#[cfg(test)]
mod tests;

use crate::batch::Batch;
use crate::members::{Members, Superpages};
use crate::{Entry, PageId, Stop, Tlbs};
use broadleaf_machine::Machine;
use broadleaf_memory::BlockId;
use broadleaf_units::PageNumber;
use groups::Group;
pub(crate) use mark::TlbMark;
use page_tables::PageTables;
use std::ops::Range;

/// Counts of lookups that missed the first level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Misses {
    /// Lookups that the second level answered.
    pub(crate) second_hits: u64,
    /// Walks that found a 4 KiB page.
    pub(crate) base_walks: u64,
    /// Walks that found a 2 MiB page.
    pub(crate) super_walks: u64,
}

impl Misses {
    fn add(&mut self, other: &Self) {
        self.second_hits += other.second_hits;
        self.base_walks += other.base_walks;
        self.super_walks += other.super_walks;
    }
}

/// A family of machines under all policies of a team.
#[derive(Clone)]
pub(crate) struct TeamTranslation<'a> {
    /// The machines, with their numbers among all machines of the team.
    machines: Vec<(usize, &'a Machine)>,
    /// One lane for each group.
    tlbs: Tlbs,
    groups: Vec<Group>,
    /// By machine and member: the misses, without those that groups count.
    misses: Vec<Vec<Misses>>,
    /// Batches until groups are compared again, and how many pass between two comparisons.
    until_merge: u32,
    between: u32,
    /// Batches until the layout is chosen again.
    until_layout: u32,
    /// True if each group looks up all pages of a batch before the next group does.
    apart: bool,
    /// Lookups since the layout was last chosen, in all groups and on all machines, and those that
    /// missed the first level.
    lookups: u64,
    missed: u64,
    /// By group: the number of pages of a batch that the group has looked up.
    progress: Vec<usize>,
}

/// The fewest and the most batches between two comparisons of all groups.
const OFTEN: u32 = 16;
const SELDOM: u32 = 1024;
/// The batches between two comparisons of groups that look up apart. Where most lookups miss the
/// first level, the entries in which two TLBs differ do not live longer.
const APART_BATCHES: u32 = 1;
/// Groups look up apart if at least one lookup in `APART` misses the first level. They look up
/// together if fewer than one in `TOGETHER` misses.
const APART: u64 = 4;
const TOGETHER: u64 = 16;

impl TeamTranslation<'_> {
    /// Looks pages of a batch up for all members.
    pub(crate) fn look_up(&mut self, batch: &Batch, which: Range<usize>, superpages: &Superpages) {
        self.look_up_for(Members::MAX, batch, which, superpages);
    }

    /// Looks pages of a batch up for some members.
    pub(crate) fn look_up_for(
        &mut self,
        members: Members,
        batch: &Batch,
        mut which: Range<usize>,
        superpages: &Superpages,
    ) {
        if which.is_empty() {
            return;
        }
        self.split(members);
        if self.apart {
            self.look_up_apart(members, batch, which, superpages);
            return;
        }
        let machines = self
            .groups
            .iter()
            .map(|group| u64::from(group.machines.count_ones()));
        self.lookups += which.len() as u64 * machines.sum::<u64>();
        loop {
            let mut lanes = 0;
            for (lane, group) in self.groups.iter().enumerate() {
                lanes |= u64::from(group.members & members != 0) << lane;
            }
            let ids = &batch.ids[which.clone()];
            let mut tables = PageTables {
                groups: &mut self.groups,
                superpages,
                ids,
                missed: 0,
            };
            let pages = &batch.pages[which.clone()];
            let stopped = self.tlbs.look_up(pages, ids, lanes, &mut tables);
            self.missed += tables.missed;
            // Other groups have looked this page up already, and another lookup has no effect.
            match stopped {
                None => return,
                Some(Stop::Walk(at) | Stop::Strays(at)) => {
                    // The page tables of a group's members differ here, so their lookups differ
                    // from now on.
                    which.start += at;
                    self.split(superpages.of(BlockId(batch.ids[which.start].block())));
                }
                Some(Stop::Sizes {
                    at,
                    lane,
                    superpages,
                }) => {
                    let page = (pages[at], ids[at]);
                    self.part_sizes(lane, superpages, page);
                    which.start += at;
                }
            }
        }
    }

    /// Looks pages of a batch up, group by group. Each group has members from `members` only, or
    /// none of them.
    fn look_up_apart(
        &mut self,
        members: Members,
        batch: &Batch,
        which: Range<usize>,
        superpages: &Superpages,
    ) {
        self.progress.clear();
        self.progress.resize(self.groups.len(), which.start);
        let mut lane = 0;
        // The other half of a split group is appended to the list, with the same progress.
        while lane < self.groups.len() {
            while self.groups[lane].members & members != 0 {
                let rest = self.progress[lane]..which.end;
                let ids = &batch.ids[rest.clone()];
                let mut tables = PageTables {
                    groups: &mut self.groups,
                    superpages,
                    ids,
                    missed: 0,
                };
                let pages = &batch.pages[rest.clone()];
                let stopped = self.tlbs.look_up_alone(lane, pages, ids, &mut tables);
                self.missed += tables.missed;
                let made = match stopped {
                    None => rest.len(),
                    Some(Stop::Walk(at) | Stop::Strays(at) | Stop::Sizes { at, .. }) => at,
                };
                self.lookups += made as u64;
                self.progress[lane] += made;
                match stopped {
                    None => break,
                    Some(Stop::Walk(at)) => {
                        self.split_one(lane, superpages.of(BlockId(ids[at].block())));
                    }
                    Some(Stop::Strays(at)) => {
                        let parted = self.tlbs.part_at(lane, pages[at], ids[at]);
                        self.part(lane, &parted);
                    }
                    Some(Stop::Sizes { .. }) => unreachable!("machines share no lane"),
                }
                // The new groups have made the same lookups.
                self.progress.resize(self.groups.len(), self.progress[lane]);
            }
            lane += 1;
        }
    }

    /// Removes the entry of a superpage, which holds this page, from the TLBs of some members.
    pub(crate) fn shoot_down_superpage(
        &mut self,
        members: Members,
        page: PageNumber,
        block: BlockId,
    ) {
        self.split(members);
        for lane in 0..self.groups.len() {
            if self.groups[lane].members & members != 0 {
                self.tlbs
                    .remove_superpage(lane, page, PageId::new(block.0, 0));
            }
        }
    }

    /// Removes entries from the TLBs of some members.
    pub(crate) fn shoot_down(&mut self, members: Members, is_stale: &dyn Fn(Entry) -> bool) {
        self.split(members);
        for lane in 0..self.groups.len() {
            if self.groups[lane].members & members != 0 {
                self.tlbs.remove_where(lane, is_stale);
            }
        }
    }

    /// Ends a batch. From time to time, merges groups whose TLBs have become equal because the
    /// entries in which they differed were replaced.
    pub(crate) fn rest(&mut self) {
        self.until_layout -= 1;
        if self.until_layout == 0 {
            self.until_layout = OFTEN;
            self.choose_layout();
        }
        self.until_merge -= 1;
        if self.until_merge > 0 {
            return;
        }
        let before = self.groups.len();
        self.merge();
        // Comparing groups pays only if some can be merged, so back off if none can.
        self.between = if self.apart {
            APART_BATCHES
        } else if self.groups.len() < before {
            OFTEN
        } else {
            (2 * self.between).min(SELDOM)
        };
        self.until_merge = self.between;
    }

    /// Chooses whether groups look up together or apart, by the share of recent lookups that
    /// missed.
    fn choose_layout(&mut self) {
        let (lookups, missed) = (self.lookups, self.missed);
        (self.lookups, self.missed) = (0, 0);
        if lookups > 0 {
            let apart = if self.apart {
                missed * TOGETHER >= lookups
            } else {
                missed * APART >= lookups
            };
            if !apart {
                self.part_all();
            } else if self.tlbs.may_be_apart() {
                self.part_machines();
            }
            self.apart = self.tlbs.set_apart(apart) && apart;
            if self.apart {
                self.until_merge = self.until_merge.min(APART_BATCHES);
            }
        }
        if self.apart {
            self.tlbs.find_strays();
        }
    }

    /// Asserts the invariants.
    #[cfg(test)]
    pub(crate) fn check(&self) {
        self.tlbs.check();
        assert_eq!(
            self.tlbs.count(),
            self.groups.len(),
            "a group without a TLB"
        );
        let count = self.misses[0].len();
        let mut all = vec![0; self.machines.len()];
        for (lane, group) in self.groups.iter().enumerate() {
            assert_eq!(
                group.machines,
                self.tlbs.machines(lane),
                "of other machines"
            );
            for machine in crate::bits::numbers(group.machines) {
                let all: &mut Members = &mut all[machine];
                assert_eq!(*all & group.members, 0, "a member of two groups");
                *all |= group.members;
            }
        }
        for all in all {
            assert_eq!(all.count_ones() as usize, count, "a member of no group");
        }
    }
}
