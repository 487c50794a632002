//! Page mobility, and the blocks of memory in which Linux groups pages by it (`mm/page_alloc.c`,
//! "pageblock").

use super::runs::Runs;
use std::ops::Range;

/// The mobility of a page: its migrate type in Linux.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mobility {
    /// Compaction can move the page.
    #[default]
    Movable,
    /// Nothing can move the page: page tables, most of the kernel's own memory.
    Unmovable,
    /// The page cannot be moved, but the kernel can drop its cached content.
    Reclaimable,
}

impl Mobility {
    /// All of them.
    pub const EACH: [Self; 3] = [Self::Movable, Self::Unmovable, Self::Reclaimable];

    /// The mobilities from whose blocks an allocation takes when its own blocks are full, in order
    /// (`fallbacks` in `mm/page_alloc.c`).
    pub(super) const fn fallbacks(self) -> [Self; 2] {
        match self {
            Self::Movable => [Self::Reclaimable, Self::Unmovable],
            Self::Unmovable => [Self::Reclaimable, Self::Movable],
            Self::Reclaimable => [Self::Unmovable, Self::Movable],
        }
    }
}

/// The mobility of each block of a pool. A block that is in no set is movable.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Pageblocks {
    pub(super) order: u8,
    /// Numbers of blocks.
    unmovable: Runs,
    reclaimable: Runs,
}

impl Pageblocks {
    /// Movable blocks of that order.
    pub(super) const fn new(order: u8) -> Self {
        Self {
            order,
            unmovable: Runs::new(),
            reclaimable: Runs::new(),
        }
    }

    pub(super) fn of(&self, frame: u64) -> Mobility {
        let block = frame >> self.order;
        if self.unmovable.contains(block) {
            Mobility::Unmovable
        } else if self.reclaimable.contains(block) {
            Mobility::Reclaimable
        } else {
            Mobility::Movable
        }
    }

    /// Gives blocks, by their numbers, to pages of that mobility.
    pub(super) fn set(&mut self, blocks: Range<u64>, mobility: Mobility) {
        self.unmovable.remove(blocks.clone());
        self.reclaimable.remove(blocks.clone());
        match mobility {
            Mobility::Movable => {}
            Mobility::Unmovable => self.unmovable.add(blocks),
            Mobility::Reclaimable => self.reclaimable.add(blocks),
        }
    }

    /// The frames of the blocks of a mobility; `None` for movable ones, which are all others.
    pub(super) fn frames_of(&self, mobility: Mobility) -> Option<impl Iterator<Item = Range<u64>>> {
        let runs = match mobility {
            Mobility::Movable => return None,
            Mobility::Unmovable => &self.unmovable,
            Mobility::Reclaimable => &self.reclaimable,
        };
        let order = self.order;
        Some(
            runs.iter()
                .map(move |run| run.start << order..run.end << order),
        )
    }
}
