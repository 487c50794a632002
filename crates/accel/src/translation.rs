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

mod mark;
mod page_tables;
#[cfg(test)]
mod tests;

use crate::batch::Batch;
use crate::bits::numbers;
use crate::members::{Members, Superpages};
use crate::{Entry, FamilyMachines, MOST_LANES, PageId, Stop, Tlbs, have_one_first_level};
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

impl<'a> TeamTranslation<'a> {
    /// The families of some machines under `count` policies, at least one if there are machines.
    /// Leaves out machines whose page sizes [`Tlbs`] do not take.
    ///
    /// TLBs of all machines of a family can be apart, or of none. Otherwise the TLBs that cannot be
    /// apart would keep the others side by side.
    pub(crate) fn families(machines: &'a [Machine], count: usize) -> Vec<Self> {
        if machines.is_empty() {
            return Vec::new();
        }
        let most = MOST_LANES / count;
        let mut families: Vec<(bool, Vec<(usize, &'a Machine)>)> = Vec::new();
        for (number, machine) in machines.iter().enumerate() {
            let Some(tlbs) = Tlbs::new(&[&machine.design]) else {
                continue;
            };
            let may_be_apart = tlbs.may_be_apart();
            let fits = |(apart, family): &&mut (bool, Vec<(usize, &Machine)>)| {
                *apart == may_be_apart
                    && family.len() < most
                    && have_one_first_level(&family[0].1.design, &machine.design)
            };
            match families.iter_mut().find(fits) {
                Some((_, family)) => family.push((number, machine)),
                None => families.push((may_be_apart, vec![(number, machine)])),
            }
        }
        let families = families.into_iter();
        let families = families.map(|(_, family)| Self::new(family, count));
        families.flatten().collect()
    }

    /// Returns true if any of these machines are of one family, under one policy.
    pub(crate) fn any_share(machines: &'a [Machine]) -> bool {
        let families = Self::families(machines, 1);
        families.iter().any(|family| family.machines.len() > 1)
    }

    /// A family under `count` policies. `None` if [`Tlbs`] do not take the machines' page sizes.
    fn new(machines: Vec<(usize, &'a Machine)>, count: usize) -> Option<Self> {
        let designs: Vec<_> = machines
            .iter()
            .map(|(_, machine)| &machine.design)
            .collect();
        let tlbs = Tlbs::new(&designs)?;
        Some(Self {
            groups: vec![Group {
                members: Members::MAX >> (Members::BITS as usize - count),
                machines: tlbs.machines(0),
                misses: vec![Misses::default(); machines.len()],
            }],
            misses: vec![vec![Misses::default(); count]; machines.len()],
            machines,
            tlbs,
            until_merge: OFTEN,
            between: OFTEN,
            until_layout: OFTEN,
            apart: false,
            lookups: 0,
            missed: 0,
            progress: Vec::new(),
        })
    }

    /// The machines, with their numbers among all machines of the team, and the misses of a member.
    pub(crate) fn misses_of(
        &self,
        member: usize,
    ) -> impl Iterator<Item = (usize, &'a Machine, Misses)> {
        let machines = self.machines.iter().enumerate();
        machines.map(move |(at, &(number, machine))| (number, machine, self.misses(at, member)))
    }

    /// The misses of one member on one machine of the family.
    fn misses(&self, machine: usize, member: usize) -> Misses {
        let mut misses = self.misses[machine][member];
        let of_group = (self.groups.iter())
            .find(|group| group.members >> member & group.machines >> machine & 1 != 0);
        if let Some(group) = of_group {
            misses.add(&group.misses[machine]);
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
        self.copy_group(number);
        self.groups[number].members = others;
        if let Some(last) = self.groups.last_mut() {
            last.members = these;
        }
        self.tlbs.copy(number);
    }

    /// Appends a copy of a group, and adds up its misses.
    fn copy_group(&mut self, number: usize) {
        let group = &mut self.groups[number];
        settle(group, &mut self.misses);
        let copy = group.clone();
        self.groups.push(copy);
    }

    /// Parts the machines of a group, which found a page in two sizes.
    fn part_sizes(
        &mut self,
        number: usize,
        superpages: FamilyMachines,
        page: (PageNumber, PageId),
    ) {
        self.tlbs.part_sizes(number, superpages, page);
        self.part_group(number);
    }

    /// Makes a group for the last lane, whose machines had been of this group.
    fn part_group(&mut self, number: usize) {
        self.copy_group(number);
        let last = self.groups.len() - 1;
        for group in [number, last] {
            self.groups[group].machines = self.tlbs.machines(group);
        }
    }

    /// Gives each machine groups of its own.
    fn part_machines(&mut self) {
        let mut number = 0;
        while number < self.groups.len() {
            let machines = self.groups[number].machines;
            let others = machines & machines.wrapping_sub(1);
            if others == 0 {
                number += 1;
            } else {
                self.tlbs.part_machines(number, others);
                self.part_group(number);
            }
        }
    }

    /// Makes a group of each of these parts of a group. Their TLBs are the last ones.
    fn part(&mut self, number: usize, parts: &[Members]) {
        for &members in parts {
            self.copy_group(number);
            self.groups[number].members &= !members;
            if let Some(last) = self.groups.last_mut() {
                last.members = members;
            }
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

    fn merge(&mut self) {
        let mut lane = 1;
        while lane < self.groups.len() {
            lane += usize::from(!self.merges(lane));
        }
    }

    /// Merges a group with an earlier one if possible. Returns whether it did.
    fn merges(&mut self, lane: usize) -> bool {
        let Group {
            members, machines, ..
        } = self.groups[lane];
        let tlbs = &mut self.tlbs;
        let alike = (0..lane).find(|other| tlbs.are_alike(*other, lane));
        if alike.is_some() {
            tlbs.remove(lane);
        }
        let joined = || (0..lane).find(|other| tlbs.join(*other, lane, members));
        let groups = &self.groups;
        let merged = alike.or_else(joined).or_else(|| {
            let mut others = (0..lane).filter(|other| groups[*other].members == members);
            others.find(|other| self.tlbs.unite(*other, lane))
        });
        if let Some(other) = merged {
            settle(&mut self.groups[other], &mut self.misses);
            settle(&mut self.groups[lane], &mut self.misses);
            self.groups[other].members |= members;
            self.groups[other].machines |= machines;
            self.groups.swap_remove(lane);
        }
        merged.is_some()
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
            for machine in numbers(group.machines) {
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

/// Adds the misses of a group to those of its members.
fn settle(group: &mut Group, misses: &mut [Vec<Misses>]) {
    for machine in numbers(group.machines) {
        let counted = std::mem::take(&mut group.misses[machine]);
        for member in numbers(group.members) {
            misses[machine][member].add(&counted);
        }
    }
}
