//! The reduced form of a trace, kept beside it: the visits that may change something on any of a family of machines, and what
//! those that change nothing come to.
//!
//! What makes a family, and which visits change nothing, is the business of who reduces; here a family is a text. A file has a head, chunks of
//! pieces that can each be read without the ones before, and a last chunk that says what all comes to.

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

/// What a visit begins with, and does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Manner(u8);

impl Manner {
    const LEADS: u8 = 1;
    const LEADS_WITH_STORE: u8 = 2;
    const ACCESSES: u8 = 4;
    const STORES: u8 = 8;
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

    /// Of a load, and nothing else.
    pub const LOAD: Self = Self(Self::ACCESSES);
    /// Of the upper part of a load that was counted before, and nothing else.
    pub const LEAD: Self = Self(Self::LEADS);

    /// How that visit is.
    #[inline]
    pub const fn of(visit: &Visit) -> Self {
        Self(
            (!matches!(visit.lead, Lead::None) as u8 * Self::LEADS)
                | (matches!(visit.lead, Lead::Store) as u8 * Self::LEADS_WITH_STORE)
                | ((visit.loads | visit.stores != 0) as u8 * Self::ACCESSES)
                | ((visit.stores > 0) as u8 * Self::STORES),
        )
    }

    /// Whether it begins with the upper part of an access that was counted before.
    #[inline]
    pub const fn leads(self) -> bool {
        self.0 & Self::LEADS != 0
    }

    /// Whether that access is a store.
    #[inline]
    pub const fn leads_with_store(self) -> bool {
        self.0 & Self::LEADS_WITH_STORE != 0
    }

    /// Whether it has accesses of its own.
    #[inline]
    pub const fn accesses(self) -> bool {
        self.0 & Self::ACCESSES != 0
    }

    /// Whether one of its own accesses is a store.
    #[inline]
    pub const fn stores(self) -> bool {
        self.0 & Self::STORES != 0
    }

    /// Whether the page is stored to at all.
    #[inline]
    pub const fn any_store(self) -> bool {
        self.0 & (Self::STORES | Self::LEADS_WITH_STORE) != 0
    }

    /// The manner as a number below 16.
    #[inline]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// The manner of that number; `None` where no visit can be so.
    #[inline]
    pub const fn of_number(number: u8) -> Option<Self> {
        let manner = Self(number);
        if manner.is_possible() {
            Some(manner)
        } else {
            None
        }
    }

    /// Whether a visit can be so.
    #[inline]
    const fn is_possible(self) -> bool {
        self.0 < 16 && Self::POSSIBLE >> (self.0 & 15) & 1 != 0
    }
}

/// A visit that may change something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The number of its base page of 4 KiB.
    pub page: u64,
    /// Accesses before its own, since its piece began.
    pub time: u64,
    /// How many loads come before the first store; means nothing where there is no store.
    pub loads_before_store: u32,
    /// What it begins with, and does.
    pub manner: Manner,
}

/// What visits come to, those that change nothing with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Loads.
    pub loads: u64,
    /// Stores.
    pub stores: u64,
    /// Instructions.
    pub instructions: u64,
    /// Whether there is any visit to data.
    pub data: bool,
}

impl Sums {
    /// Loads and stores.
    pub const fn accesses(&self) -> u64 {
        self.loads.saturating_add(self.stores)
    }

    /// Adds what other visits come to.
    pub const fn add(&mut self, other: &Self) {
        self.loads = self.loads.saturating_add(other.loads);
        self.stores = self.stores.saturating_add(other.stores);
        self.instructions = self.instructions.saturating_add(other.instructions);
        self.data |= other.data;
    }
}
