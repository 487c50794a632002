//! The plan of a TLB: entries, ways, and the bits of an entry.

use crate::{EntryBits, area, delay, surrogate};

/// The plan of one structure of a TLB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlbPlan {
    /// The number of entries, at least 1.
    pub entries: u32,
    /// The number of ways of a set. `None` if any entry can hold any translation: the tags are
    /// then compared by content-addressable memory.
    pub ways: Option<u32>,
    /// The bits of an entry.
    pub bits: EntryBits,
}

impl TlbPlan {
    /// A fully associative structure.
    pub const fn fully_associative(entries: u32, bits: EntryBits) -> Self {
        Self {
            entries,
            ways: None,
            bits,
        }
    }

    /// A set-associative structure. No ways count as one.
    pub const fn set_associative(entries: u32, ways: u32, bits: EntryBits) -> Self {
        Self {
            entries,
            ways: Some(if ways == 0 { 1 } else { ways }),
            bits,
        }
    }

    /// The plan with another number of entries.
    #[must_use]
    pub const fn with_entries(self, entries: u32) -> Self {
        Self { entries, ..self }
    }

    /// The number of sets.
    pub const fn sets(&self) -> u32 {
        match self.ways {
            None | Some(0) => 1,
            Some(ways) => match self.entries / ways {
                0 => 1,
                sets => sets,
            },
        }
    }

    /// The bits of an address that choose the set, rounded down.
    pub const fn index_bits(&self) -> u32 {
        self.sets().ilog2()
    }

    /// The chip area, in register-bit equivalents.
    pub fn area(&self) -> f64 {
        area::of(self)
    }

    /// The access time by the delay equations, in seconds. Comparable between fully associative
    /// structures, or between set-associative ones, and not across the two.
    pub fn access_time(&self) -> f64 {
        delay::access_time(self, delay::SubblockSelector::ColumnMultiplexor)
    }

    /// The access time by the fitted surrogate, without a unit. `None` if the plan is not one of
    /// the kind that it was fitted to.
    pub fn fitted_surrogate(&self) -> Option<f64> {
        surrogate::access_time(self)
    }
}
