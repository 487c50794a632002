//! Translations that leave a structure: the levels that lose them too, the structures that receive
//! them, and the report of those that are gone.

use super::Composed;
use crate::placed::Placed;
use crate::role::Fills;
use crate::{Evicted, Lookup, TlbRequest, Translation, Walk};
use broadleaf_units::{PageNumber, PageSize};

impl Composed {
    /// Passes on the translations that left a structure: to the structures that hold what its level
    /// loses, and out of the levels that it includes.
    pub(super) fn settle(&mut self, number: usize) {
        if let Some(quiet) = &mut self.quiet
            && self.structures[number].level == 1
        {
            for gone in &self.log.evicted {
                quiet.forget(gone.pages());
            }
        }
        if !self.passes_on {
            self.gone.append(&mut self.log.evicted);
            return;
        }
        let (level, role) = (self.structures[number].level, self.structures[number].role);
        for gone in std::mem::take(&mut self.log.evicted) {
            if gone.tag.is_of_tables() {
                continue;
            }
            self.gone.push(gone);
            // The structure may have loaded the page again.
            if self.structures[number].entries.holds(&gone) {
                continue;
            }
            if role.inclusive {
                let above = |of: &usize| {
                    let of = &self.structures[*of];
                    of.level < level && of.role.serves.overlaps(role.serves)
                };
                let above: Vec<usize> = (0..self.structures.len()).filter(above).collect();
                above
                    .into_iter()
                    .for_each(|number| self.drop_from(number, &gone));
            }
            let takes = |of: &Placed| {
                let takes = of.role.fills == Fills::Victims && of.level == level + 1;
                takes && role.serves.overlaps(of.role.serves) && of.sizes.contains(&gone.size)
            };
            let all = 0..self.structures.len();
            let takers: Vec<usize> = all.filter(|at| takes(&self.structures[*at])).collect();
            for taker in takers {
                let request = TlbRequest::load(gone.tag, gone.first);
                let entries = &mut self.structures[taker].entries;
                if !entries.holds(&gone) {
                    entries.receive(&request, &gone, &[], &mut self.log);
                    self.settle(taker);
                }
            }
        }
    }

    /// Drops a page from a structure.
    pub(super) fn drop_from(&mut self, number: usize, dropped: &Translation) {
        self.forget_quiet();
        let entries = &mut self.structures[number].entries;
        entries.drop_stale(&mut |one| one.is_of_same_page(dropped), &mut self.log);
        self.settle(number);
    }

    /// Returns true if a structure holds a translation of the same page.
    pub(super) fn holds(&self, translation: &Translation) -> bool {
        let mut structures = self.structures.iter();
        structures.any(|placed| placed.entries.holds(translation))
    }

    /// Looks up as [`Composed::lookup`]. `displaced` receives each translation that left a
    /// structure, though another may hold it.
    pub fn lookup_displacing(
        &mut self,
        request: &TlbRequest,
        displaced: impl FnMut(&Translation),
    ) -> Lookup {
        let found = self.find(request);
        self.gone.drain(..).as_slice().iter().for_each(displaced);
        found
    }

    /// Loads as [`Composed::load`]. `displaced` is that of [`Composed::lookup_displacing`].
    pub fn load_displacing(&mut self, walk: &Walk<'_>, displaced: impl FnMut(&Translation)) {
        self.load_all(walk);
        self.gone.drain(..).as_slice().iter().for_each(displaced);
    }

    /// Returns true if a structure of the first level holds a translation of the same page.
    pub fn holds_first(&self, translation: &Translation) -> bool {
        let mut first = self.structures.iter().filter(|placed| placed.level == 1);
        first.any(|placed| placed.entries.holds(translation))
    }

    /// The pages of 4 KiB, first and after last, whose lookups in the first level may change after
    /// a load for this page of this size.
    pub fn disturbed(&self, page: PageNumber, size: PageSize) -> (u64, u64) {
        let first = self.structures.iter().filter(|placed| placed.level == 1);
        let holding = first.filter(|placed| placed.sizes.contains(&size));
        let each = holding.map(|placed| placed.entries.disturbed(page, size));
        let both = |one: (u64, u64), other: (u64, u64)| (one.0.min(other.0), one.1.max(other.1));
        each.reduce(both).unwrap_or((page.0, page.0))
    }

    /// Reports the translations that left a structure and are in no other, each once.
    pub(super) fn report(&mut self, mut evicted: impl FnMut(Evicted)) {
        let mut gone = std::mem::take(&mut self.gone);
        gone.retain(|one| !one.tag.is_of_tables());
        for at in 0..gone.len() {
            let one = gone[at];
            let is_first = !gone[..at].iter().any(|other| other.is_of_same_page(&one));
            if is_first && !self.holds(&one) {
                evicted(Evicted {
                    tag: one.tag,
                    page: one.first,
                    size: one.size,
                });
            }
        }
        gone.clear();
        self.gone = gone;
    }
}
