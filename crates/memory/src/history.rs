//! Histories: the pages that a program referenced and stored to since they last became resident.
//! Histories do not depend on the policy: no policy decides the references, and every policy sees
//! the same removals.

use crate::{BlockId, BlockSpan, Change, Move, PageMap};

/// The history of one block. A single map shows whether a reference changes anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[repr(align(64))]
pub struct History {
    /// Pages referenced since they became resident.
    pub(crate) used: PageMap,
    /// Pages stored to since they became resident.
    pub(crate) dirty: PageMap,
}

/// The history of a page before a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageHistory {
    /// True if the page was referenced before.
    pub used: bool,
    /// True if the page was stored to before.
    pub dirty: bool,
}

impl PageHistory {
    /// Returns true if another reference to the page changes nothing under any policy.
    #[inline]
    pub const fn is_settled(self, store: bool) -> bool {
        if store { self.dirty } else { self.used }
    }
}

/// The histories of all blocks.
#[derive(Clone, Debug, Default)]
pub struct Histories {
    blocks: Vec<History>,
}

impl Histories {
    /// Histories without a reference.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes room for blocks with ids below `count`. All other methods need this room.
    #[inline]
    pub fn make_room(&mut self, count: usize) {
        if self.blocks.len() < count {
            self.blocks.resize_with(count, History::default);
        }
    }

    /// The history of a block.
    ///
    /// # Panics
    /// Panics if there is no room for the block, as do all methods here.
    #[inline]
    pub fn block(&self, block: BlockId) -> &History {
        &self.blocks[block.index()]
    }

    /// Returns true if a reference to a page, or a store, changes nothing under any policy.
    #[inline]
    pub fn is_settled(&self, block: BlockId, offset: usize, store: bool) -> bool {
        let history = &self.blocks[block.index()];
        // The choice between the two maps is no branch, since stores are hard to predict.
        [&history.used, &history.dirty][usize::from(store)].get(offset)
    }

    /// Notes a reference to a page, or a store, and returns the page's earlier history.
    #[inline]
    pub fn note(&mut self, block: BlockId, offset: usize, store: bool) -> PageHistory {
        let history = &mut self.blocks[block.index()];
        let used = !history.used.set(offset);
        let dirty = history.dirty.get(offset);
        if store {
            history.dirty.set(offset);
        }
        PageHistory { used, dirty }
    }

    /// Applies a change. Every memory must apply the change first.
    pub fn apply(&mut self, change: &Change) {
        match change {
            Change::Release(extent) | Change::End(extent) => {
                for span in &extent.spans {
                    self.take(*span);
                }
            }
            Change::Protect(_) | Change::Emptied(..) => {}
            Change::Relocate { moves, .. } => {
                let carried: Vec<History> =
                    moves.iter().map(|moved| self.take(moved.source)).collect();
                for (moved, carried) in moves.iter().zip(&carried) {
                    self.put(moved, carried);
                }
            }
        }
    }

    fn take(&mut self, span: BlockSpan) -> History {
        let pages = PageMap::of(span.from..span.to);
        let history = &mut self.blocks[span.block.index()];
        let taken = History {
            used: history.used.and(&pages),
            dirty: history.dirty.and(&pages),
        };
        history.used = history.used.without(&pages);
        history.dirty = history.dirty.without(&pages);
        taken
    }

    fn put(&mut self, moved: &Move, carried: &History) {
        let target = &mut self.blocks[moved.target.index()];
        for (map, arriving) in [
            (&mut target.used, &carried.used),
            (&mut target.dirty, &carried.dirty),
        ] {
            for offset in arriving.offsets() {
                map.set(offset - moved.source.from + moved.at);
            }
        }
    }
}
