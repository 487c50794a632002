//! The cost of a walk.

use broadleaf_units::PageSize;
use std::collections::BTreeMap;

/// Cycles that a walk takes, by the size of the page that it finds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WalkCosts(pub(crate) BTreeMap<PageSize, u64>);

impl WalkCosts {
    /// The cost of a walk that finds a page of that size; `None` where the machine has no such
    /// pages.
    pub fn of(&self, size: PageSize) -> Option<u64> {
        self.0.get(&size).copied()
    }

    /// Sizes and costs, smallest size first.
    pub fn iter(&self) -> impl Iterator<Item = (PageSize, u64)> + '_ {
        self.0.iter().map(|(size, cycles)| (*size, *cycles))
    }
}
