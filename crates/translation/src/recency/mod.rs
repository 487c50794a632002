//! Which pages were used last in each set of the first level: what tells lookups that need not be made, whatever sizes the pages have.

mod strict;

use crate::index::Compiled;
use crate::{Design, Structure};
use broadleaf_units::{PageNumber, PageSize};
use strict::Strict;

/// How many sets of a structure are told apart. Where it has more, several are taken for one: what is known of all of them together holds for
/// each.
const SETS: usize = 64;
const _: () = assert!(SETS <= u64::BITS as usize);

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
    /// When each was looked up last, but for lookups of what was the newest in both its sets.
    when: [u64; DEPTH],
    /// A bit for each whose last lookup was left out and not made up for.
    left_out: u8,
}

/// The larger pages that were looked up last in a set.
#[derive(Clone, Copy, Debug)]
struct LargerPages {
    newest: u64,
    newest_stay: u64,
    number: [u64; DEPTH],
    /// Each time that one comes it has another.
    stay: [u64; DEPTH],
    when: [u64; DEPTH],
}

const NO_PAGES: Pages = Pages {
    newest: NOTHING,
    newest_stamp: 0,
    number: [NOTHING; DEPTH],
    stamp: [0; DEPTH],
    when: [0; DEPTH],
    left_out: 0,
};

const NO_LARGER_PAGES: LargerPages = LargerPages {
    newest: NOTHING,
    newest_stay: 0,
    number: [NOTHING; DEPTH],
    stay: [0; DEPTH],
    when: [0; DEPTH],
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

/// Where the oldest of the first few stands.
fn oldest(when: &[u64]) -> usize {
    let places = when.iter().enumerate();
    places
        .min_by_key(|(_, when)| **when)
        .map_or(0, |(at, _)| at)
}

/// A lookup that was left out and has to be made up for.
#[derive(Clone, Copy, Debug)]
struct LeftOut {
    when: u64,
    page: PageNumber,
    set: usize,
    place: usize,
    larger_set: usize,
}

/// Tells lookups that need not be made in any TLB of some designs, without knowing which size each page has.
///
/// A lookup of a base page uses, in each first-level structure, at most the set of the base page or that of the larger page around it: what the page
/// table holds, and which entries are left from before, decides which. Here each lookup is noted in all of them.
///
/// *Which lookups hit.* The lookup of a page hits the first level, in every TLB, where since the last one of the same page
///
/// - fewer other pages were noted in the base page's set than that has ways, so that an entry of the base page that the last lookup found or brought
///   is still there, and
/// - fewer other larger pages were noted in the larger page's set at any time than that has ways, so that an entry of the larger page, whether the last lookup found
///   or brought it or one since, is still there: the larger page's *stay* in the order of its set is the same.
///
/// Larger pages are looked up first, so one of the two is found, and the place of its entry in its set's order changes, which nobody sees before something is put into
/// that set.
///
/// *Making up.* So such a lookup can be left out, if it is made up for in time. What was left out in a set and is made up for with one lookup of each page, in the order in
/// which each was looked up last, leaves the order that the program's own lookups left, provided that each page is found where the program found it: by an entry
/// of its own, or by that of its larger page. Which of these it is can only change where entries come or go, in the base page's set or the larger page's. So before
/// the lookup of a page is made, all is made up for that was left out in its own set, and all whose larger page's set is that of its larger page. A lookup that is made up
/// for also renews another entry than the one that it is made up for on account of: so what was left out before it in the same set of either
/// size, which would seem the newer if it were made up for later, goes first.
///
/// Where a structure holds both sizes, or there are several for one size, only lookups are left out that change no order: of the page that was the last one
/// noted in all its sets, while its larger page was.
///
/// All that holds until entries are removed: those of one larger page are to be told with [`Recency::remove_larger`], and after any other everything has
/// to be forgotten with [`Recency::forget`], after [`Recency::catch_up`]. It holds in one address space.
#[derive(Clone, Debug)]
pub struct Recency {
    /// One structure of base pages and one of larger ones, which most designs have and no others; where a design has none, sets as fine as these
    /// are taken.
    index: Compiled,
    pages: [Pages; SETS],
    larger_index: Compiled,
    /// How far a larger page's number is from that of a base page.
    shift: u32,
    larger: [LargerPages; SETS],
    strict: Box<Strict>,
    has_strict: bool,
    /// How many pages of a set are surely there. With 1, no lookup is left out that changes anything.
    depth: usize,
    /// Whether only the newest of each set are looked at.
    shallow: bool,
    /// Sets with pages whose last lookup was left out.
    behind: u64,
    /// Counts lookups that were left out, and stays.
    clock: u64,
    /// Those that are being made up for; kept for its memory.
    left_out: Vec<LeftOut>,
}

impl Recency {
    /// Nothing noted yet, for TLBs of these designs.
    pub fn new<'a>(designs: impl IntoIterator<Item = &'a Design>) -> Self {
        let mut recency = Self::for_any_design();
        let mut known: Vec<&Structure> = Vec::new();
        let (mut has_base, mut has_larger, mut ways) = (false, false, DEPTH);
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
            match &structure.pages[..] {
                [(PageSize::SIZE_4K, index)] if !has_base => {
                    has_base = true;
                    recency.index = index.compile();
                }
                [(size, index)] if *size > PageSize::SIZE_4K && !has_larger => {
                    has_larger = true;
                    recency.larger_index = index.compile();
                    recency.shift = u32::from(size.shift() - PageSize::SIZE_4K.shift());
                }
                _ => recency.strict.add(structure),
            }
        }
        recency.has_strict = !recency.strict.is_empty();
        if recency.has_strict {
            // Where a structure of base pages is missing, one is made up that is as fine: the others decide.
            if let (false, Some(mixed)) = (has_base, known.first()) {
                recency.index = mixed.pages[0].1.compile();
            }
        } else if has_base && has_larger {
            recency.depth = ways;
            recency.shallow = ways == 1;
        }
        recency
    }

    /// Nothing noted yet, for TLBs of any design: only a lookup of the page that was looked up last is sure to change nothing in all of them.
    pub fn for_any_design() -> Self {
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
            behind: 0,
            clock: 0,
            left_out: Vec::new(),
        }
    }

    /// Notes the lookup of a base page, and says whether it has to be made. Pages that have to be looked up before it are handed to `look_up`.
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
                pages.when[at] = self.clock;
                pages.left_out |= 1 << at;
                (pages.newest, pages.newest_stamp) = (page.0, stay);
                larger.when[at_larger] = self.clock;
                (larger.newest, larger.newest_stay) = (number, stay);
                self.behind |= 1 << set;
                return false;
            }
        }
        self.make(page, look_up);
        true
    }

    /// Where most lookups have to be made, finding the others costs more than it saves: with `shallow`, none is left out but of the newest in both sets. To be told after
    /// [`Recency::catch_up`].
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

    /// Notes the lookup of a base page that is made in any case. Pages that have to be looked up before it are handed to `look_up`.
    pub fn make(&mut self, page: PageNumber, look_up: &mut impl FnMut(PageNumber)) {
        let set = self.index.set_of(page) % SETS;
        let larger_set = self.larger_index.set_of(page) % SETS;
        if self.behind != 0 {
            self.make_up_for(1 << set, 1 << larger_set, look_up);
        }
        let number = page.0 >> self.shift;
        if self.shallow && !self.has_strict {
            self.note_newest(page.0, number, set);
            return;
        }
        self.clock += 1;
        let larger = &mut self.larger[larger_set];
        let mut at = find(&larger.number, number);
        if at >= DEPTH {
            at = oldest(&larger.when[..self.depth]);
            larger.number[at] = number;
            larger.stay[at] = self.clock;
        }
        let stay = larger.stay[at];
        larger.when[at] = self.clock;
        (larger.newest, larger.newest_stay) = (number, stay);
        let stamp = if self.has_strict {
            self.strict.note(page, stay)
        } else {
            stay
        };
        let pages = &mut self.pages[set];
        let mut at = find(&pages.number, page.0);
        if at >= DEPTH {
            at = oldest(&pages.when[..self.depth]);
            pages.number[at] = page.0;
        }
        pages.stamp[at] = stamp;
        pages.when[at] = self.clock;
        pages.left_out &= !(1 << at);
        (pages.newest, pages.newest_stamp) = (page.0, stamp);
    }

    /// Makes up for everything that was left out.
    pub fn catch_up(&mut self, look_up: &mut impl FnMut(PageNumber)) {
        if self.behind != 0 {
            self.make_up_for(u64::MAX, u64::MAX, look_up);
        }
    }

    /// Makes up for what was left out in some sets of base pages and some of larger ones, and for all that came before any of that in a set that both use:
    /// where that were made up for later, it would seem the newer.
    fn make_up_for(
        &mut self,
        mut sets: u64,
        mut larger_sets: u64,
        look_up: &mut impl FnMut(PageNumber),
    ) {
        let mut all = std::mem::take(&mut self.left_out);
        let mut behind = self.behind;
        while behind != 0 {
            let set = behind.trailing_zeros() as usize;
            behind &= behind - 1;
            let pages = &self.pages[set];
            for place in (0..DEPTH).filter(|place| pages.left_out >> place & 1 != 0) {
                let page = PageNumber(pages.number[place]);
                all.push(LeftOut {
                    when: pages.when[place],
                    page,
                    set,
                    place,
                    larger_set: self.larger_index.set_of(page) % SETS,
                });
            }
        }
        all.sort_unstable_by_key(|one| std::cmp::Reverse(one.when));
        all.retain(|one| {
            let concerned = (sets >> one.set | larger_sets >> one.larger_set) & 1 != 0;
            if concerned {
                sets |= 1 << one.set;
                larger_sets |= 1 << one.larger_set;
                self.pages[one.set].left_out &= !(1 << one.place);
            }
            concerned
        });
        for one in all.drain(..).rev() {
            look_up(one.page);
        }
        self.left_out = all;
        let mut behind = self.behind & sets;
        while behind != 0 {
            let set = behind.trailing_zeros() as usize;
            behind &= behind - 1;
            let none = self.pages[set].left_out == 0;
            self.behind &= !(u64::from(none) << set);
        }
    }

    /// The entries of the larger pages around a base page were removed, and no others. That page was just looked up.
    pub fn remove_larger(&mut self, page: PageNumber) {
        let number = page.0 >> self.shift;
        let larger = &mut self.larger[self.larger_index.set_of(page) % SETS];
        self.clock += 1;
        let at = find(&larger.number, number);
        if at < DEPTH {
            larger.stay[at] = self.clock;
        }
        if larger.newest == number {
            larger.newest_stay = self.clock;
        }
        self.strict.remove_larger(page);
    }

    /// Entries were removed, or another address space's will be looked up.
    pub fn forget(&mut self) {
        debug_assert_eq!(self.behind, 0, "something was left out and not made up for");
        self.pages.fill(NO_PAGES);
        self.larger.fill(NO_LARGER_PAGES);
        self.strict.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Lookup, SpaceTag, Tlb};

    /// A TLB, and what it found.
    struct Counting {
        tlb: Tlb,
        found: [u64; 3],
    }

    impl Counting {
        fn look_up(&mut self, page: PageNumber, promoted: &[bool; 64]) {
            let tag = SpaceTag::default();
            let found = self.tlb.lookup(tag, page);
            match found {
                Lookup::First => {}
                Lookup::Second => self.found[1] += 1,
                Lookup::Miss => {
                    let size = if promoted[(page.0 >> 9) as usize] {
                        PageSize::SIZE_2M
                    } else {
                        PageSize::SIZE_4K
                    };
                    self.found[2] += 1;
                    self.tlb.fill(tag, page, size);
                }
            }
        }
    }

    /// Random pages of a few blocks, of which some are superpages, become such, or are broken: a TLB that is asked for nothing but what has to be made
    /// misses what one does that is asked for all, and holds the same once it has caught up.
    #[test]
    fn what_is_left_out_changes_nothing() {
        for name in crate::catalogue::names_with_blocks() {
            let machine = crate::machine(name).unwrap();
            for (seed, spread) in (1u64..=24).zip([1, 7, 2, 63, 4, 15, 8, 3].into_iter().cycle()) {
                let mut recency = Recency::new([&machine.design]);
                let new = || Counting {
                    tlb: Tlb::new(&machine.design),
                    found: [0; 3],
                };
                let (mut all, mut some, mut left_out) = (new(), new(), 0);
                let mut promoted = [false; 64];
                let mut random = 88_172_645_463_325_252u64 * seed;
                for step in 0..40_000u64 {
                    random ^= random << 13;
                    random ^= random >> 7;
                    random ^= random << 17;
                    // Most lookups are near one of a few places.
                    let block = if random.is_multiple_of(16) {
                        random >> 8 & 63
                    } else {
                        (random >> 8 & 3) * spread
                    };
                    let within = if step.is_multiple_of(9) { 511 } else { 0x51 };
                    let page = PageNumber((block & 63) << 9 | (random >> 20 & within));
                    let mut look_up = |page: PageNumber| some.look_up(page, &promoted);
                    let breaks = random >> 40 & 63 == 0;
                    if breaks {
                        recency.make(page, &mut look_up);
                        look_up(page);
                    } else if recency.has_to_be_made(page, &mut look_up) {
                        look_up(page);
                    } else {
                        left_out += 1;
                    }
                    all.look_up(page, &promoted);
                    if breaks {
                        let state = &mut promoted[block as usize & 63];
                        *state = !*state;
                        if !*state {
                            for tlb in [&mut all.tlb, &mut some.tlb] {
                                tlb.invalidate(SpaceTag::default(), page, PageSize::SIZE_2M);
                            }
                            recency.remove_larger(page);
                        }
                    }
                    assert_eq!(all.found, some.found, "{name}, seed {seed}, step {step}");
                    if random >> 50 & 255 == 0 {
                        recency.catch_up(&mut |page| some.look_up(page, &promoted));
                        assert!(
                            all.tlb.holds_as(&some.tlb),
                            "{name}, seed {seed}, step {step}"
                        );
                        match random >> 58 {
                            0 => recency.forget(),
                            1..8 => recency.be_shallow(true),
                            8..24 => recency.be_shallow(false),
                            _ => {}
                        }
                    }
                }
                assert!(left_out > 500, "{name}, seed {seed}: {left_out}");
            }
        }
    }
}
