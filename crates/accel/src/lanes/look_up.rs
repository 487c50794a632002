//! Lookups in TLBs side by side.

use super::sixteen::{SetMoves, SetWork, dispatch};
use super::{MOST_LANES, PageId, Size, Stop, Tlbs, Walks};
use crate::bits::numbers;
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
    /// Where and why the lookups stopped early.
    type Output = Option<Stop>;

    #[inline(always)]
    fn with<M: SetMoves>(self, moves: M) -> Option<Stop> {
        let Self {
            tlbs,
            pages,
            ids,
            asked,
            walks,
        } = self;
        if tlbs.below.len() == 1 {
            tlbs.look_up_of::<M, true>(moves, pages, ids, asked, walks)
        } else {
            tlbs.look_up_of::<M, false>(moves, pages, ids, asked, walks)
        }
    }
}

impl Tlbs {
    /// Looks base pages up in the lanes whose bit is set in `which`, superpages first at each
    /// level. The entry that a lookup finds becomes the newest of its set. An entry of the second
    /// level alone is copied to the first level. The page of a walk is inserted at both levels.
    ///
    /// Returns where and why the lookups stop early. The lanes before the one that stopped have
    /// looked that page up; another lookup of the page changes nothing there. After
    /// [`Stop::Sizes`], [`Tlbs::part_sizes`] comes before the next lookup.
    ///
    /// # Panics
    /// If there are fewer ids than pages, or the TLBs are apart.
    pub(crate) fn look_up(
        &mut self,
        pages: &[PageNumber],
        ids: &[PageId],
        which: u64,
        walks: &mut impl Walks,
    ) -> Option<Stop> {
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

    /// Looks pages up, in TLBs of one machine alone if `ONE` is true.
    #[inline(always)]
    fn look_up_of<M: SetMoves, const ONE: bool>(
        &mut self,
        moves: M,
        pages: &[PageNumber],
        ids: &[PageId],
        asked: &[u32; MOST_LANES],
        walks: &mut impl Walks,
    ) -> Option<Stop> {
        match self.lanes {
            1 => self.look_up_in::<M, 1, ONE>(moves, pages, ids, asked, walks),
            4 => self.look_up_in::<M::OfFour, 4, ONE>(moves.of_four(), pages, ids, asked, walks),
            8 => self.look_up_in::<M, 8, ONE>(moves, pages, ids, asked, walks),
            16 => self.look_up_in::<M, 16, ONE>(moves, pages, ids, asked, walks),
            24 => self.look_up_in::<M, 24, ONE>(moves, pages, ids, asked, walks),
            _ => self.look_up_in::<M, MOST_LANES, ONE>(moves, pages, ids, asked, walks),
        }
    }

    /// Looks pages up in `LANES` lanes. The mask of lanes is in memory. If the compiler saw the
    /// mask lane by lane, it would assemble the mask again for each page.
    #[inline(always)]
    fn look_up_in<M: SetMoves, const LANES: usize, const ONE: bool>(
        &mut self,
        moves: M,
        pages: &[PageNumber],
        ids: &[PageId],
        asked: &[u32; MOST_LANES],
        walks: &mut impl Walks,
    ) -> Option<Stop> {
        let asked: &[u32; LANES] = asked.first_chunk()?;
        for (at, (page, id)) in pages.iter().zip(ids).enumerate() {
            let mut left = moves.chosen(asked);
            let superpages = &mut self.first[self.superpages.structure];
            if superpages.used {
                let set = self.superpages.index.set_of(*page);
                left = superpages.renew(moves, set, id.entry(Size::Superpage), &left);
                // With one TLB, the search below would be in vain mostly, and costs more than the
                // branch. Of several TLBs, some lack the superpage, and all are searched.
                if LANES == 1 && moves.bits(&left) == 0 {
                    continue;
                }
            }
            let set = self.base_pages.index.set_of(*page);
            let base_pages = &mut self.first[self.base_pages.structure];
            left = base_pages.renew(moves, set, id.entry(Size::Base), &left);
            let left = moves.bits(&left);
            if left != 0 {
                let stop = self.miss::<M, LANES, ONE>(moves, left, (*page, *id), at, walks);
                if stop.is_some() {
                    return stop;
                }
            }
        }
        None
    }

    /// Looks a page up below the first level of some lanes. The lanes that find the page get it
    /// into the first level. Returns a reason if a lane stopped the lookups.
    #[inline(always)]
    fn miss<M: SetMoves, const LANES: usize, const ONE: bool>(
        &mut self,
        moves: M,
        lanes: u64,
        (page, id): (PageNumber, PageId),
        at: usize,
        walks: &mut impl Walks,
    ) -> Option<Stop> {
        let (mut left, mut stop) = (lanes, None);
        let (mut superpages, mut base_pages) = (0, 0);
        while left != 0 {
            let lane = left.trailing_zeros() as usize;
            let found = if ONE {
                let found = self.below_first(moves, (lane, 0), (page, id), at, walks);
                found.ok_or(Stop::Walk(at))
            } else {
                self.below_shared(moves, lane, (page, id), at, walks)
            };
            match found {
                Ok(Size::Superpage) => superpages |= 1 << lane,
                Ok(Size::Base) => base_pages |= 1 << lane,
                Err(reason) => {
                    stop = Some(reason);
                    break;
                }
            }
            left &= left - 1;
        }
        if superpages != 0 {
            let place = &self.superpages;
            let rows = &mut self.first[place.structure];
            let entry = id.entry(Size::Superpage);
            rows.put_in::<M, LANES>(moves, place.index.set_of(page), entry, superpages);
        }
        if base_pages != 0 {
            let place = &self.base_pages;
            let rows = &mut self.first[place.structure];
            let entry = id.entry(Size::Base);
            rows.put_in::<M, LANES>(moves, place.index.set_of(page), entry, base_pages);
        }
        stop
    }

    /// Looks a page up in the second level of a machine's TLB in a lane, and then by a walk.
    /// Returns the page's size; `None` if the walk stopped the lookups.
    #[inline(always)]
    fn below_first(
        &mut self,
        moves: impl SetMoves,
        (lane, machine): (usize, usize),
        page: (PageNumber, PageId),
        at: usize,
        walks: &mut impl Walks,
    ) -> Option<Size> {
        let below = &mut self.below[machine];
        if let Some(size) = below.look_up(moves, lane, page) {
            walks.second_hit(lane, machine);
            return Some(size);
        }
        let size = walks.walk(lane, machine, at)?;
        below.insert(moves, lane, page, size);
        Some(size)
    }

    /// Looks a page up below the first level of all machines of a lane.
    #[inline(always)]
    fn below_shared(
        &mut self,
        moves: impl SetMoves,
        lane: usize,
        page: (PageNumber, PageId),
        at: usize,
        walks: &mut impl Walks,
    ) -> Result<Size, Stop> {
        let machines = self.machines[lane];
        let (_, is_odd) = walks.sizes(lane)(page.1);
        // A lookup that a walk stops is made again, so no machine may change before.
        let mut all = numbers(machines);
        if is_odd && all.any(|machine| !self.below[machine].holds(lane, page.0, page.1)) {
            return Err(Stop::Walk(at));
        }
        let mut superpages = 0;
        for machine in numbers(machines) {
            match self.below_first(moves, (lane, machine), page, at, walks) {
                Some(Size::Superpage) => superpages |= 1 << machine,
                Some(Size::Base) => {}
                None => unreachable!("a walk without a page size, and the page is not odd"),
            }
        }
        match superpages {
            0 => Ok(Size::Base),
            all if all == machines => Ok(Size::Superpage),
            superpages => Err(Stop::Sizes {
                at,
                lane,
                superpages,
            }),
        }
    }
}
