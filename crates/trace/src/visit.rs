//! Visits: what a program did with one page before it went to another.

/// The unit in which a trace names places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Grain {
    /// 4 KiB pages.
    Page,
    /// 64-byte lines.
    Line,
}

impl Grain {
    /// How many low address bits lie inside one unit.
    pub const fn shift(self) -> u8 {
        match self {
            Self::Page => 12,
            Self::Line => 6,
        }
    }
}

/// Whether a visit begins with the rest of an access that the visit before it counted.
///
/// An access that straddles a boundary is one access and two translations: the first visit counts it, the second leads
/// with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Lead {
    /// The visit begins with an access of its own.
    #[default]
    None,
    /// The visit begins with the upper part of a load that the visit before counted as its last access.
    Load,
    /// The visit begins with the upper part of a store that the visit before counted as its last access.
    Store,
}

/// A run of references to one unit (a page, or a line at line grain) without another data reference between them.
///
/// A run may be split into several visits; the counts of every model are the same whether it is or not. A visit without an
/// access and without a lead only carries instructions that no reference followed, as at the end of a space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Visit {
    /// The unit's number: address divided by the unit's size.
    pub unit: u64,
    /// Loads, the lead not counted.
    pub loads: u32,
    /// Stores, the lead not counted.
    pub stores: u32,
    /// How many of the loads come before the first store; equal to `loads` where there is no store.
    pub loads_before_store: u32,
    /// Instructions that began since the last reference of the visit before, up to the last reference of this one.
    /// The instruction of a reference counts with it. Zero where the source has no instruction counts, and where fetches are
    /// visits of their own.
    pub instructions: u32,
    /// Whether the visit begins with the upper part of a straddling access.
    pub lead: Lead,
    /// Instruction fetches instead of data: `loads` and `stores` are zero, `instructions` says how many were fetched.
    /// Only in traces recorded with instruction pages; models of data translation skip such visits.
    pub fetch: bool,
}

impl Visit {
    /// Loads plus stores: by how much the visit moves the clock of the trace.
    pub const fn accesses(&self) -> u64 {
        self.loads as u64 + self.stores as u64
    }

    /// Translations that the visit asks for: its accesses, and one more for a lead.
    pub const fn lookups(&self) -> u64 {
        self.accesses() + !matches!(self.lead, Lead::None) as u64
    }
}
