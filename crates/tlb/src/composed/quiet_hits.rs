//! Hits that change nothing when they are repeated: when they are noted, and when forgotten.

use super::Composed;
use crate::placed::Placed;
use crate::role::Fills;
use crate::{ReplacementState, TlbRequest};
use broadleaf_units::{PageNumber, PageSize};

impl Composed {
    /// The number of requests at the beginning of `requests` that hit the first level and change
    /// nothing, as far as this is known without a lookup.
    #[inline]
    pub fn quiet_first(&self, requests: impl Iterator<Item = TlbRequest>) -> usize {
        let quiet = self.quiet.as_ref();
        quiet.map_or(0, |quiet| quiet.first_of(requests))
    }

    /// Notes a hit in a structure. The hit is quiet from now on if the structure is of the first
    /// level and the hit changed no other entry.
    pub(super) fn note_hit(
        &mut self,
        (number, size): (usize, PageSize),
        request: &TlbRequest,
        is_changed: bool,
    ) {
        self.renew_epoch(number, request.page, size);
        let placed = &self.structures[number];
        let is_first = placed.level == 1 && placed.role.fills == Fills::Walks;
        if is_changed || !is_first {
            self.repeated.forget();
        } else if !self.probes_in_order {
            self.repeated.note(request, number);
        }
        if let Some(quiet) = &mut self.quiet {
            if is_changed {
                quiet.forget_all();
            } else if is_first {
                quiet.learn(request);
            }
        }
    }

    /// Forgets quiet lookups if a replacement rule of the first level says so, after a hit or a
    /// fill of a structure for a page of a size.
    pub(super) fn renew_epoch(&mut self, number: usize, page: PageNumber, size: PageSize) {
        let Some(quiet) = &mut self.quiet else {
            return;
        };
        let now = quiet_epoch(&self.structures);
        if now == self.quiet_epoch {
            return;
        }
        self.quiet_epoch = now;
        let entries = &self.structures[number].entries;
        let rule = entries.replacement();
        let is_of_set = rule.is_some_and(ReplacementState::is_quiet_by_set);
        if !is_of_set || !entries.pages_of_set(page, size, &mut |pages| quiet.forget(pages)) {
            quiet.forget_all();
        }
    }

    /// Returns true if the lookup of a request is known to hit the first level and to change
    /// nothing.
    #[inline]
    pub fn is_quiet(&self, request: &TlbRequest) -> bool {
        self.quiet.as_ref().is_some_and(|quiet| quiet.has(request))
    }

    /// A number that changes whenever a lookup that was quiet may be so no more.
    #[inline]
    pub fn forgotten_quiet(&self) -> u64 {
        self.quiet.as_ref().map_or(0, |quiet| quiet.forgotten())
    }

    /// Returns true if lookups may be known to be quiet.
    pub const fn knows_quiet(&self) -> bool {
        self.quiet.is_some()
    }

    /// Forgets all quiet lookups.
    pub fn forget_quiet(&mut self) {
        self.repeated.forget();
        if let Some(quiet) = &mut self.quiet {
            quiet.forget_all();
        }
    }
}

/// The sum of the epochs of the first level's structures. `None` if a hit of one of them may change
/// something whenever it is made.
pub(super) fn quiet_epoch(structures: &[Placed]) -> Option<u64> {
    let first = structures.iter().filter(|placed| placed.level == 1);
    first.map(|placed| placed.entries.quiet_epoch()).sum()
}
