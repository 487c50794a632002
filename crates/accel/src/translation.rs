//! One machine under all policies of a team. Policies share a TLB as long as their TLBs hold the
//! same entries in the same order.
//!
//! If most lookups miss the first level, as in random updates, each group looks up a whole batch
//! before the next group does ([`Tlbs::set_apart`]), and groups are compared often: such a trace
//! soon replaces the entries in which two TLBs differ. Groups that differ in strays alone are
//! joined ([`Tlbs::join`]). All rely on LRU replacement, on two page sizes, and on page tables that
//! name no frames.

mod mark;
mod page_tables;

use crate::batch::Batch;
use crate::members::{Members, Superpages, numbers};
use crate::{Entry, PageId, Stop, Tlbs};
use broadleaf_machine::Machine;
use broadleaf_memory::BlockId;
use broadleaf_units::PageNumber;
pub(crate) use mark::TlbMark;
use page_tables::{Group, PageTables};
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

/// One machine under all policies of a team.
#[derive(Clone)]
pub(crate) struct TeamTranslation<'a> {
    pub(crate) machine: &'a Machine,
    /// One TLB for each group.
    tlbs: Tlbs,
    groups: Vec<Group>,
    /// By member: the misses, without those that its group counts.
    misses: Vec<Misses>,
    /// Batches until groups are compared again, and how many pass between two comparisons.
    until_merge: u32,
    between: u32,
    /// Batches until the layout is chosen again.
    until_layout: u32,
    /// True if each group looks up all pages of a batch before the next group does.
    apart: bool,
    /// Lookups since the layout was last chosen, in all groups, and those that missed the first
    /// level.
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

impl<'a> TeamTranslation<'a> {
    /// A machine under `count` policies, at least one. Returns `None` if the machine lacks a page
    /// size that they make.
    pub(crate) fn new(machine: &'a Machine, count: usize) -> Option<Self> {
        Some(Self {
            machine,
            tlbs: Tlbs::new(&machine.design)?,
            groups: vec![Group {
                members: Members::MAX >> (Members::BITS as usize - count),
                misses: Misses::default(),
            }],
            misses: vec![Misses::default(); count],
            until_merge: OFTEN,
            between: OFTEN,
            until_layout: OFTEN,
            apart: false,
            lookups: 0,
            missed: 0,
            progress: Vec::new(),
        })
    }

    /// The misses of one member.
    pub(crate) fn misses(&self, member: usize) -> Misses {
        let mut misses = self.misses[member];
        let of_group = (self.groups.iter()).find(|group| group.members >> member & 1 != 0);
        if let Some(group) = of_group {
            misses.add(&group.misses);
        }
        misses
    }

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
        self.lookups += (which.len() * self.groups.len()) as u64;
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
            let Some(at) = stopped else {
                return;
            };
            // The page tables of a group's members differ here, so their lookups differ from now
            // on. Other groups have looked this page up already, and another lookup has no effect.
            which.start += at;
            self.split(superpages.of(BlockId(batch.ids[which.start].block())));
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
                    Some(Stop::Walk(at) | Stop::Strays(at)) => at,
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
                }
                // The new groups have made the same lookups.
                self.progress.resize(self.groups.len(), self.progress[lane]);
            }
            lane += 1;
        }
    }

    /// Sees to it that every group has none but members of these, or none of them.
    fn split(&mut self, members: Members) {
        for number in 0..self.groups.len() {
            self.split_one(number, members);
        }
    }

    /// Splits one group. If it has members inside and outside `members`, those inside become a new
    /// group, the last one.
    fn split_one(&mut self, number: usize, members: Members) {
        let of_group = self.groups[number].members;
        let (these, others) = (of_group & members, of_group & !members);
        if these == 0 || others == 0 {
            return;
        }
        let parted = self.tlbs.part(number);
        if !parted.is_empty() {
            let first = self.groups.len();
            self.part(number, &parted);
            for part in (first..self.groups.len()).chain([number]) {
                self.split_one(part, members);
            }
            return;
        }
        let group = &mut self.groups[number];
        settle(group, &mut self.misses);
        group.members = others;
        self.groups.push(Group {
            members: these,
            misses: Misses::default(),
        });
        self.tlbs.copy(number);
    }

    /// Makes a group of each of these parts of a group. Their TLBs are the last ones.
    fn part(&mut self, number: usize, parts: &[Members]) {
        let group = &mut self.groups[number];
        settle(group, &mut self.misses);
        for &members in parts {
            self.groups[number].members &= !members;
            self.groups.push(Group {
                members,
                misses: Misses::default(),
            });
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

    fn merge(&mut self) {
        let mut lane = 1;
        while lane < self.groups.len() {
            let members = self.groups[lane].members;
            let tlbs = &mut self.tlbs;
            let alike = (0..lane).find(|other| tlbs.are_alike(*other, lane));
            if alike.is_some() {
                tlbs.remove(lane);
            }
            let joined = || (0..lane).find(|other| tlbs.join(*other, lane, members));
            match alike.or_else(joined) {
                Some(other) => {
                    settle(&mut self.groups[other], &mut self.misses);
                    settle(&mut self.groups[lane], &mut self.misses);
                    self.groups[other].members |= members;
                    self.groups.swap_remove(lane);
                }
                None => lane += 1,
            }
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
        let mut all = 0;
        for group in &self.groups {
            assert_eq!(all & group.members, 0, "a member of two groups");
            all |= group.members;
        }
        let count = all.count_ones() as usize;
        assert_eq!(count, self.misses.len(), "a member of no group");
    }
}

/// Adds the misses of a group to those of its members.
fn settle(group: &mut Group, misses: &mut [Misses]) {
    let counted = std::mem::take(&mut group.misses);
    for member in numbers(group.members) {
        misses[member].add(&counted);
    }
}
