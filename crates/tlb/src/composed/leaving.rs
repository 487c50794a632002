//! Translations that leave a structure: the levels that lose them too, the structures that receive
//! them, and the report of those that are gone.

use super::Composed;
use crate::placed::Placed;
use crate::role::Fills;
use crate::{Evicted, TlbRequest, Translation};

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
