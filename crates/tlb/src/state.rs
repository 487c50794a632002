//! The state of a TLB, in the form that suits its design.

use crate::composed::Composed;
use crate::packed::Packed;
use crate::{Design, Evicted, Lookup, Translation};
use broadleaf_units::{AlignedRun, Asid, PageNumber, PageSize};

/// The state of one TLB.
///
/// Sets with exact LRU replacement are packed arrays. Every other design is composed of the
/// structures that its catalogues build. Both forms count alike (`tests/suite/forms.rs`).
#[derive(Clone, Debug)]
pub enum Tlb {
    /// Sets of ways with exact LRU replacement.
    Packed(Packed),
    /// Any other design.
    Composed(Composed),
}

impl Tlb {
    /// An empty TLB of that design.
    pub fn new(design: &Design) -> Self {
        if design.is_sets_with_lru() {
            Self::Packed(Packed::new(design))
        } else {
            Self::Composed(Composed::new(design))
        }
    }

    /// Returns true if a TLB can represent the page: its addresses are canonical with 57 bits.
    pub const fn can_translate(page: PageNumber) -> bool {
        Packed::can_translate(page)
    }

    /// Looks up a base page: larger sizes first at each level. A hit counts as a use. The first
    /// level receives a translation that only the second level holds.
    #[inline]
    pub fn lookup(&mut self, tag: Asid, page: PageNumber) -> Lookup {
        match self {
            Self::Packed(packed) => packed.lookup(tag, page),
            Self::Composed(composed) => composed.lookup(tag, page, |_| {}),
        }
    }

    /// Looks up as [`Tlb::lookup`]. `evicted` receives a translation that no level holds any more.
    pub fn lookup_evicting(
        &mut self,
        tag: Asid,
        page: PageNumber,
        evicted: impl FnMut(Evicted),
    ) -> Lookup {
        match self {
            Self::Packed(packed) => packed.lookup_evicting(tag, page, evicted),
            Self::Composed(composed) => composed.lookup(tag, page, evicted),
        }
    }

    /// Loads the page of `size` around a base page, after a [`Lookup::Miss`], at both levels.
    #[inline]
    pub fn fill(&mut self, tag: Asid, page: PageNumber, size: PageSize) {
        match self {
            Self::Packed(packed) => packed.fill(tag, page, size),
            Self::Composed(composed) => composed.fill(&plain(tag, page, size), |_| {}),
        }
    }

    /// Loads as [`Tlb::fill`]. `evicted` receives translations that no level holds any more.
    pub fn fill_evicting(
        &mut self,
        tag: Asid,
        page: PageNumber,
        size: PageSize,
        evicted: impl FnMut(Evicted),
    ) {
        match self {
            Self::Packed(packed) => packed.fill_evicting(tag, page, size, evicted),
            Self::Composed(composed) => composed.fill(&plain(tag, page, size), evicted),
        }
    }

    /// Loads a translation with its frame and its neighbours ([`Design::neighbours`]). `evicted`
    /// receives translations that no level holds any more.
    pub fn load(&mut self, new: &Translation, evicted: impl FnMut(Evicted)) {
        match self {
            Self::Packed(packed) => packed.fill_evicting(new.tag, new.first, new.size, evicted),
            Self::Composed(composed) => composed.fill(new, evicted),
        }
    }

    /// Notes that so many more lookups of the last page followed. Each of them hits the first level.
    /// Only a design whose rules count uses needs to know ([`Design::needs`]).
    pub fn repeat(&mut self, times: u64) {
        if let Self::Composed(composed) = self {
            composed.repeat(times);
        }
    }

    /// Notes the time of the next lookup of the page that is looked up next. Only a design whose
    /// rules know the future needs to know ([`Design::needs`]).
    pub fn foresee(&mut self, next: u64) {
        if let Self::Composed(composed) = self {
            composed.foresee(next);
        }
    }

    /// Drops the translation of that size for the page around a base page.
    pub fn invalidate(&mut self, tag: Asid, page: PageNumber, size: PageSize) {
        match self {
            Self::Packed(packed) => packed.invalidate(tag, page, size),
            Self::Composed(composed) => {
                let stale = plain(tag, page, size);
                composed.drop_stale(|entry| {
                    (entry.tag, entry.first, entry.size) == (stale.tag, stale.first, stale.size)
                });
            }
        }
    }

    /// Drops every translation, of any size, that overlaps `pages` base pages from `start` on.
    pub fn invalidate_range(&mut self, tag: Asid, start: PageNumber, pages: u64) {
        match self {
            Self::Packed(packed) => packed.invalidate_range(tag, start, pages),
            Self::Composed(composed) => {
                let end = start.0.saturating_add(pages);
                composed.drop_stale(|entry| {
                    let (first, after) = entry.pages();
                    entry.tag == tag && first < end && start.0 < after
                });
            }
        }
    }

    /// Drops every translation of a space.
    pub fn invalidate_space(&mut self, tag: Asid) {
        match self {
            Self::Packed(packed) => packed.invalidate_space(tag),
            Self::Composed(composed) => composed.drop_stale(|entry| entry.tag == tag),
        }
    }

    /// Returns true if both TLBs are packed and hold the same translations in the same order. Such
    /// TLBs return the same answers for ever.
    pub fn holds_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Packed(one), Self::Packed(other)) => one.holds_as(other),
            _ => false,
        }
    }

    /// The number of translations.
    pub fn occupied(&self) -> usize {
        match self {
            Self::Packed(packed) => packed.occupied(),
            Self::Composed(composed) => composed.occupied(),
        }
    }

    /// Asserts the invariants: no set holds a translation twice, and unused entries come last.
    /// A composed TLB is not checked.
    ///
    /// # Panics
    /// If an invariant does not hold.
    pub fn check(&self) {
        if let Self::Packed(packed) = self {
            packed.check();
        }
    }
}

/// A translation without a frame.
fn plain(tag: Asid, page: PageNumber, size: PageSize) -> Translation {
    Translation {
        tag,
        first: AlignedRun::around(page, size).first,
        size,
        frame: None,
        placed: 0,
    }
}
