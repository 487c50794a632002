//! Known walks of a page table: their reads, until the table changes.
//!
//! A TLB with few entries misses the same pages again and again. Where walks change nothing of a
//! table ([`broadleaf_pagetable::PageTable::walks_alike`]), a page's walk reads the same each time.

use broadleaf_pagetable::WalkCounts;
use broadleaf_units::{Leaf, PageNumber, SpaceId};

/// The number of slots. A power of two.
const SLOTS: usize = 1 << 15;
/// The pages around a missing page that a walk may read besides, as a power of two. A bit of a word
/// names each.
const AROUND: u32 = u64::BITS.trailing_zeros();

/// A walk for a page, and for the pages that the TLB loaded beside the page.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KnownWalk {
    space: SpaceId,
    page: PageNumber,
    /// The state of the table; 0 if the slot is empty.
    state: u32,
    pub(crate) leaf: Option<Leaf>,
    /// The pages beside, by their places among the pages around.
    pub(crate) beside: u64,
    /// The reads, the nodes and the lines.
    counts: [u32; 3],
}

impl KnownWalk {
    /// The counts of the walk.
    #[inline]
    pub(crate) fn counts(&self) -> WalkCounts {
        let [reads, nodes, lines] = self.counts.map(u64::from);
        WalkCounts {
            walks: 1,
            reads,
            nodes,
            most_nodes: nodes,
            lines,
        }
    }
}

/// The known walks of a table.
#[derive(Debug)]
pub(crate) struct WalkMemo {
    /// Empty before the first walk is known.
    slots: Vec<KnownWalk>,
    /// Walks of other states of the table are forgotten.
    state: u32,
}

impl Default for WalkMemo {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            state: 1,
        }
    }
}

/// Pages beside a page, by their places among the pages around. `None` if one lies elsewhere.
pub(crate) fn places(page: PageNumber, beside: &[PageNumber]) -> Option<u64> {
    let block = page.0 >> AROUND;
    let mut places = 0;
    for other in beside {
        if other.0 >> AROUND != block {
            return None;
        }
        places |= 1 << (other.0 & ((1 << AROUND) - 1));
    }
    Some(places)
}

const fn slot(space: SpaceId, page: PageNumber) -> usize {
    (page.0 ^ page.0 >> 15 ^ (space.0 as u64) << 9) as usize % SLOTS
}

impl WalkMemo {
    /// Forgets all walks: the table changes.
    pub(crate) fn forget(&mut self) {
        self.state = self.state.wrapping_add(1);
        if self.state == 0 {
            self.slots.fill(KnownWalk::default());
            self.state = 1;
        }
    }

    /// The walk for a page, if it is known.
    #[inline]
    pub(crate) fn find(&self, space: SpaceId, page: PageNumber) -> Option<&KnownWalk> {
        let known = self.slots.get(slot(space, page))?;
        let is_it = known.state == self.state && known.page == page && known.space == space;
        is_it.then_some(known)
    }

    /// Keeps a walk for a page and the pages beside. A walk whose pages lie far apart is not kept.
    pub(crate) fn keep(
        &mut self,
        (space, page): (SpaceId, PageNumber),
        leaf: Option<Leaf>,
        beside: &[PageNumber],
        counts: WalkCounts,
    ) {
        let Some(beside) = places(page, beside) else {
            return;
        };
        let counts = [counts.reads, counts.nodes, counts.lines].map(u32::try_from);
        let [Ok(reads), Ok(nodes), Ok(lines)] = counts else {
            return;
        };
        if self.slots.is_empty() {
            self.slots.resize(SLOTS, KnownWalk::default());
        }
        self.slots[slot(space, page)] = KnownWalk {
            space,
            page,
            state: self.state,
            leaf,
            beside,
            counts: [reads, nodes, lines],
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_are_known_until_the_table_changes() {
        let mut memo = WalkMemo::default();
        let (space, page) = (SpaceId(3), PageNumber(70));
        let counts = WalkCounts {
            walks: 1,
            reads: 9,
            nodes: 5,
            most_nodes: 5,
            lines: 4,
        };
        memo.keep(
            (space, page),
            None,
            &[PageNumber(71), PageNumber(64)],
            counts,
        );
        let known = memo.find(space, page).expect("a walk");
        assert_eq!((known.beside, known.counts()), (1 << 7 | 1, counts));
        assert!(memo.find(SpaceId(2), page).is_none());
        assert!(memo.find(space, PageNumber(71)).is_none());
        memo.forget();
        assert!(memo.find(space, page).is_none());
        // A page of another block of 64 has no bit.
        memo.keep((space, page), None, &[PageNumber(63)], counts);
        assert!(memo.find(space, page).is_none());
        memo.keep((space, page), None, &[], counts);
        memo.state = u32::MAX;
        memo.forget();
        assert!(memo.find(space, page).is_none());
    }
}
