//! Making up for what was left out.

use super::{DEPTH, PLACES, Place, Places, Recency};
use broadleaf_units::PageNumber;

impl Recency {
    /// Makes up for everything that was left out.
    pub fn catch_up(&mut self, look_up: &mut impl FnMut(PageNumber)) {
        self.make_up(self.left_out, look_up);
    }

    /// Makes up for what was left out in one set of base pages and one of larger ones, and for all that came before any of that in a set that both use:
    /// where that were made up for later, it would seem the newer.
    #[inline]
    pub(super) fn make_up_for(
        &mut self,
        set: usize,
        larger_set: usize,
        look_up: &mut impl FnMut(PageNumber),
    ) {
        let concerned = Places::of_set(set).or(self.using_larger(larger_set));
        if !self.left_out.and(concerned).is_empty() {
            self.make_up(concerned, look_up);
        }
    }

    /// The places of pages whose larger pages use this set.
    #[inline]
    fn using_larger(&self, larger_set: usize) -> Places {
        (0..DEPTH).fold(Places::NONE, |places, at| {
            places.or(self.with_larger[Place::of(larger_set, at).index()])
        })
    }

    /// Makes up for what was left out and is `concerned`, and what has to go before.
    fn make_up(&mut self, mut concerned: Places, look_up: &mut impl FnMut(PageNumber)) {
        // The time, and behind it the place: numbers are sorted the fastest.
        let mut order = [0u64; PLACES];
        let mut count = 0;
        for place in self.left_out {
            order[count] = self.when[place.index()] * PLACES as u64 + place.index() as u64;
            count += 1;
        }
        order[..count].sort_unstable();
        let mut all = Places::NONE;
        let mut first = count;
        for at in (0..count).rev() {
            let place = Place::from_index(order[at] as usize);
            if concerned.has(place) {
                let larger = Place::from_index(self.larger_place[place.index()].into());
                let using = self.using_larger(larger.set());
                concerned = concerned.or(Places::of_set(place.set())).or(using);
                all.insert(place);
                if !self.is_newest(place, larger, using) {
                    first -= 1;
                    order[first] = order[at];
                }
            }
        }
        for place in all {
            self.is_made(place);
        }
        for &one in &order[first..count] {
            let place = Place::from_index(one as usize);
            look_up(PageNumber(self.pages[place.set()].number[place.at()]));
        }
    }

    /// Whether a lookup that was left out would renew what is the newest of its sets anyway.
    #[inline]
    fn is_newest(&self, place: Place, larger: Place, using: Places) -> bool {
        let set = place.set();
        let made = self.made[place.index()];
        let pages = &self.larger[larger.set()];
        self.left_out.and(Places::of_set(set)).has_one()
            && self
                .left_out
                .and(using)
                .without(self.with_larger[larger.index()])
                .is_empty()
            && (0..DEPTH).all(|at| self.made[Place::of(set, at).index()] <= made)
            && pages
                .made
                .iter()
                .all(|&other| other <= pages.made[larger.at()])
    }

    /// What was left out was made up for, or need not be.
    #[inline]
    fn is_made(&mut self, place: Place) {
        let when = self.when[place.index()];
        self.made[place.index()] = when;
        self.left_out.remove(place);
        let larger = Place::from_index(self.larger_place[place.index()].into());
        let pages = &mut self.larger[larger.set()];
        pages.when[larger.at()] = pages.when[larger.at()].max(when);
        pages.made[larger.at()] = pages.made[larger.at()].max(when);
    }
}
