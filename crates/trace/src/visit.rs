//! Visits: uninterrupted runs of references to one page.

/// The unit in which a trace names addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Grain {
    /// 4 KiB pages.
    Page,
    /// 64-byte lines.
    Line,
}

impl Grain {
    /// The number of low address bits inside one unit.
    pub const fn shift(self) -> u8 {
        match self {
            Self::Page => 12,
            Self::Line => 6,
        }
    }
}

/// A visit's first reference, if that reference is the rest of an access that the visit before
/// counted.
///
/// An access that straddles a boundary is one access and two translations. The first visit counts
/// the access; the second visit leads with the upper part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Lead {
    /// The visit begins with an access of its own.
    #[default]
    None,
    /// The visit begins with the upper part of the last load of the visit before.
    Load,
    /// The visit begins with the upper part of the last store of the visit before.
    Store,
}

/// A run of references to one unit (a page, or a line at line grain) with no other data reference
/// in the run.
///
/// A run may be split into several visits without changing the counts of any model. A visit without
/// accesses and without a lead only carries instructions that no reference followed, as at the end
/// of a space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Visit {
    /// The unit's number: address divided by the unit's size.
    pub unit: u64,
    /// Loads, excluding the lead.
    pub loads: u32,
    /// Stores, excluding the lead.
    pub stores: u32,
    /// The loads before the first store; equal to `loads` if there is no store.
    pub loads_before_store: u32,
    /// Instructions that began after the last reference of the visit before, up to the last
    /// reference of this visit. The instruction that makes a reference counts. Zero if the source
    /// has no instruction counts, or if fetches are separate visits.
    pub instructions: u32,
    /// The upper part of a straddling access at the visit's start.
    pub lead: Lead,
    /// The visit holds instruction fetches instead of data. `loads` and `stores` are then zero, and
    /// `instructions` is the number of fetches. Only traces recorded with instruction pages have
    /// such visits; models of data translation skip them.
    pub fetch: bool,
    /// The number in the reader's [`CodeTable`](crate::CodeTable) of the pattern whose execution
    /// begins with this visit. Zero if none begins, if its code is unknown, or if the reader was
    /// not asked for executions.
    pub execution: u32,
}

impl Visit {
    /// Loads plus stores: the visit advances the clock of the trace by this number.
    #[inline]
    pub const fn accesses(&self) -> u64 {
        self.loads as u64 + self.stores as u64
    }

    /// The number of translations for the visit: one for each access, and one for a lead.
    #[inline]
    pub const fn lookups(&self) -> u64 {
        self.accesses() + !matches!(self.lead, Lead::None) as u64
    }
}
