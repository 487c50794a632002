//! The host of TLBs: it answers lookups that miss.

use super::{FamilyMachines, PageId, Size};

/// Counters and page tables for lookups that miss in some lane.
pub(crate) trait Walks {
    /// Counts a lookup that missed the first level of a lane and hit the second of a machine.
    fn second_hit(&mut self, lane: usize, machine: usize);

    /// Walks the page table of a lane after a miss in both levels of a machine. `at` is the index
    /// of the page among those looked up. Returns the page's size. `None` stops the lookups before
    /// the lane changes.
    fn walk(&mut self, lane: usize, machine: usize, at: usize) -> Option<Size>;

    /// Returns two flags for a base page of a lane: the page lies in a superpage, and the page is
    /// *odd*: only [`Walks::walk`] knows its size, and may return `None`.
    fn sizes(&self, lane: usize) -> impl Fn(PageId) -> (bool, bool);

    /// Adds counts of a machine in a lane: lookups that the second level answered, and walks that
    /// found a base page and a superpage.
    fn count(&mut self, lane: usize, machine: usize, second_hits: u64, walks: [u64; 2]);
}

/// The reason why lookups stop at a page, and the page's index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// [`Walks::walk`] did not return a page size.
    Walk(usize),
    /// The lookup has different effects on TLBs that are joined. [`Tlbs::part_at`] separates them.
    ///
    /// [`Tlbs::part_at`]: super::Tlbs::part_at
    Strays(usize),
    /// The machines of a lane found the page in two sizes. [`Tlbs::part_sizes`] ends the lookup in
    /// this lane.
    ///
    /// [`Tlbs::part_sizes`]: super::Tlbs::part_sizes
    Sizes {
        /// The page's index.
        at: usize,
        /// The lane.
        lane: usize,
        /// The machines that found a superpage.
        superpages: FamilyMachines,
    },
}
