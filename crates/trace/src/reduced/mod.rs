//! The reduced form of a trace: the visits that may change state on a machine of a family, and the
//! totals of all visits.
//!
//! The reducer defines families and decides which visits change nothing; this module treats a
//! family as a text. A file has a head, independent chunks of items, and a last chunk with the
//! totals.

mod columns;
mod head;
mod read;
mod scan;
#[cfg(test)]
mod tests;
mod write;

pub use head::{REDUCED_MAGIC, REDUCED_VERSION, ReducedHeader};
pub use read::{ReducedItem, ReducedPart, ReducedPartReader, ReducedReader};
pub use write::ReducedWriter;

use crate::visit::{Lead, Visit};

/// The manner of a visit: its lead and the kinds of its accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Manner(u8);

impl Manner {
    const LEADS: u8 = 1;
    const LEADS_WITH_STORE: u8 = 2;
    const ACCESSES: u8 = 4;
    const STORES: u8 = 8;
    const RENEWS: u8 = 16;
    /// A bit for each combination that a visit can have.
    const POSSIBLE: u32 = {
        let mut possible = 0;
        let mut bits = 0;
        while bits < 16 {
            let leads = bits & Self::LEADS != 0;
            let accesses = bits & Self::ACCESSES != 0;
            let wrong = bits & Self::LEADS_WITH_STORE != 0 && !leads
                || bits & Self::STORES != 0 && !accesses
                || !leads && !accesses;
            possible |= (!wrong as u32) << bits;
            bits += 1;
        }
        possible
    };

    /// The manner of a visit with loads only.
    pub const LOAD: Self = Self(Self::ACCESSES);
    /// The manner of a visit with a store and no lead.
    pub const STORE: Self = Self(Self::ACCESSES | Self::STORES);
    /// The manner of a visit with only the upper part of a load.
    pub const LEAD: Self = Self(Self::LEADS);

    /// The same manner, of a lookup in place of earlier ones of the same page that were left out.
    /// It only renews entries of first-level TLBs. The reduced form does not store this fact.
    #[must_use]
    pub const fn renewing(self) -> Self {
        Self(self.0 | Self::RENEWS)
    }

    /// Returns true if the visit is known to be [such a lookup](Self::renewing).
    #[inline]
    pub const fn renews(self) -> bool {
        self.0 & Self::RENEWS != 0
    }

    /// The manner of `visit`.
    #[inline]
    pub const fn of(visit: &Visit) -> Self {
        Self(
            (!matches!(visit.lead, Lead::None) as u8 * Self::LEADS)
                | (matches!(visit.lead, Lead::Store) as u8 * Self::LEADS_WITH_STORE)
                | ((visit.loads | visit.stores != 0) as u8 * Self::ACCESSES)
                | ((visit.stores > 0) as u8 * Self::STORES),
        )
    }

    /// Returns true if the visit leads with the upper part of an access that the visit before
    /// counted.
    #[inline]
    pub const fn leads(self) -> bool {
        self.0 & Self::LEADS != 0
    }

    /// Returns true if that access is a store.
    #[inline]
    pub const fn leads_with_store(self) -> bool {
        self.0 & Self::LEADS_WITH_STORE != 0
    }

    /// Returns true if the visit has accesses.
    #[inline]
    pub const fn accesses(self) -> bool {
        self.0 & Self::ACCESSES != 0
    }

    /// Returns true if one of the visit's accesses is a store.
    #[inline]
    pub const fn stores(self) -> bool {
        self.0 & Self::STORES != 0
    }

    /// Returns true if the visit or its lead stores to the page.
    #[inline]
    pub const fn any_store(self) -> bool {
        self.0 & (Self::STORES | Self::LEADS_WITH_STORE) != 0
    }

    /// The manner as a number below 16.
    #[inline]
    pub const fn number(self) -> u8 {
        self.0 & !Self::RENEWS
    }

    /// The manner of that number; `None` if no visit can have it.
    #[inline]
    pub const fn of_number(number: u8) -> Option<Self> {
        let manner = Self(number);
        if manner.is_possible() {
            Some(manner)
        } else {
            None
        }
    }

    /// Returns true if a visit can have this manner.
    #[inline]
    const fn is_possible(self) -> bool {
        self.0 < 16 && Self::POSSIBLE >> (self.0 & 15) & 1 != 0
    }
}

/// A visit that may change state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptVisit {
    /// The number of the visited base page of 4 KiB.
    pub page: u64,
    /// The number of accesses since the start of the item, before the visit.
    pub time: u64,
    /// The number of loads before the first store; meaningless if there is no store.
    pub loads_before_store: u32,
    /// The manner of the visit.
    pub manner: Manner,
}

/// The totals of visits, including visits that change nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Loads.
    pub loads: u64,
    /// Stores.
    pub stores: u64,
    /// Instructions.
    pub instructions: u64,
    /// True if any visit is to data.
    pub data: bool,
}

impl Sums {
    /// Loads and stores.
    #[inline]
    pub const fn accesses(&self) -> u64 {
        self.loads.saturating_add(self.stores)
    }

    /// Adds the totals of other visits.
    pub const fn add(&mut self, other: &Self) {
        self.loads = self.loads.saturating_add(other.loads);
        self.stores = self.stores.saturating_add(other.stores);
        self.instructions = self.instructions.saturating_add(other.instructions);
        self.data |= other.data;
    }
}
