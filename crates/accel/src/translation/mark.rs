//! The TLBs of a team at a moment, to be compared with those of another replay.

use super::{Members, Misses, TeamTranslation};
use crate::FamilyMachines;
use crate::bits::numbers;

/// The TLBs of a team at a moment, and the misses so far.
#[derive(Clone, Debug)]
pub(crate) struct TlbMark {
    groups: Vec<MarkedGroup>,
    /// By machine and member.
    misses: Vec<Vec<Misses>>,
}

/// The entries of one group's TLBs.
#[derive(Clone, Debug)]
struct MarkedGroup {
    members: Members,
    machines: FamilyMachines,
    first: Vec<u32>,
    /// By machine: the entries below the first level.
    below: Vec<Vec<u32>>,
}

impl MarkedGroup {
    /// Returns true if both groups hold the same entries in the same order, on all machines of
    /// both.
    fn agrees_with(&self, other: &Self) -> bool {
        let mut both = numbers(self.machines & other.machines);
        self.first == other.first && both.all(|machine| self.below[machine] == other.below[machine])
    }
}

impl TeamTranslation<'_> {
    /// Records the entries of all TLBs, and the misses so far.
    pub(crate) fn mark(&mut self) -> TlbMark {
        self.part_all();
        TlbMark {
            groups: (0..self.groups.len())
                .map(|lane| self.marked(lane))
                .collect(),
            misses: self.all_misses(),
        }
    }

    /// The entries of a group, to which no TLB is joined.
    fn marked(&self, lane: usize) -> MarkedGroup {
        let group = &self.groups[lane];
        let below = |machine| match group.machines >> machine & 1 {
            0 => Vec::new(),
            _ => self.tlbs.entries_below(lane, machine),
        };
        MarkedGroup {
            members: group.members,
            machines: group.machines,
            first: self.tlbs.first_entries(lane),
            below: (0..self.machines.len()).map(below).collect(),
        }
    }

    /// Returns true if each member's TLBs hold the same entries in the same order as at the mark.
    /// Then both give equal answers to equal lookups.
    pub(crate) fn is_at(&mut self, mark: &TlbMark) -> bool {
        self.part_all();
        (0..self.groups.len()).all(|lane| {
            let group = self.marked(lane);
            mark.groups.iter().all(|marked| {
                marked.members & group.members == 0
                    || marked.machines & group.machines == 0
                    || marked.agrees_with(&group)
            })
        })
    }

    /// Takes over the lookups of another replay after its mark, at which the TLBs of both were
    /// equal. `end` is the other replay after these lookups.
    pub(crate) fn go_on_as(&mut self, end: Self, mark: &TlbMark) {
        let mut misses = self.all_misses();
        let of_end = end.all_misses();
        let sums = misses.iter_mut().flatten();
        let later = of_end.iter().flatten().zip(mark.misses.iter().flatten());
        for (sum, (end, mark)) in sums.zip(later) {
            sum.add(&end.since(mark));
        }
        *self = end;
        for group in &mut self.groups {
            group.misses.fill(Misses::default());
        }
        self.misses = misses;
    }

    /// The misses of all members on all machines.
    pub(super) fn all_misses(&self) -> Vec<Vec<Misses>> {
        let of_machine = |(machine, members): (usize, &Vec<Misses>)| {
            let members = 0..members.len();
            members.map(|member| self.misses(machine, member)).collect()
        };
        self.misses.iter().enumerate().map(of_machine).collect()
    }

    /// Gives TLBs that are joined a group each.
    pub(super) fn part_all(&mut self) {
        for number in 0..self.groups.len() {
            let parted = self.tlbs.part(number);
            self.part(number, &parted);
        }
    }
}

impl Misses {
    /// The misses after some earlier ones.
    pub(super) const fn since(&self, earlier: &Self) -> Self {
        Self {
            second_hits: self.second_hits - earlier.second_hits,
            base_walks: self.base_walks - earlier.base_walks,
            super_walks: self.super_walks - earlier.super_walks,
        }
    }
}
