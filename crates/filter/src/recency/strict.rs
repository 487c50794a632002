//! Structures beside the usual two, of which the filter knows only the newest page of each set.

use broadleaf_tlb::Compiled;
use broadleaf_tlb::Structure;
use broadleaf_units::{PageNumber, PageSize};

/// The number of distinguished sets of a structure.
const SETS: usize = 64;

/// No page.
const NOTHING: PageNumber = PageNumber(u64::MAX);

/// The sets of a structure that holds base pages alone. By set: the page that was looked up last,
/// and the page's stamp then.
#[derive(Clone, Debug)]
struct BaseSets {
    index: Compiled,
    newest: [(PageNumber, u64); SETS],
}

/// The sets of a structure that holds larger pages of one size alone. By set: the larger page that
/// was looked up last, and the set's generation. The generation grows when another larger page is
/// looked up, or an entry is removed.
#[derive(Clone, Debug)]
struct LargerSets {
    index: Compiled,
    /// The distance of the page number's lowest bit from that of a base page.
    shift: u32,
    newest: [(u64, u64); SETS],
}

/// The sets of a structure that holds several sizes.
///
/// A lookup is noted as one of the base page and one of each larger page around it, each in its own
/// set. The entry that the lookup uses is one of these.
#[derive(Clone, Debug)]
struct MixedSets {
    /// The index of each size, and the shift from a base page's number to a number of this size.
    sizes: Vec<(Compiled, u32)>,
    /// By set: the page that was noted last, and the set's generation. The generation grows when
    /// another page is noted, or an entry is removed.
    newest: [(MixedPage, u64); SETS],
}

/// A page of some size: the number of the size among those of the structure, and its own number.
type MixedPage = (usize, u64);

/// No page.
const NO_MIXED_PAGE: MixedPage = (usize::MAX, 0);

impl MixedSets {
    /// The pages that a lookup is noted as, each with the number of its set.
    fn pages(&self, page: PageNumber) -> impl Iterator<Item = (MixedPage, usize)> + use<'_> {
        let sizes = self.sizes.iter().enumerate();
        sizes
            .map(move |(size, (index, shift))| ((size, page.0 >> shift), index.set_of(page) % SETS))
    }

    fn note(&mut self, page: PageNumber) {
        for at in 0..self.sizes.len() {
            let (index, shift) = self.sizes[at];
            let newest = &mut self.newest[index.set_of(page) % SETS];
            let noted = (at, page.0 >> shift);
            newest.1 += u64::from(newest.0 != noted);
            newest.0 = noted;
        }
    }

    fn remove(&mut self, page: PageNumber) {
        for at in 0..self.sizes.len() {
            let newest = &mut self.newest[self.sizes[at].0.set_of(page) % SETS];
            *newest = (NO_MIXED_PAGE, newest.1 + 1);
        }
    }
}

/// Further structures.
#[derive(Clone, Debug, Default)]
pub(super) struct Strict {
    base: Vec<BaseSets>,
    larger: Vec<LargerSets>,
    mixed: Vec<MixedSets>,
}

impl Strict {
    pub(super) fn add(&mut self, structure: &Structure) {
        let [(size, index)] = &structure.pages[..] else {
            let sizes = structure.pages.iter().map(|(size, index)| {
                let shift = u32::from(size.shift() - PageSize::SIZE_4K.shift());
                (index.compile(), shift)
            });
            self.mixed.push(MixedSets {
                sizes: sizes.collect(),
                newest: [(NO_MIXED_PAGE, 0); SETS],
            });
            return;
        };
        let index = index.compile();
        match u32::from(size.shift() - PageSize::SIZE_4K.shift()) {
            0 => self.base.push(BaseSets {
                index,
                newest: [(NOTHING, 0); SETS],
            }),
            shift => self.larger.push(LargerSets {
                index,
                shift,
                newest: [(u64::MAX, 0); SETS],
            }),
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.base.is_empty() && self.larger.is_empty() && self.mixed.is_empty()
    }

    /// The sum of the generations of the sets in which a page is noted, without those of base pages
    /// alone. The sum of a page stays the same only if each of its generations does.
    pub(super) fn stamp(&self, page: PageNumber) -> u64 {
        let larger = (self.larger.iter()).map(|sets| sets.newest[sets.index.set_of(page) % SETS].1);
        let mixed = self.mixed.iter().flat_map(|sets| {
            let pages = sets.pages(page);
            pages.map(|(_, set)| sets.newest[set].1)
        });
        larger.chain(mixed).fold(0, u64::wrapping_add)
    }

    /// Returns true if a page is the newest of its set in each structure of base pages, and had
    /// this stamp then.
    pub(super) fn is_newest(&self, page: PageNumber, stamp: u64) -> bool {
        let base = |sets: &BaseSets| sets.newest[sets.index.set_of(page) % SETS] == (page, stamp);
        self.base.iter().all(base)
    }

    /// Notes a lookup. `others` is the part of the stamp that is not from here; returns the whole.
    pub(super) fn note(&mut self, page: PageNumber, others: u64) -> u64 {
        for sets in &mut self.larger {
            let number = page.0 >> sets.shift;
            let newest = &mut sets.newest[sets.index.set_of(page) % SETS];
            newest.1 += u64::from(newest.0 != number);
            newest.0 = number;
        }
        for sets in &mut self.mixed {
            sets.note(page);
        }
        let stamp = others.wrapping_add(self.stamp(page));
        for sets in &mut self.base {
            sets.newest[sets.index.set_of(page) % SETS] = (page, stamp);
        }
        stamp
    }

    /// Notes that the entries of the larger pages around a base page were removed.
    pub(super) fn remove_larger(&mut self, page: PageNumber) {
        for sets in &mut self.larger {
            sets.newest[sets.index.set_of(page) % SETS].1 += 1;
        }
        for sets in &mut self.mixed {
            sets.remove(page);
        }
    }

    pub(super) fn forget(&mut self) {
        for sets in &mut self.base {
            sets.newest.fill((NOTHING, 0));
        }
        for sets in &mut self.mixed {
            for newest in &mut sets.newest {
                *newest = (NO_MIXED_PAGE, newest.1 + 1);
            }
        }
    }
}
