//! The TLBs of a team at a moment, to be compared with those of another replay.

use super::{Members, Misses, TeamTranslation};

/// The TLBs of a team at a moment, and the misses so far.
#[derive(Clone, Debug)]
pub(crate) struct TlbMark {
    /// Some members, and the entries of their TLBs.
    groups: Vec<(Members, Vec<u32>)>,
    /// By member.
    misses: Vec<Misses>,
}

impl TeamTranslation<'_> {
    /// Marks the TLBs.
    pub(crate) fn mark(&mut self) -> TlbMark {
        self.part_all();
        let groups = self.groups.iter().enumerate();
        TlbMark {
            groups: groups
                .map(|(lane, group)| (group.members, self.tlbs.entries(lane)))
                .collect(),
            misses: self.all_misses(),
        }
    }

    /// Returns true if each member's TLB holds the same entries in the same order as at the mark.
    /// Then both give equal answers to equal lookups.
    pub(crate) fn is_at(&mut self, mark: &TlbMark) -> bool {
        self.part_all();
        (self.groups.iter().enumerate()).all(|(lane, group)| {
            let entries = self.tlbs.entries(lane);
            let mut marked = mark.groups.iter();
            marked.all(|(members, marked)| members & group.members == 0 || *marked == entries)
        })
    }

    /// Takes over the lookups of another replay after its mark, at which the TLBs of both were
    /// equal. `end` is the other replay after these lookups.
    pub(crate) fn go_on_as(&mut self, end: Self, mark: &TlbMark) {
        let mut misses = self.all_misses();
        let of_end = end.all_misses();
        for ((sum, end), mark) in misses.iter_mut().zip(&of_end).zip(&mark.misses) {
            sum.add(&end.since(mark));
        }
        *self = end;
        for group in &mut self.groups {
            group.misses = Misses::default();
        }
        self.misses = misses;
    }

    /// The misses of all members.
    fn all_misses(&self) -> Vec<Misses> {
        (0..self.misses.len())
            .map(|member| self.misses(member))
            .collect()
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
    const fn since(&self, earlier: &Self) -> Self {
        Self {
            second_hits: self.second_hits - earlier.second_hits,
            base_walks: self.base_walks - earlier.base_walks,
            super_walks: self.super_walks - earlier.super_walks,
        }
    }
}
