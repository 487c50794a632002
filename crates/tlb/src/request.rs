//! Requests: the lookups of a TLB, and the kinds of references that cause them.

use broadleaf_units::{Asid, PageNumber};

/// The kind of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReferenceKind {
    /// An instruction fetch.
    Fetch,
    /// A load.
    Load,
    /// A store.
    Store,
}

impl ReferenceKind {
    /// The kind of a reference to data.
    #[inline]
    pub const fn of_data(is_store: bool) -> Self {
        if is_store { Self::Store } else { Self::Load }
    }
}

/// One lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlbRequest {
    /// The address space.
    pub tag: Asid,
    /// The page of 4 KiB.
    pub page: PageNumber,
    /// The kind of the reference.
    pub kind: ReferenceKind,
}

impl TlbRequest {
    /// The lookup of a load.
    #[inline]
    pub const fn load(tag: Asid, page: PageNumber) -> Self {
        let kind = ReferenceKind::Load;
        Self { tag, page, kind }
    }

    /// Returns true for the lookup of a store.
    #[inline]
    pub fn is_store(&self) -> bool {
        self.kind == ReferenceKind::Store
    }
}
