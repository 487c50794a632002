//! The memory of this machine that the model of a system takes.

use super::{Piece, System};

/// Bytes that an entry of a `BTreeMap` takes on average: its nodes are three quarters full, and
/// each has a head.
pub(super) const fn entry<K, V>() -> usize {
    (size_of::<K>() + size_of::<V>()) * 4 / 3 + 4
}

/// Bytes for the population of a block: a node, its bits, and the allocator's overhead for both.
const NODE: usize = 160;

impl System<'_> {
    /// Bytes of memory that the model takes, to within some percent. It grows with the blocks and
    /// pages that a program touches.
    pub fn bytes(&self) -> usize {
        use super::{Frame, Place};
        let due = self.due.len() * entry::<(u64, Place, u64), ()>();
        let cache = self.cache.len()
            * (entry::<Frame, super::frame_table::FilePage>() * 2 + entry::<Frame, ()>());
        let reserved = self.reserved_at.len() * entry::<Place, u64>();
        self.tables.bytes()
            + self.frames.bytes()
            + self.reservations.bytes()
            + self.tables.len() as usize * NODE
            + self.of_tables.capacity() * size_of::<Frame>()
            + due
            + cache
            + reserved
    }

    /// Lets a piece all of whose pages have changed alike take little memory.
    pub(super) fn compact_piece(&mut self, piece: Piece) {
        let pages = self.pages(piece.level);
        self.tables.compact(piece.first, pages);
        let first = self.tables.get(piece.first);
        if pages >= super::table::CHUNK && first.has_frame() {
            self.frames.compact(first.frame(), pages);
        }
    }
}
