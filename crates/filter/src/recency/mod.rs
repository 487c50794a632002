//! Which pages were used last in each set of the first level: what tells lookups that need not be
//! made, whatever sizes the pages have.

mod in_order;
mod making_up;
mod places;
mod strict;

use broadleaf_tlb::{Compiled, Design, IndexFunction, Structure};
use broadleaf_units::{PageNumber, PageSize};
use places::PLACES;
pub use places::{RecencyPlace, RecencyPlaces};
use strict::Strict;

/// How many sets of a structure are told apart. Where it has more, several are taken for one: what
/// is known of all of them together holds for each.
const SETS: usize = 16;

/// How many pages of a set are kept in order at most.
const DEPTH: usize = 4;

/// No page of any size.
const NOTHING: u64 = u64::MAX;

/// The base pages that were looked up last in a set. They stand in any order; when tells.
#[derive(Clone, Copy, Debug)]
struct Pages {
    newest: u64,
    newest_stamp: u64,
    number: [u64; DEPTH],
    /// The larger page around each, by its stay in its own set.
    stamp: [u64; DEPTH],
}

/// The larger pages that were looked up last in a set.
#[derive(Clone, Copy, Debug)]
struct LargerPages {
    newest: u64,
    newest_stay: u64,
    number: [u64; DEPTH],
    /// Each time that one comes it has another.
    stay: [u64; DEPTH],
    /// When one of its pages was looked up last, but for lookups that were left out by place and
    /// not made up for.
    when: [u64; DEPTH],
    /// When the last lookup of one of its pages was made, or made up for: in this order the entries
    /// stand.
    made: [u64; DEPTH],
    /// The last of these times.
    made_last: u64,
}

const NO_PAGES: Pages = Pages {
    newest: NOTHING,
    newest_stamp: 0,
    number: [NOTHING; DEPTH],
    stamp: [0; DEPTH],
};

const NO_LARGER_PAGES: LargerPages = LargerPages {
    newest: NOTHING,
    newest_stay: 0,
    number: [NOTHING; DEPTH],
    stay: [0; DEPTH],
    when: [0; DEPTH],
    made: [0; DEPTH],
    made_last: 0,
};

/// Where a number stands; [`DEPTH`] or more where it does not.
#[inline]
fn find(numbers: &[u64; DEPTH], wanted: u64) -> usize {
    let mut found = 0;
    for (at, number) in numbers.iter().enumerate() {
        found |= u32::from(*number == wanted) << at;
    }
    found.trailing_zeros() as usize
}

/// Where the oldest of the first `depth` stands.
#[inline]
fn oldest(when: &[u64; DEPTH], depth: usize) -> usize {
    let mut first = u64::MAX;
    for (at, when) in when.iter().enumerate() {
        let this = when * DEPTH as u64 + at as u64;
        first = first.min(if at < depth { this } else { u64::MAX });
    }
    first as usize % DEPTH
}

/// What came of noting a lookup that is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Made {
    /// Where the page is kept now, in place of another perhaps. What is kept nowhere has none.
    pub place: Option<RecencyPlace>,
    /// Pages at these places [stand](Recency::stands) no longer; that was not so of all of them
    /// before.
    pub fallen: RecencyPlaces,
}

/// Leaves lookups out, one after the other.
#[derive(Debug)]
pub struct LeavingOut<'a> {
    clock: u64,
    left_out: RecencyPlaces,
    recency: &'a mut Recency,
}

impl LeavingOut<'_> {
    /// Leaves out a lookup of the page at a place, which has to [stand](Recency::stands).
    #[inline]
    pub const fn leave_out(&mut self, place: RecencyPlace) {
        self.clock += 1;
        self.recency.when[place.index()] = self.clock;
        self.left_out.insert(place);
    }
}

impl Drop for LeavingOut<'_> {
    fn drop(&mut self) {
        self.recency.clock = self.clock;
        self.recency.left_out = self.left_out;
    }
}

/// Tells lookups that need not be made in any TLB of some designs, without knowing which size each
/// page has.
///
/// A lookup of a base page uses, in each first-level structure, at most the set of the base page or
/// that of the larger page around it: what the page table holds, and which entries are left from
/// before, decides which. Here each lookup is noted in all of them.
///
/// *Which lookups hit.* The lookup of a page hits the first level, in every TLB, where since the
/// last one of the same page
///
/// - fewer other pages were noted in the base page's set than that has ways, so that an entry of
///   the base page that the last lookup found or brought is still there, and
/// - fewer other larger pages were noted in the larger page's set at any time than that has ways,
///   so that an entry of the larger page, whether the last lookup found or brought it or one since,
///   is still there: the larger page's *stay* in the order of its set is the same.
///
/// Larger pages are looked up first, so one of the two is found, and the place of its entry in its
/// set's order changes, which nobody sees before something is put into that set.
///
/// *Making up.* So such a lookup can be left out, if it is made up for in time. What was left out
/// in a set and is made up for with one lookup of each page, in the order in which each was looked
/// up last, leaves the order that the program's own lookups left, provided that each page is found
/// where the program found it: by an entry of its own, or by that of its larger page. Which of
/// these it is can only change where entries come or go, in the base page's set or the larger
/// page's. So before the lookup of a page is made, all is made up for that was left out in its own
/// set, and all whose larger page's set is that of its larger page. A lookup that is made up for
/// also renews another entry than the one that it is made up for on account of: so what was left
/// out before it in the same set of either size, which would seem the newer if it were made up for
/// later, goes first.
///
/// Of what was left out before it in its larger page's set, lookups of other pages of the same
/// larger page may stay left out: whichever of them renews that entry, and however often, it stands
/// where it stood among others.
///
/// *Letting be.* It need not be made up for where it would renew what is the newest anyway: where
/// of what is there of its set nothing was made after it, and of its larger page's set nothing
/// after that. (That something was looked up later which its larger page's entry answered does not
/// say that its own entry stands above.)
///
/// Where a structure holds both sizes, or there are several for one size, only lookups are left out
/// that change no order: of the page that was the last one noted in all its sets, while its larger
/// page was.
///
/// *RecencyPlaces.* Who looks the same pages up again and again need not ask each time: as long as a page
/// [stands](Recency::stands) at its [`RecencyPlace`], its lookups need not be made, and [`LeavingOut`]
/// notes each with a single store. That changes with what [`Recency::note_made`] and
/// [`Recency::remove_larger`] do alone.
///
/// All that holds until entries are removed: those of one larger page are to be told with
/// [`Recency::remove_larger`], and after any other everything has to be forgotten with
/// [`Recency::forget`], after [`Recency::catch_up`]. It holds in one address space.
#[derive(Clone, Debug)]
pub struct Recency {
    /// One structure of base pages and one of larger ones, which most designs have and no others;
    /// where a design has none, sets as fine as these are taken.
    index: Compiled,
    pages: [Pages; SETS],
    larger_index: Compiled,
    /// How far a larger page's number is from that of a base page.
    shift: u32,
    larger: [LargerPages; SETS],
    strict: Box<Strict>,
    has_strict: bool,
    /// How many pages of a set are surely there. With 1, no lookup is left out that changes
    /// anything.
    depth: usize,
    /// Whether only the newest of each set are looked at.
    shallow: bool,
    /// By place, when each page was looked up last, but for lookups of what was the newest in both
    /// its sets.
    when: [u64; PLACES],
    /// By place, when the last lookup of each page was made, or made up for: in this order the
    /// entries of a set stand.
    made: [u64; PLACES],
    /// By set, the last of these times.
    made_last: [u64; SETS],
    /// By place, where in which set the larger page around each stands: the same for two pages of
    /// one.
    larger_place: [u8; PLACES],
    /// By that, which places have such pages.
    with_larger: [RecencyPlaces; PLACES],
    /// The places of pages whose last lookups were left out and not made up for.
    left_out: RecencyPlaces,
    /// Counts lookups that were left out, and stays.
    clock: u64,
}

impl Recency {
    /// Nothing noted yet, for TLBs of these designs.
    pub fn new<'a>(designs: impl IntoIterator<Item = &'a Design>) -> Self {
        let mut recency = Self::for_any_design();
        let mut known: Vec<&Structure> = Vec::new();
        // Structures of base pages and of larger pages, each kind as one with the sets that all of
        // them have in common.
        let (mut base, mut larger): (Option<IndexFunction>, Option<(PageSize, IndexFunction)>) =
            (None, None);
        let mut ways = DEPTH;
        let first = designs
            .into_iter()
            .flat_map(|design| design.structures())
            .filter(|structure| structure.level == 1);
        for structure in first {
            ways = ways.min(structure.ways);
            let alike = |other: &&Structure| {
                (other.sets(), &other.pages) == (structure.sets(), &structure.pages)
            };
            if known.iter().any(alike) {
                continue;
            }
            known.push(structure);
            let is_added = match &structure.pages[..] {
                [(PageSize::SIZE_4K, index)] => {
                    let common = (base.as_ref()).map_or(Some(index.clone()), |it| it.common(index));
                    common.map(|index| base = Some(index)).is_some()
                }
                [(size, index)] if larger.as_ref().is_none_or(|(known, _)| known == size) => {
                    let common =
                        (larger.as_ref()).map_or(Some(index.clone()), |(_, it)| it.common(index));
                    common.map(|index| larger = Some((*size, index))).is_some()
                }
                _ => false,
            };
            if !is_added {
                recency.strict.add(structure);
            }
        }
        recency.has_strict = !recency.strict.is_empty();
        if !recency.has_strict && base.is_some() && larger.is_some() {
            recency.depth = ways;
            recency.shallow = ways == 1;
        }
        // If no structure holds base pages alone, or none larger ones alone, sets as fine as those
        // of another structure are made up: the others decide.
        let mixed = known.iter().find(|structure| structure.pages.len() > 1);
        let finest = |mixed: &&Structure| mixed.pages.first().map(|(_, index)| index.clone());
        let largest = |mixed: &&Structure| {
            let larger = mixed.pages.iter().rev();
            let mut larger = larger.filter(|(size, _)| *size > PageSize::SIZE_4K);
            larger.next().cloned()
        };
        if let Some(index) = base.or_else(|| mixed.and_then(finest)) {
            recency.index = index.compile();
        }
        if let Some((size, index)) = larger.or_else(|| mixed.and_then(largest)) {
            recency.larger_index = index.compile();
            recency.shift = u32::from(size.shift() - PageSize::SIZE_4K.shift());
        }
        recency
    }

    /// Nothing noted yet, for TLBs of any design: only a lookup of the page that was looked up last
    /// is sure to change nothing in all of them.
    fn for_any_design() -> Self {
        Self {
            index: Compiled::default(),
            pages: [NO_PAGES; SETS],
            larger_index: Compiled::default(),
            shift: u32::from(PageSize::SIZE_2M.shift() - PageSize::SIZE_4K.shift()),
            larger: [NO_LARGER_PAGES; SETS],
            strict: Box::default(),
            has_strict: false,
            depth: 1,
            shallow: true,
            when: [0; PLACES],
            made: [0; PLACES],
            made_last: [0; SETS],
            larger_place: [0; PLACES],
            with_larger: [RecencyPlaces::NONE; PLACES],
            left_out: RecencyPlaces::NONE,
            clock: 0,
        }
    }

    /// Notes the lookup of a base page, and says whether it has to be made. Pages that have to be
    /// looked up before it are handed to `look_up`.
    #[inline]
    pub fn has_to_be_made(
        &mut self,
        page: PageNumber,
        look_up: &mut impl FnMut(PageNumber),
    ) -> bool {
        let set = self.index.set_of(page) % SETS;
        let pages = &mut self.pages[set];
        let larger = &mut self.larger[self.larger_index.set_of(page) % SETS];
        let number = page.0 >> self.shift;
        if self.has_strict {
            let stamp = larger.newest_stay.wrapping_add(self.strict.stamp(page));
            if (pages.newest, larger.newest) == (page.0, number)
                && pages.newest_stamp == stamp
                && self.strict.is_newest(page, stamp)
            {
                return false;
            }
            self.make(page, look_up);
            return true;
        }
        if pages.newest == page.0
            && larger.newest == number
            && pages.newest_stamp == larger.newest_stay
        {
            return false;
        }
        if self.shallow {
            self.note_newest(page.0, number, set);
            return true;
        }
        let (at, at_larger) = (find(&pages.number, page.0), find(&larger.number, number));
        if at < DEPTH && at_larger < DEPTH {
            let stay = larger.stay[at_larger];
            if pages.stamp[at] == stay {
                self.clock += 1;
                let place = RecencyPlace::of(set, at);
                self.when[place.index()] = self.clock;
                self.left_out.insert(place);
                (pages.newest, pages.newest_stamp) = (page.0, stay);
                larger.when[at_larger] = self.clock;
                (larger.newest, larger.newest_stay) = (number, stay);
                return false;
            }
        }
        self.make(page, look_up);
        true
    }

    /// Where most lookups have to be made, finding the others costs more than it saves: with
    /// `shallow`, none is left out but of the newest in both sets. To be told after
    /// [`Recency::catch_up`]. Where that is another than before, everything is forgotten.
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

    /// Notes the lookup of a base page that is made in any case. Pages that have to be looked up
    /// before it are handed to `look_up`.
    pub fn make(&mut self, page: PageNumber, look_up: &mut impl FnMut(PageNumber)) {
        self.note_made(page, look_up);
    }

    /// The same, and says where the page is kept.
    pub fn note_made(&mut self, page: PageNumber, look_up: &mut impl FnMut(PageNumber)) -> Made {
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

    /// How many places there are.
    pub const PLACES: usize = PLACES;

    /// Whether pages are kept at places where they stand. For some designs, and while it [is
    /// shallow](Self::be_shallow), none is.
    pub const fn keeps_places(&self) -> bool {
        !self.shallow && !self.has_strict
    }

    /// Whether the page that is kept at a place stands there: its lookups need not be made.
    pub fn stands(&self, place: RecencyPlace) -> bool {
        let pages = &self.pages[place.set()];
        let page = PageNumber(pages.number[place.at()]);
        let larger = &self.larger[self.larger_index.set_of(page) % SETS];
        let at = find(&larger.number, page.0 >> self.shift);
        page.0 != NOTHING && at < DEPTH && larger.stay[at] == pages.stamp[place.at()]
    }

    /// To leave lookups out of pages that stand.
    pub const fn leaving_out(&mut self) -> LeavingOut<'_> {
        LeavingOut {
            clock: self.clock,
            left_out: self.left_out,
            recency: self,
        }
    }

    /// Which pages are the newest of their sets is no longer known: to be told between leaving out
    /// by place and asking with [`Recency::has_to_be_made`].
    pub fn lose_newest(&mut self) {
        for pages in &mut self.pages {
            pages.newest = NOTHING;
        }
        for larger in &mut self.larger {
            larger.newest = NOTHING;
        }
    }

    /// The entries of the larger pages around a base page were removed, and no others. That page
    /// was just looked up. Pages at the places that are answered [stand](Recency::stands) no
    /// longer.
    pub fn remove_larger(&mut self, page: PageNumber) -> RecencyPlaces {
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

    /// Entries were removed, or another address space's will be looked up.
    pub fn forget(&mut self) {
        debug_assert!(
            self.left_out.is_empty(),
            "something was left out and not made up for"
        );
        self.pages.fill(NO_PAGES);
        self.larger.fill(NO_LARGER_PAGES);
        self.when.fill(0);
        self.made.fill(0);
        self.made_last.fill(0);
        self.with_larger.fill(RecencyPlaces::NONE);
        self.strict.forget();
    }
}

#[cfg(test)]
mod tests;
