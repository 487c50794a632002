//! The TLB and the LRU stack: two lists, the most recently used first.

use std::ops::Range;

use broadleaf_units::SpaceId;

use super::piece::RomerPiece;

/// The content of the TLB, and the order of last use of all pages whose translations are valid.
#[derive(Clone, Debug, Default)]
pub(super) struct RomerTlb {
    pub(super) entries: Vec<RomerPiece>,
    pub(super) stack: Vec<RomerPiece>,
}

impl RomerTlb {
    /// Loads the translation of `page` unless it is present. The least recently used translation
    /// leaves a full TLB.
    pub(super) fn load(&mut self, page: RomerPiece, room: usize) {
        self.entries.retain(|&other| other != page);
        self.entries.insert(0, page);
        self.entries.truncate(room);
    }

    /// Notes a use of `page`. Discards pages used so long ago that no superpage of `largest` base
    /// pages could keep them in a TLB with `room` entries.
    pub(super) fn note(&mut self, page: RomerPiece, room: usize, largest: u64) {
        self.stack.retain(|&other| other != page);
        self.stack.insert(0, page);
        self.stack.truncate(room + largest as usize - 1);
    }

    /// Removes the translations of a new superpage's parts.
    pub(super) fn flush_parts(&mut self, of: RomerPiece) {
        for list in [&mut self.entries, &mut self.stack] {
            list.retain(|&entry| !of.contains(entry));
        }
    }

    /// Removes every translation of these pages.
    pub(super) fn invalidate(&mut self, space: SpaceId, pages: &Range<u64>) {
        for list in [&mut self.entries, &mut self.stack] {
            list.retain(|entry| entry.space != space || !entry.meets(pages));
        }
    }
}
