//! Invariants of reservations.

use super::{Key, Reservation, Reservations};
use std::collections::{BTreeMap, BTreeSet};

impl<K: Key> Reservations<K> {
    /// Asserts the invariants: the indexes agree, and reservations are aligned and disjoint. Takes
    /// time in proportion to the populated pages.
    ///
    /// # Panics
    /// Panics if an invariant is broken.
    pub fn check(&self) {
        let live = self.slots.iter().flatten().count();
        assert_eq!(live, self.len(), "keys of reservations");
        assert_eq!(self.slots.len() - live, self.vacant.len(), "vacant names");
        let (mut unpopulated, mut frames) = (0, BTreeMap::new());
        let mut turns = vec![BTreeSet::new(); self.sizes.levels()];
        let mut reached: Option<K> = None;
        for (key, id) in &self.by_key {
            let reservation = self.get(*id);
            let population = &reservation.population;
            population.check();
            assert_eq!(population.sizes(), &self.sizes, "page sizes");
            assert!(*key == reservation.key, "the key that it was found by");
            assert!(reached.is_none_or(|end| end <= *key), "places overlap");
            reached = Some(reservation.end());
            let (first, pages) = (reservation.first_frame, population.len());
            assert_eq!(first % pages, 0, "frame {first} of {pages} is not aligned");
            assert!(frames.insert((first, pages), reservation).is_none());
            assert!(reservation.last_allocation <= self.allocations, "the time");
            unpopulated += pages - population.count();
            if let Some(level) = population.largest_free_level() {
                turns[level].insert(reservation.turn(*id));
            }
        }
        for ((first, pages), one) in &frames {
            let after = (*first, *pages + 1)..(first + pages, 0);
            for ((inside, _), other) in frames.range(after) {
                let end = (first + pages).min(inside + other.population.len());
                for frame in *inside..end {
                    let keeps = |of: &Reservation<K>| {
                        let page = frame - of.first_frame;
                        !of.given_up.contains(&page)
                    };
                    assert!(!keeps(one) || !keeps(other), "frames overlap");
                }
            }
        }
        assert_eq!(self.unpopulated, unpopulated, "unpopulated frames");
        assert_eq!(self.lists, turns, "lists");
    }
}
