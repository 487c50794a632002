//! The reduced form of a trace, kept beside it: the visits that may change something on any of a family of machines, and what
//! those that change nothing come to.
//!
//! What makes a family, and which visits change nothing, is the business of who reduces; here a family is a text. A file has a head, chunks of
//! pieces that can each be read without the ones before, and a last chunk that says what all comes to.

mod columns;
mod head;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use head::{REDUCED_MAGIC, REDUCED_VERSION, ReducedHeader};
pub use read::{ReducedItem, ReducedPart, ReducedPartReader, ReducedReader};
pub use write::ReducedWriter;

use crate::visit::{Lead, Visit};

/// What a visit begins with, and does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Manner {
    /// It begins with the upper part of an access that was counted before.
    pub leads: bool,
    /// That access is a store.
    pub leads_with_store: bool,
    /// It has accesses of its own.
    pub accesses: bool,
    /// One of its own accesses is a store.
    pub stores: bool,
}

impl Manner {
    /// How that visit is.
    #[inline]
    pub const fn of(visit: &Visit) -> Self {
        Self {
            leads: !matches!(visit.lead, Lead::None),
            leads_with_store: matches!(visit.lead, Lead::Store),
            accesses: visit.loads | visit.stores != 0,
            stores: visit.stores > 0,
        }
    }

    /// Whether the page is stored to at all.
    #[inline]
    pub const fn any_store(self) -> bool {
        self.stores | self.leads_with_store
    }

    const fn bits(self) -> u8 {
        self.leads as u8
            | (self.leads_with_store as u8) << 1
            | (self.accesses as u8) << 2
            | (self.stores as u8) << 3
    }

    /// `None` where a visit cannot be so.
    const fn from_bits(bits: u8) -> Option<Self> {
        let manner = Self {
            leads: bits & 1 != 0,
            leads_with_store: bits & 2 != 0,
            accesses: bits & 4 != 0,
            stores: bits & 8 != 0,
        };
        let wrong = bits >> 4 != 0
            || manner.leads_with_store && !manner.leads
            || manner.stores && !manner.accesses
            || !manner.leads && !manner.accesses;
        if wrong { None } else { Some(manner) }
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
        self.loads + self.stores
    }
}
