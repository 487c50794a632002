//! Lookups in one TLB, for traces in which most lookups miss the first level.
//!
//! A miss puts its entry in as the newest of a set and pushes the oldest one out. A hit moves its
//! entry to the front. Both are the same move of entries, from the front up to the entry that was
//! found or up to the last one. So a lookup has no branch that depends on whether it hits the
//! second level, nor on the size of its page.
//!
//! This relies on exact LRU replacement, on two page sizes, and on the shape of the design: two
//! structures of four ways at the first level, one for each size, and one structure of twelve ways
//! for both sizes at the second. It also relies on the host to remove the entry of a superpage when
//! the superpage is broken. So a base page cannot be found under the entry of a superpage. The
//! entry of a base page can outlive the promotion of its block: such an entry is a *stray*.

use super::{PageId, SUPERPAGE, Size, Tlbs, Walks};
use crate::index::TwoFields;
use crate::set;
use broadleaf_units::PageNumber;
use pulp::NullaryFnOnce;

/// The ways of the first level and of the second.
const FIRST: usize = 4;
const SECOND: usize = 12;

/// Where pages of one size stand at both levels.
#[derive(Clone, Copy)]
struct Sets {
    first: TwoFields,
    second: TwoFields,
}

/// One TLB.
struct Alone<'a> {
    base_pages: &'a mut [[u32; FIRST]],
    superpages: &'a mut [[u32; FIRST]],
    second: &'a mut [[u32; SECOND]],
    of_base: Sets,
    of_super: Sets,
}

/// Some lookups, which are compiled for the vector instructions that the processor has.
struct Lookups<'a, 'b, F> {
    alone: Alone<'a>,
    pages: &'b [PageNumber],
    ids: &'b [PageId],
    from: usize,
    /// The size of the page that the page table holds.
    size: F,
    /// Whether there may be strays.
    strays: bool,
    found: &'b mut Found,
}

impl<F: Fn(usize) -> Option<Size>> NullaryFnOnce for Lookups<'_, '_, F> {
    type Output = Outcome;

    #[inline(always)]
    fn call(self) -> Outcome {
        if self.strays {
            self.look_up::<true>()
        } else {
            self.look_up::<false>()
        }
    }
}

/// What lookups came to, by page size.
#[derive(Clone, Copy, Default)]
struct Found {
    second_hits: u64,
    walks: u64,
    super_walks: u64,
}

/// What became of some lookups.
enum Outcome {
    /// All were made.
    Done,
    /// Those before this one were made. This one is out of the ordinary.
    Odd(usize),
}

impl Tlbs {
    /// Whether lookups in one TLB are known to this module.
    pub(super) fn can_be_alone(&self) -> bool {
        let (super_first, super_second) = self.superpages;
        let (base_first, base_second) = self.base_pages;
        let two_fields = |place: &super::Place| place.index.of_two_fields().is_some();
        let firsts = [super_first, base_first];
        let (Some(super_second), Some(base_second)) = (super_second, base_second) else {
            return false;
        };
        super_first.structure != base_first.structure
            && super_second.structure == base_second.structure
            && (firsts.iter()).all(|place| self.first[place.structure].ways() == FIRST)
            && self.second[base_second.structure].ways == SECOND
            && firsts.iter().all(two_fields)
            && [super_second, base_second].iter().all(two_fields)
    }

    /// Looks base pages up in one TLB. The TLBs have to be [apart](Self::set_apart). Stops where a
    /// walk says so, and answers at which page.
    ///
    /// # Panics
    /// Where there are fewer ids than pages.
    pub fn look_up_alone(
        &mut self,
        lane: usize,
        pages: &[PageNumber],
        ids: &[PageId],
        walks: &mut impl Walks,
    ) -> Option<usize> {
        let ids = &ids[..pages.len()];
        let mut from = 0;
        while from < pages.len() {
            let mut found = Found::default();
            let strays = self.strays[lane];
            let vectors = self.vectors;
            let outcome = vectors.dispatch(Lookups {
                alone: self.alone(lane)?,
                pages,
                ids,
                from,
                size: |at: usize| walks.size(lane, at),
                strays,
                found: &mut found,
            });
            let base_walks = found.walks - found.super_walks;
            self.strays[lane] |= base_walks > 0;
            walks.count(lane, found.second_hits, base_walks, found.super_walks);
            let Outcome::Odd(at) = outcome else {
                return None;
            };
            if !self.look_up_odd(lane, pages[at], ids[at], at, walks) {
                return Some(at);
            }
            from = at + 1;
        }
        None
    }

    /// Finds out whether each TLB holds base pages at all: if not, none of them can be a stray.
    pub fn find_strays(&mut self) {
        let base = self.base_pages.0.structure;
        for lane in 0..self.count {
            let holds = |entries: &[u32]| entries.iter().any(|entry| entry & SUPERPAGE == 0);
            self.strays[lane] = !self.apart
                || holds(self.first[base].bank(lane))
                || (self.second.iter()).any(|second| holds(&second.entries[lane]));
        }
    }

    /// One TLB; `None` if the design has another shape.
    fn alone(&mut self, lane: usize) -> Option<Alone<'_>> {
        let (super_first, super_second) = self.superpages;
        let (base_first, base_second) = self.base_pages;
        let (super_second, base_second) = (super_second?, base_second?);
        let both = [super_first.structure, base_first.structure];
        let [superpages, base_pages] = self.first.get_disjoint_mut(both).ok()?;
        Some(Alone {
            base_pages: base_pages.bank(lane).as_chunks_mut().0,
            superpages: superpages.bank(lane).as_chunks_mut().0,
            second: self.second[base_second.structure].entries[lane]
                .as_chunks_mut()
                .0,
            of_base: Sets {
                first: base_first.index.of_two_fields()?,
                second: base_second.index.of_two_fields()?,
            },
            of_super: Sets {
                first: super_first.index.of_two_fields()?,
                second: super_second.index.of_two_fields()?,
            },
        })
    }

    /// One lookup, step by step. Answers whether a page was found.
    #[cold]
    fn look_up_odd(
        &mut self,
        lane: usize,
        page: PageNumber,
        id: PageId,
        at: usize,
        walks: &mut impl Walks,
    ) -> bool {
        let sizes = [
            (Size::Superpage, self.superpages),
            (Size::Base, self.base_pages),
        ];
        for (size, (first, _)) in sizes {
            let set = first.index.set_of(page);
            let rows = &mut self.first[first.structure];
            let ways = rows.ways();
            let set = &mut rows.bank(lane)[set * ways..(set + 1) * ways];
            if set::renew(set, id.entry(size)) {
                return true;
            }
        }
        let found = self.miss::<1>(lane, page, id, at, walks);
        self.strays[lane] = true;
        found
    }
}

impl<F: Fn(usize) -> Option<Size>> Lookups<'_, '_, F> {
    /// Makes the lookups. `STRAYS` says whether there may be strays.
    #[inline(always)]
    fn look_up<const STRAYS: bool>(self) -> Outcome {
        let Alone {
            base_pages,
            superpages,
            second,
            of_base,
            of_super,
        } = self.alone;
        let (mut second_hits, mut walks, mut super_walks) = (0, 0, 0);
        let mut outcome = Outcome::Done;
        let visits = self.pages.iter().zip(self.ids).enumerate();
        for (at, (&page, &id)) in visits.skip(self.from) {
            let Some(size) = (self.size)(at) else {
                outcome = Outcome::Odd(at);
                break;
            };
            let is_super = size == Size::Superpage;
            let base_set = of_base.first.set_of(page);
            let entry = id.entry(size);
            let second_set = if is_super {
                of_super.second.set_of(page)
            } else {
                of_base.second.set_of(page)
            };
            if STRAYS {
                // The base page's entry, which only a superpage can have as a stray.
                let base = id.entry(Size::Base);
                let second = &second[of_base.second.set_of(page)];
                let stray = holds(&base_pages[base_set], base) | holds(second, base);
                if stray & is_super {
                    outcome = Outcome::Odd(at);
                    break;
                }
            }
            let first = if is_super {
                &mut superpages[of_super.first.set_of(page)]
            } else {
                &mut base_pages[base_set]
            };
            if use_entry(first, entry) {
                continue;
            }
            let hits = use_entry(&mut second[second_set], entry);
            second_hits += u64::from(hits);
            walks += u64::from(!hits);
            super_walks += u64::from(!hits & is_super);
        }
        self.found.second_hits += second_hits;
        self.found.walks += walks;
        self.found.super_walks += super_walks;
        outcome
    }
}

/// Whether a set holds an entry.
#[inline(always)]
fn holds<const WAYS: usize>(set: &[u32; WAYS], wanted: u32) -> bool {
    let mut found = 0;
    for entry in set {
        found |= u32::from(*entry == wanted);
    }
    found != 0
}

/// Makes an entry the newest of its set. Returns whether it was there; if not, the oldest entry goes.
#[inline(always)]
fn use_entry<const WAYS: usize>(set: &mut [u32; WAYS], wanted: u32) -> bool {
    let mut found = 0;
    for (way, entry) in set.iter().enumerate() {
        found |= u32::from(*entry == wanted).wrapping_neg() & (way as u32 + 1);
    }
    // How many entries move; the last one goes where none was found.
    let moved = found.wrapping_sub(1).min(WAYS as u32);
    let mut before = wanted;
    for (way, entry) in set.iter_mut().enumerate() {
        let old = *entry;
        *entry = if way as u32 <= moved { before } else { old };
        before = old;
    }
    found != 0
}
