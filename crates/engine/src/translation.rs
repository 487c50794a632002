//! One machine under all policies of a team. Policies whose TLBs hold the same in the same order share one, until they differ.

use crate::batch::Batch;
use broadleaf_memory::{BlockId, Shootdown};
use broadleaf_translation::{Lookup, Machine, SpaceTag, Tlb};
use broadleaf_units::PageSize;
use std::ops::Range;

/// Some of the policies of a team, a bit for each.
pub(crate) type Members = u64;

/// How many policies a team can have.
pub(crate) const MOST_MEMBERS: usize = Members::BITS as usize;

/// The numbers of some members.
pub(crate) fn numbers(members: Members) -> impl Iterator<Item = usize> {
    let mut left = members;
    std::iter::from_fn(move || {
        let number = left.trailing_zeros();
        left &= left.wrapping_sub(1);
        (number < Members::BITS).then_some(number as usize)
    })
}

/// Under which policies each block is a superpage.
#[derive(Clone, Debug, Default)]
pub(crate) struct Superpages(Vec<Members>);

impl Superpages {
    pub(crate) fn make_room(&mut self, count: usize) {
        if self.0.len() < count {
            self.0.resize(count, 0);
        }
    }

    #[inline]
    pub(crate) fn of(&self, block: BlockId) -> Members {
        self.0[block.index()]
    }

    pub(crate) fn set(&mut self, block: BlockId, member: usize, is: bool) {
        let members = &mut self.0[block.index()];
        *members = *members & !(1 << member) | u64::from(is) << member;
    }
}

/// What lookups came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Misses {
    /// Lookups that missed the first level.
    pub(crate) first: u64,
    /// Walks that found a 4 KiB page.
    pub(crate) base_walks: u64,
    /// Walks that found a 2 MiB page.
    pub(crate) super_walks: u64,
}

impl Misses {
    fn add(&mut self, other: &Self) {
        self.first += other.first;
        self.base_walks += other.base_walks;
        self.super_walks += other.super_walks;
    }
}

/// Policies whose TLBs hold the same.
struct Group {
    members: Members,
    tlb: Tlb,
    /// Since its members came together.
    misses: Misses,
}

impl Group {
    /// Looks pages of a batch up, and takes in what the page tables hold where that misses. Stops before the first miss at which
    /// those differ among the members, and says which one that is.
    fn look_up(
        &mut self,
        batch: &Batch,
        which: Range<usize>,
        superpages: &Superpages,
    ) -> Option<usize> {
        let (pages, blocks) = (&batch.pages[which.clone()], &batch.blocks[which.clone()]);
        for (at, page) in pages.iter().enumerate() {
            match self.tlb.lookup(batch.tag, *page) {
                Lookup::First => {}
                Lookup::Second => self.misses.first += 1,
                Lookup::Miss => {
                    let huge = superpages.of(blocks[at]) & self.members;
                    if huge == 0 {
                        self.misses.base_walks += 1;
                        self.tlb.fill(batch.tag, *page, PageSize::SIZE_4K);
                    } else if huge == self.members {
                        self.misses.super_walks += 1;
                        self.tlb.fill(batch.tag, *page, PageSize::SIZE_2M);
                    } else {
                        return Some(which.start + at);
                    }
                    self.misses.first += 1;
                }
            }
        }
        None
    }
}

/// One machine under all policies of a team.
pub(crate) struct Translation<'a> {
    pub(crate) machine: &'a Machine,
    groups: Vec<Group>,
    /// By member, without what its group counts.
    misses: Vec<Misses>,
    /// Batches until groups are compared again, and how many pass between two comparisons.
    until_merge: u32,
    between: u32,
}

/// The fewest and the most batches between two comparisons of all groups.
const OFTEN: u32 = 16;
const SELDOM: u32 = 1024;

impl<'a> Translation<'a> {
    /// A machine under so many policies.
    pub(crate) fn new(machine: &'a Machine, count: usize) -> Self {
        let members = match count {
            0 => 0,
            count => Members::MAX >> (MOST_MEMBERS - count),
        };
        Self {
            machine,
            groups: vec![Group {
                members,
                tlb: Tlb::new(&machine.design),
                misses: Misses::default(),
            }],
            misses: vec![Misses::default(); count],
            until_merge: OFTEN,
            between: OFTEN,
        }
    }

    /// What the lookups of one member came to.
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
        // Groups that come to be by that have looked up what there is by then.
        for number in 0..self.groups.len() {
            self.look_up_in(number, batch, which.clone(), superpages);
        }
    }

    /// Looks a page of a batch up once more, for some members whose entries of it were shot down.
    pub(crate) fn look_up_again(
        &mut self,
        members: Members,
        batch: &Batch,
        which: usize,
        superpages: &Superpages,
    ) {
        for number in 0..self.groups.len() {
            if self.groups[number].members & members != 0 {
                let number = self.part(number, members);
                self.look_up_in(number, batch, which..which + 1, superpages);
            }
        }
    }

    fn look_up_in(
        &mut self,
        number: usize,
        batch: &Batch,
        mut which: Range<usize>,
        superpages: &Superpages,
    ) {
        while let Some(at) = self.groups[number].look_up(batch, which.clone(), superpages) {
            // A lookup that misses changes nothing, so both parts look it up again.
            let other = self.part(number, superpages.of(batch.blocks[at]));
            self.look_up_in(other, batch, at..which.end, superpages);
            which.start = at;
        }
    }

    /// Parts a group into those of its members that are among `members`, whose number is the answer, and the others, if there are any.
    fn part(&mut self, number: usize, members: Members) -> usize {
        let group = &mut self.groups[number];
        let (these, others) = (group.members & members, group.members & !members);
        if others == 0 {
            return number;
        }
        settle(group, &mut self.misses);
        group.members = others;
        let tlb = group.tlb.clone();
        self.groups.push(Group {
            members: these,
            tlb,
            misses: Misses::default(),
        });
        self.groups.len() - 1
    }

    /// Removes entries from the TLBs of some members.
    pub(crate) fn shoot_down(&mut self, members: Members, shootdown: Shootdown, tag: SpaceTag) {
        for number in 0..self.groups.len() {
            if self.groups[number].members & members == 0 {
                continue;
            }
            let number = self.part(number, members);
            let tlb = &mut self.groups[number].tlb;
            match shootdown {
                Shootdown::Nothing => {}
                Shootdown::Superpage { first, .. } => {
                    tlb.invalidate(tag, first, PageSize::SIZE_2M);
                }
                Shootdown::Range { pages, .. } => {
                    tlb.invalidate_range(tag, pages.first(), pages.len());
                }
                Shootdown::Space(_) => tlb.invalidate_space(tag),
            }
        }
    }

    /// A batch is done. From time to time groups are brought together whose TLBs hold the same by now: what made them differ has
    /// been pushed out.
    pub(crate) fn rest(&mut self) {
        self.until_merge -= 1;
        if self.until_merge > 0 {
            return;
        }
        let before = self.groups.len();
        self.merge();
        // Looking is cheap beside what it saves where it finds something, and not where it never does.
        self.between = if self.groups.len() < before {
            OFTEN
        } else {
            (2 * self.between).min(SELDOM)
        };
        self.until_merge = self.between;
    }

    fn merge(&mut self) {
        let mut number = 1;
        while number < self.groups.len() {
            let (kept, rest) = self.groups.split_at_mut(number);
            let alike = kept
                .iter_mut()
                .find(|group| group.tlb.holds_as(&rest[0].tlb));
            if let Some(alike) = alike {
                settle(alike, &mut self.misses);
                settle(&mut rest[0], &mut self.misses);
                alike.members |= rest[0].members;
                self.groups.swap_remove(number);
            } else {
                number += 1;
            }
        }
    }

    /// Asserts what has to hold at any time.
    #[cfg(test)]
    pub(crate) fn check(&self) {
        let mut all = 0;
        for group in &self.groups {
            group.tlb.check();
            assert_eq!(all & group.members, 0, "a member of two groups");
            all |= group.members;
        }
        assert_eq!(
            all.count_ones() as usize,
            self.misses.len(),
            "a member of no group"
        );
    }
}

/// Adds what a group counted to what its members have.
fn settle(group: &mut Group, misses: &mut [Misses]) {
    let counted = std::mem::take(&mut group.misses);
    for member in numbers(group.members) {
        misses[member].add(&counted);
    }
}
