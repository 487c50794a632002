//! The sieve: finds visits that change nothing under any policy on any of the machines.

mod all;
mod by_page;
mod by_word;
mod states;
mod words;

use crate::is_seen_by_no_policy;
use crate::sifted::Sifted;
use crate::trail::{Follows, Trail};
use crate::{Recency, RecencyPlaces};
use all::keep_all;
use broadleaf_trace::reduced::{KeptVisit, Manner, Sums};
use broadleaf_trace::{Event, Lead, Visit};
use broadleaf_units::Geometry;
use broadleaf_units::{BlockNumber, PageNumber};
use by_page::{PageTable, empty_table};
use states::{PageSlot, PageStates};
use words::Words;

/// The number of remembered pages that were stored to. A power of two.
const STORED: usize = 256;
/// The number of remembered blocks that were stored to. A power of two.
const DIRTY: usize = 64;

/// A lookup in place of a deferred one.
fn made_up(page: PageNumber, time: u64, manner: Manner) -> KeptVisit {
    KeptVisit {
        page: page.0,
        time,
        loads_before_store: 0,
        manner: manner.renewing(),
    }
}

/// A visit that is kept unchanged.
#[inline(always)]
fn own(visit: &Visit, page: PageNumber, time: u64) -> KeptVisit {
    KeptVisit {
        page: page.0,
        time,
        loads_before_store: visit.loads_before_store.min(visit.loads),
        manner: Manner::of(visit),
    }
}

/// Finds visits that change nothing.
///
/// Such a visit goes to a page that was visited before, so it faults under no policy. It stores
/// only to a page that was stored to before, so it dirties no page. No TLB needs its lookup
/// ([`Recency`]), or a later lookup replaces it. The later lookups go to pages in the same state,
/// so they change no memory either. A time at which a policy wants to be asked may pass meanwhile:
/// the policy finds the same memory at the next visit that changes something.
///
/// These facts hold until a page is removed or an entry is shot down. After an event that can do
/// either, the sieve forgets everything. Apart from events, only a policy that breaks a superpage
/// shoots entries down. Policies are asked about this at one point alone: the first store to a
/// block without dirty pages. So after each store that may be the first to its block since an
/// event, the sieve forgets the block's larger pages, whatever the policies decide.
///
/// The memory of the sieve is bounded. A sieve that has forgotten something only keeps more visits.
/// So an empty sieve may begin anywhere in a trace.
#[derive(Clone, Debug)]
pub struct Sieve {
    recency: Recency,
    stored: Box<[PageNumber; STORED]>,
    dirty: [BlockNumber; DIRTY],
    /// The states of the pages of [`Self::words`] or of [`Self::table`].
    states: PageStates,
    states_of: StatesOf,
    words: Words,
    table: PageTable,
    /// Visits unfolded from words, where words cannot be used. The list is kept for its memory.
    unfolded: Vec<Visit>,
    /// The part of all lookups that is recorded in the trail.
    follows: Follows,
    /// How closely visits are examined, and for how many more stretches.
    looks: Looks,
    stretches_left: u32,
    /// The next stretch shows whether a close look pays.
    tries: bool,
}

/// The pages whose states a sieve keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StatesOf {
    /// The pages of the words of a part.
    Words,
    /// The pages of visits that are given one by one.
    Table,
}

/// How closely visits are examined. A closer look must save more time than it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Looks {
    /// Compare a visit with all remembered pages.
    Closely,
    /// Compare a visit with the newest pages alone, if most visits are kept.
    AtNewest,
    /// Compare no visit, if nearly all visits are kept.
    Away,
}

/// The number of stretches until the next close look, after a stretch that kept most of its visits.
const COARSE_STRETCHES: u32 = 15;
/// The number of visits that show whether a close look pays.
const TRIAL_VISITS: usize = 8192;

const NO_PAGE: PageNumber = PageNumber(u64::MAX);
const NO_BLOCK: BlockNumber = BlockNumber(u64::MAX);

impl Sieve {
    /// An empty sieve.
    pub fn new(recency: Recency) -> Self {
        Self {
            recency,
            stored: Box::new([NO_PAGE; STORED]),
            dirty: [NO_BLOCK; DIRTY],
            states: PageStates::default(),
            states_of: StatesOf::Words,
            words: Words::default(),
            table: empty_table(),
            unfolded: Vec::new(),
            follows: Follows::Nothing,
            looks: Looks::Closely,
            stretches_left: 0,
            tries: true,
        }
    }

    /// Resets the sieve to the state of `new`, and keeps its allocations.
    pub fn renew(&mut self, new: &Self) {
        self.recency.clone_from(&new.recency);
        self.stored.fill(NO_PAGE);
        self.dirty.fill(NO_BLOCK);
        self.states.forget();
        self.words.clear();
        self.table.fill(NO_PAGE);
        self.follows = new.follows;
        (self.looks, self.stretches_left) = (new.looks, new.stretches_left);
        self.tries = new.tries;
    }

    /// Also records the lookups of all visits.
    pub const fn following(mut self, follows: Follows) -> Self {
        self.follows = follows;
        self
    }

    /// Records the lookups of a reduced piece. Only those of its kept visits are known.
    pub fn follow_kept(&self, sifted: &mut Sifted) {
        if self.follows != Follows::Nothing {
            let Sifted { kept, trail } = sifted;
            for (at, visit) in kept.iter().enumerate() {
                let before = trail.pages.len();
                let page = PageNumber(visit.page);
                self.follow(trail, page, visit.time, visit.manner.leads());
                trail.keep(at + 1, before);
            }
        }
    }

    /// Records a page that is looked up, if lookups are followed.
    #[inline(always)]
    fn follow(&self, trail: &mut Trail, page: PageNumber, time: u64, leads: bool) {
        match self.follows {
            Follows::Nothing => {}
            Follows::Pages => {
                trail.add(page);
            }
            Follows::Times => trail.add_at(page, time, leads),
        }
    }

    /// Adds the visits that may change something to `sifted`, and the sums of all visits to `sums`.
    /// `shift` is the number of a unit's low bits that lie inside a base page.
    pub fn sift(&mut self, visits: &[Visit], shift: u32, sifted: &mut Sifted, sums: &mut Sums) {
        if self.looks == Looks::Away {
            if self.follows != Follows::Nothing || !keep_all(visits, shift, sifted, sums) {
                self.sift_some::<false>(visits, shift, sifted, sums);
            }
        } else if self.recency.keeps_places() {
            self.sift_by_page(visits, shift, sifted, sums);
        } else {
            self.sift_some::<true>(visits, shift, sifted, sums);
        }
    }

    /// Keeps the states of these pages from now on. Visits of the other kind moved pages to other
    /// places, so the states from before are stale.
    fn keep_states(&mut self, of: StatesOf, slots: usize) {
        if self.states_of != of {
            self.states_of = of;
            self.states.resize(slots);
            self.table.fill(NO_PAGE);
        }
    }

    /// Sifts visits for designs without places.
    fn sift_some<const LOOKS: bool>(
        &mut self,
        visits: &[Visit],
        shift: u32,
        sifted: &mut Sifted,
        sums: &mut Sums,
    ) {
        let Sifted { kept, trail } = sifted;
        let (mut loads, mut stores, mut instructions) =
            (sums.loads, sums.stores, sums.instructions);
        for visit in visits {
            instructions += u64::from(visit.instructions);
            if visit.fetch {
                continue;
            }
            sums.data = true;
            let time = loads + stores;
            loads += u64::from(visit.loads);
            stores += u64::from(visit.stores);
            let page = PageNumber(visit.unit >> shift);
            let leads = visit.lead != Lead::None;
            if !leads & (visit.loads | visit.stores == 0) {
                continue;
            }
            let before = trail.pages.len();
            self.follow(trail, page, time, leads);
            if LOOKS {
                // Unpredictable conditions are combined without branches.
                let stores_to = (visit.stores != 0) | (visit.lead == Lead::Store);
                let known = !stores_to | (self.stored[page.0 as usize % STORED] == page);
                // Deferred lookups come right before the visit's first access: the one that it
                // leads with, or its own.
                let manner = if leads { Manner::LEAD } else { Manner::LOAD };
                let mut look_up = |page| kept.push(made_up(page, time, manner));
                if known & !leads {
                    if !self.recency.has_to_be_made(page, &mut look_up) {
                        continue;
                    }
                } else {
                    self.recency.make(page, &mut look_up);
                    if stores_to {
                        self.note_store(page);
                    }
                }
            }
            kept.push(own(visit, page, time));
            if self.follows != Follows::Nothing {
                trail.keep(kept.len(), before);
            }
        }
        (sums.loads, sums.stores, sums.instructions) = (loads, stores, instructions);
    }

    /// Sifts one visit that may change something.
    fn sift_one(
        &mut self,
        visit: &Visit,
        page: PageNumber,
        slot: PageSlot,
        sifted: &mut Sifted,
        sums: &mut Sums,
    ) {
        let Sifted { kept, trail } = sifted;
        sums.instructions += u64::from(visit.instructions);
        if visit.fetch {
            return;
        }
        sums.data = true;
        let time = sums.accesses();
        sums.loads += u64::from(visit.loads);
        sums.stores += u64::from(visit.stores);
        let leads = visit.lead != Lead::None;
        let stores_to = visit.stores != 0 || visit.lead == Lead::Store;
        let known = !stores_to || self.states.was_stored_to(slot);
        let before = trail.pages.len();
        if leads || visit.accesses() > 0 {
            self.follow(trail, page, time, leads);
        }
        if known && !leads {
            if visit.accesses() == 0 {
                return;
            }
            if let Some(place) = self.states.place(slot) {
                self.recency.leaving_out().leave_out(place);
                return;
            }
        }
        let manner = if leads { Manner::LEAD } else { Manner::LOAD };
        let mut look_up = |page| kept.push(made_up(page, time, manner));
        let made = self.recency.note_made(page, &mut look_up);
        self.states.make(slot, made);
        if !known {
            self.states.store(slot);
            if let Some(fallen) = self.note_store(page) {
                self.states.fall(fallen);
            }
        }
        kept.push(own(visit, page, time));
        if self.follows != Follows::Nothing {
            trail.keep(kept.len(), before);
        }
    }

    /// Notes a store to a page by a visit that is kept. Returns the places that lose their pages:
    /// the larger pages around the page may be forgotten.
    fn note_store(&mut self, page: PageNumber) -> Option<RecencyPlaces> {
        self.stored[page.0 as usize % STORED] = page;
        let block = Geometry::X86_64.block_of(page);
        let dirty = &mut self.dirty[block.0 as usize % DIRTY];
        let is_first = *dirty != block;
        is_first.then(|| {
            *dirty = block;
            self.recency.remove_larger(page)
        })
    }

    /// Adds all deferred lookups to `sifted`. Call this at the end of each piece. `sums` are the
    /// sums of the piece's visits.
    pub fn catch_up(&mut self, sifted: &mut Sifted, sums: &Sums) {
        let Sifted { kept, trail } = sifted;
        // The lookups come with the last access, because an event may come before the next.
        let end = sums.accesses();
        self.recency
            .catch_up(&mut |page| kept.push(made_up(page, end, Manner::LEAD)));
        if self.follows != Follows::Nothing {
            trail.keep(kept.len(), trail.pages.len());
        }
    }

    /// The maximum number of visits in the next stretch, if any stretch may have `most`.
    pub fn most_visits(&self, most: usize) -> usize {
        if self.tries {
            most.min(TRIAL_VISITS)
        } else {
            most
        }
    }

    /// Ends a stretch of a trace, after [`Self::catch_up`]. The stretch has `visits` visits, of
    /// which `kept` were kept.
    pub fn rest(&mut self, visits: usize, kept: usize) {
        let looked = self.looks;
        if self.stretches_left > 0 {
            self.stretches_left -= 1;
        }
        if self.stretches_left == 0 {
            self.looks = match () {
                () if looked != Looks::Closely => Looks::Closely,
                () if 16 * kept > 15 * visits => Looks::Away,
                () if 4 * kept > 3 * visits => Looks::AtNewest,
                () => Looks::Closely,
            };
            if self.looks != Looks::Closely {
                self.stretches_left = COARSE_STRETCHES;
            }
            self.tries = looked != Looks::Closely;
        }
        if self.looks != looked {
            self.recency.be_shallow(self.looks == Looks::AtNewest);
            self.forget();
        }
    }

    /// Takes note of an event after the end of a piece.
    pub fn pass(&mut self, event: &Event) {
        // The facts hold in one address space, and a space that ended may begin again.
        let other_space = matches!(event, Event::SpaceSwitch(_) | Event::SpaceEnd { .. });
        if other_space || !is_seen_by_no_policy(event) {
            self.forget();
        }
    }

    /// Forgets all facts. The caller calls [`Self::catch_up`] first.
    pub fn forget(&mut self) {
        self.recency.forget();
        self.states.forget();
        self.stored.fill(NO_PAGE);
        self.dirty.fill(NO_BLOCK);
    }
}

#[cfg(test)]
mod tests;
