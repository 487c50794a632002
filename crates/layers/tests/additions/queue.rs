//! A made-up organisation: sets that list their translations, newest first.

use super::{Entries, EntryShape, EntryLookup, Organisation};
use crate::{Structure, TlbLog, TlbRequest, Translation, Walk};
use broadleaf_units::{Described, PageNumber, PageSize};

pub(super) static QUEUE: Organisation = Organisation {
    described: Described {
        name: "queue",
        summary: "sets that list their translations in the order of arrival",
        explanation: "A full set loses the translation that came first.",
        source: "the test of the recipes",
    },
    parameters: &[],
    refuses: |_| None,
    build: |structure| {
        let sets = vec![Vec::new(); structure.sets()];
        let structure = structure.clone();
        Box::new(Queue { structure, sets })
    },
    wants_tables: |_| false,
    keeps_pages: |_| false,
    counts_uses: |_| false,
    grids: &[],
    block_of: None,
    entry: EntryShape::one_page,
    support: None,
};

#[derive(Clone, Debug)]
struct Queue {
    structure: Structure,
    sets: Vec<Vec<Translation>>,
}

impl Queue {
    fn set(&self, page: PageNumber, size: PageSize) -> Option<usize> {
        Some(self.structure.index(size)?.compile().set_of(page))
    }
}

impl Entries for Queue {
    fn find(&mut self, request: &TlbRequest, size: PageSize, _: &mut TlbLog) -> EntryLookup {
        let Some(at) = self.set(request.page, size) else {
            return EntryLookup::Nothing;
        };
        let found = self.sets[at].iter().find(|entry| {
            let is_of_space = (entry.tag, entry.size) == (request.tag, size);
            is_of_space && entry.run().contains(request.page)
        });
        found.map_or(EntryLookup::Nothing, |entry| EntryLookup::Hit(*entry))
    }

    fn load(&mut self, walk: &Walk<'_>, log: &mut TlbLog) {
        let new = walk.translation;
        let Some(at) = self.set(new.first, new.size) else {
            return;
        };
        let set = &mut self.sets[at];
        set.insert(0, new);
        if set.len() > self.structure.ways {
            log.evicted.extend(set.pop());
        }
    }

    fn holds(&self, translation: &Translation) -> bool {
        self.sets.iter().flatten().any(|entry| entry.is_of_same_page(translation))
    }

    fn drop_stale(&mut self, stale: &mut dyn FnMut(&Translation) -> bool, _: &mut TlbLog) {
        let sets = self.sets.iter_mut();
        sets.for_each(|set| set.retain(|entry| !stale(entry)));
    }

    fn occupied(&self) -> usize {
        self.sets.iter().map(Vec::len).sum()
    }

    fn copy(&self) -> Box<dyn Entries> {
        Box::new(self.clone())
    }
}
