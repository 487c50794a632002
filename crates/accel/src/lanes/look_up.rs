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
            1 => tlbs.look_up_in::<1>(moves, pages, ids, asked, walks),
            4 => tlbs.look_up_in::<4>(moves, pages, ids, asked, walks),
            8 => tlbs.look_up_in::<8>(moves, pages, ids, asked, walks),
            16 => tlbs.look_up_in::<16>(moves, pages, ids, asked, walks),
            24 => tlbs.look_up_in::<24>(moves, pages, ids, asked, walks),
            _ => tlbs.look_up_in::<MOST_LANES>(moves, pages, ids, asked, walks),
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
    fn look_up_in<const LANES: usize>(
        &mut self,
        moves: impl SetMoves,
        pages: &[PageNumber],
        ids: &[PageId],
        asked: &[u32; MOST_LANES],
        walks: &mut impl Walks,
    ) -> Option<usize> {
        let asked: &[u32; LANES] = asked.first_chunk()?;
        for (at, (page, id)) in pages.iter().zip(ids).enumerate() {
            let mut left = *asked;
            let superpages = &mut self.first[self.superpages.0.structure];
            if superpages.used {
                let set = self.superpages.0.index.set_of(*page);
                match superpages.renew(set, id.entry(Size::Superpage), asked) {
                    None => continue,
                    Some(lanes) => left = lanes,
                }
            }
            let set = self.base_pages.0.index.set_of(*page);
            let base_pages = &mut self.first[self.base_pages.0.structure];
            let Some(left) = base_pages.renew(set, id.entry(Size::Base), &left) else {
                continue;
            };
            let mut left = moves.used_lanes(&left);
            while left != 0 {
                let lane = left.trailing_zeros() as usize;
                left &= left - 1;
                if !self.miss::<LANES>(moves, lane, (*page, *id), at, walks) {
                    return Some(at);
                }
            }
        }
        None
    }

    /// Looks a page up in the second level of a lane, and then by a walk. Returns true if the page
    /// was found.
    #[inline(always)]
    fn miss<const LANES: usize>(
        &mut self,
        moves: impl SetMoves,
        lane: usize,
        (page, id): (PageNumber, PageId),
        at: usize,
        walks: &mut impl Walks,
    ) -> bool {
        let found = [
            (Size::Superpage, self.superpages.1),
            (Size::Base, self.base_pages.1),
        ];
        for (size, place) in found {
            if let Some(place) = place {
                let set = place.index.set_of(page);
                let set = self.second[place.structure].set(lane, set);
                if moves.renew(set, id.entry(size)) {
                    walks.second_hit(lane);
                    self.insert_first::<LANES>(lane, page, id, size);
                    return true;
                }
            }
        }
        let Some(size) = walks.walk(lane, at) else {
            return false;
        };
        self.insert_first::<LANES>(lane, page, id, size);
        let place = match size {
            Size::Superpage => self.superpages.1,
            Size::Base => self.base_pages.1,
        };
        if let Some(place) = place {
            let set = place.index.set_of(page);
            let second = &mut self.second[place.structure];
            let oldest = second.oldest();
            moves.push_through(second.set(lane, set), id.entry(size), oldest);
        }
        true
    }

    #[inline(always)]
    fn insert_first<const LANES: usize>(
        &mut self,
        lane: usize,
        page: PageNumber,
        id: PageId,
        size: Size,
    ) {
        let place = match size {
            Size::Superpage => self.superpages.0,
            Size::Base => self.base_pages.0,
        };
        let set = place.index.set_of(page);
        self.first[place.structure].insert::<LANES>(set, id.entry(size), lane);
    }
}
