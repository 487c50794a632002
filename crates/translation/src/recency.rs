//! Which pages were used last in each set of the first level: what tells lookups that change nothing, whatever sizes the pages have.

use crate::index::Compiled;
use crate::{Design, Structure};
use broadleaf_units::{PageNumber, PageSize};

/// No page.
const NOTHING: PageNumber = PageNumber(u64::MAX);

/// The base page that was noted last in a set.
#[derive(Clone, Copy, Debug)]
struct Noted {
    page: PageNumber,
    /// What the generations of its larger pages' sets came to then.
    stamp: u64,
}

/// The sets of a structure that holds base pages alone.
#[derive(Clone, Debug)]
struct BaseSets {
    index: Compiled,
    noted: Vec<Noted>,
}

/// The larger page that was noted last in a set.
#[derive(Clone, Copy, Debug)]
struct Larger {
    number: u64,
    /// How often another one was noted, or its entry removed.
    generation: u64,
}

/// The sets of a structure that holds larger pages of one size alone.
#[derive(Clone, Debug)]
struct LargerSets {
    index: Compiled,
    /// How far a page's number is from that of a base page.
    shift: u32,
    noted: Vec<Larger>,
}

/// The sets of a structure that holds several sizes: the index of each, and the base page that was noted last.
#[derive(Clone, Debug)]
struct MixedSets {
    indices: Vec<Compiled>,
    noted: Vec<PageNumber>,
}

/// Tells lookups that change nothing in any TLB of some designs, without knowing which size each page has.
///
/// A lookup of a base page uses, in each first-level structure, at most the set of the base page or that of the larger page around it: what the page
/// table holds, and which entries are left from before, decides which. Here each lookup is noted in all of them, but for one that repeats: there
/// it is noted already. The lookup of a page repeats the last one of the same page where since then
///
/// - no other page was noted in the base page's set, so that an entry of the base page that the last lookup found or brought is still the newest, and
/// - only pages of the same larger page were noted in the larger page's set, so that an entry of the larger page, whether the last lookup found or
///   brought it or one since, is the newest.
///
/// Larger pages are looked up first, so one of the two is found, and being the newest already changes no order. It does not do
/// to ask that a page of the same larger page was noted last: that may have been found by an entry of its own, left from before the larger page was
/// made, when the larger page's was gone. So the sets of larger pages count their changes, and a base page is noted with what the counts of its larger
/// pages' sets come to; as counts only grow, an equal sum says that none of them changed. Where one structure holds both sizes a set may serve both, so
/// the page itself has to be what was noted last in both sets.
///
/// That holds until entries are removed: those of one larger page are to be told with [`Recency::remove_larger`], and after any other everything has
/// to be forgotten with [`Recency::forget`]. It holds in one address space.
#[derive(Clone, Debug, Default)]
pub struct Recency {
    base: Vec<BaseSets>,
    larger: Vec<LargerSets>,
    mixed: Vec<MixedSets>,
}

impl Recency {
    /// Nothing noted yet, for TLBs of these designs.
    pub fn new<'a>(designs: impl IntoIterator<Item = &'a Design>) -> Self {
        let mut recency = Self::default();
        let mut known: Vec<&Structure> = Vec::new();
        let first = designs
            .into_iter()
            .flat_map(|design| design.structures())
            .filter(|structure| structure.level == 1);
        for structure in first {
            // How many ways there are is no matter: only the newest is looked at.
            let alike = |other: &&Structure| {
                (other.sets(), &other.pages) == (structure.sets(), &structure.pages)
            };
            if !known.iter().any(alike) {
                known.push(structure);
                recency.add(structure);
            }
        }
        recency
    }

    fn add(&mut self, structure: &Structure) {
        let sets = structure.sets();
        let [(size, index)] = &structure.pages[..] else {
            let indices = structure.pages.iter().map(|(_, index)| index.compile());
            self.mixed.push(MixedSets {
                indices: indices.collect(),
                noted: vec![NOTHING; sets],
            });
            return;
        };
        let (index, shift) = (
            index.compile(),
            u32::from(size.shift() - PageSize::SIZE_4K.shift()),
        );
        if shift == 0 {
            let nothing = Noted {
                page: NOTHING,
                stamp: 0,
            };
            self.base.push(BaseSets {
                index,
                noted: vec![nothing; sets],
            });
        } else {
            let nothing = Larger {
                number: NOTHING.0,
                generation: 0,
            };
            self.larger.push(LargerSets {
                index,
                shift,
                noted: vec![nothing; sets],
            });
        }
    }

    /// What the generations of a page's larger pages' sets come to.
    #[inline]
    fn stamp(&self, page: PageNumber) -> u64 {
        let generations =
            (self.larger.iter()).map(|sets| sets.noted[sets.index.set_of(page)].generation);
        generations.fold(0, u64::wrapping_add)
    }

    /// Notes the lookup of a base page, and says whether it changes nothing.
    #[inline]
    pub fn repeats(&mut self, page: PageNumber) -> bool {
        // The first structure tells most of what does not repeat, and with most designs all of what does.
        let known = match self.base.first() {
            Some(sets) => {
                let noted = sets.noted[sets.index.set_of(page)];
                noted.page == page && noted.stamp == self.stamp(page)
            }
            None => !self.mixed.is_empty(),
        };
        if known && self.base.len() <= 1 && self.mixed.is_empty() {
            return true;
        }
        if known && self.is_noted(page) {
            return true;
        }
        self.note(page);
        false
    }

    fn is_noted(&self, page: PageNumber) -> bool {
        let stamp = self.stamp(page);
        let base = |sets: &BaseSets| {
            let noted = sets.noted[sets.index.set_of(page)];
            noted.page == page && noted.stamp == stamp
        };
        let mixed = |sets: &MixedSets| {
            (sets.indices.iter()).all(|index| sets.noted[index.set_of(page)] == page)
        };
        self.base.iter().all(base) && self.mixed.iter().all(mixed)
    }

    #[inline]
    fn note(&mut self, page: PageNumber) {
        for sets in &mut self.larger {
            let noted = &mut sets.noted[sets.index.set_of(page)];
            let number = page.0 >> sets.shift;
            noted.generation += u64::from(noted.number != number);
            noted.number = number;
        }
        let stamp = self.stamp(page);
        for sets in &mut self.base {
            sets.noted[sets.index.set_of(page)] = Noted { page, stamp };
        }
        for sets in &mut self.mixed {
            for index in &sets.indices {
                sets.noted[index.set_of(page)] = page;
            }
        }
    }

    /// The entries of the larger pages around a base page were removed, and no others.
    pub fn remove_larger(&mut self, page: PageNumber) {
        for sets in &mut self.larger {
            sets.noted[sets.index.set_of(page)].generation += 1;
        }
        for sets in &mut self.mixed {
            for index in &sets.indices {
                sets.noted[index.set_of(page)] = NOTHING;
            }
        }
    }

    /// Entries were removed, or another address space's will be looked up.
    pub fn forget(&mut self) {
        for sets in &mut self.base {
            sets.noted.iter_mut().for_each(|noted| noted.page = NOTHING);
        }
        for sets in &mut self.mixed {
            sets.noted.fill(NOTHING);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Lookup, SpaceTag, Tlb};

    /// Random pages of a few blocks, of which some are superpages, become such, or are broken: a lookup that repeats is a hit that leaves the TLB as it was.
    #[test]
    fn what_repeats_changes_nothing() {
        for name in crate::machine_names() {
            let machine = crate::machine(name).unwrap();
            let mut recency = Recency::new([&machine.design]);
            let mut tlb = Tlb::new(&machine.design);
            let tag = SpaceTag::new(1).unwrap();
            let (mut promoted, mut repeated) = ([false; 64], 0);
            let mut random = 88_172_645_463_325_252u64;
            for step in 0..100_000u64 {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                // Most lookups are near one of a few places.
                let block = if random.is_multiple_of(4) {
                    random >> 8 & 63
                } else {
                    random >> 8 & 3
                };
                let page = PageNumber(
                    block << 9 | (random >> 20 & if step.is_multiple_of(3) { 511 } else { 7 }),
                );
                if random >> 40 & 63 == 0 {
                    let state = &mut promoted[block as usize];
                    *state = !*state;
                    if !*state {
                        tlb.invalidate(tag, page, PageSize::SIZE_2M);
                        recency.remove_larger(page);
                    }
                }
                let before = recency.repeats(page).then(|| tlb.clone());
                let found = tlb.lookup(tag, page);
                if let Some(before) = before {
                    assert_eq!(found, Lookup::First, "{name}, step {step}");
                    assert!(tlb.holds_as(&before), "{name}, step {step}");
                    repeated += 1;
                }
                if found == Lookup::Miss {
                    let size = if promoted[block as usize] {
                        PageSize::SIZE_2M
                    } else {
                        PageSize::SIZE_4K
                    };
                    tlb.fill(tag, page, size);
                }
            }
            assert!(repeated > 500, "{name}: {repeated}");
        }
    }
}
