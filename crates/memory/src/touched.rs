//! The pages that were ever referenced.

use crate::{BlockId, ByKind, PageMap};
use broadleaf_units::BackingKind;
use std::ops::Sub;

/// The numbers of pages and blocks that were ever referenced, by the kind of memory that they
/// mapped at first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Touches {
    /// Distinct base pages.
    pub pages: ByKind,
    /// Distinct blocks.
    pub blocks: ByKind,
}

impl Sub for Touches {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            pages: self.pages - other.pages,
            blocks: self.blocks - other.blocks,
        }
    }
}

/// The base pages of each block that were ever referenced.
#[derive(Clone, Debug, Default)]
pub struct Touched {
    pages: Vec<PageMap>,
    touches: Touches,
}

impl Touched {
    /// No referenced page.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes room for blocks with ids below `count`.
    pub fn make_room(&mut self, count: usize) {
        if self.pages.len() < count {
            self.pages.resize(count, PageMap::EMPTY);
        }
    }

    /// Records a reference. Calls `kind` if this is the page's first reference.
    ///
    /// # Panics
    /// If no room was made for the block.
    #[inline]
    pub fn note(&mut self, block: BlockId, offset: usize, kind: impl FnOnce() -> BackingKind) {
        let pages = &mut self.pages[block.index()];
        if pages.get(offset) {
            return;
        }
        let kind = kind();
        if pages.is_empty() {
            self.touches.blocks.add(kind, 1);
        }
        pages.set(offset);
        self.touches.pages.add(kind, 1);
    }

    /// The pages and blocks referenced so far.
    pub const fn touches(&self) -> Touches {
        self.touches
    }
}
