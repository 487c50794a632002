//! Which pages were ever referenced.

use crate::{BlockId, PageMap};

/// Which base pages of each block were ever referenced.
#[derive(Clone, Debug, Default)]
pub struct Touched(Vec<PageMap>);

impl Touched {
    /// None yet.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Makes room for blocks with ids below `count`.
    pub fn make_room(&mut self, count: usize) {
        if self.0.len() < count {
            self.0.resize(count, PageMap::EMPTY);
        }
    }

    /// Notes a reference.
    ///
    /// # Panics
    /// Where no room was made for the block.
    #[inline]
    pub fn note(&mut self, block: BlockId, offset: usize) {
        self.0[block.index()].set(offset);
    }

    /// Distinct base pages.
    pub fn pages(&self) -> u64 {
        self.0.iter().map(|pages| u64::from(pages.count())).sum()
    }

    /// Distinct blocks.
    pub fn blocks(&self) -> u64 {
        self.0.iter().filter(|pages| !pages.is_empty()).count() as u64
    }
}
