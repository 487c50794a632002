//! References: the changes of memory before a reference is translated.

use super::{OutOfMemory, Piece, Place, Pte, System};
use crate::AddressSpaces;
use broadleaf_policy::{Point, Verdict};
use broadleaf_units::{PageNumber, PageSize};

/// The physical address of the page of zeros that pages share until a store. No frame lies there.
const ZERO_PAGE: u64 = 1 << 50;

impl System<'_> {
    /// The level of the page that maps this place, if a reference changes nothing. If `None`, call
    /// [`System::reference`].
    #[inline]
    pub fn look(&mut self, at: Place, store: bool) -> Option<usize> {
        let pte = self.tables.look(at);
        pte.is_settled(store).then(|| pte.level())
    }

    /// The level of the page that maps a virtual address whose 4 KiB page is `page`, and the
    /// physical address, if a reference changes nothing. `offset` is the place inside the page.
    #[inline]
    pub fn look_at_address(
        &mut self,
        at: Place,
        store: bool,
        page: PageNumber,
        offset: u64,
    ) -> Option<(usize, u64)> {
        let pte = self.tables.look(at);
        (pte.is_settled(store)).then(|| (pte.level(), self.address_in(pte, page, offset)))
    }

    /// The physical address of a virtual address whose 4 KiB page is `page`, if a page maps it.
    /// `offset` is the place inside the page.
    #[inline]
    pub fn physical(&mut self, at: Place, page: PageNumber, offset: u64) -> Option<u64> {
        let pte = self.tables.look(at);
        (pte.is_present()).then(|| self.address_in(pte, page, offset))
    }

    /// The physical address of a place inside a 4 KiB page that an entry maps.
    ///
    /// The page of zeros that pages share until a store lies at 2^50, where no frame is.
    #[inline]
    fn address_in(&self, pte: Pte, page: PageNumber, offset: u64) -> u64 {
        let inside = |size: PageSize| {
            let address = (page.0 << PageSize::SIZE_4K.shift()) + offset;
            address & (size.bytes() - 1)
        };
        match pte.has_frame() {
            true => (pte.frame().0 << self.base.shift()) + inside(self.base),
            false => ZERO_PAGE + inside(self.size(pte.level())),
        }
    }

    /// A number that changes whenever [`System::look`] stops to find a page settled that it found
    /// settled before.
    pub const fn unsettled(&self) -> u64 {
        self.tables.unsettled()
    }

    /// A number that changes whenever an entry of a page table is set.
    pub const fn entries_set(&self) -> u64 {
        self.tables.entries_set()
    }

    /// Applies a reference to a page, which faults if the page is not resident. Returns the level
    /// of the page that maps the place then.
    ///
    /// # Errors
    /// If no frame is available for the page.
    pub fn reference(
        &mut self,
        spaces: &AddressSpaces,
        at: Place,
        store: bool,
    ) -> Result<usize, OutOfMemory> {
        self.keep_frames_free(spaces);
        self.settle_tables(spaces);
        self.fault_cycles = 0;
        self.pinned = Some(at);
        let done = self.refer(spaces, at, store);
        self.pinned = None;
        if self.fault_cycles > 0 {
            self.counters.fault_cycles += self.fault_cycles;
            let worst = &mut self.counters.worst_fault_cycles;
            *worst = (*worst).max(self.fault_cycles);
            self.fault_cycles = 0;
        }
        done?;
        Ok(self.tables.get(at).level())
    }

    fn refer(&mut self, spaces: &AddressSpaces, at: Place, store: bool) -> Result<(), OutOfMemory> {
        let faults = !self.tables.get(at).is_present();
        let again = !faults && !self.tables.get(at).has(Pte::REFERENCED);
        if faults {
            self.fault(spaces, at, store)?;
        }
        if store && self.tables.get(at).has(Pte::PROTECTED) {
            self.unprotect(spaces, at)?;
        }
        let pte = self.tables.get(at);
        self.tables.set(at, pte.with(Pte::USED | Pte::REFERENCED));
        if store {
            if !self.tables.get(at).has(Pte::DIRTY) {
                // The policy was asked at the fault, and knows of the store (spec model 9).
                if faults {
                    self.dirty(at);
                } else {
                    self.first_store(spaces, at);
                }
            }
            let pte = self.tables.get(at);
            self.tables.set(
                at,
                pte.with(Pte::DIRTY | Pte::CONTENT | Pte::UNSAVED)
                    .without(Pte::READ),
            );
        }
        if again && self.needs.asked_when_used_again {
            self.ask_upwards(spaces, at, Point::UsedAgain);
        }
        Ok(())
    }

    /// A page that was resident and clean before this access is stored to.
    fn first_store(&mut self, spaces: &AddressSpaces, at: Place) {
        // Its pieces are protected as it was, so the store meets the next smaller one after it.
        loop {
            let level = self.tables.get(at).level();
            let piece = self.piece(at, level);
            let is_asked = self.asked_levels(at.space).contains(&level);
            if !is_asked || self.tables.counts(piece.first, self.pages(level)).dirty > 0 {
                break;
            }
            let view = self.view(spaces, piece, at.page, 0);
            match self.policy.decide(Point::StoreToCleanSuperpage, &view) {
                Verdict::Demote => self.demote(piece),
                Verdict::Stay(reason) => {
                    self.refuse(piece, reason);
                    break;
                }
                Verdict::Promote | Verdict::Pass => break,
            }
        }
        self.dirty(at);
        self.ask_upwards(spaces, at, Point::FirstStore);
    }

    /// Notes the first store to a resident page.
    pub(super) fn dirty(&mut self, at: Place) {
        let pte = self.tables.get(at);
        let stored = Pte::DIRTY | Pte::CONTENT | Pte::UNSAVED;
        self.tables.set(at, pte.with(stored));
        if pte.level() > 0 && pte.is_shared_file() && !pte.has(Pte::UNSAVED) {
            self.all_unsaved(self.piece(at, pte.level()));
        }
    }

    /// Asks about each size larger than that of the page that maps this place, smallest first,
    /// until the policy says no.
    pub(super) fn ask_upwards(&mut self, spaces: &AddressSpaces, at: Place, point: Point) {
        for level in self.asked_levels(at.space) {
            if self.tables.get(at).level() >= level {
                continue;
            }
            let piece = self.piece(at, level);
            if !self.ask(spaces, piece, at.page, point) && !self.needs.every_size {
                return;
            }
        }
    }

    /// Asks of one piece, and promotes it if that is the answer.
    pub(super) fn ask(
        &mut self,
        spaces: &AddressSpaces,
        piece: Piece,
        page: u64,
        point: Point,
    ) -> bool {
        if !self.asked_levels(piece.first.space).contains(&piece.level) {
            return false;
        }
        let view = self.view(spaces, piece, page, 0);
        match self.policy.decide(point, &view) {
            Verdict::Promote => {
                let effort = self.policy.effort(point, &view);
                self.promote(spaces, piece, &view, effort)
            }
            Verdict::Demote if view.promoted => {
                self.demote(piece);
                false
            }
            Verdict::Stay(reason) => {
                self.refuse(piece, reason);
                false
            }
            Verdict::Demote | Verdict::Pass => false,
        }
    }
}
