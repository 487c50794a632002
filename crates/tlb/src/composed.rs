//! A TLB of any organisations and replacement rules, level by level.

use crate::{Design, Entries, Evicted, Lookup, Translation};
use broadleaf_units::{Asid, PageNumber, PageSize};

/// The state of a TLB whose structures have any organisation and any replacement rule.
#[derive(Debug)]
pub struct Composed {
    structures: Vec<Box<dyn Entries>>,
    /// For each size, largest first: the structure of the first level, and that of the second.
    sizes: Vec<(PageSize, usize, Option<usize>)>,
    /// The structure of the first level that held or received the last page.
    last: usize,
}

impl Clone for Composed {
    fn clone(&self) -> Self {
        Self {
            structures: self
                .structures
                .iter()
                .map(|entries| entries.copy())
                .collect(),
            sizes: self.sizes.clone(),
            last: self.last,
        }
    }
}

impl Composed {
    /// An empty TLB of that design.
    pub fn new(design: &Design) -> Self {
        let structures = design.structures().iter();
        let holding = |level, size| Some(design.holding(level, size)?.0);
        let sizes = design.sizes().iter().rev();
        Self {
            structures: structures.map(|of| (of.organisation.build)(of)).collect(),
            // The first level of a design holds every size.
            sizes: sizes
                .filter_map(|size| Some((*size, holding(1, *size)?, holding(2, *size))))
                .collect(),
            last: 0,
        }
    }

    /// Looks up a base page: larger sizes first at each level. The first level receives a
    /// translation that only the second level holds. `evicted` receives a translation that no level
    /// holds any more.
    pub fn lookup(&mut self, tag: Asid, page: PageNumber, evicted: impl FnMut(Evicted)) -> Lookup {
        for &(size, first, _) in &self.sizes {
            if self.structures[first].find(tag, page, size).is_some() {
                self.last = first;
                return Lookup::First;
            }
        }
        for at in 0..self.sizes.len() {
            let (size, first, second) = self.sizes[at];
            let second = second.map(|second| &mut self.structures[second]);
            if let Some(found) = second.and_then(|entries| entries.find(tag, page, size)) {
                self.last = first;
                let gone = self.structures[first].insert(&found);
                self.report(gone, None, evicted);
                return Lookup::Second;
            }
        }
        Lookup::Miss
    }

    /// Loads the page that a walk found after a miss, at both levels. The design may hold no pages
    /// of the size: then nothing is loaded. `evicted` receives translations that no level holds any
    /// more.
    pub fn fill(&mut self, new: &Translation, evicted: impl FnMut(Evicted)) {
        let found = self.sizes.iter().find(|(size, ..)| *size == new.size);
        let Some(&(_, first, second)) = found else {
            return;
        };
        self.last = first;
        let first = self.structures[first].insert(new);
        let second = second.and_then(|second| self.structures[second].insert(new));
        self.report(first, second, evicted);
    }

    /// Notes that so many more lookups of the last page followed. Each of them hits the first level.
    pub fn repeat(&mut self, times: u64) {
        self.structures[self.last].repeat(times);
    }

    /// Notes the time of the next lookup of the page that is looked up next, for rules that know
    /// the future.
    pub fn foresee(&mut self, next: u64) {
        self.structures
            .iter_mut()
            .for_each(|entries| entries.foresee(next));
    }

    /// Reports the entries that were replaced at one level and are not at the other.
    fn report(
        &self,
        first: Option<Translation>,
        second: Option<Translation>,
        mut evicted: impl FnMut(Evicted),
    ) {
        let held = |gone: &Translation| self.structures.iter().any(|entries| entries.holds(gone));
        let gone = [first, second.filter(|gone| Some(*gone) != first)];
        for gone in gone.into_iter().flatten().filter(|gone| !held(gone)) {
            evicted(Evicted {
                tag: gone.tag,
                page: gone.first,
                size: gone.size,
            });
        }
    }

    /// Drops the translations for which `stale` returns true.
    pub fn drop_stale(&mut self, mut stale: impl FnMut(&Translation) -> bool) {
        for entries in &mut self.structures {
            entries.drop_stale(&mut stale);
        }
    }

    /// The number of translations in all structures.
    pub fn occupied(&self) -> usize {
        self.structures
            .iter()
            .map(|entries| entries.occupied())
            .sum()
    }
}
