//! Visits that change nothing under any policy on any of the machines: found once, and handed to
//! none.

mod by_word;
mod words;

use crate::is_seen_by_no_policy;
use crate::sifted::Sifted;
use crate::trail::{Follows, Trail};
use crate::{Recency, RecencyPlaces};
use broadleaf_trace::reduced::{KeptVisit, Manner, Sums};
use broadleaf_trace::{Event, Lead, Visit};
use broadleaf_units::Geometry;
use broadleaf_units::{BlockNumber, PageNumber};
use words::Words;

/// How many pages that were stored to are remembered. A power of two.
const STORED: usize = 256;
/// How many blocks that were stored to are remembered. A power of two.
const DIRTY: usize = 64;

/// A lookup that makes up for one that was left out.
fn made_up(page: PageNumber, time: u64, manner: Manner) -> KeptVisit {
    KeptVisit {
        page: page.0,
        time,
        loads_before_store: 0,
        manner,
    }
}

/// A visit that is kept, as it is.
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
/// Such a visit is to a page that was visited before, so it faults under no policy; stores to it
/// only where it was stored to before, so it dirties nothing; and its lookup need not be made in
/// any TLB ([`Recency`]), which may ask for others to be made later in its place. Those are of
/// pages in the same state, so they change no memory either. Whether the time at which a policy
/// wanted to be asked passes meanwhile is no matter: what it will find is the same at the next
/// visit that changes something.
///
/// All that holds until a page is taken away or an entry is shot down. Events do that, so after one
/// that can, everything is forgotten. Beside events only a policy that breaks a superpage does, and
/// it is asked whether to at one point alone: at the first store to a block without dirty pages. So
/// after every store to a block that may be the first since an event, whatever the policies make of
/// it, the block's larger pages are forgotten.
///
/// What it remembers is bounded and only makes it let more through, so it may begin anywhere in a
/// trace with nothing in mind.
#[derive(Clone, Debug)]
pub struct Sieve {
    recency: Recency,
    stored: Box<[PageNumber; STORED]>,
    dirty: [BlockNumber; DIRTY],
    /// What is known of a part that names what repeats.
    words: Words,
    /// Visits unfolded from words, where words cannot be used. The list is kept for its memory.
    unfolded: Vec<Visit>,
    /// What is recorded about the lookups of all visits.
    follows: Follows,
    /// How closely visits are looked at, and for how many more stretches.
    looks: Looks,
    looks_so_for: u32,
}

/// How closely visits are looked at: no more than it saves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Looks {
    /// At all that is known.
    Closely,
    /// At the newest pages alone, where most visits are let through.
    AtNewest,
    /// Not at all, where nearly all are.
    Away,
}

/// For how many stretches, where one let most of its visits through.
const LOOKS_SO_FOR: u32 = 15;

const NO_PAGE: PageNumber = PageNumber(u64::MAX);
const NO_BLOCK: BlockNumber = BlockNumber(u64::MAX);

impl Sieve {
    /// A filter that knows of no visit.
    pub fn new(recency: Recency) -> Self {
        Self {
            recency,
            stored: Box::new([NO_PAGE; STORED]),
            dirty: [NO_BLOCK; DIRTY],
            words: Words::default(),
            unfolded: Vec::new(),
            follows: Follows::Nothing,
            looks: Looks::Closely,
            looks_so_for: 0,
        }
    }

    /// Becomes as new as another, and keeps its memory.
    pub fn renew(&mut self, new: &Self) {
        self.recency.clone_from(&new.recency);
        self.stored.fill(NO_PAGE);
        self.dirty.fill(NO_BLOCK);
        self.words.clear();
        self.follows = new.follows;
        (self.looks, self.looks_so_for) = (new.looks, new.looks_so_for);
    }

    /// Records the lookups of all visits, too.
    pub const fn following(mut self, follows: Follows) -> Self {
        self.follows = follows;
        self
    }

    /// Of a reduced piece, what is kept is all that is known, and so all that is followed.
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

    /// Adds to `sifted` those of some visits that may change something, and to `sums` what all come
    /// to. `shift` is how many low bits of a unit lie inside a base page.
    pub fn sift(&mut self, visits: &[Visit], shift: u32, sifted: &mut Sifted, sums: &mut Sums) {
        // Visits without words move pages to other places, so the state of the words is stale.
        self.words.forget();
        self.sift_visits(visits, shift, sifted, sums);
    }

    fn sift_visits(&mut self, visits: &[Visit], shift: u32, sifted: &mut Sifted, sums: &mut Sums) {
        if self.looks == Looks::Away {
            if self.follows != Follows::Nothing || !keep_all(visits, shift, sifted, sums) {
                self.sift_some::<false>(visits, shift, sifted, sums);
            }
        } else {
            self.sift_some::<true>(visits, shift, sifted, sums);
        }
    }

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
                // What comes and goes is no branch.
                let stores_to = (visit.stores != 0) | (visit.lead == Lead::Store);
                let known = !stores_to | (self.stored[page.0 as usize % STORED] == page);
                // What is caught up with before it comes right before its first access: the one
                // that it leads with, or its own.
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

    /// Adds to `sifted` what makes up for visits that were left out and only changed an order. To
    /// be done at the end of each piece: `sums` is what its visits come to.
    pub fn catch_up(&mut self, sifted: &mut Sifted, sums: &Sums) {
        let Sifted { kept, trail } = sifted;
        // With the last access, as what follows may come before the next.
        let end = sums.accesses();
        self.recency
            .catch_up(&mut |page| kept.push(made_up(page, end, Manner::LEAD)));
        if self.follows != Follows::Nothing {
            trail.keep(kept.len(), trail.pages.len());
        }
    }

    /// Ends a stretch of a trace, after [`Self::catch_up`]. The stretch has `visits` visits, of
    /// which `kept` were kept.
    pub fn rest(&mut self, visits: usize, kept: usize) {
        let looked = self.looks;
        if self.looks_so_for > 0 {
            self.looks_so_for -= 1;
        }
        if self.looks_so_for == 0 {
            self.looks = match () {
                () if looked != Looks::Closely => Looks::Closely,
                () if 16 * kept > 15 * visits => Looks::Away,
                () if 4 * kept > 3 * visits => Looks::AtNewest,
                () => Looks::Closely,
            };
            if self.looks != Looks::Closely {
                self.looks_so_for = LOOKS_SO_FOR;
            }
        }
        if self.looks != looked {
            self.recency.be_shallow(self.looks == Looks::AtNewest);
            self.forget();
        }
    }

    /// An event follows the end of a piece.
    pub fn pass(&mut self, event: &Event) {
        // What is known is known of one address space, and one that ended may begin again.
        let other_space = matches!(event, Event::SpaceSwitch(_) | Event::SpaceEnd { .. });
        if other_space || !is_seen_by_no_policy(event) {
            self.forget();
        }
    }

    /// What was known does not hold for what follows, which was caught up with.
    pub fn forget(&mut self) {
        self.recency.forget();
        self.words.forget();
        self.stored.fill(NO_PAGE);
        self.dirty.fill(NO_BLOCK);
    }
}

/// Keeps all of some visits, if all access data and none leads. Returns false if that is not so.
fn keep_all(visits: &[Visit], shift: u32, sifted: &mut Sifted, sums: &mut Sums) -> bool {
    let is_odd = |visit: &Visit| {
        visit.fetch | (visit.lead != Lead::None) | (visit.loads | visit.stores == 0)
    };
    if visits.iter().fold(false, |odd, visit| odd | is_odd(visit)) {
        return false;
    }
    sums.data |= !visits.is_empty();
    let (mut loads, mut stores) = (sums.loads, sums.stores);
    let mut instructions = sums.instructions;
    sifted.kept.extend(visits.iter().map(|visit| {
        let time = loads + stores;
        loads += u64::from(visit.loads);
        stores += u64::from(visit.stores);
        instructions += u64::from(visit.instructions);
        own(visit, PageNumber(visit.unit >> shift), time)
    }));
    (sums.loads, sums.stores, sums.instructions) = (loads, stores, instructions);
    true
}

#[cfg(test)]
mod tests;
