//! Sets of ways: each entry translates one page, and an index function chooses the set.

use super::{Entries, Organisation, Translation};
use crate::{Compiled, ReplacementState, Structure};
use broadleaf_units::{Asid, Described, PageNumber, PageSize};

pub(super) static SET_ASSOCIATIVE: Organisation = Organisation {
    described: Described {
        name: "set-associative",
        summary: "sets of ways, each entry a page of one size",
        explanation: "A structure has entries and ways, holds one page size or several, and finds \
                      a page's set by an index \
                      function: a range of address bits such as va[15:12], or several combined by \
                      exclusive or. One set makes \
                      it fully associative, one way direct-mapped. Entries carry the tag of their \
                      address space, so a switch of \
                      spaces flushes nothing. One or two levels can be stacked; a walk fills \
                      both, and what the first level \
                      loses is not written to the second.",
        source: "Talluri 1995, chapter 3; Zhu 2018, chapter 4",
    },
    build: |structure| Box::new(SetAssociative::new(structure)),
    neighbours: 0,
};

/// A set-associative structure with any replacement rule.
#[derive(Clone, Debug)]
struct SetAssociative {
    ways: usize,
    indices: Vec<(PageSize, Compiled)>,
    /// Set after set.
    entries: Vec<Option<Translation>>,
    replacement: ReplacementState,
}

impl SetAssociative {
    fn new(structure: &Structure) -> Self {
        let indices = structure.pages.iter();
        Self {
            ways: structure.ways,
            indices: indices
                .map(|(size, index)| (*size, index.compile()))
                .collect(),
            entries: vec![None; structure.entries],
            replacement: ReplacementState::new(structure),
        }
    }

    /// A page's set. `None` if the structure holds no pages of the size.
    fn set_of(&self, page: PageNumber, size: PageSize) -> Option<usize> {
        let (_, index) = self.indices.iter().find(|(held, _)| *held == size)?;
        Some(index.set_of(page))
    }

    /// The entries of a set.
    fn entries_of(&self, set: usize) -> &[Option<Translation>] {
        &self.entries[set * self.ways..][..self.ways]
    }
}

impl Entries for SetAssociative {
    fn find(&mut self, tag: Asid, page: PageNumber, size: PageSize) -> Option<Translation> {
        let set = self.set_of(page, size)?;
        let matches = |entry: &Option<Translation>| {
            entry.is_some_and(|entry| {
                let (first, end) = entry.pages();
                entry.tag == tag && entry.size == size && (first..end).contains(&page.0)
            })
        };
        let entries = self.entries_of(set);
        let way = entries.iter().position(matches)?;
        let found = entries[way];
        self.replacement.hit(set, way);
        found
    }

    fn insert(&mut self, new: &Translation) -> Option<Translation> {
        let set = self.set_of(new.first, new.size)?;
        let way = self.replacement.choose(set);
        self.replacement.fill(set, way);
        self.entries[set * self.ways + way].replace(*new)
    }

    fn holds(&self, translation: &Translation) -> bool {
        let set = self.set_of(translation.first, translation.size);
        set.is_some_and(|set| {
            let same = |entry: &Translation| {
                (entry.tag, entry.first, entry.size)
                    == (translation.tag, translation.first, translation.size)
            };
            self.entries_of(set).iter().flatten().any(same)
        })
    }

    fn drop_stale(&mut self, stale: &mut dyn FnMut(&Translation) -> bool) {
        for (at, entry) in self.entries.iter_mut().enumerate() {
            if entry.take_if(|entry| stale(entry)).is_some() {
                self.replacement.drop_way(at / self.ways, at % self.ways);
            }
        }
    }

    fn foresee(&mut self, next: u64) {
        self.replacement.foresee(next);
    }

    fn repeat(&mut self, times: u64) {
        self.replacement.repeat(times);
    }

    fn occupied(&self) -> usize {
        self.entries.iter().flatten().count()
    }

    fn copy(&self) -> Box<dyn Entries> {
        Box::new(self.clone())
    }
}
