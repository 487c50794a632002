//! Lookups in TLBs side by side.

use super::sixteen::{SetMoves, SetWork, dispatch};
use super::{MOST_LANES, PageId, Size, Tlbs, Walks};
use broadleaf_units::PageNumber;

/// Lookups in TLBs side by side. The loop is compiled for the processor's vector instructions.
struct SideBySide<'a, W> {
    tlbs: &'a mut Tlbs,
    pages: &'a [PageNumber],
    ids: &'a [PageId],
    /// All ones for each lane that looks the pages up.
    asked: &'a [u32; MOST_LANES],
    walks: &'a mut W,
}

impl<W: Walks> SetWork for SideBySide<'_, W> {
    /// The index of the page whose walk stopped the lookups.
    type Output = Option<usize>;

    #[inline(always)]
    fn with<M: SetMoves>(self, moves: M) -> Option<usize> {
        let Self {
            tlbs,
            pages,
            ids,
            asked,
            walks,
        } = self;
        match tlbs.lanes {
            1 => tlbs.look_up_in::<M, 1>(moves, pages, ids, asked, walks),
            4 => tlbs.look_up_in::<M::OfFour, 4>(moves.of_four(), pages, ids, asked, walks),
            8 => tlbs.look_up_in::<M, 8>(moves, pages, ids, asked, walks),
            16 => tlbs.look_up_in::<M, 16>(moves, pages, ids, asked, walks),
            24 => tlbs.look_up_in::<M, 24>(moves, pages, ids, asked, walks),
            _ => tlbs.look_up_in::<M, MOST_LANES>(moves, pages, ids, asked, walks),
        }
    }
}

impl Tlbs {
    /// Looks base pages up in the TLBs whose bit is set in `which`, superpages first at each level.
    /// The entry that a lookup finds becomes the newest of its set. An entry of the second level
    /// alone is copied to the first level. The page of a walk is inserted at both levels. If a walk
    /// stops the lookups, returns the index of the walk's page. Another lookup of this page then
    /// changes nothing in any other lane.
    ///
    /// # Panics
    /// If there are fewer ids than pages, or the TLBs are apart.
    pub fn look_up(
        &mut self,
        pages: &[PageNumber],
        ids: &[PageId],
        which: u64,
        walks: &mut impl Walks,
    ) -> Option<usize> {
        assert!(self.apart.is_none(), "lookups in all TLBs, which are apart");
        let ids = &ids[..pages.len()];
        let mut asked = [0; MOST_LANES];
        for (lane, asked) in asked.iter_mut().enumerate().take(self.count) {
            *asked = ((which >> lane & 1) as u32).wrapping_neg();
        }
        let vectors = self.vectors;
        let lookups = SideBySide {
            tlbs: self,
            pages,
            ids,
            asked: &asked,
            walks,
        };
        dispatch(vectors, lookups)
    }

    /// Looks pages up in `LANES` lanes. The mask of lanes is in memory. If the compiler saw the
    /// mask lane by lane, it would assemble the mask again for each page.
    #[inline(always)]
    fn look_up_in<M: SetMoves, const LANES: usize>(
        &mut self,
        moves: M,
        pages: &[PageNumber],
        ids: &[PageId],
        asked: &[u32; MOST_LANES],
        walks: &mut impl Walks,
    ) -> Option<usize> {
        let asked: &[u32; LANES] = asked.first_chunk()?;
        for (at, (page, id)) in pages.iter().zip(ids).enumerate() {
            let mut left = moves.chosen(asked);
            let superpages = &mut self.first[self.superpages.0.structure];
            if superpages.used {
                let set = self.superpages.0.index.set_of(*page);
                left = superpages.renew(moves, set, id.entry(Size::Superpage), &left);
                // With one TLB, the search below would be in vain mostly, and costs more than the
                // branch. Of several TLBs, some lack the superpage, and all are searched.
                if LANES == 1 && moves.bits(&left) == 0 {
                    continue;
                }
            }
            let set = self.base_pages.0.index.set_of(*page);
            let base_pages = &mut self.first[self.base_pages.0.structure];
            left = base_pages.renew(moves, set, id.entry(Size::Base), &left);
            let left = moves.bits(&left);
            if left != 0 && !self.miss::<M, LANES>(moves, left, (*page, *id), at, walks) {
                return Some(at);
            }
        }
        None
    }

    /// Looks a page up in the second level of some lanes, and then by walks. The lanes that find
    /// the page get it into the first level. Returns false if a walk stopped the lookups.
    #[inline(always)]
    fn miss<M: SetMoves, const LANES: usize>(
        &mut self,
        moves: M,
        lanes: u64,
        (page, id): (PageNumber, PageId),
        at: usize,
        walks: &mut impl Walks,
    ) -> bool {
        let (mut left, mut has_stopped) = (lanes, false);
        let (mut superpages, mut base_pages) = (0, 0);
        while left != 0 {
            let lane = left.trailing_zeros() as usize;
            match self.below_first(moves, lane, (page, id), at, walks) {
                Some(Size::Superpage) => superpages |= 1 << lane,
                Some(Size::Base) => base_pages |= 1 << lane,
                None => {
                    has_stopped = true;
                    break;
                }
            }
            left &= left - 1;
        }
        if superpages != 0 {
            let place = &self.superpages.0;
            let rows = &mut self.first[place.structure];
            let entry = id.entry(Size::Superpage);
            rows.put_in::<M, LANES>(moves, place.index.set_of(page), entry, superpages);
        }
        if base_pages != 0 {
            let place = &self.base_pages.0;
            let rows = &mut self.first[place.structure];
            let entry = id.entry(Size::Base);
            rows.put_in::<M, LANES>(moves, place.index.set_of(page), entry, base_pages);
        }
        !has_stopped
    }

    /// Looks a page up in the second level of a lane, and then by a walk. Returns the page's size.
    #[inline(always)]
    fn below_first(
        &mut self,
        moves: impl SetMoves,
        lane: usize,
        (page, id): (PageNumber, PageId),
        at: usize,
        walks: &mut impl Walks,
    ) -> Option<Size> {
        // Copies of places in an array would cost more than the lookups.
        let (superpages, base_pages) = (&self.superpages.1, &self.base_pages.1);
        for (size, place) in [(Size::Superpage, superpages), (Size::Base, base_pages)] {
            if let Some(place) = place {
                let set = place.index.set_of(page);
                let set = self.second[place.structure].set(lane, set);
                if moves.renew(set, id.entry(size)) {
                    walks.second_hit(lane);
                    return Some(size);
                }
            }
        }
        let size = walks.walk(lane, at)?;
        let place = match size {
            Size::Superpage => superpages,
            Size::Base => base_pages,
        };
        if let Some(place) = place {
            let set = place.index.set_of(page);
            let second = &mut self.second[place.structure];
            let oldest = second.oldest();
            moves.push_through(second.set(lane, set), id.entry(size), oldest);
        }
        Some(size)
    }
}
