//! Lookups that hit since a translation came or went. Their repetition changes nothing.

use crate::mapped::PageLookup;

/// The number of remembered lookups, a power of two.
const PLACES: usize = 256;

/// A memory of lookups that hit the first level. It forgets a lookup when another one takes its
/// place, which costs time alone.
#[derive(Debug)]
pub(crate) struct SettledLookups {
    /// A lookup, and the age in which it hit.
    places: Vec<Option<(PageLookup, u64)>>,
    /// The number of changes so far.
    age: u64,
}

impl Default for SettledLookups {
    fn default() -> Self {
        Self {
            places: vec![None; PLACES],
            age: 0,
        }
    }
}

impl SettledLookups {
    #[inline]
    const fn place(lookup: &PageLookup) -> usize {
        // A load and a store of a page have places of their own.
        (2 * lookup.page.0 as usize + lookup.kind as usize) % PLACES
    }

    /// Returns true if the lookup hit since the last change.
    #[inline]
    pub(crate) fn has(&self, lookup: &PageLookup) -> bool {
        matches!(&self.places[Self::place(lookup)],
            Some((known, age)) if *age == self.age && known == lookup)
    }

    /// Notes a lookup that hit.
    #[inline]
    pub(crate) fn note(&mut self, lookup: PageLookup) {
        self.places[Self::place(&lookup)] = Some((lookup, self.age));
    }

    /// Forgets all lookups: a translation came or went, or the address space changed.
    #[inline]
    pub(crate) const fn clear(&mut self) {
        self.age += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_tlb::ReferenceKind;
    use broadleaf_units::PageNumber;

    #[test]
    fn a_change_or_another_lookup_of_its_place_ends_a_lookup() {
        let lookup = |page, kind| PageLookup {
            page: PageNumber(page),
            level: 0,
            kind,
        };
        let load = lookup(3, ReferenceKind::Load);
        let mut settled = SettledLookups::default();
        assert!(!settled.has(&load));
        settled.note(load);
        assert!(settled.has(&load));
        assert!(!settled.has(&lookup(3, ReferenceKind::Store)));
        assert!(!settled.has(&PageLookup { level: 1, ..load }));
        settled.note(lookup(3 + PLACES as u64, ReferenceKind::Load));
        assert!(!settled.has(&load));
        settled.note(load);
        settled.clear();
        assert!(!settled.has(&load));
    }
}
