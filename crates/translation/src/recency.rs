//! Which pages were used last in each set of the first level: what tells lookups that change nothing, whatever sizes the pages have.

use crate::index::Compiled;
use crate::{Design, Structure};
use broadleaf_units::{PageNumber, PageSize};

/// No page.
const NOTHING: PageNumber = PageNumber(u64::MAX);

/// How many sets of a structure are told apart. Where it has more, several are taken for one: that a page was noted last in all of them
/// says that it was in its own.
const SETS: usize = 64;

/// A base page that was noted in a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Noted {
    page: PageNumber,
    /// What the generations of its larger pages' sets came to then.
    stamp: u64,
}

const NOT_NOTED: Noted = Noted {
    page: NOTHING,
    stamp: 0,
};

/// How many pages of a set are kept in order at most.
const DEPTH: usize = 4;

/// The pages that were looked up last in a set, newest first.
#[derive(Clone, Copy, Debug)]
struct Order {
    /// As the program had it.
    now: [Noted; DEPTH],
    /// As those who look pages up have it, who were not told of lookups that only changed the order.
    told: [PageNumber; DEPTH],
}

impl Order {
    const NOTHING: Self = Self {
        now: [NOT_NOTED; DEPTH],
        told: [NOTHING; DEPTH],
    };

    /// A page is the newest now, and everybody is told.
    #[inline]
    fn tell(&mut self, page: PageNumber, stamp: u64) {
        let found = self.now.iter().position(|noted| noted.page == page);
        self.now[..=found.unwrap_or(DEPTH - 1)].rotate_right(1);
        self.now[0] = Noted { page, stamp };
        self.told = self.now.map(|noted| noted.page);
    }

    fn is_told(&self) -> bool {
        self.now.iter().map(|noted| noted.page).eq(self.told)
    }

    /// Has those pages looked up that make the order what it is, oldest first: the newest ones, as few as it takes. Each was noted since everybody was told, as
    /// what was not stands behind those, in the old order.
    fn catch_up(&mut self, look_up: &mut impl FnMut(PageNumber)) {
        let now = self.now.map(|noted| noted.page);
        let enough = |count: &usize| {
            let (newest, others) = now.split_at(*count);
            let left = self.told.iter().filter(|page| !newest.contains(page));
            left.eq(others)
        };
        let count = (0..DEPTH).find(enough).unwrap_or(DEPTH);
        now[..count].iter().rev().copied().for_each(look_up);
        self.told = now;
    }
}

/// The sets of a structure that holds base pages alone.
#[derive(Clone, Debug)]
struct BaseSets {
    index: Compiled,
    noted: [Order; SETS],
}

impl BaseSets {
    const fn new(index: Compiled) -> Self {
        Self {
            index,
            noted: [Order::NOTHING; SETS],
        }
    }

    #[inline]
    fn of(&mut self, page: PageNumber) -> &mut Order {
        &mut self.noted[self.index.set_of(page) % SETS]
    }
}

/// The larger page that was noted last in a set.
#[derive(Clone, Copy, Debug)]
struct Larger {
    number: u64,
    /// How often another one was noted, or its entry removed.
    generation: u64,
}

/// The sets of a structure that holds larger pages of one size alone.
#[derive(Clone, Debug)]
struct LargerSets {
    index: Compiled,
    /// How far a page's number is from that of a base page.
    shift: u32,
    noted: [Larger; SETS],
}

impl LargerSets {
    const fn new(index: Compiled, shift: u32) -> Self {
        let nothing = Larger {
            number: NOTHING.0,
            generation: 0,
        };
        Self {
            index,
            shift,
            noted: [nothing; SETS],
        }
    }

    #[inline]
    fn of(&mut self, page: PageNumber) -> &mut Larger {
        &mut self.noted[self.index.set_of(page) % SETS]
    }
}

/// The sets of a structure that holds several sizes: the index of each, and the base page that was noted last.
#[derive(Clone, Debug)]
struct MixedSets {
    indices: Vec<Compiled>,
    noted: [PageNumber; SETS],
}

impl MixedSets {
    fn is_noted(&self, page: PageNumber) -> bool {
        (self.indices.iter()).all(|index| self.noted[index.set_of(page) % SETS] == page)
    }

    fn note(&mut self, page: PageNumber, as_what: PageNumber) {
        for index in &self.indices {
            self.noted[index.set_of(page) % SETS] = as_what;
        }
    }
}

/// Tells lookups that need not be made in any TLB of some designs, without knowing which size each page has.
///
/// A lookup of a base page uses, in each first-level structure, at most the set of the base page or that of the larger page around it: what the page
/// table holds, and which entries are left from before, decides which. Here each lookup is noted in all of them.
///
/// *Which lookups hit.* The sets of larger pages count their changes: how often another larger page was noted than the one before. A base page is noted with what
/// the counts of its larger pages' sets come to; as counts only grow, an equal sum says that none of them changed. The lookup of a page hits the first level, in
/// every TLB, where since the last one
///
/// - fewer other pages were noted in the base page's set than that has ways, so that an entry of the base page that the last lookup found or brought
///   is still there, and
/// - only pages of the same larger page were noted in the larger page's set, so that an entry of the larger page, whether the last lookup found or
///   brought it or one since, is the newest.
///
/// Larger pages are looked up first, so one of the two is found. The second is the newest of its set already; of the first only the place in its set's order changes,
/// which nobody sees before something is put into that set. It does not do to ask that a page of the same larger page was noted last: that may have been found
/// by an entry of its own, left from before the larger page was made, when the larger page's was gone.
///
/// *Catching up.* So such a lookup need not be made, if the order is caught up with in time: the pages of a set whose order is not what it should be are looked up, oldest
/// first. That has to come before another page is put into the set, and before any of the pages could be found in another place than when the program looked it
/// up: before a page is looked up whose larger page's set is that of one of them, since that may bring the larger page's entry in, or push it out. Then each of
/// these lookups finds what the program's found, and as its larger page is the newest of its set, it changes the order of base pages and nothing else.
///
/// Where one structure holds both sizes a set may serve both, so there a lookup is left out only where the page itself was noted last in both sets. The same
/// holds where several structures hold pages of one size.
///
/// That holds until entries are removed: those of one larger page are to be told with [`Recency::remove_larger`], and after any other everything has
/// to be forgotten with [`Recency::forget`], both after [`Recency::catch_up`]. It holds in one address space.
#[derive(Clone, Debug)]
pub struct Recency {
    /// One structure of base pages and one of larger ones, which most designs have and no others; where a design has none, sets as fine as these
    /// are taken.
    base: BaseSets,
    larger: LargerSets,
    more: Box<More>,
    has_more: bool,
    /// How many pages of a set are surely there.
    depth: usize,
    /// Sets of base pages whose order has to be caught up with.
    behind: u64,
}

const _: () = assert!(SETS <= u64::BITS as usize);

/// Further structures.
#[derive(Clone, Debug, Default)]
struct More {
    base: Vec<BaseSets>,
    larger: Vec<LargerSets>,
    mixed: Vec<MixedSets>,
}

impl Recency {
    /// Nothing noted yet, for TLBs of these designs.
    pub fn new<'a>(designs: impl IntoIterator<Item = &'a Design>) -> Self {
        let mut known: Vec<&Structure> = Vec::new();
        let mut more = More::default();
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
            if !known.iter().any(alike) {
                known.push(structure);
                more.add(structure);
            }
        }
        let alone = Self::for_any_design();
        let base = (!more.base.is_empty()).then(|| more.base.swap_remove(0));
        let larger = (!more.larger.is_empty()).then(|| more.larger.swap_remove(0));
        // Where all structures are mixed, what those say is enough, and nearly nothing else is asked for.
        let (finest_base, finest_larger) = match more.mixed.first() {
            Some(mixed) => (
                BaseSets::new(mixed.indices[0]),
                LargerSets::new(mixed.indices[0], alone.larger.shift),
            ),
            None => (alone.base, alone.larger),
        };
        let has_more = !(more.base.is_empty() && more.larger.is_empty() && more.mixed.is_empty());
        Self {
            base: base.unwrap_or(finest_base),
            larger: larger.unwrap_or(finest_larger),
            has_more,
            more: Box::new(more),
            depth: if has_more { 1 } else { ways },
            behind: 0,
        }
    }

    /// Nothing noted yet, for TLBs of any design: only a lookup of the page that was looked up last is sure to change nothing in all of them.
    pub fn for_any_design() -> Self {
        let all = Compiled::default();
        let shift = u32::from(PageSize::SIZE_2M.shift() - PageSize::SIZE_4K.shift());
        Self {
            base: BaseSets::new(all),
            larger: LargerSets::new(all, shift),
            more: Box::default(),
            has_more: false,
            depth: 1,
            behind: 0,
        }
    }

    /// Notes the lookup of a base page, and says whether it has to be made. Pages that have to be looked up before it are handed to `look_up`.
    #[inline]
    pub fn has_to_be_made(
        &mut self,
        page: PageNumber,
        look_up: &mut impl FnMut(PageNumber),
    ) -> bool {
        let mut stamp = self.larger.of(page).generation;
        if self.has_more {
            stamp = stamp.wrapping_add(self.more.stamp(page));
        }
        let noted = Noted { page, stamp };
        let set = self.base.index.set_of(page) % SETS;
        let order = &mut self.base.noted[set];
        if order.now[0] == noted {
            if !self.has_more || self.more.is_noted(page, stamp) {
                return false;
            }
        } else {
            for at in 1..self.depth {
                if order.now[at] == noted {
                    order.now[..=at].rotate_right(1);
                    let told = order.is_told();
                    self.behind = self.behind & !(1 << set) | u64::from(!told) << set;
                    return false;
                }
            }
        }
        self.make(page, look_up);
        true
    }

    /// Notes the lookup of a base page that is made in any case. Pages that have to be looked up before it are handed to `look_up`.
    pub fn make(&mut self, page: PageNumber, look_up: &mut impl FnMut(PageNumber)) {
        if self.behind != 0 {
            self.catch_up_before(page, look_up);
        }
        self.note(page);
    }

    #[inline]
    fn note(&mut self, page: PageNumber) {
        let number = page.0 >> self.larger.shift;
        let noted = self.larger.of(page);
        noted.generation += u64::from(noted.number != number);
        noted.number = number;
        let mut stamp = noted.generation;
        if self.has_more {
            stamp = self.more.note(page, stamp);
        }
        self.base.of(page).tell(page, stamp);
    }

    /// Catches up with what the lookup of a page may change: the order of its set, and that of all sets with a page whose larger page shares
    /// a set with its own.
    fn catch_up_before(&mut self, page: PageNumber, look_up: &mut impl FnMut(PageNumber)) {
        let larger = self.larger.index;
        let (own, its) = (
            self.base.index.set_of(page) % SETS,
            larger.set_of(page) % SETS,
        );
        let mut left = self.behind;
        while left != 0 {
            let set = left.trailing_zeros() as usize;
            left &= left - 1;
            let order = &mut self.base.noted[set];
            let shares = |noted: &Noted| larger.set_of(noted.page) % SETS == its;
            if set == own || order.now.iter().any(shares) {
                order.catch_up(look_up);
                self.behind &= !(1 << set);
            }
        }
    }

    /// Catches up with everything.
    pub fn catch_up(&mut self, look_up: &mut impl FnMut(PageNumber)) {
        while self.behind != 0 {
            let set = self.behind.trailing_zeros() as usize;
            self.behind &= self.behind - 1;
            self.base.noted[set].catch_up(look_up);
        }
    }

    /// The entries of the larger pages around a base page were removed, and no others. That page was just looked up.
    pub fn remove_larger(&mut self, page: PageNumber) {
        self.larger.of(page).generation += 1;
        for sets in &mut self.more.larger {
            sets.of(page).generation += 1;
        }
        for sets in &mut self.more.mixed {
            sets.note(page, NOTHING);
        }
    }

    /// Entries were removed, or another address space's will be looked up.
    pub fn forget(&mut self) {
        debug_assert_eq!(
            self.behind, 0,
            "what was left out has not been caught up with"
        );
        for sets in self.more.base.iter_mut().chain([&mut self.base]) {
            sets.noted.fill(Order::NOTHING);
        }
        for sets in &mut self.more.mixed {
            sets.noted.fill(NOTHING);
        }
    }
}

impl More {
    fn add(&mut self, structure: &Structure) {
        let [(size, index)] = &structure.pages[..] else {
            let indices = structure.pages.iter().map(|(_, index)| index.compile());
            self.mixed.push(MixedSets {
                indices: indices.collect(),
                noted: [NOTHING; SETS],
            });
            return;
        };
        match u32::from(size.shift() - PageSize::SIZE_4K.shift()) {
            0 => self.base.push(BaseSets::new(index.compile())),
            shift => self.larger.push(LargerSets::new(index.compile(), shift)),
        }
    }

    /// What the generations of a page's larger pages' sets come to.
    fn stamp(&mut self, page: PageNumber) -> u64 {
        let generations = self.larger.iter_mut().map(|sets| sets.of(page).generation);
        generations.fold(0, u64::wrapping_add)
    }

    fn is_noted(&mut self, page: PageNumber, stamp: u64) -> bool {
        let base = |sets: &mut BaseSets| sets.of(page).now[0] == Noted { page, stamp };
        self.base.iter_mut().all(base) && self.mixed.iter().all(|sets| sets.is_noted(page))
    }

    /// Notes a page, and answers what all generations come to, those of other sets with them.
    fn note(&mut self, page: PageNumber, others: u64) -> u64 {
        for sets in &mut self.larger {
            let number = page.0 >> sets.shift;
            let noted = sets.of(page);
            noted.generation += u64::from(noted.number != number);
            noted.number = number;
        }
        let stamp = others.wrapping_add(self.stamp(page));
        for sets in &mut self.base {
            sets.of(page).tell(page, stamp);
        }
        for sets in &mut self.mixed {
            sets.note(page, page);
        }
        stamp
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
        for name in crate::machine_names() {
            let machine = crate::machine(name).unwrap();
            for (seed, spread) in [(1u64, 7), (2, 1), (3, 63), (4, 15)] {
                let mut recency = Recency::new([&machine.design]);
                let new = || Counting {
                    tlb: Tlb::new(&machine.design),
                    found: [0; 3],
                };
                let (mut all, mut some, mut left_out) = (new(), new(), 0);
                let mut promoted = [false; 64];
                let mut random = 88_172_645_463_325_252u64 * seed;
                for step in 0..100_000u64 {
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
                        if random >> 58 == 0 {
                            recency.forget();
                        }
                    }
                }
                assert!(left_out > 500, "{name}, seed {seed}: {left_out}");
            }
        }
    }
}
