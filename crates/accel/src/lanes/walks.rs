//! The host of TLBs: it answers lookups that miss.

use super::{PageId, Size};

/// Counters and page tables for lookups that miss in some lane.
pub trait Walks {
    /// Counts a lookup that missed the first level of a lane and hit the second.
    fn second_hit(&mut self, lane: usize);

    /// Walks the page table of a lane after a miss in both levels. `at` is the index of the page
    /// among those looked up. Returns the page's size. `None` stops the lookups before the lane
    /// changes.
    fn walk(&mut self, lane: usize, at: usize) -> Option<Size>;

    /// Returns two flags for a base page of a lane: the page lies in a superpage, and only
    /// [`Walks::walk`] knows the page size.
    fn sizes(&self, lane: usize) -> impl Fn(PageId) -> (bool, bool);

    /// Adds counts of one lane: lookups that the second level answered, and walks by page size.
    fn count(&mut self, lane: usize, second_hits: u64, base_walks: u64, super_walks: u64);
}

/// The reason why lookups in one TLB stop before a page, and the page's index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// [`Walks::walk`] did not return a page size.
    Walk(usize),
    /// The lookup has different effects on TLBs that are joined. [`Tlbs::part_at`] separates them.
    ///
    /// [`Tlbs::part_at`]: super::Tlbs::part_at
    Strays(usize),
}
