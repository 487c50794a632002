//! Sifting of visits that are given one by one.
//!
//! A small table finds the state of a visit's page. Two pages that share a slot of the table take
//! turns. The recency table then shows whether the page's lookups can be left out.

use super::states::{IN_PLACE, PageSlot, STORED as STORED_TO, place_in};
use super::{NO_PAGE, STORED, Sieve, StatesOf};
use crate::sifted::Sifted;
use crate::trail::Follows;
use broadleaf_trace::reduced::Sums;
use broadleaf_trace::{Lead, Visit};
use broadleaf_units::PageNumber;

/// The number of slots. A power of two.
pub(super) const SLOTS: usize = 512;

/// The page in each slot.
pub(super) type PageTable = Box<[PageNumber; SLOTS]>;

/// A table without a page.
pub(super) fn empty_table() -> PageTable {
    Box::new([NO_PAGE; SLOTS])
}

/// The slot of a page. Neighbours have different slots, and so have pages of the same position in
/// most regions.
#[inline]
const fn slot_of(page: PageNumber) -> usize {
    (page.0 ^ page.0 >> 9 ^ page.0 >> 18) as usize % SLOTS
}

impl Sieve {
    /// Sifts visits. A visit is skipped at once if its page is still in its recorded place.
    pub(super) fn sift_by_page(
        &mut self,
        visits: &[Visit],
        shift: u32,
        sifted: &mut Sifted,
        sums: &mut Sums,
    ) {
        self.keep_states(StatesOf::Table, SLOTS);
        let mut at = 0;
        loop {
            let (left, trail) = (&visits[at..], &mut sifted.trail);
            at += match self.follows {
                Follows::Nothing => self.pass_visits(left, shift, sums, |_, _| {}),
                Follows::Pages => self.pass_visits(left, shift, sums, |page, _| {
                    trail.add(page);
                }),
                Follows::Times => self.pass_visits(left, shift, sums, |page, time| {
                    trail.add_at(page, time, false);
                }),
            };
            let Some(visit) = visits.get(at) else { break };
            let page = PageNumber(visit.unit >> shift);
            at += 1;
            if visit.fetch {
                // A fetch is not looked up, so its page takes no slot.
                sums.instructions += u64::from(visit.instructions);
                continue;
            }
            let slot = self.enter(page);
            self.sift_one(visit, page, slot, sifted, sums);
        }
    }

    /// Skips visits up to the first that may change something. Returns their number, and adds them
    /// to `sums`. `follow` receives each page with the accesses before its visit.
    #[inline(never)]
    fn pass_visits(
        &mut self,
        visits: &[Visit],
        shift: u32,
        sums: &mut Sums,
        mut follow: impl FnMut(PageNumber, u64),
    ) -> usize {
        let (table, states) = (&self.table, &self.states.by_slot()[..SLOTS]);
        let mut leaving_out = self.recency.leaving_out();
        let mut all = *sums;
        let mut passed = 0;
        for visit in visits {
            let page = PageNumber(visit.unit >> shift);
            let slot = slot_of(page);
            let state = states[slot];
            let needs = if visit.stores == 0 {
                IN_PLACE
            } else {
                IN_PLACE | STORED_TO
            };
            // Unpredictable conditions are combined without branches.
            let may_change = visit.fetch
                | (visit.lead != Lead::None)
                | (visit.loads | visit.stores == 0)
                | (table[slot] != page)
                | (needs & !state != 0);
            if may_change {
                break;
            }
            follow(page, all.accesses());
            leaving_out.leave_out(place_in(state));
            all.loads += u64::from(visit.loads);
            all.stores += u64::from(visit.stores);
            all.instructions += u64::from(visit.instructions);
            passed += 1;
        }
        all.data |= passed > 0;
        *sums = all;
        passed
    }

    /// The slot of a page, which is put there in place of another.
    fn enter(&mut self, page: PageNumber) -> PageSlot {
        let at = slot_of(page);
        let slot = PageSlot(at as u32);
        if self.table[at] != page {
            self.table[at] = page;
            let stored = self.stored[page.0 as usize % STORED] == page;
            self.states
                .replace(slot, self.recency.place_of(page), stored);
        }
        slot
    }
}
