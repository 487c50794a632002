//! Promotion: a piece of memory becomes one page.

use super::scattered::SuperpageFrames;
use super::{Files, Piece, Place, Pte, System};
use crate::AddressSpaces;
use crate::frames::Frame;
use broadleaf_policy::{Copies, Coverage, Effort, Refusal, View};
use broadleaf_units::{BackingKind, PageSize, SpaceId};

/// The way in which a piece can become one page.
enum Way {
    /// Its pages lie where they have to; what is missing goes into the frames that are kept for it.
    InPlace(Option<Frame>),
    /// They have to be copied together.
    ByCopying,
}

impl System<'_> {
    /// Promotes a piece to one page, if possible. Returns true if the piece is one page.
    pub(super) fn promote(
        &mut self,
        spaces: &AddressSpaces,
        piece: Piece,
        view: &View,
        effort: Effort,
    ) -> bool {
        if view.promoted {
            return false;
        }
        if let Some(reason) = Self::cannot_be_mapped(view.coverage) {
            self.refuse(piece, reason);
            return false;
        }
        if self.needs.repairs {
            if !self.is_placed(piece) {
                self.repair(spaces, piece, effort);
            }
            return false;
        }
        if self.needs.copies == Copies::Always {
            return self.gather(spaces, piece, effort);
        }
        match self.way(spaces, piece) {
            Way::InPlace(_) if self.begin_stream(spaces, piece) => false,
            Way::InPlace(first) => {
                self.pay(false, |system| {
                    if let Some(first) = first {
                        system.fill(spaces, piece, first);
                    }
                    system.raise(piece);
                });
                true
            }
            Way::ByCopying if self.needs.copies == Copies::Never => {
                self.refuse(piece, Refusal::NotInPlace);
                false
            }
            Way::ByCopying if self.begin_stream(spaces, piece) => false,
            Way::ByCopying => self.gather(spaces, piece, effort),
        }
    }

    /// Makes a superpage of each 2 MiB piece in a range at the program's request (`MADV_COLLAPSE`).
    /// The policy's settings do not matter, but a policy that ignores such requests does nothing.
    pub fn collapse(&mut self, spaces: &AddressSpaces, space: SpaceId, pages: crate::Pages) {
        let Some(level) = self.level_of(PageSize::SIZE_2M) else {
            return;
        };
        if !self.needs.obeys_collapse {
            return;
        }
        let (first, count) = self.base_pages(pages);
        let size = self.pages(level);
        let mut page = first.next_multiple_of(size);
        while page + size <= first + count {
            let piece = self.piece(Place { space, page }, level);
            let view = self.view(spaces, piece, page, 0);
            let may = view.backing == BackingKind::Anonymous && !view.advised_against;
            if may && view.coverage == Coverage::Covered && view.populated > 0 {
                self.fault_cycles = 0;
                self.promote(spaces, piece, &view, Effort::Now);
                self.counters.fault_cycles += std::mem::take(&mut self.fault_cycles);
            }
            page += size;
        }
    }

    /// Promotes with an extent at hand, and books the cycles. If the promotion copies, or if each
    /// promotion has its full price, the cycles count as the price of copying.
    pub(super) fn pay(&mut self, copies: bool, work: impl FnOnce(&mut Self)) {
        let before = self.fault_cycles;
        work(self);
        let cycles = self.fault_cycles - before;
        self.counters.promotion_cycles += cycles;
        if copies || self.needs.copies == Copies::Always {
            self.counters.copy_cycles += cycles;
        }
    }

    fn way(&self, spaces: &AddressSpaces, piece: Piece) -> Way {
        let first = self.tables.get(piece.first);
        let kept = self.kept_extent(spaces, piece);
        let start = match kept {
            Some((_, start)) => start,
            None if first.has_frame() => first.frame(),
            None => return Way::ByCopying,
        };
        if !start.0.is_multiple_of(self.pages(piece.level)) {
            return Way::ByCopying;
        }
        for (at, frame) in self.places(piece).zip(start.0..) {
            let pte = self.tables.get(at);
            let fits = if pte.has_frame() {
                pte.frame() == Frame(frame)
            } else {
                let file = self.behind(spaces, at).file;
                let home = self.home(at, file);
                // Only a reservation keeps frames for what is missing, unless it gave them up. A
                // page of an object may be there already.
                let kept = home.and_then(|home| self.kept_for(home)).is_some()
                    && !self.frames.is_used(Frame(frame))
                    && !self.is_mapped_elsewhere(spaces, at);
                kept || self.is_file_in(file, Frame(frame))
            };
            if !fits {
                return Way::ByCopying;
            }
        }
        let shares = self.needs.by_object.then_some(start);
        Way::InPlace(kept.map(|(_, start)| start).or(shares))
    }

    /// Returns true if the content of a place is a page of a file that other places map. Such a
    /// page cannot move.
    fn is_mapped_elsewhere(&self, spaces: &AddressSpaces, at: Place) -> bool {
        let file = self.behind(spaces, at).file;
        let frame = file.and_then(|page| self.frames.file_frame(page));
        frame.is_some_and(|frame| self.frames.mapped(frame) > 0)
    }

    /// Returns true if an extent can take the content of a piece that has no resident page.
    pub(super) fn can_be_filled(&self, spaces: &AddressSpaces, piece: Piece) -> bool {
        let mut places = self.places(piece);
        places.all(|at| !self.is_mapped_elsewhere(spaces, at))
    }

    /// Fills what is missing of a piece in, whose first page has this frame.
    fn fill(&mut self, spaces: &AddressSpaces, piece: Piece, first: Frame) {
        for (at, frame) in self.places(piece).zip(first.0..) {
            if !self.tables.get(at).has_frame() {
                let home = self.home_of(spaces, at);
                if let Some((id, page, _)) = home.and_then(|home| self.kept_for(home)) {
                    self.reservations.populate(id, page);
                }
                self.fill_page(spaces, at, Frame(frame));
            }
        }
    }

    /// Brings a page that the program has not referenced into a frame. Returns true if the page was
    /// in memory that is not counted, so that reading was free.
    fn fill_page(&mut self, spaces: &AddressSpaces, at: Place, frame: Frame) -> bool {
        if self.tables.get(at).has(Pte::ZERO) {
            self.tables.set(at, Pte::NONE);
        }
        let behind = self.behind(spaces, at);
        let swapped = self.tables.get(at).has(Pte::SWAPPED);
        let of_file = behind.file.filter(|_| !swapped);
        // A page of the file that is in memory elsewhere, and that no place maps, moves here.
        let old = of_file.and_then(|page| self.in_memory(page));
        if old == Some(frame) {
            self.map(at, frame, Self::found(&behind));
            return false;
        }
        if let Some(old) = old {
            self.book_gathered(self.frames.mapped(old) as u64);
            let kept = self.object_of(old);
            self.replace_frame(old, frame);
            match kept {
                Some((id, page)) => self.depopulate(id, page),
                None => self.give_back(old, 0),
            }
            self.copy(1);
        } else {
            self.frames.begin(frame);
        }
        let mut flags = if old.is_some() {
            Self::found(&behind)
        } else {
            self.content(at, &behind, of_file.is_some())
        };
        let from_disk = of_file.is_some() && behind.is_on_disk();
        if from_disk && self.files == Files::OnDisk {
            flags |= Pte::READ;
        }
        self.map(at, frame, flags);
        if let Some(page) = of_file
            && old.is_none()
        {
            self.frames.hold_file(frame, page);
        }
        from_disk && old.is_none() && self.files == Files::InMemory
    }

    /// Brings a page into a new extent. If each promotion has its full price, a page of a file that
    /// is in memory already is copied.
    fn fill_anew(&mut self, spaces: &AddressSpaces, at: Place, frame: Frame) {
        let for_nothing = self.fill_page(spaces, at, frame);
        if for_nothing && self.needs.copies == Copies::Always {
            self.copy(1);
        }
    }

    /// Makes one page of an empty piece in a new extent.
    pub(super) fn fill_extent(&mut self, spaces: &AddressSpaces, piece: Piece, first: Frame) {
        self.fill_placed(spaces, piece, SuperpageFrames::in_order(first));
    }

    /// Makes one page of an empty piece in new frames.
    pub(super) fn fill_placed(
        &mut self,
        spaces: &AddressSpaces,
        piece: Piece,
        frames: SuperpageFrames,
    ) {
        self.pay(false, |system| {
            for (at, number) in system.places(piece).zip(0..) {
                system.fill_anew(spaces, at, frames.frame(number));
            }
            system.raise_in(piece, frames.share());
        });
    }

    /// Copies the pages of a piece together.
    fn gather(&mut self, spaces: &AddressSpaces, piece: Piece, effort: Effort) -> bool {
        let Some(first) = self.extent_to_gather(spaces, piece, effort) else {
            return false;
        };
        self.pay(true, |system| {
            if system.needs.gathers {
                system.fault_cycles += system.costs.extent;
            }
            system.copy_together(spaces, piece, first);
        });
        true
    }

    /// An extent into which a piece can be copied. Counts the refusal if there is none.
    pub(super) fn extent_to_gather(
        &mut self,
        spaces: &AddressSpaces,
        piece: Piece,
        effort: Effort,
    ) -> Option<Frame> {
        let movable = |at: Place| {
            let pte = self.tables.get(at);
            if pte.has_frame() {
                let alone = !pte.has(Pte::OF_FILE) || self.frames.mapped(pte.frame()) == 1;
                alone || self.moves_with_aliases(at, pte.frame())
            } else {
                let file = self.behind(spaces, at).file;
                let frame = file.and_then(|page| self.frames.file_frame(page));
                let mapped = frame.filter(|frame| self.frames.mapped(*frame) > 0);
                mapped.is_none_or(|frame| self.moves_with_aliases(at, frame))
            }
        };
        if !self.places(piece).all(movable) {
            self.refuse(piece, Refusal::NotInPlace);
            return None;
        }
        let extent = self.extent(spaces, piece.level, effort);
        if extent.is_none() {
            self.refuse(piece, Refusal::NoExtent);
        }
        extent
    }

    /// Returns true if a gather moves a page of a file with all its mappings: each is a base page,
    /// and no reservation keeps the frame for another place.
    fn moves_with_aliases(&self, place: Place, frame: Frame) -> bool {
        let free = |at: &Place| {
            let is_base = self.tables.get(*at).level() == 0;
            is_base && (*at == place || self.reservations.around(*at).is_none())
        };
        self.needs.gathers && self.frames.mappers(frame).iter().all(free)
    }

    /// Books the parts of a gather of one page, whose frame has these mappings.
    pub(super) fn book_gathered(&mut self, aliases: u64) {
        if self.needs.gathers {
            self.fault_cycles += self.costs.gathered(aliases);
        }
    }

    /// Copies or fills each page of a piece into an extent. Reclaiming frames for the extent may
    /// have evicted pages of the piece, so each page is looked up again.
    pub(super) fn copy_together(&mut self, spaces: &AddressSpaces, piece: Piece, first: Frame) {
        for (at, frame) in self.places(piece).zip(first.0..).collect::<Vec<_>>() {
            let pte = self.tables.get(at);
            let frame = Frame(frame);
            if !pte.has_frame() {
                self.fill_anew(spaces, at, frame);
                continue;
            }
            self.move_page(at, frame);
        }
        self.forget_range(piece.first, self.pages(piece.level));
        self.raise(piece);
    }

    /// Copies a resident page to a frame, for a gather. A page of a file moves for all that map it.
    pub(super) fn move_page(&mut self, at: Place, frame: Frame) {
        let pte = self.tables.get(at);
        let old = pte.frame();
        self.copy(1);
        if pte.has(Pte::OF_FILE) {
            self.book_gathered(self.frames.mapped(old) as u64);
            let kept = self.is_kept(at, old);
            let object = self.object_of(old);
            self.replace_frame(old, frame);
            match object {
                Some((id, page)) => self.depopulate(id, page),
                None => self.take_back(at, old, kept),
            }
            return;
        }
        self.book_gathered(1);
        self.leave_frame_for_good(at, old);
        self.take_for_own(at, pte, frame);
    }

    /// The pages of a piece are one from now on: they all have their places.
    fn raise(&mut self, piece: Piece) {
        self.raise_in(piece, 1);
    }

    /// The pages of a piece are one from now on, in the share of this number in the tree of shares.
    fn raise_in(&mut self, piece: Piece, share: u8) {
        self.counters.promotions += 1;
        self.note_change(piece, true);
        self.fault_cycles += self.costs.promotion(self.pages(piece.level));
        let mut added = 0;
        for (at, number) in self.places(piece).zip(0..) {
            let pte = self.tables.get(at);
            added += u64::from(pte.level() == 0);
            let raised = pte.at_level(piece.level).in_share(share);
            self.tables.set(at, raised);
            // The first frame represents the superpage on the lists.
            if number > 0 && self.frames.mapped(pte.frame()) == 1 {
                self.frames.leave_list(pte.frame());
            }
        }
        self.compact_piece(piece);
        self.counters.in_superpages += added;
        self.note_peaks();
        let stored = |pte: Pte| pte.is_shared_file() && pte.has(Pte::UNSAVED);
        if self.places(piece).any(|at| stored(self.tables.get(at))) {
            self.all_unsaved(piece);
        }
    }

    /// Marks all pages of a superpage of a file unsaved, since a page has one dirty bit. One store
    /// makes the whole superpage to be written back (Navarro 2002, on paging out dirty superpages).
    /// If the policy has digests, these show the base pages that changed.
    pub(super) fn all_unsaved(&mut self, piece: Piece) {
        if self.needs.digests {
            self.take_digests(piece);
            return;
        }
        for at in self.places(piece) {
            let pte = self.tables.get(at);
            if pte.is_shared_file() {
                self.tables.set(at, pte.with(Pte::UNSAVED));
            }
        }
    }

    /// Hashes all base pages of a superpage that is stored to for the first time: before the store,
    /// and when it is written back. Idle time is enough.
    fn take_digests(&mut self, piece: Piece) {
        let pages = self.pages(piece.level);
        if self.tables.counts(piece.first, pages).dirty <= 1 {
            self.counters.daemon_cycles += self.costs.digest(self.base, 2 * pages);
        }
    }
}
