//! The half of memory that depends on the policy: which pages are resident and dirty, which blocks reserved and promoted.
//!
//! The verbs do what they are told and count it; when to do it is decided elsewhere. A verb on a block or page that is not
//! in the state that it needs does nothing.

use crate::{
    Block, BlockId, Change, Extent, GEOMETRY, Move, PAGES_PER_BLOCK, PageMap, Shootdown, Span,
};
use broadleaf_policy::BackingKind;
use broadleaf_units::{BlockNumber, SpaceId};

/// What a memory counted so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// References to pages that were not resident.
    pub page_faults: u64,
    /// Blocks that became a superpage.
    pub promotions: u64,
    /// Superpages that were broken into base pages.
    pub demotions: u64,
    /// Pages that a promotion zeroed and that went without having been referenced.
    pub zeroed_and_gone: u64,
    /// Pages that a promotion read from a file and that went without having been referenced.
    pub read_and_gone: u64,
    /// Base pages that are resident.
    pub resident: u64,
    /// The most that there ever were.
    pub peak_resident: u64,
}

/// What is on its way from one block to another.
enum Carried {
    /// All of a block, with its reservation.
    Block(Block),
    /// Which pages of a part of one are resident, used, dirty and filled from a file.
    Pages([PageMap; 4]),
}

/// What a memory comes to, if the trace ends here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Anonymous pages that a promotion filled and that were not referenced while they stood.
    pub extra_zeroed_pages: u64,
    /// File-backed ones.
    pub extra_disk_read_pages: u64,
    /// Clean pages in superpages that hold a dirty one.
    pub false_dirty_pages: u64,
}

/// The memory of one policy.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    blocks: Vec<Block>,
    counters: Counters,
}

impl Memory {
    /// An empty memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes room for blocks with ids below `count`. Every verb needs it for the blocks that it is given.
    pub fn make_room(&mut self, count: usize) {
        if self.blocks.len() < count {
            self.blocks.resize_with(count, Block::default);
        }
    }

    /// A block's state.
    ///
    /// # Panics
    /// Where no room was made for it, as in every verb.
    #[inline]
    pub fn block(&self, block: BlockId) -> &Block {
        &self.blocks[block.index()]
    }

    /// What was counted so far.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Whether a reference to a page would change nothing: it is resident and used, and dirty where it is stored to.
    #[inline]
    pub fn is_settled(&self, block: BlockId, offset: usize, store: bool) -> bool {
        let block = &self.blocks[block.index()];
        if store {
            block.dirty.get(offset)
        } else {
            block.used.get(offset)
        }
    }

    /// A page that was not resident is referenced at time `now`: it becomes resident and used. Where the block was empty
    /// and may be reserved, it is, and the answer is true.
    pub fn fault(&mut self, block: BlockId, offset: usize, now: u64, reservable: bool) -> bool {
        let block = &mut self.blocks[block.index()];
        if !block.resident.set(offset) {
            return false;
        }
        // Only an empty block: frames that lie elsewhere already cannot be gathered into a reservation.
        let reserve = reservable && block.populated == 0;
        if reserve {
            block.reserved_at = Some(now);
        }
        block.used.set(offset);
        block.populated += 1;
        self.counters.page_faults += 1;
        self.grow(1);
        reserve
    }

    /// A page that a promotion filled is referenced for the first time: a fault was avoided.
    pub fn use_filled(&mut self, block: BlockId, offset: usize) {
        let block = &mut self.blocks[block.index()];
        if block.resident.get(offset) && block.used.set(offset) {
            block.from_file = block.from_file.without(&PageMap::of(offset..offset + 1));
        }
    }

    /// A page that is in use is stored to.
    pub fn store(&mut self, block: BlockId, offset: usize) {
        let block = &mut self.blocks[block.index()];
        if block.used.get(offset) && block.dirty.set(offset) {
            block.dirty_pages += 1;
        }
    }

    /// Makes a superpage of a reserved block: pages that are not resident are filled, from a file or with zeroes. Entries of
    /// its base pages stay right, so no TLB is concerned.
    pub fn promote(&mut self, block: BlockId, backing: BackingKind) -> Shootdown {
        let block = &mut self.blocks[block.index()];
        if block.promoted || block.reserved_at.is_none() {
            return Shootdown::Nothing;
        }
        if backing == BackingKind::File {
            let missing = PageMap::FULL.without(&block.resident);
            block.from_file = block.from_file.or(&missing);
        }
        let filled = PAGES_PER_BLOCK as u32 - block.populated;
        block.resident = PageMap::FULL;
        block.populated = PAGES_PER_BLOCK as u32;
        block.promoted = true;
        self.counters.promotions += 1;
        self.grow(u64::from(filled));
        Shootdown::Nothing
    }

    /// Breaks a superpage into base pages, which all stay resident. The block stands at that place.
    pub fn demote(&mut self, block: BlockId, (space, number): (SpaceId, BlockNumber)) -> Shootdown {
        if !self.break_up(block) {
            return Shootdown::Nothing;
        }
        Shootdown::Superpage {
            space,
            first: GEOMETRY.first_page(number),
        }
    }

    fn break_up(&mut self, block: BlockId) -> bool {
        let block = &mut self.blocks[block.index()];
        let was_promoted = std::mem::replace(&mut block.promoted, false);
        self.counters.demotions += u64::from(was_promoted);
        was_promoted
    }

    fn grow(&mut self, pages: u64) {
        self.counters.resident += pages;
        self.counters.peak_resident = self.counters.peak_resident.max(self.counters.resident);
    }

    /// Does what an event asks.
    pub fn apply(&mut self, change: &Change) -> Shootdown {
        match change {
            Change::Release(extent) => self.release(extent),
            Change::Protect(extent) => self.protect(extent),
            Change::Relocate(extent, moves) => self.relocate(extent, moves),
            Change::End(extent) => {
                let _superseded = self.release(extent);
                Shootdown::Space(extent.space)
            }
        }
    }

    fn release(&mut self, extent: &Extent) -> Shootdown {
        let mut any = false;
        for span in &extent.spans {
            any |= self.release_span(*span);
        }
        // What is not resident is in no TLB.
        if any {
            range(extent)
        } else {
            Shootdown::Nothing
        }
    }

    fn release_span(&mut self, span: Span) -> bool {
        let pages = PageMap::of(span.from..span.to);
        let block = &mut self.blocks[span.block.index()];
        let going = block.resident.and(&pages);
        if going.is_empty() {
            return false;
        }
        if going == block.resident {
            // The superpage goes as a whole, which is no demotion.
            block.promoted = false;
        } else {
            self.break_up(span.block);
        }
        let block = &mut self.blocks[span.block.index()];
        let (zeroed, read) = block.filled_counts(&pages);
        block.drop_pages(&pages);
        self.counters.zeroed_and_gone += zeroed;
        self.counters.read_and_gone += read;
        self.counters.resident -= u64::from(going.count());
        true
    }

    fn protect(&mut self, extent: &Extent) -> Shootdown {
        for span in &extent.spans {
            // A superpage can have other rights as a whole, but not in part.
            if span.to - span.from < PAGES_PER_BLOCK {
                self.break_up(span.block);
            }
        }
        if extent.spans.is_empty() {
            Shootdown::Nothing
        } else {
            range(extent)
        }
    }

    /// All pages leave before any arrives, so that a block which is both left and entered loses its reservation in between
    /// whichever way the range moves.
    fn relocate(&mut self, extent: &Extent, moves: &[Move]) -> Shootdown {
        let carried: Vec<Carried> = moves.iter().map(|moved| self.pick_up(moved)).collect();
        for (moved, carried) in moves.iter().zip(carried) {
            self.put_down(moved, carried);
        }
        if moves.is_empty() {
            Shootdown::Nothing
        } else {
            range(extent)
        }
    }

    fn pick_up(&mut self, moved: &Move) -> Carried {
        if moved.is_whole_block() {
            let block = &mut self.blocks[moved.source.block.index()];
            return Carried::Block(std::mem::take(block));
        }
        self.break_up(moved.source.block);
        let pages = PageMap::of(moved.source.from..moved.source.to);
        let source = &mut self.blocks[moved.source.block.index()];
        let going = [source.resident, source.used, source.dirty, source.from_file]
            .map(|map| map.and(&pages));
        source.drop_pages(&pages);
        Carried::Pages(going)
    }

    /// Where pages arrive one by one, the target keeps the reservation that it has and gets none.
    fn put_down(&mut self, moved: &Move, carried: Carried) {
        let target = &mut self.blocks[moved.target.index()];
        let going = match carried {
            Carried::Block(block) => {
                *target = block;
                return;
            }
            Carried::Pages(going) => going,
        };
        let arriving = [
            &mut target.resident,
            &mut target.used,
            &mut target.dirty,
            &mut target.from_file,
        ];
        for (map, going) in arriving.into_iter().zip(&going) {
            for offset in going.offsets() {
                map.set(offset - moved.source.from + moved.at);
            }
        }
        target.recount();
    }

    /// What it comes to, if the trace ends here.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals {
            extra_zeroed_pages: self.counters.zeroed_and_gone,
            extra_disk_read_pages: self.counters.read_and_gone,
            false_dirty_pages: 0,
        };
        for block in &self.blocks {
            let (zeroed, read) = block.filled_counts(&PageMap::FULL);
            totals.extra_zeroed_pages += zeroed;
            totals.extra_disk_read_pages += read;
            if block.promoted && block.dirty_pages > 0 {
                totals.false_dirty_pages += PAGES_PER_BLOCK as u64 - u64::from(block.dirty_pages);
            }
        }
        totals
    }

    /// Asserts what has to hold between any two verbs.
    ///
    /// # Panics
    /// Where it does not hold.
    pub fn check(&self) {
        self.blocks.iter().for_each(Block::check);
        let resident: u64 = self
            .blocks
            .iter()
            .map(|block| u64::from(block.populated))
            .sum();
        assert_eq!(
            self.counters.resident, resident,
            "resident pages are miscounted"
        );
        assert!(
            self.counters.peak_resident >= resident,
            "the peak lies below what is resident"
        );
        assert!(
            self.counters.demotions <= self.counters.promotions,
            "more superpages broken than made"
        );
    }
}

fn range(extent: &Extent) -> Shootdown {
    Shootdown::Range {
        space: extent.space,
        pages: extent.pages,
    }
}
