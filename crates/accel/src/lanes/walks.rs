//! The host of TLBs: it answers lookups that miss.

use super::{PageId, Size};

/// What the first level and the page tables answer to a lookup that misses in some lane.
pub trait Walks {
    /// The first level of a lane missed, and the second did not.
    fn second_hit(&mut self, lane: usize);

    /// Both levels of a lane missed at the page of that number: the size of the page that its page
    /// table holds. `None` stops the lookup before it changes that lane.
    fn walk(&mut self, lane: usize, at: usize) -> Option<Size>;

    /// What the page table of a lane holds of a base page: whether it lies in a superpage, and
    /// whether only [`Walks::walk`] can say.
    fn sizes(&self, lane: usize) -> impl Fn(PageId) -> (bool, bool);

    /// Adds counts of one lane: lookups that the second level answered, and walks by page size.
    fn count(&mut self, lane: usize, second_hits: u64, base_walks: u64, super_walks: u64);
}
