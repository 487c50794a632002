//! Structures beside the usual two: of those only the newest page of each set is known.

use broadleaf_tlb::Compiled;
use broadleaf_tlb::Structure;
use broadleaf_units::{PageNumber, PageSize};

/// How many sets of a structure are told apart.
const SETS: usize = 64;

/// No page.
const NOTHING: PageNumber = PageNumber(u64::MAX);

/// The sets of a structure that holds base pages alone: the page that was looked up last, and what the generations of its larger pages' sets came to then.
#[derive(Clone, Debug)]
struct BaseSets {
    index: Compiled,
    newest: [(PageNumber, u64); SETS],
}

/// The sets of a structure that holds larger pages of one size alone: the larger page that was looked up last, and how often another one was, or its entry
/// was removed.
#[derive(Clone, Debug)]
struct LargerSets {
    index: Compiled,
    /// How far a page's number is from that of a base page.
    shift: u32,
    newest: [(u64, u64); SETS],
}

/// The sets of a structure that holds several sizes: the index of each, and the base page that was looked up last.
#[derive(Clone, Debug)]
struct MixedSets {
    indices: Vec<Compiled>,
    newest: [PageNumber; SETS],
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
            let indices = structure.pages.iter().map(|(_, index)| index.compile());
            self.mixed.push(MixedSets {
                indices: indices.collect(),
                newest: [NOTHING; SETS],
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

    /// What the generations of a page's larger pages' sets come to.
    pub(super) fn stamp(&self, page: PageNumber) -> u64 {
        let generations =
            (self.larger.iter()).map(|sets| sets.newest[sets.index.set_of(page) % SETS].1);
        generations.fold(0, u64::wrapping_add)
    }

    /// Whether a page is the newest wherever it can be, and nothing came between.
    pub(super) fn is_newest(&self, page: PageNumber, stamp: u64) -> bool {
        let base = |sets: &BaseSets| sets.newest[sets.index.set_of(page) % SETS] == (page, stamp);
        let mixed = |sets: &MixedSets| {
            (sets.indices.iter()).all(|index| sets.newest[index.set_of(page) % SETS] == page)
        };
        self.base.iter().all(base) && self.mixed.iter().all(mixed)
    }

    /// Notes a lookup. `others` is the part of the stamp that is not from here; the answer is the whole.
    pub(super) fn note(&mut self, page: PageNumber, others: u64) -> u64 {
        for sets in &mut self.larger {
            let number = page.0 >> sets.shift;
            let newest = &mut sets.newest[sets.index.set_of(page) % SETS];
            newest.1 += u64::from(newest.0 != number);
            newest.0 = number;
        }
        let stamp = others.wrapping_add(self.stamp(page));
        for sets in &mut self.base {
            sets.newest[sets.index.set_of(page) % SETS] = (page, stamp);
        }
        self.note_mixed(page, page);
        stamp
    }

    fn note_mixed(&mut self, page: PageNumber, as_what: PageNumber) {
        for sets in &mut self.mixed {
            for index in &sets.indices {
                sets.newest[index.set_of(page) % SETS] = as_what;
            }
        }
    }

    /// The entries of the larger pages around a base page were removed. What is known of others without this says as much; here it is said for each structure by itself.
    pub(super) fn remove_larger(&mut self, page: PageNumber) {
        for sets in &mut self.larger {
            sets.newest[sets.index.set_of(page) % SETS].1 += 1;
        }
        self.note_mixed(page, NOTHING);
    }

    pub(super) fn forget(&mut self) {
        for sets in &mut self.base {
            sets.newest.fill((NOTHING, 0));
        }
        for sets in &mut self.mixed {
            sets.newest.fill(NOTHING);
        }
    }
}
