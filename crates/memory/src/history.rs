//! Which pages a program referenced and stored to since they last became resident: the same for
//! every policy, as no policy decides what a program references, and what takes pages away takes
//! them away under each.

use crate::{BlockId, Change, Move, PageMap, Span};

/// What was referenced of one block. One look at one map says whether a reference changes anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[repr(align(64))]
pub struct History {
    /// Pages referenced since they became resident.
    pub(crate) used: PageMap,
    /// Pages stored to since they became resident.
    pub(crate) dirty: PageMap,
}

/// What a reference finds of its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// It was referenced before.
    pub used: bool,
    /// It was stored to before.
    pub dirty: bool,
}

impl Seen {
    /// Whether another reference changes nothing under any policy.
    #[inline]
    pub const fn is_settled(self, store: bool) -> bool {
        if store { self.dirty } else { self.used }
    }
}

/// What was referenced of each block.
#[derive(Clone, Debug, Default)]
pub struct Histories {
    blocks: Vec<History>,
}

impl Histories {
    /// Nothing was referenced.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes room for blocks with ids below `count`. Everything else needs it for the blocks that
    /// it is given.
    #[inline]
    pub fn make_room(&mut self, count: usize) {
        if self.blocks.len() < count {
            self.blocks.resize_with(count, History::default);
        }
    }

    /// What was referenced of a block.
    ///
    /// # Panics
    /// Where no room was made for it, as everywhere here.
    #[inline]
    pub fn block(&self, block: BlockId) -> &History {
        &self.blocks[block.index()]
    }

    /// Whether a reference to a page, a store or not, changes nothing under any policy.
    #[inline]
    pub fn is_settled(&self, block: BlockId, offset: usize, store: bool) -> bool {
        let history = &self.blocks[block.index()];
        // Which of the two maps is looked at is no branch: stores come and go.
        [&history.used, &history.dirty][usize::from(store)].get(offset)
    }

    /// Notes a reference to a page, a store or not, and says what was known of the page before.
    #[inline]
    pub fn note(&mut self, block: BlockId, offset: usize, store: bool) -> Seen {
        let history = &mut self.blocks[block.index()];
        let used = !history.used.set(offset);
        let dirty = history.dirty.get(offset);
        if store {
            history.dirty.set(offset);
        }
        Seen { used, dirty }
    }

    /// Does what an event asks. To be told after every memory was.
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

    fn take(&mut self, span: Span) -> History {
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
