//! The recency table: the most recently used pages of each first-level set. It shows which lookups
//! can be skipped, for any page sizes.

mod in_order;
mod leaving_out;
mod making_up;
mod new;
mod pages;
mod places;
mod strict;
pub(crate) mod window;

use broadleaf_tlb::Compiled;
use broadleaf_units::PageNumber;
pub use leaving_out::LeavingOut;
use pages::{LargerPages, NO_LARGER_PAGES, NO_PAGES, RecentPages, find, oldest};
use places::PLACES;
pub use places::{RecencyPlace, RecencyPlaces};
use strict::Strict;
use window::Window;

/// The number of distinguished sets of a structure. In larger structures several sets share an
/// entry of the table; facts that hold for all of them together hold for each.
const SETS: usize = 16;

/// The maximum number of pages in the order of a set.
const DEPTH: usize = 4;

/// No page of any size.
const NOTHING: u64 = u64::MAX;

/// The result of noting a lookup that is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Made {
    /// The page's place in the table, perhaps in place of another page. `None` if the page is not
    /// kept.
    pub place: Option<RecencyPlace>,
    /// Pages at these places are no longer [skippable](Recency::is_skippable). Some of them were
    /// not before.
    pub fallen: RecencyPlaces,
}

/// A filter of lookups that change no TLB of some designs, without knowledge of each page's size.
///
/// In each first-level structure, a lookup of a base page uses at most two sets: that of the base
/// page and that of the larger page around it. The page table and earlier entries decide which. The
/// filter notes each lookup in both sets.
///
/// *Hits.* The lookup of a page hits the first level of every TLB if both conditions hold since the
/// last lookup of the same page:
///
/// - fewer other pages were noted in the base page's set than the set has ways, so that the base
///   page's entry is still there, and
/// - fewer other larger pages were noted in the larger page's set than the set has ways, so that
///   the larger page's entry is still there: the larger page's *stay* in the order of its set did
///   not change.
///
/// Larger pages are looked up first, so the lookup finds one of the two entries. The entry becomes
/// the newest of its set. Only the next insertion into that set depends on this change.
///
/// *Deferral.* So the filter may defer such a lookup until just before the next dependent
/// insertion. The deferred lookups of a set can be replaced by one lookup of each page, in the
/// order of last use. They leave the same order, provided that each page is found in the entry that
/// the program's lookup used: its own, or its larger page's. This can only change when entries come
/// or go in the base page's set or the larger page's. So before the lookup of a page is made, the
/// filter makes all deferred lookups of its own set, and all whose larger pages lie in its larger
/// page's set. A deferred lookup also renews an entry in its second set. So earlier deferred
/// lookups in either set are made first, or they would look newer than they are.
///
/// Deferred lookups of other pages of the same larger page may stay deferred. Each of them renews
/// that larger page's entry, any number of times, with the same result.
///
/// *Dropping.* A deferred lookup that would renew the newest entry anyway is dropped. This holds if
/// no lookup was made after it in the base page's set, and none in the larger page's set. (A later
/// lookup that the larger page's entry answered does not put the page's own entry on top.)
///
/// If a structure holds both sizes, or several structures hold one size, the filter skips only
/// lookups that change no order: those of the last page noted in all its sets, while the larger
/// page was the last as well.
///
/// *Windows.* In TLBs of one set, of any organisation that keeps the last pages
/// ([`broadleaf_tlb::Design::last_pages`]), the filter needs neither sets nor larger pages: it
/// keeps these last pages ([`Window`]).
///
/// *Places.* A caller that looks up the same pages again and again need not ask each time. The page
/// at a [`RecencyPlace`] may stay [skippable](Recency::is_skippable). Then [`LeavingOut`] notes
/// each skipped lookup with a single store. Only [`Recency::note_made`] and
/// [`Recency::remove_larger`] end this.
///
/// These rules hold until entries are removed. [`Recency::remove_larger`] notes the removal of one
/// larger page's entries. After any other removal, the caller makes the deferred lookups with
/// [`Recency::catch_up`] and clears the table with [`Recency::forget`]. The rules hold in one
/// address space.
#[derive(Clone, Debug)]
pub struct Recency {
    /// The index of the structure of base pages. Most designs have exactly one such structure and
    /// one of larger pages. A design without one gets an index as fine as the other.
    index: Compiled,
    pages: [RecentPages; SETS],
    larger_index: Compiled,
    /// The shift from a base page's number to a larger page's.
    shift: u32,
    larger: [LargerPages; SETS],
    strict: Box<Strict>,
    has_strict: bool,
    /// The number of pages that every set surely holds. With 1, the filter skips no lookup that
    /// changes anything.
    depth: usize,
    /// True if only the newest page of each set is compared.
    shallow: bool,
    /// By place: the time of each page's last lookup, except lookups of the newest page of both
    /// sets.
    when: [u64; PLACES],
    /// By place: the time of each page's last lookup that was made. The entries of a set are in
    /// this order.
    made: [u64; PLACES],
    /// By set: the latest time in `made`.
    made_last: [u64; SETS],
    /// By place: the place of the larger page around each page.
    larger_place: [u8; PLACES],
    /// By place of a larger page: the places of its base pages.
    with_larger: [RecencyPlaces; PLACES],
    /// The places of pages whose last lookup is deferred.
    left_out: RecencyPlaces,
    /// The number of skipped lookups and of stays: the clock.
    clock: u64,
    /// The last pages, if all TLBs keep them. Then nothing else is used.
    window: Option<Window>,
}

impl Recency {
    /// Notes the lookup of a base page. Returns true if the lookup must be made. `look_up` receives
    /// deferred pages that must be looked up first.
    #[inline]
    pub fn has_to_be_made(
        &mut self,
        page: PageNumber,
        look_up: &mut impl FnMut(PageNumber),
    ) -> bool {
        if let Some(window) = &mut self.window {
            if window.defer(page, false) {
                return false;
            }
            window.make(page, false, look_up);
            return true;
        }
        if self.keeps_places() {
            let Some(place) = self.place_of(page) else {
                self.make(page, look_up);
                return true;
            };
            self.leaving_out().leave_out(place);
            return false;
        }
        let set = self.index.set_of(page) % SETS;
        let pages = &self.pages[set];
        let larger = &self.larger[self.larger_index.set_of(page) % SETS];
        let number = page.0 >> self.shift;
        let is_newest = (pages.newest, larger.newest) == (page.0, number);
        if self.has_strict {
            let stamp = larger.newest_stay.wrapping_add(self.strict.stamp(page));
            let is_left_out =
                is_newest && pages.newest_stamp == stamp && self.strict.is_newest(page, stamp);
            if !is_left_out {
                self.make(page, look_up);
            }
            return !is_left_out;
        }
        let is_left_out = is_newest && pages.newest_stamp == larger.newest_stay;
        if !is_left_out {
            self.note_newest(page.0, number, set);
        }
        !is_left_out
    }

    /// The place of a page whose lookups need not be made, if pages [have
    /// places](Self::keeps_places).
    #[inline]
    pub fn place_of(&self, page: PageNumber) -> Option<RecencyPlace> {
        let set = self.index.set_of(page) % SETS;
        let at = find(&self.pages[set].number, page.0);
        let place = RecencyPlace::of(set, at % DEPTH);
        (at < DEPTH && self.is_skippable(place)).then_some(place)
    }

    /// Sets the depth of the search. If most lookups must be made, a search costs more than it
    /// saves. A shallow filter skips only lookups of the newest page of both sets. The caller calls
    /// [`Recency::catch_up`] first. A changed depth clears the table.
    pub fn be_shallow(&mut self, shallow: bool) {
        if self.depth > 1 && shallow != self.shallow {
            self.shallow = shallow;
            self.forget();
        }
    }

    #[inline]
    fn note_newest(&mut self, page: u64, number: u64, set: usize) {
        let larger = &mut self.larger[self.larger_index.set_of(PageNumber(page)) % SETS];
        if larger.newest != number {
            self.clock += 1;
            (larger.newest, larger.newest_stay) = (number, self.clock);
        }
        let pages = &mut self.pages[set];
        (pages.newest, pages.newest_stamp) = (page, larger.newest_stay);
    }

    /// Notes the lookup of a base page that is made in any case. `look_up` receives deferred pages
    /// that must be looked up first.
    pub fn make(&mut self, page: PageNumber, look_up: &mut impl FnMut(PageNumber)) {
        self.note_made(page, look_up);
    }

    /// Notes a lookup as [`Recency::make`] does. Returns the page's place.
    pub fn note_made(&mut self, page: PageNumber, look_up: &mut impl FnMut(PageNumber)) -> Made {
        if let Some(window) = &mut self.window {
            window.make(page, false, look_up);
            return Made {
                place: None,
                fallen: RecencyPlaces::NONE,
            };
        }
        let set = self.index.set_of(page) % SETS;
        let larger_set = self.larger_index.set_of(page) % SETS;
        self.make_up_for(set, larger_set, look_up);
        let number = page.0 >> self.shift;
        if self.shallow && !self.has_strict {
            self.note_newest(page.0, number, set);
            return Made {
                place: None,
                fallen: RecencyPlaces::NONE,
            };
        }
        self.clock += 1;
        let larger = &mut self.larger[larger_set];
        let mut at_larger = find(&larger.number, number);
        let mut fallen = RecencyPlaces::NONE;
        if at_larger >= DEPTH {
            at_larger = oldest(&larger.when, self.depth);
            larger.number[at_larger] = number;
            larger.stay[at_larger] = self.clock;
            fallen = self.with_larger[RecencyPlace::of(larger_set, at_larger).index()];
        }
        let stay = larger.stay[at_larger];
        larger.when[at_larger] = self.clock;
        larger.made[at_larger] = self.clock;
        larger.made_last = self.clock;
        (larger.newest, larger.newest_stay) = (number, stay);
        let stamp = if self.has_strict {
            self.strict.note(page, stay)
        } else {
            stay
        };
        let pages = &mut self.pages[set];
        let found = find(&pages.number, page.0);
        let first = RecencyPlace::of(set, 0).index();
        let when = std::array::from_fn(|at| self.when[first + at]);
        let oldest = oldest(&when, self.depth);
        let at = if found < DEPTH { found } else { oldest };
        pages.number[at] = page.0;
        pages.stamp[at] = stamp;
        (pages.newest, pages.newest_stamp) = (page.0, stamp);
        let place = RecencyPlace::of(set, at);
        self.when[place.index()] = self.clock;
        self.made[place.index()] = self.clock;
        self.made_last[set] = self.clock;
        self.left_out.remove(place);
        let larger_place = RecencyPlace::of(larger_set, at_larger).index() as u8;
        let before = std::mem::replace(&mut self.larger_place[place.index()], larger_place);
        self.with_larger[usize::from(before)].remove(place);
        self.with_larger[usize::from(larger_place)].insert(place);
        fallen.remove(place);
        Made {
            place: Some(place),
            fallen,
        }
    }

    /// The number of places.
    pub const PLACES: usize = PLACES;

    /// Returns true if pages have places. For some designs, and while the filter [is
    /// shallow](Self::be_shallow), no page has one.
    pub const fn keeps_places(&self) -> bool {
        !self.shallow && !self.has_strict
    }

    /// Returns true if lookups of the page at a place need not be made.
    pub fn is_skippable(&self, place: RecencyPlace) -> bool {
        let pages = &self.pages[place.set()];
        let page = PageNumber(pages.number[place.at()]);
        let larger = &self.larger[self.larger_index.set_of(page) % SETS];
        let at = find(&larger.number, page.0 >> self.shift);
        page.0 != NOTHING && at < DEPTH && larger.stay[at] == pages.stamp[place.at()]
    }

    /// Notes that the entries of the larger pages around a base page were removed, and no others.
    /// The base page was just looked up. Returns the places of pages that are no longer
    /// [skippable](Recency::is_skippable).
    pub fn remove_larger(&mut self, page: PageNumber) -> RecencyPlaces {
        if let Some(window) = &mut self.window {
            // The lookup of the base page was made, so none is deferred.
            if window.has_larger {
                window.forget();
            }
            return RecencyPlaces::NONE;
        }
        let number = page.0 >> self.shift;
        let set = self.larger_index.set_of(page) % SETS;
        let larger = &mut self.larger[set];
        self.clock += 1;
        let at = find(&larger.number, number);
        let mut fallen = RecencyPlaces::NONE;
        if at < DEPTH {
            larger.stay[at] = self.clock;
            fallen = self.with_larger[RecencyPlace::of(set, at).index()];
        }
        if larger.newest == number {
            larger.newest_stay = self.clock;
        }
        self.strict.remove_larger(page);
        fallen
    }

    /// Clears the table, after entries were removed or before another address space.
    pub fn forget(&mut self) {
        debug_assert!(self.left_out.is_empty(), "a deferred lookup was not made");
        self.pages.fill(NO_PAGES);
        self.larger.fill(NO_LARGER_PAGES);
        self.when.fill(0);
        self.made.fill(0);
        self.made_last.fill(0);
        self.with_larger.fill(RecencyPlaces::NONE);
        self.strict.forget();
        if let Some(window) = &mut self.window {
            window.forget();
        }
    }
}

#[cfg(test)]
mod tests;
