//! The TLB and the LRU stack: two lists, the most recently used first.

use std::ops::Range;

use broadleaf_units::SpaceId;

use super::piece::Piece;

/// What is in the TLB, and in which order everything was last used whose translation was not taken away since.
#[derive(Clone, Debug, Default)]
pub(super) struct Tlb {
    pub(super) entries: Vec<Piece>,
    pub(super) stack: Vec<Piece>,
}

impl Tlb {
    /// Loads the translation of `page`, or finds it there. The least recently used goes where there is no room for it.
    pub(super) fn load(&mut self, page: Piece, room: usize) {
        self.entries.retain(|&other| other != page);
        self.entries.insert(0, page);
        self.entries.truncate(room);
    }

    /// Notes that `page` is used. What was used so long ago that no superpage of `largest` base pages could have kept it in a TLB with this much room is forgotten.
    pub(super) fn note(&mut self, page: Piece, room: usize, largest: u64) {
        self.stack.retain(|&other| other != page);
        self.stack.insert(0, page);
        self.stack.truncate(room + largest as usize - 1);
    }

    /// Removes the translations of a new superpage's parts.
    pub(super) fn flush_parts(&mut self, of: Piece) {
        for list in [&mut self.entries, &mut self.stack] {
            list.retain(|&entry| !of.contains(entry));
        }
    }

    /// Removes every translation of any of these pages.
    pub(super) fn invalidate(&mut self, space: SpaceId, pages: &Range<u64>) {
        for list in [&mut self.entries, &mut self.stack] {
            list.retain(|entry| entry.space != space || !entry.meets(pages));
        }
    }
}
