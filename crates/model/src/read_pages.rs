//! The pages of a page table that machines read lately.
//!
//! TLBs that preload read the same pages of a block at the same time, and each again and again. The
//! pages that were read are known while memory and mappings stay as they are.

use broadleaf_memory::system::Place;
use broadleaf_tlb::Translation;
use std::cell::{Cell, RefCell};

/// The number of slots. A power of two.
const SLOTS: usize = 1 << 15;

/// The translation of a page as large as the page table has it, and the level of the page; `None`
/// if the page is not mapped.
type ReadPage = Option<(usize, Translation)>;

/// The pages that were read. Two pages that share a slot take turns.
#[derive(Debug, Default)]
pub(crate) struct ReadPages {
    /// Empty before the first page is kept.
    slots: RefCell<Vec<ReadSlot>>,
    /// Slots of other turns are forgotten.
    turn: Cell<u32>,
    /// The number of changes of memory before the first page of the turn was read.
    changes: Cell<u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct ReadSlot {
    at: Place,
    /// The turn; 0 if the slot is empty.
    turn: u32,
    page: ReadPage,
}

impl ReadPages {
    /// Forgets all pages if memory changed, by its number of changes.
    pub(crate) fn renew(&self, changes: u64) {
        if self.changes.replace(changes) != changes {
            self.forget();
        }
    }

    /// Forgets all pages: memory or mappings may have changed.
    pub(crate) fn forget(&self) {
        let turn = self.turn.get().wrapping_add(1);
        self.turn.set(turn.max(1));
        if turn == 0 {
            self.slots.borrow_mut().fill(ReadSlot::default());
        }
    }

    /// The page of a place, if it was read.
    #[inline]
    pub(crate) fn find(&self, at: Place) -> Option<ReadPage> {
        let slots = self.slots.borrow();
        let slot = slots.get(at.page as usize % SLOTS)?;
        (slot.turn == self.turn.get() && slot.at == at).then_some(slot.page)
    }

    /// Keeps the page of a place.
    pub(crate) fn keep(&self, at: Place, page: ReadPage) {
        let mut slots = self.slots.borrow_mut();
        if slots.is_empty() {
            slots.resize(SLOTS, ReadSlot::default());
        }
        slots[at.page as usize % SLOTS] = ReadSlot {
            at,
            turn: self.turn.get(),
            page,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_units::SpaceId;

    #[test]
    fn pages_are_known_until_memory_may_have_changed() {
        let at = |space, page| Place {
            space: SpaceId(space),
            page,
        };
        let read = ReadPages::default();
        read.forget();
        assert_eq!(read.find(at(0, 0)), None);
        read.keep(at(0, 5), None);
        assert_eq!(read.find(at(0, 5)), Some(None));
        assert_eq!((read.find(at(1, 5)), read.find(at(0, 6))), (None, None));
        read.keep(at(0, 5 + SLOTS as u64), None);
        assert_eq!(read.find(at(0, 5)), None);
        read.keep(at(0, 5), None);
        read.forget();
        assert_eq!(read.find(at(0, 5)), None);
        read.keep(at(0, 6), None);
        read.renew(0);
        assert_eq!(read.find(at(0, 6)), Some(None));
        read.renew(1);
        assert_eq!(read.find(at(0, 6)), None);
        read.turn.set(u32::MAX);
        read.keep(at(0, 5), None);
        read.forget();
        assert_eq!((read.find(at(0, 5)), read.turn.get()), (None, 1));
    }
}
