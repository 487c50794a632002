//! Replay of deferred lookups, before later lookups can see their absence.

use super::in_order::InOrder;
use super::{DEPTH, PLACES, Recency, RecencyPlace, RecencyPlaces};
use broadleaf_units::PageNumber;

/// The number of places that the small sorter takes.
const FEW: usize = 8;

impl Recency {
    /// Makes all deferred lookups. `look_up` receives their pages, the earliest first.
    pub fn catch_up(&mut self, look_up: &mut impl FnMut(PageNumber)) {
        if let Some(window) = &mut self.window {
            window.catch_up(look_up);
            return;
        }
        self.make_up(self.left_out, look_up);
    }

    /// Makes the deferred lookups of one set of base pages and one of larger ones. Also makes all
    /// earlier deferred lookups that share a set with one of these: made later, they would look
    /// newer than they are.
    #[inline]
    pub(super) fn make_up_for(
        &mut self,
        set: usize,
        larger_set: usize,
        look_up: &mut impl FnMut(PageNumber),
    ) {
        let concerned = RecencyPlaces::of_set(set).or(self.using_larger(larger_set));
        let concerned = concerned.and(self.left_out);
        if !concerned.is_empty() {
            self.make_up(concerned, look_up);
        }
    }

    /// The places of pages whose larger pages lie in this set.
    #[inline]
    fn using_larger(&self, larger_set: usize) -> RecencyPlaces {
        (0..DEPTH).fold(RecencyPlaces::NONE, |places, at| {
            places.or(self.with_larger[RecencyPlace::of(larger_set, at).index()])
        })
    }

    /// Makes the deferred lookups of `some` places, and the earlier ones that must precede them.
    fn make_up(&mut self, some: RecencyPlaces, look_up: &mut impl FnMut(PageNumber)) {
        let all = self.with_what_goes_before(some);
        self.left_out = self.left_out.without(all);
        if all.count() <= FEW {
            self.make_up_in_order::<FEW>(all, look_up);
        } else {
            self.make_up_in_order::<PLACES>(all, look_up);
        }
    }

    fn make_up_in_order<const MOST: usize>(
        &mut self,
        all: RecencyPlaces,
        look_up: &mut impl FnMut(PageNumber),
    ) {
        let mut order = InOrder::<MOST>::new();
        for place in all {
            order.add(self.when[place.index()], place);
        }
        // A branch here would be unpredictable.
        let mut pages = [0; MOST];
        let mut count = 0;
        for place in order.sorted() {
            let set = place.set();
            let larger = self.larger_of(place);
            let around = &mut self.larger[larger.set()];
            around.when[larger.at()] = around.when[larger.at()].max(self.when[place.index()]);
            pages[count] = self.pages[set].number[place.at()];
            let is_newest = (self.made[place.index()] == self.made_last[set])
                & (around.made[larger.at()] == around.made_last);
            count += usize::from(!is_newest);
            self.clock += u64::from(!is_newest);
            let made = if is_newest {
                self.made_last[set]
            } else {
                self.clock
            };
            let made_around = if is_newest {
                around.made_last
            } else {
                self.clock
            };
            self.made[place.index()] = made;
            self.made_last[set] = made;
            around.made[larger.at()] = made_around;
            around.made_last = made_around;
        }
        for &page in &pages[..count] {
            look_up(PageNumber(page));
        }
    }

    /// The place of the larger page around the page at a place.
    #[inline]
    fn larger_of(&self, place: RecencyPlace) -> RecencyPlace {
        RecencyPlace::from_index(self.larger_place[place.index()].into())
    }

    /// Adds to `some` the places whose lookups were deferred before one of these in the same set of
    /// either size.
    #[inline]
    fn with_what_goes_before(&self, some: RecencyPlaces) -> RecencyPlaces {
        let mut all = some;
        let mut left = some;
        while let Some(place) = left.next() {
            let larger = self.larger_of(place);
            let when = self.when[place.index()];
            let mut before = RecencyPlaces::NONE;
            for at in 0..DEPTH {
                let other = RecencyPlace::of(place.set(), at);
                before.insert_if(self.when[other.index()] < when, other);
            }
            // Any page of a larger page renews its entry, any number of times, with the same
            // result.
            let others = self.using_larger(larger.set());
            let others = others.without(self.with_larger[larger.index()]);
            for other in others.and(self.left_out).without(all) {
                before.insert_if(self.when[other.index()] < when, other);
            }
            let new = before.and(self.left_out).without(all);
            all = all.or(new);
            left = left.or(new);
        }
        all
    }
}
