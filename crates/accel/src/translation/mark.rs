//! The TLB of one policy at a moment, to be compared with a TLB of another replay.

use super::{Misses, TeamTranslation};

/// The entries of the TLB of a team of one policy at a moment, and its misses so far.
#[derive(Clone, Debug)]
pub(crate) struct TlbMark {
    entries: Vec<u32>,
    misses: Misses,
}

impl TeamTranslation<'_> {
    /// Marks the TLB of a team of one policy.
    pub(crate) fn mark(&self) -> TlbMark {
        TlbMark {
            entries: self.tlbs.entries(0),
            misses: self.misses(0),
        }
    }

    /// Returns true if the TLB holds the same entries in the same order as the marked one. Then
    /// both give equal answers to equal lookups.
    pub(crate) fn is_at(&self, mark: &TlbMark) -> bool {
        self.tlbs.entries(0) == mark.entries
    }

    /// Takes over the lookups of another replay after its mark, at which both TLBs were equal.
    /// `end` is the other TLB after these lookups.
    pub(crate) fn go_on_as(&mut self, end: Self, mark: &TlbMark) {
        let mut misses = self.misses(0);
        misses.add(&end.misses(0).since(&mark.misses));
        *self = end;
        for group in &mut self.groups {
            group.misses = Misses::default();
        }
        self.misses = vec![misses];
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
