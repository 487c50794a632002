//! A filter for some of the TLBs that observe a memory: those that keep more pages than the others.

use crate::recency::window::Window;
use broadleaf_units::PageNumber;

/// The last pages that were looked up, for TLBs that keep them
/// ([`broadleaf_tlb::Design::last_pages`]).
///
/// The lookups that the filter makes have the answers and leave the order of last use of all
/// lookups. The filter so serves each TLB that keeps at least as many pages, and also behind a filter
/// of fewer pages. It knows loads and stores in one address space. The first store to a page is
/// always made, since the store may set a modified bit.
#[derive(Clone, Debug)]
pub struct LastPages(Window);

impl LastPages {
    /// A filter for TLBs that keep at least `capacity` pages.
    pub fn new(capacity: usize) -> Self {
        Self(Window::new(capacity, false))
    }

    /// Notes a lookup. Returns true if the lookup must be made. `look_up` receives deferred pages
    /// that must be looked up first, by a load.
    #[inline]
    pub fn has_to_be_made(
        &mut self,
        page: PageNumber,
        stores: bool,
        look_up: &mut impl FnMut(PageNumber),
    ) -> bool {
        let is_deferred = self.0.defer(page, stores);
        if !is_deferred {
            self.0.make(page, stores, look_up);
        }
        !is_deferred
    }

    /// Makes the deferred lookups, and forgets all pages: entries of TLBs are about to be dropped, or
    /// modified bits were cleared, or another address space runs.
    pub fn end(&mut self, look_up: &mut impl FnMut(PageNumber)) {
        self.0.catch_up(look_up);
        self.0.forget();
    }
}
