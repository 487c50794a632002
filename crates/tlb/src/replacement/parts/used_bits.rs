//! The used bits of GODS, clock and bit-PLRU.

use crate::replacement::RuleShape;

/// A used bit for each way, set after set.
#[derive(Clone, Debug)]
pub(in crate::replacement) struct UsedBits {
    ways: usize,
    /// The first ways of each set, which are locked and never used.
    wired: usize,
    bits: Vec<bool>,
    /// For each set, a number of ways from the first unwired one on whose bits are all set.
    leading: Vec<usize>,
    clears: u64,
}

impl UsedBits {
    pub(in crate::replacement) fn new(shape: &RuleShape<'_>) -> Self {
        Self {
            ways: shape.ways,
            wired: shape.wired,
            bits: vec![false; shape.sets * shape.ways],
            leading: vec![0; shape.sets],
            clears: 0,
        }
    }

    /// The bits of a set.
    pub(in crate::replacement) fn of(&self, set: usize) -> &[bool] {
        &self.bits[set * self.ways..][..self.ways]
    }

    /// The first way from which a search for an unset bit may begin. Wired ways and ways whose bit
    /// is set come before.
    pub(in crate::replacement) fn first_unset(&mut self, set: usize) -> usize {
        let from = self.wired + self.leading[set];
        let after = &self.bits[set * self.ways..][..self.ways][from..];
        let more = after.iter().position(|bit| !bit).unwrap_or(after.len());
        self.leading[set] += more;
        from + more
    }

    /// Sets the bit of a way.
    pub(in crate::replacement) fn set(&mut self, set: usize, way: usize) {
        self.bits[set * self.ways + way] = true;
    }

    /// Sets the bit of a way. The last bit of a set to be set clears the others.
    pub(in crate::replacement) fn set_in_turn(&mut self, set: usize, way: usize) {
        self.set(set, way);
        if self.of(set)[self.wired..].iter().all(|bit| *bit) {
            self.clear_all(set);
            self.set(set, way);
        }
    }

    /// Clears the bit of a way. Returns true if it was set.
    pub(in crate::replacement) fn clear(&mut self, set: usize, way: usize) -> bool {
        let was_set = std::mem::take(&mut self.bits[set * self.ways + way]);
        self.clears += u64::from(was_set);
        self.leading[set] = self.leading[set].min(way.saturating_sub(self.wired));
        was_set
    }

    /// Clears the bits of a set.
    pub(in crate::replacement) fn clear_all(&mut self, set: usize) {
        self.bits[set * self.ways..][..self.ways].fill(false);
        self.leading[set] = 0;
        self.clears += 1;
    }

    /// The number of times that bits were cleared. While it stays, setting a bit again changes
    /// nothing.
    pub(in crate::replacement) const fn clears(&self) -> u64 {
        self.clears
    }
}
