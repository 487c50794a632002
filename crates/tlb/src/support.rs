//! The support that a TLB needs from an operating system (Talluri 1995, Table 6-1).

/// The need for one mechanism of an operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SupportNeed {
    /// The TLB has no use for the mechanism.
    NotApplicable,
    /// The TLB works without the mechanism, and better with it.
    Optional,
    /// The TLB is of no use without the mechanism.
    Required,
    /// At least one of the mechanisms with this need is required.
    OneOfThese,
}

impl SupportNeed {
    /// The need in a cell of a table.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::NotApplicable => "not needed",
            Self::Optional => "optional",
            Self::Required => "required",
            Self::OneOfThese => "one of these",
        }
    }
}

/// The support that one kind of TLB needs: a row of Table 6-1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemSupport {
    /// The kind of TLB, with the way in which page sizes are assigned.
    pub kind: &'static str,
    /// The policy that assigns page sizes.
    pub assignment: &'static str,
    /// Free lists of extents of several sizes.
    pub extents: SupportNeed,
    /// Copying the pages of a block together.
    pub gather: SupportNeed,
    /// Promotion and demotion.
    pub promotion: SupportNeed,
    /// Monitoring which pages are referenced.
    pub monitoring: SupportNeed,
    /// Data structures and interfaces for several page sizes.
    pub framework: SupportNeed,
    /// Placement: frames chosen so that the pages of a block are properly placed.
    pub placement: SupportNeed,
}

/// Entries that properly placed base pages share.
const SHARED_ENTRIES: SystemSupport = SystemSupport {
    kind: "partial-subblock",
    assignment: "not needed",
    extents: SupportNeed::Required,
    gather: SupportNeed::Optional,
    promotion: SupportNeed::NotApplicable,
    monitoring: SupportNeed::NotApplicable,
    framework: SupportNeed::NotApplicable,
    placement: SupportNeed::Required,
};

impl SystemSupport {
    /// Partial-subblock entries.
    pub const PARTIAL_SUBBLOCK: Self = SHARED_ENTRIES;

    /// Coalesced entries. They are younger than the table. Base pages share such an entry by
    /// proper placement alone, as in a partial-subblock entry, so the needs are the same.
    pub const COALESCED: Self = Self {
        kind: "coalesced",
        ..SHARED_ENTRIES
    };

    /// Superpages whose size is fixed when memory is mapped or first used.
    pub const SUPERPAGE_STATIC: Self = Self {
        kind: "static superpages",
        assignment: "static",
        extents: SupportNeed::Required,
        gather: SupportNeed::NotApplicable,
        promotion: SupportNeed::NotApplicable,
        monitoring: SupportNeed::NotApplicable,
        framework: SupportNeed::OneOfThese,
        placement: SupportNeed::OneOfThese,
    };

    /// Scattered superpages (Chen 2014), which are younger than the table. The system has to find
    /// the same free regions in consecutive physical superpages. Its page tables hold the share.
    pub const SCATTERED: Self = Self {
        kind: "scattered superpages",
        assignment: "static",
        extents: SupportNeed::Required,
        gather: SupportNeed::NotApplicable,
        promotion: SupportNeed::NotApplicable,
        monitoring: SupportNeed::NotApplicable,
        framework: SupportNeed::Required,
        placement: SupportNeed::Required,
    };

    /// Superpages whose size changes while the program runs.
    pub const SUPERPAGE_DYNAMIC: Self = Self {
        kind: "dynamic superpages",
        assignment: "dynamic",
        extents: SupportNeed::Required,
        gather: SupportNeed::Required,
        promotion: SupportNeed::Required,
        monitoring: SupportNeed::Required,
        framework: SupportNeed::Optional,
        placement: SupportNeed::Required,
    };
}
