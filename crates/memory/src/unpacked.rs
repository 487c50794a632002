//! Changes to the blocks of one policy, applied to unpacked blocks: events are rare, so speed
//! matters little.

use crate::{
    BlockId, BlockSpan, Change, Counters, Extent, Move, PAGES_PER_BLOCK, PageMap, Shootdown,
    UnpackedBlock,
};
use std::collections::BTreeMap;

/// The content that moves from one block to another.
enum Carried {
    /// All of a block, with its reservation.
    Whole(UnpackedBlock),
    /// The resident, used, dirty and file-filled pages of a part of a block.
    Pages([PageMap; 4]),
}

/// The blocks that an event concerns, unpacked. Absent blocks are empty.
pub(crate) struct Unpacked<'a> {
    pub(crate) blocks: BTreeMap<BlockId, UnpackedBlock>,
    pub(crate) counters: &'a mut Counters,
}

impl Unpacked<'_> {
    /// Applies a change.
    pub(crate) fn apply(&mut self, change: &Change) -> Shootdown {
        match change {
            Change::Release(extent) => self.release(extent),
            Change::Protect(extent) => self.protect(extent),
            Change::Relocate { from, moves, .. } => self.relocate(from, moves),
            Change::End(extent) => {
                let _superseded = self.release(extent);
                Shootdown::Space(extent.space)
            }
            // This model has no frames, so shared memory has no state of its own.
            Change::Emptied(..) => Shootdown::Nothing,
        }
    }

    fn release(&mut self, extent: &Extent) -> Shootdown {
        let mut any = false;
        for span in &extent.spans {
            any |= self.release_span(*span);
        }
        // No TLB holds a page that is not resident.
        if any {
            range(extent)
        } else {
            Shootdown::Nothing
        }
    }

    fn release_span(&mut self, span: BlockSpan) -> bool {
        let pages = PageMap::of(span.from..span.to);
        let block = self.block(span.block);
        let going = block.resident.and(&pages);
        if going.is_empty() {
            return false;
        }
        if going == block.resident {
            // The superpage is removed as a whole, which is no demotion.
            block.promoted = false;
        } else {
            self.break_up(span.block);
        }
        let block = self.block(span.block);
        let (zeroed, read) = block.filled_counts(&pages);
        block.drop_pages(&pages);
        self.counters.zeroed_and_gone += zeroed;
        self.counters.read_and_gone += read;
        self.counters.resident -= u64::from(going.count());
        true
    }

    fn protect(&mut self, extent: &Extent) -> Shootdown {
        for span in &extent.spans {
            // A superpage can change its rights as a whole, but not in part.
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

    /// Moves the pages of an extent. All pages leave before any arrives. So a block that pages
    /// leave and enter loses its reservation, whichever way the range moves.
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
            let block = self.block(moved.source.block);
            return Carried::Whole(std::mem::take(block));
        }
        self.break_up(moved.source.block);
        let pages = PageMap::of(moved.source.from..moved.source.to);
        let source = self.block(moved.source.block);
        let going = [source.resident, source.used, source.dirty, source.from_file]
            .map(|map| map.and(&pages));
        source.drop_pages(&pages);
        Carried::Pages(going)
    }

    /// Puts moved pages into their target block. If single pages arrive, the target keeps its
    /// reservation and gets none.
    fn put_down(&mut self, moved: &Move, carried: Carried) {
        let target = self.block(moved.target);
        let going = match carried {
            Carried::Whole(block) => {
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

    fn block(&mut self, block: BlockId) -> &mut UnpackedBlock {
        self.blocks.entry(block).or_default()
    }

    fn break_up(&mut self, block: BlockId) {
        let was_promoted = std::mem::replace(&mut self.block(block).promoted, false);
        self.counters.demotions += u64::from(was_promoted);
    }
}

fn range(extent: &Extent) -> Shootdown {
    Shootdown::Range {
        space: extent.space,
        pages: extent.pages,
    }
}
