//! A made-up organisation: sets that list their translations, newest first.

use super::{Entries, Organisation, Translation};
use crate::Structure;
use broadleaf_units::{Asid, Described, PageNumber, PageSize};

pub(super) static QUEUE: Organisation = Organisation {
    described: Described {
        name: "queue",
        summary: "sets that list their translations in the order of arrival",
        explanation: "A full set loses the translation that came first.",
        source: "the test of the recipes",
    },
    build: |structure| {
        let sets = vec![Vec::new(); structure.sets()];
        let structure = structure.clone();
        Box::new(Queue { structure, sets })
    },
    neighbours: 0,
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
    fn find(&mut self, tag: Asid, page: PageNumber, size: PageSize) -> Option<Translation> {
        let mut found = self.sets[self.set(page, size)?].iter().copied();
        found.find(|entry| {
            let (first, end) = entry.pages();
            (entry.tag, entry.size) == (tag, size) && (first..end).contains(&page.0)
        })
    }

    fn insert(&mut self, new: &Translation) -> Option<Translation> {
        let at = self.set(new.first, new.size)?;
        let set = &mut self.sets[at];
        set.insert(0, *new);
        (set.len() > self.structure.ways).then(|| set.pop())?
    }

    fn holds(&self, translation: &Translation) -> bool {
        self.sets.iter().flatten().any(|entry| entry == translation)
    }

    fn drop_stale(&mut self, stale: &mut dyn FnMut(&Translation) -> bool) {
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
