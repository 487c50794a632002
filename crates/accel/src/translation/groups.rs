//! Groups of policies and machines: they split where their lookups differ, and merge once their
//! TLBs hold the same entries.

use super::{Misses, TeamTranslation};
use crate::bits::numbers;
use crate::members::Members;
use crate::{FamilyMachines, PageId};
use broadleaf_units::PageNumber;

/// Policies whose TLBs hold the same entries in the same order, on each of some machines.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) members: Members,
    /// The machines whose TLBs share a lane.
    pub(super) machines: FamilyMachines,
    /// By machine of the family: the misses of each member since the members came together.
    pub(super) misses: Vec<Misses>,
}

impl TeamTranslation<'_> {
    /// Sees to it that every group has none but members of these, or none of them.
    pub(super) fn split(&mut self, members: Members) {
        for number in 0..self.groups.len() {
            self.split_one(number, members);
        }
    }

    /// Splits one group. If it has members inside and outside `members`, those inside become a new
    /// group, the last one.
    pub(super) fn split_one(&mut self, number: usize, members: Members) {
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
    pub(super) fn part_sizes(
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
    pub(super) fn part_machines(&mut self) {
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
    pub(super) fn part(&mut self, number: usize, parts: &[Members]) {
        for &members in parts {
            self.copy_group(number);
            self.groups[number].members &= !members;
            if let Some(last) = self.groups.last_mut() {
                last.members = members;
            }
        }
    }

    pub(super) fn merge(&mut self) {
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
