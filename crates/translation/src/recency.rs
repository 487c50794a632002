//! Which pages were used last in each set of the first level: what tells lookups that change nothing, whatever sizes the pages have.

use crate::index::Compiled;
use crate::{Design, Structure};
use broadleaf_units::{PageNumber, PageSize};

/// No page.
const NOTHING: PageNumber = PageNumber(u64::MAX);

/// How many sets of a structure are told apart. Where it has more, several are taken for one: that a page was noted last in all of them
/// says that it was in its own.
const SETS: usize = 64;

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
    noted: [Noted; SETS],
}

impl BaseSets {
    const fn new(index: Compiled) -> Self {
        let nothing = Noted {
            page: NOTHING,
            stamp: 0,
        };
        Self {
            index,
            noted: [nothing; SETS],
        }
    }

    #[inline]
    fn of(&mut self, page: PageNumber) -> &mut Noted {
        &mut self.noted[self.index.set_of(page) % SETS]
    }
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
    noted: [Larger; SETS],
}

impl LargerSets {
    const fn new(index: Compiled, shift: u32) -> Self {
        let nothing = Larger {
            number: NOTHING.0,
            generation: 0,
        };
        Self {
            index,
            shift,
            noted: [nothing; SETS],
        }
    }

    #[inline]
    fn of(&mut self, page: PageNumber) -> &mut Larger {
        &mut self.noted[self.index.set_of(page) % SETS]
    }
}

/// The sets of a structure that holds several sizes: the index of each, and the base page that was noted last.
#[derive(Clone, Debug)]
struct MixedSets {
    indices: Vec<Compiled>,
    noted: [PageNumber; SETS],
}

impl MixedSets {
    fn is_noted(&self, page: PageNumber) -> bool {
        (self.indices.iter()).all(|index| self.noted[index.set_of(page) % SETS] == page)
    }

    fn note(&mut self, page: PageNumber, as_what: PageNumber) {
        for index in &self.indices {
            self.noted[index.set_of(page) % SETS] = as_what;
        }
    }
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
#[derive(Clone, Debug)]
pub struct Recency {
    /// One structure of base pages and one of larger ones, which most designs have and no others; where a design has none, sets as fine as these
    /// are taken.
    base: BaseSets,
    larger: LargerSets,
    more: Box<More>,
    has_more: bool,
}

/// Further structures.
#[derive(Clone, Debug, Default)]
struct More {
    base: Vec<BaseSets>,
    larger: Vec<LargerSets>,
    mixed: Vec<MixedSets>,
}

impl Recency {
    /// Nothing noted yet, for TLBs of these designs.
    pub fn new<'a>(designs: impl IntoIterator<Item = &'a Design>) -> Self {
        let mut known: Vec<&Structure> = Vec::new();
        let mut more = More::default();
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
                more.add(structure);
            }
        }
        let alone = Self::for_any_design();
        let base = (!more.base.is_empty()).then(|| more.base.swap_remove(0));
        let larger = (!more.larger.is_empty()).then(|| more.larger.swap_remove(0));
        // Where all structures are mixed, what those say is enough, and nearly nothing else is asked for.
        let (finest_base, finest_larger) = match more.mixed.first() {
            Some(mixed) => (
                BaseSets::new(mixed.indices[0]),
                LargerSets::new(mixed.indices[0], alone.larger.shift),
            ),
            None => (alone.base, alone.larger),
        };
        Self {
            base: base.unwrap_or(finest_base),
            larger: larger.unwrap_or(finest_larger),
            has_more: !(more.base.is_empty() && more.larger.is_empty() && more.mixed.is_empty()),
            more: Box::new(more),
        }
    }

    /// Nothing noted yet, for TLBs of any design: only a lookup of the page that was looked up last is sure to change nothing in all of them.
    pub fn for_any_design() -> Self {
        let all = Compiled::default();
        let shift = u32::from(PageSize::SIZE_2M.shift() - PageSize::SIZE_4K.shift());
        Self {
            base: BaseSets::new(all),
            larger: LargerSets::new(all, shift),
            more: Box::default(),
            has_more: false,
        }
    }

    /// Notes the lookup of a base page, and says whether it changes nothing.
    #[inline]
    pub fn repeats(&mut self, page: PageNumber) -> bool {
        let mut stamp = self.larger.of(page).generation;
        if self.has_more {
            stamp = stamp.wrapping_add(self.more.stamp(page));
        }
        let noted = self.base.of(page);
        let known = (noted.page == page) & (noted.stamp == stamp);
        if known && (!self.has_more || self.more.is_noted(page, stamp)) {
            return true;
        }
        self.note(page);
        false
    }

    #[inline]
    fn note(&mut self, page: PageNumber) {
        let number = page.0 >> self.larger.shift;
        let noted = self.larger.of(page);
        noted.generation += u64::from(noted.number != number);
        noted.number = number;
        let mut stamp = noted.generation;
        if self.has_more {
            stamp = self.more.note(page, stamp);
        }
        *self.base.of(page) = Noted { page, stamp };
    }

    /// The entries of the larger pages around a base page were removed, and no others.
    pub fn remove_larger(&mut self, page: PageNumber) {
        self.larger.of(page).generation += 1;
        for sets in &mut self.more.larger {
            sets.of(page).generation += 1;
        }
        for sets in &mut self.more.mixed {
            sets.note(page, NOTHING);
        }
    }

    /// Entries were removed, or another address space's will be looked up.
    pub fn forget(&mut self) {
        for sets in self.more.base.iter_mut().chain([&mut self.base]) {
            sets.noted.iter_mut().for_each(|noted| noted.page = NOTHING);
        }
        for sets in &mut self.more.mixed {
            sets.noted.fill(NOTHING);
        }
    }
}

impl More {
    fn add(&mut self, structure: &Structure) {
        let [(size, index)] = &structure.pages[..] else {
            let indices = structure.pages.iter().map(|(_, index)| index.compile());
            self.mixed.push(MixedSets {
                indices: indices.collect(),
                noted: [NOTHING; SETS],
            });
            return;
        };
        match u32::from(size.shift() - PageSize::SIZE_4K.shift()) {
            0 => self.base.push(BaseSets::new(index.compile())),
            shift => self.larger.push(LargerSets::new(index.compile(), shift)),
        }
    }

    /// What the generations of a page's larger pages' sets come to.
    fn stamp(&mut self, page: PageNumber) -> u64 {
        let generations = self.larger.iter_mut().map(|sets| sets.of(page).generation);
        generations.fold(0, u64::wrapping_add)
    }

    fn is_noted(&mut self, page: PageNumber, stamp: u64) -> bool {
        let base = |sets: &mut BaseSets| {
            let noted = sets.of(page);
            noted.page == page && noted.stamp == stamp
        };
        self.base.iter_mut().all(base) && self.mixed.iter().all(|sets| sets.is_noted(page))
    }

    /// Notes a page, and answers what all generations come to, those of other sets with them.
    fn note(&mut self, page: PageNumber, others: u64) -> u64 {
        for sets in &mut self.larger {
            let number = page.0 >> sets.shift;
            let noted = sets.of(page);
            noted.generation += u64::from(noted.number != number);
            noted.number = number;
        }
        let stamp = others.wrapping_add(self.stamp(page));
        for sets in &mut self.base {
            *sets.of(page) = Noted { page, stamp };
        }
        for sets in &mut self.mixed {
            sets.note(page, page);
        }
        stamp
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
