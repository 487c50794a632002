//! Visits that change nothing under any policy on any of the machines: found once, and never handed to any.

use crate::events::is_seen_by_no_policy;
use broadleaf_memory::GEOMETRY;
use broadleaf_trace::reduced::{Kept, Manner, Sums};
use broadleaf_trace::{Event, Lead, Visit};
use broadleaf_translation::Recency;
use broadleaf_units::{BlockNumber, PageNumber};

/// How many pages that were stored to are remembered. A power of two.
const STORED: usize = 256;
/// How many blocks that were stored to are remembered. A power of two.
const DIRTY: usize = 64;

/// A lookup that makes up for one that was left out.
fn made_up(page: PageNumber, time: u64, manner: Manner) -> Kept {
    Kept {
        page: page.0,
        time,
        loads_before_store: 0,
        manner,
    }
}

/// Finds visits that change nothing.
///
/// Such a visit is to a page that was visited before, so it faults under no policy; stores to it only where it was stored to
/// before, so it dirties nothing; and its lookup need not be made in any TLB ([`Recency`]), which may ask for others to be made later in its place. Those are of pages
/// in the same state, so they change no memory either. Whether the time at which a policy wanted to be asked
/// passes meanwhile is no matter: what it will find is the same at the next visit that changes something.
///
/// All that holds until a page is taken away or an entry is shot down. Events do that, so after one that can, everything is forgotten. Beside
/// events only a policy that breaks a superpage does, and it is asked whether to at one point alone: at the first store to a block without dirty pages.
/// So after every store to a block that may be the first since an event, whatever the policies make of it, the block's larger pages are forgotten.
///
/// What it remembers is bounded and only makes it let more through, so it may begin anywhere in a trace with nothing in mind.
#[derive(Clone, Debug)]
pub(crate) struct Sieve {
    recency: Recency,
    stored: Box<[PageNumber; STORED]>,
    dirty: [BlockNumber; DIRTY],
    /// For how many more stretches only the newest pages are looked at.
    shallow_for: u32,
}

/// For how many stretches, where one let most of its visits through.
const SHALLOW: u32 = 15;

const NO_PAGE: PageNumber = PageNumber(u64::MAX);
const NO_BLOCK: BlockNumber = BlockNumber(u64::MAX);

impl Sieve {
    pub(crate) fn new(recency: Recency) -> Self {
        Self {
            recency,
            stored: Box::new([NO_PAGE; STORED]),
            dirty: [NO_BLOCK; DIRTY],
            shallow_for: 0,
        }
    }

    /// Adds to `kept` those of some visits that may change something, and to `sums` what all come to. `shift` is how many low bits of a
    /// unit lie inside a base page.
    pub(crate) fn sift(
        &mut self,
        visits: &[Visit],
        shift: u32,
        kept: &mut Vec<Kept>,
        sums: &mut Sums,
    ) {
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
            // What comes and goes is no branch.
            let stores_to = (visit.stores != 0) | (visit.lead == Lead::Store);
            let known = !stores_to | (self.stored[page.0 as usize % STORED] == page);
            // What is caught up with before it comes right before its first access: the one that it leads with, or its own.
            let manner = if leads { Manner::LEAD } else { Manner::LOAD };
            let mut look_up = |page| kept.push(made_up(page, time, manner));
            if known & !leads {
                if visit.loads | visit.stores == 0
                    || !self.recency.has_to_be_made(page, &mut look_up)
                {
                    continue;
                }
            } else {
                self.recency.make(page, &mut look_up);
                if stores_to {
                    self.note_store(page);
                }
            }
            kept.push(Kept {
                page: page.0,
                time,
                loads_before_store: visit.loads_before_store.min(visit.loads),
                manner: Manner::of(visit),
            });
        }
        (sums.loads, sums.stores, sums.instructions) = (loads, stores, instructions);
    }

    /// A page was stored to, by a visit that is kept.
    fn note_store(&mut self, page: PageNumber) {
        self.stored[page.0 as usize % STORED] = page;
        let block = GEOMETRY.block_of(page);
        let dirty = &mut self.dirty[block.0 as usize % DIRTY];
        if *dirty != block {
            *dirty = block;
            self.recency.remove_larger(page);
        }
    }

    /// Adds to `kept` what makes up for visits that were left out and only changed an order. To be done at the end of each piece: `sums` is what its
    /// visits come to.
    pub(crate) fn catch_up(&mut self, kept: &mut Vec<Kept>, sums: &Sums) {
        // With the last access, as what follows may come before the next.
        let end = sums.accesses();
        self.recency
            .catch_up(&mut |page| kept.push(made_up(page, end, Manner::LEAD)));
    }

    /// A stretch of a trace is done, which has been caught up with, and of whose visits so many were kept.
    pub(crate) fn rest(&mut self, visits: usize, kept: usize) {
        self.shallow_for = match self.shallow_for {
            0 if 4 * kept > 3 * visits => SHALLOW,
            left => left.saturating_sub(1),
        };
        self.recency.be_shallow(self.shallow_for > 0);
    }

    /// An event follows the end of a piece.
    pub(crate) fn pass(&mut self, event: &Event) {
        // What is known is known of one address space, and one that ended may begin again.
        let other_space = matches!(event, Event::SpaceSwitch(_) | Event::SpaceEnd { .. });
        if other_space || !is_seen_by_no_policy(event) {
            self.forget();
        }
    }

    /// What was known does not hold for what follows, which was caught up with.
    pub(crate) fn forget(&mut self) {
        self.recency.forget();
        self.stored.fill(NO_PAGE);
        self.dirty.fill(NO_BLOCK);
    }
}
