//! The state of a TLB, in the form that suits its design.

use crate::composed::Composed;
use crate::packed::Packed;
use crate::{Design, Evicted, Lookup, TlbCounts, TlbRequest, Translation, Walk};
use broadleaf_units::{Asid, PageNumber, PageSize};

/// The state of one TLB.
///
/// Sets with exact LRU replacement are packed arrays. Every other design is composed of the
/// structures that its catalogues build. Both forms count alike (`tests/suite/forms.rs`).
#[derive(Clone, Debug)]
pub enum Tlb {
    /// Sets of ways with exact LRU replacement.
    Packed(Packed),
    /// Any other design.
    Composed(Box<Composed>),
}

impl Tlb {
    /// An empty TLB of that design.
    pub fn new(design: &Design) -> Self {
        if design.is_sets_with_lru() {
            Self::Packed(Packed::new(design))
        } else {
            Self::Composed(Box::new(Composed::new(design)))
        }
    }

    /// Returns true if a TLB can represent the page: its addresses are canonical with 57 bits.
    pub const fn can_translate(page: PageNumber) -> bool {
        Packed::can_translate(page)
    }

    /// Looks up a base page for a load, as [`Tlb::access`].
    #[inline]
    pub fn lookup(&mut self, tag: Asid, page: PageNumber) -> Lookup {
        match self {
            Self::Packed(packed) => packed.lookup(tag, page),
            Self::Composed(composed) => composed.lookup(&TlbRequest::load(tag, page)),
        }
    }

    /// Looks up a base page: larger sizes first at each level, unless the design says otherwise. A
    /// hit counts as a use. The levels above receive a translation that only a lower level holds.
    #[inline]
    pub fn access(&mut self, request: &TlbRequest) -> Lookup {
        match self {
            Self::Packed(packed) => packed.lookup(request.tag, request.page),
            Self::Composed(composed) => composed.lookup(request),
        }
    }

    /// The number of requests at the beginning of `requests` that hit the first level and change
    /// nothing. They need not be made. Without a lookup this is known of some designs alone; for
    /// others the number is 0.
    #[inline]
    pub fn quiet_first(&self, requests: impl Iterator<Item = TlbRequest>) -> usize {
        match self {
            Self::Packed(_) => 0,
            Self::Composed(composed) => composed.quiet_first(requests),
        }
    }

    /// Returns true if the lookup is known to hit the first level and to change nothing.
    #[inline]
    pub fn is_quiet(&self, request: &TlbRequest) -> bool {
        match self {
            Self::Packed(_) => false,
            Self::Composed(composed) => composed.is_quiet(request),
        }
    }

    /// Returns true if a second lookup in a row of a page changes nothing, whatever its kind is.
    #[inline]
    pub const fn forgets_kinds(&self) -> bool {
        matches!(self, Self::Packed(_))
    }

    /// Returns true if lookups may be known to be quiet ([`Self::is_quiet`]).
    pub const fn knows_quiet(&self) -> bool {
        match self {
            Self::Packed(_) => false,
            Self::Composed(composed) => composed.knows_quiet(),
        }
    }

    /// A number that changes whenever a lookup that was quiet may be so no more.
    #[inline]
    pub fn forgotten_quiet(&self) -> u64 {
        match self {
            Self::Packed(_) => 0,
            Self::Composed(composed) => composed.forgotten_quiet(),
        }
    }

    /// Forgets which lookups are quiet.
    pub fn forget_quiet(&mut self) {
        if let Self::Composed(composed) = self {
            composed.forget_quiet();
        }
    }

    /// Looks up as [`Tlb::access`]. `evicted` receives translations that no level holds any more.
    pub fn access_evicting(
        &mut self,
        request: &TlbRequest,
        evicted: impl FnMut(Evicted),
    ) -> Lookup {
        match self {
            Self::Packed(packed) => packed.lookup_evicting(request.tag, request.page, evicted),
            Self::Composed(composed) => composed.lookup_evicting(request, evicted),
        }
    }

    /// Looks up as [`Tlb::access_evicting`] after a miss that is already counted: a promotion
    /// changed the page since.
    pub fn retry_evicting(&mut self, request: &TlbRequest, evicted: impl FnMut(Evicted)) -> Lookup {
        match self {
            Self::Packed(packed) => packed.lookup_evicting(request.tag, request.page, evicted),
            Self::Composed(composed) => composed.retry_evicting(request, evicted),
        }
    }

    /// Shortens a walk down to a leaf of a size by the entries that structures with walk entries
    /// hold, and loads those that the walk reads. Call this after a [`Lookup::Miss`], before the
    /// leaf is loaded. `spans` are the address ranges that an entry of each level above the base
    /// pages covers, smallest first. Returns the number of entries above the leaf that the walk
    /// reads. The TLB itself reads no table.
    #[inline]
    pub fn shorten_walk(
        &mut self,
        request: &TlbRequest,
        leaf: PageSize,
        spans: &[PageSize],
    ) -> usize {
        match self {
            Self::Packed(_) => spans.len() - spans.partition_point(|span| *span <= leaf),
            Self::Composed(composed) => composed.shorten_walk(request, leaf, spans),
        }
    }

    /// Loads the translation of a walk at all levels, after a [`Lookup::Miss`].
    #[inline]
    pub fn load(&mut self, walk: &Walk<'_>) {
        let (request, size) = (walk.request, walk.translation.size);
        match self {
            Self::Packed(packed) => packed.fill(request.tag, request.page, size),
            Self::Composed(composed) => composed.load(walk),
        }
    }

    /// Loads as [`Tlb::load`]. `evicted` receives translations that no level holds any more.
    pub fn load_evicting(&mut self, walk: &Walk<'_>, evicted: impl FnMut(Evicted)) {
        let (request, size) = (walk.request, walk.translation.size);
        match self {
            Self::Packed(packed) => {
                packed.fill_evicting(request.tag, request.page, size, evicted);
            }
            Self::Composed(composed) => composed.load_evicting(walk, evicted),
        }
    }

    /// Looks up as [`Tlb::access`]. `displaced` receives each translation that left a structure,
    /// though another may hold it. A packed TLB reports those that no level holds any more.
    pub fn access_displacing(
        &mut self,
        request: &TlbRequest,
        displaced: impl FnMut(&Translation),
    ) -> Lookup {
        match self {
            Self::Packed(packed) => {
                packed.lookup_evicting(request.tag, request.page, plain(displaced))
            }
            Self::Composed(composed) => composed.lookup_displacing(request, displaced),
        }
    }

    /// Loads as [`Tlb::load`]. `displaced` is that of [`Tlb::access_displacing`].
    pub fn load_displacing(&mut self, walk: &Walk<'_>, displaced: impl FnMut(&Translation)) {
        match self {
            Self::Packed(_) => self.load_evicting(walk, plain(displaced)),
            Self::Composed(composed) => composed.load_displacing(walk, displaced),
        }
    }

    /// Returns true if the first level holds a translation of the same page. This is no use.
    pub fn holds_first(&self, translation: &Translation) -> bool {
        match self {
            Self::Packed(_) => false,
            Self::Composed(composed) => composed.holds_first(translation),
        }
    }

    /// The pages of 4 KiB, first and after last, that the first level may hold anew after a load
    /// for this page of this size.
    pub fn disturbed(&self, page: PageNumber, size: PageSize) -> (u64, u64) {
        match self {
            Self::Packed(_) => Translation::plain(Asid::ZERO, page, size).pages(),
            Self::Composed(composed) => composed.disturbed(page, size),
        }
    }

    /// Notes that `times` more lookups of the last page followed. Each hits the first level.
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

    /// Drops the translation of that size for the page around a base page, and walk entries that
    /// lead to it.
    pub fn invalidate(&mut self, tag: Asid, page: PageNumber, size: PageSize) {
        match self {
            Self::Packed(packed) => packed.invalidate(tag, page, size),
            Self::Composed(composed) => {
                let stale = Translation::plain(tag, page, size);
                let (first, after) = stale.pages();
                composed.drop_stale(|entry| {
                    let leads = leads_to(entry, tag, first, after);
                    entry.is_of_same_page(&stale) || leads
                });
            }
        }
    }

    /// Drops every translation, of any size, that overlaps `pages` base pages from `start` on, and
    /// walk entries that lead to them.
    pub fn invalidate_range(&mut self, tag: Asid, start: PageNumber, pages: u64) {
        match self {
            Self::Packed(packed) => packed.invalidate_range(tag, start, pages),
            Self::Composed(composed) => {
                let end = start.0.saturating_add(pages);
                composed.drop_stale(|entry| {
                    let (first, after) = entry.pages();
                    let overlaps = entry.tag == tag && first < end && start.0 < after;
                    overlaps || leads_to(entry, tag, start.0, end)
                });
            }
        }
    }

    /// Drops every translation and every walk entry of a space.
    pub fn invalidate_space(&mut self, tag: Asid) {
        match self {
            Self::Packed(packed) => packed.invalidate_space(tag),
            Self::Composed(composed) => {
                let tags = [tag, tag.of_tables()];
                composed.drop_stale(|entry| tags.contains(&entry.tag));
            }
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

    /// The counts beside hits and misses. They are 0 for sets with exact LRU replacement.
    pub fn counts(&self) -> TlbCounts {
        match self {
            Self::Packed(_) => TlbCounts::default(),
            Self::Composed(composed) => composed.counts(),
        }
    }

    /// The number of entries in use.
    pub fn occupied(&self) -> usize {
        match self {
            Self::Packed(packed) => packed.occupied(),
            Self::Composed(composed) => composed.occupied(),
        }
    }

    /// Asserts the invariants: no set holds a translation twice.
    ///
    /// # Panics
    /// If an invariant does not hold.
    pub fn check(&self) {
        match self {
            Self::Packed(packed) => packed.check(),
            Self::Composed(composed) => composed.check(),
        }
    }
}

/// Reports an evicted page as a translation.
fn plain(mut displaced: impl FnMut(&Translation)) -> impl FnMut(Evicted) {
    move |evicted| displaced(&Translation::plain(evicted.tag, evicted.page, evicted.size))
}

/// Returns true if a walk entry leads to one of the pages from `first` to before `after`. An
/// invalidation drops the walk entries that lead to its pages and no others, as Arm's TLBI by
/// address does, and AMD's INVLPG with the translation cache extension (AMD64 manual, volume 2,
/// EFER.TCE).
fn leads_to(entry: &Translation, tag: Asid, first: u64, after: u64) -> bool {
    let (begin, end) = entry.pages();
    entry.tag == tag.of_tables() && begin < after && first < end
}
