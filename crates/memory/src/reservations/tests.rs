//! Reservations against a list of all of them, with a `bool` for each page, that is scanned for every answer.

use super::*;
use proptest::prelude::*;

type Place = (u8, u64);

/// A reservation, slow and obvious.
#[derive(Clone, Debug, PartialEq)]
struct Naive {
    key: Place,
    frame: u64,
    level: usize,
    populated: Vec<bool>,
    last: u64,
}

impl Naive {
    /// Whether an aligned piece of that level inside is free.
    fn has_free(&self, sizes: &Sizes, level: usize) -> bool {
        let size = sizes.pages(level) as usize;
        let mut pieces = self.populated.chunks_exact(size);
        pieces.any(|piece| piece.iter().all(|populated| !populated))
    }

    /// The level of its list.
    fn list(&self, sizes: &Sizes) -> Option<usize> {
        (0..=self.level)
            .rev()
            .find(|level| self.has_free(sizes, *level))
    }

    fn part(&self, sizes: &Sizes, page: u64, level: usize) -> Self {
        let pages = page as usize..(page + sizes.pages(level)) as usize;
        Self {
            key: (self.key.0, self.key.1 + page),
            frame: self.frame + page,
            level,
            populated: self.populated[pages].to_vec(),
            last: self.last,
        }
    }

    /// What it falls into when it is broken for a level. Around each page it is the largest piece that is full, or free, or holds nothing free
    /// of that level.
    fn parts(&self, sizes: &Sizes, wanted: usize) -> Vec<Self> {
        let (mut parts, mut page) = (Vec::new(), 0);
        while page < sizes.pages(self.level) {
            let around = |level| self.part(sizes, sizes.first_of(level, page), level);
            let stays = |part: &Self| {
                let count = part.populated.iter().filter(|page| **page).count();
                count == 0
                    || count == part.populated.len()
                    || part.level < wanted
                    || !part.has_free(sizes, wanted)
            };
            let mut levels = (0..=self.level).rev().map(around);
            let part = levels.find(stays).expect("a page is full or free");
            page += sizes.pages(part.level);
            parts.push(part);
        }
        parts
    }
}

/// A host with its allocator, both slow and obvious.
struct World {
    sizes: Sizes,
    reservations: Reservations<Place>,
    naive: Vec<Naive>,
    now: u64,
    /// The frame of each populated page, whether or not it lies in a reservation.
    mapped: BTreeMap<Place, u64>,
    /// Whether each frame may be had.
    free: Vec<bool>,
    /// How often each kind of thing happened.
    seen: [u64; 6],
}

const OBJECTS: u8 = 2;
const LARGEST_PER_OBJECT: u64 = 2;

impl World {
    fn new(sizes: Sizes) -> Self {
        let frames = 3 * sizes.pages(sizes.largest());
        Self {
            sizes,
            reservations: Reservations::new(sizes),
            naive: Vec::new(),
            now: 0,
            mapped: BTreeMap::new(),
            free: vec![true; frames as usize],
            seen: [0; 6],
        }
    }

    /// Makes a reservation in any place that is free, if there is an extent for it.
    fn make(&mut self, a: u64, b: u64) {
        let level = (a % self.sizes.levels() as u64) as usize;
        let pages = self.sizes.pages(level);
        let places = LARGEST_PER_OBJECT * self.sizes.pages(self.sizes.largest()) / pages;
        let key = (b as u8 % OBJECTS, (b / 2) % places * pages);
        let end = (key.0, key.1 + pages);
        let reserved = self.naive.iter().any(|other| {
            let other_end = other.key.1 + other.populated.len() as u64;
            other.key.0 == key.0 && other.key.1 < end.1 && key.1 < other_end
        });
        assert_eq!(self.reservations.overlaps(key, level), reserved);
        if reserved || self.mapped.range(key..end).next().is_some() {
            return;
        }
        let mut extents = self.free.chunks_exact(pages as usize);
        let Some(extent) = extents.position(|extent| extent.iter().all(|free| *free)) else {
            return;
        };
        let frame = extent as u64 * pages;
        self.free[frame as usize..(frame + pages) as usize].fill(false);
        let id = self.reservations.make(key, frame, level);
        assert_eq!(self.reservations.find(key), Some(id));
        self.now += 1;
        self.naive.push(Naive {
            key,
            frame,
            level,
            populated: vec![false; pages as usize],
            last: self.now,
        });
        self.seen[0] += 1;
    }

    fn populate(&mut self, at: usize, b: u64) {
        let naive = &mut self.naive[at];
        let page = b % naive.populated.len() as u64;
        let place = (naive.key.0, naive.key.1 + page);
        let id = self.reservations.around(place).unwrap();
        assert_eq!(self.reservations.get(id).key(), naive.key);
        let frame = self.reservations.get(id).frame(page);
        let new = self.reservations.populate(id, page);
        assert_eq!(new, !naive.populated[page as usize]);
        if new {
            self.now += 1;
            (naive.populated[page as usize], naive.last) = (true, self.now);
            self.mapped.insert(place, frame);
            self.seen[1] += 1;
        }
    }

    fn depopulate(&mut self, at: usize, b: u64) {
        let naive = &mut self.naive[at];
        let page = b % naive.populated.len() as u64;
        let id = self.reservations.find(naive.key).unwrap();
        let was = std::mem::replace(&mut naive.populated[page as usize], false);
        assert_eq!(self.reservations.depopulate(id, page), was);
        if was {
            self.mapped.remove(&(naive.key.0, naive.key.1 + page));
            self.seen[2] += 1;
        }
    }

    /// Populates or gives back all pages of an aligned piece, so that there are full and empty ones.
    fn whole_piece(&mut self, at: usize, b: u64, populate: bool) {
        let level = (b >> 32) as usize % (self.naive[at].level + 1);
        let page = b % self.naive[at].populated.len() as u64;
        let first = self.sizes.first_of(level, page);
        for page in first..first + self.sizes.pages(level) {
            if populate {
                self.populate(at, page);
            } else {
                self.depopulate(at, page);
            }
        }
    }

    /// The pages of an object that are populated and lie in no reservation give their frames back.
    fn release(&mut self, b: u64) {
        let (reservations, free) = (&self.reservations, &mut self.free);
        let object = b as u8 % OBJECTS;
        self.mapped.retain(|place, frame| {
            let stays = place.0 != object || reservations.around(*place).is_some();
            free[*frame as usize] |= !stays;
            stays
        });
        self.seen[3] += 1;
    }

    fn remove(&mut self, at: usize) {
        let naive = self.naive.remove(at);
        let id = self.reservations.find(naive.key).unwrap();
        let removed = self.reservations.remove(id);
        assert_eq!(removed.key(), naive.key);
        for (page, populated) in naive.populated.iter().enumerate() {
            assert_eq!(removed.population().get(page as u64), *populated);
            self.free[naive.frame as usize + page] = !populated;
        }
        self.seen[4] += 1;
    }

    fn break_up(&mut self, at: usize, wanted: usize) {
        let whole = self.naive.remove(at);
        let id = self.reservations.find(whole.key).unwrap();
        let broken = if wanted == 0 {
            self.reservations.dissolve(id)
        } else {
            self.reservations.break_up(id, wanted)
        };
        let (mut free, mut reserved, mut left) = (Vec::new(), Vec::new(), Vec::new());
        let largest = whole.list(&self.sizes);
        let parts = match largest {
            Some(level) if level < wanted => vec![whole.clone()],
            _ => whole.parts(&self.sizes, wanted),
        };
        for part in parts {
            let frames = part.frame as usize..part.frame as usize + part.populated.len();
            if part.populated.iter().all(|populated| *populated) {
                left.push(Part {
                    key: part.key,
                    first_frame: part.frame,
                    level: part.level,
                });
            } else if largest >= Some(wanted) && !part.populated.contains(&true) {
                free.push((part.frame, self.sizes.order(part.level)));
                self.free[frames].fill(true);
            } else {
                reserved.push(part);
            }
        }
        assert_eq!((broken.free, broken.left), (free, left));
        let keys = broken.reserved.iter();
        let keys = keys.map(|id| self.reservations.get(*id).key());
        assert!(keys.eq(reserved.iter().map(|part| part.key)));
        self.naive.extend(reserved);
        self.seen[5] += 1;
    }

    fn step(&mut self, (kind, a, b): (u8, u32, u64)) {
        let at = (a as usize).checked_rem(self.naive.len());
        let levels = self.sizes.levels();
        match (kind % 32, at) {
            (0..4, _) | (_, None) => self.make(u64::from(a), b),
            (4..18, Some(at)) => self.populate(at, b),
            (18..24, Some(at)) => self.depopulate(at, b),
            (24..27, Some(at)) => self.whole_piece(at, b, true),
            (27, Some(at)) => self.whole_piece(at, b, false),
            (28, _) => self.release(b),
            (29, Some(at)) => self.remove(at),
            (30, Some(at)) => self.break_up(at, b as usize % levels),
            // What shortage does, with the order of lists that the search for a victim follows.
            (_, Some(_)) => {
                let wanted = b as usize % levels;
                let heads =
                    (wanted..levels).filter_map(|level| self.sorted(level).first().copied());
                let victim = heads.into_iter().next();
                let said = self.reservations.victim_at_least(wanted);
                let said = said.map(|id| self.reservations.get(id).key());
                assert_eq!(said, victim.map(|at| self.naive[at].key));
                if let Some(at) = victim {
                    self.break_up(at, wanted);
                }
            }
        }
        self.compare();
    }

    /// The reservations of a level's list, by a sorted scan of all.
    fn sorted(&self, level: usize) -> Vec<usize> {
        let all = 0..self.naive.len();
        let mut list: Vec<usize> = all
            .filter(|at| self.naive[*at].list(&self.sizes) == Some(level))
            .collect();
        list.sort_by_key(|at| (self.naive[*at].last, self.naive[*at].frame));
        list
    }

    fn compare(&self) {
        self.reservations.check();
        assert_eq!(self.reservations.len(), self.naive.len());
        for level in 0..self.sizes.levels() {
            let list = self.sorted(level);
            let said = self.reservations.on(level);
            let said: Vec<_> = said.map(|id| self.reservations.get(id).key()).collect();
            let expected: Vec<_> = list.iter().map(|at| self.naive[*at].key).collect();
            assert_eq!(said, expected, "the list of level {level}");
            assert_eq!(self.reservations.count_on(level), list.len());
            let victim = self.reservations.victim(level);
            let victim = victim.map(|id| self.reservations.get(id).key());
            assert_eq!(victim, expected.first().copied());
        }
        let mut unpopulated = 0;
        for naive in &self.naive {
            let id = self.reservations.find(naive.key).unwrap();
            let reservation = self.reservations.get(id);
            assert_eq!(reservation.first_frame(), naive.frame);
            assert_eq!(reservation.level(), naive.level);
            assert_eq!(reservation.last_allocation(), naive.last);
            let mut pages = naive.populated.iter().enumerate();
            for page in reservation.population().pages() {
                // Populated pages are where they were when they became so.
                let (at, _) = pages.find(|(_, populated)| **populated).unwrap();
                assert_eq!(at as u64, page);
                let place = (naive.key.0, naive.key.1 + page);
                assert_eq!(self.mapped.get(&place), Some(&(naive.frame + page)));
            }
            assert!(pages.all(|(_, populated)| !populated));
            unpopulated += naive.populated.iter().filter(|page| !**page).count();
        }
        assert_eq!(self.reservations.reserved_unpopulated(), unpopulated as u64);
        // Each frame is free, or of a page, or kept: none is lost.
        let free = self.free.iter().filter(|free| **free).count();
        let all = free + unpopulated + self.mapped.len();
        assert_eq!(all, self.free.len(), "frames");
        for frame in self.mapped.values() {
            assert!(!self.free[*frame as usize], "frame {frame} given twice");
        }
    }
}

fn sizes() -> impl Strategy<Value = Sizes> {
    prop::sample::select(vec![
        &[0, 1, 2, 3][..],
        &[0, 2, 4],
        &[0, 3, 6],
        &[0, 5],
        &[0],
    ])
    .prop_map(|orders| Sizes::new(orders).unwrap())
}

proptest! {
    #[test]
    fn as_a_sorted_scan_answers(
        sizes in sizes(),
        steps in prop::collection::vec(any::<(u8, u32, u64)>(), 1..150),
    ) {
        let mut world = World::new(sizes);
        for step in steps {
            world.step(step);
        }
    }
}

/// As many operations as `BROADLEAF_OPERATIONS` says, on reservations that become old.
#[test]
fn many_operations() {
    #[expect(
        clippy::disallowed_methods,
        reason = "how much a test does is the tester's to say"
    )]
    let asked = std::env::var("BROADLEAF_OPERATIONS");
    let operations: u64 = asked
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(5000);
    let mut world = World::new(Sizes::new(&[0, 2, 4, 7]).unwrap());
    let mut state = 1u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 8
    };
    for _ in 0..operations {
        world.step((random() as u8, random() as u32, random()));
    }
    eprintln!(
        "{:?} {} {:?}",
        world.seen,
        world.naive.len(),
        world.mapped.len()
    );
    assert!(
        world.seen.iter().all(|times| *times > operations / 200),
        "{:?}",
        world.seen
    );
}

/// The Alpha's sizes in pages of 8 KiB: 64 KiB are 8 pages, 512 KiB 64, 4 MiB 512. Navarro 2002 wants 64 KiB: the list of that size is
/// asked first, then that of 512 KiB.
#[test]
fn shortage_of_one_size() {
    let mut all = Reservations::new(Sizes::new(&[0, 3, 6, 9]).unwrap());
    // Populated in their first page: the largest of them may lose 512 KiB, the next 64 KiB.
    let large = all.make(("heap", 0), 512, 3);
    assert!(all.populate(large, 0) && !all.populate(large, 0));
    let old = all.make(("file", 0), 64, 2);
    all.populate(old, 0);
    let new = all.make(("file", 64), 128, 2);
    all.populate(new, 0);
    let small = all.make(("text", 0), 0, 1);
    all.populate(small, 0);
    let lists = |all: &Reservations<_>| [0, 1, 2, 3].map(|level| all.count_on(level));
    assert_eq!(lists(&all), [1, 2, 1, 0]);
    assert_eq!(all.reserved_unpopulated(), 511 + 63 + 63 + 7);
    assert_eq!(all.victim_at_least(1), Some(old));
    // An allocation from it saves it. A page that it gives back does not cost it its place.
    all.populate(old, 63);
    all.depopulate(old, 63);
    assert_eq!(all.victim_at_least(1), Some(new));
    let broken = all.break_up(new, 1);
    assert_eq!(
        broken.free,
        [136, 144, 152, 160, 168, 176, 184].map(|frame| (frame, 3))
    );
    let [part] = broken.reserved[..] else {
        panic!("{broken:?}")
    };
    assert_eq!(
        (all.get(part).key(), all.get(part).first_frame()),
        (("file", 64), 128)
    );
    assert!(broken.left.is_empty());
    // It is on the list below now, by its own age: before that of the text, which was allocated from later.
    assert!(all.on(0).eq([part, small]));
    // No 64 KiB are left but in the list above, whose reservation falls into 512 KiB and, since 64 KiB are wanted, these.
    let broken = all.dissolve(old);
    let free: u64 = broken.free.iter().map(|(_, order)| 1u64 << order).sum();
    assert_eq!((free, broken.reserved.len(), broken.left.len()), (63, 0, 1));
    assert_eq!(all.victim_at_least(1), Some(large));
    let mut milder = all.clone();
    let broken = all.break_up(large, 1);
    let orders: Vec<u8> = broken.free.iter().map(|(_, order)| *order).collect();
    assert_eq!(orders, [[3; 7], [6; 7]].concat());
    assert_eq!(lists(&all), [3, 0, 0, 0]);
    // Broken for what its list says, it keeps a piece of 512 KiB that is on the list of 64 KiB.
    let broken = milder.break_up(large, 2);
    assert_eq!(broken.free.len(), 7);
    assert_eq!(lists(&milder), [2, 1, 0, 0]);
    milder.check();
    all.check();
}

/// Of a full reservation no books are kept once it is broken, and one without a piece as large as wanted is left alone.
#[test]
fn nothing_to_give_up() {
    let mut all = Reservations::new(Sizes::new(&[0, 1, 2]).unwrap());
    let id = all.make((0, 4), 8, 2);
    for page in [0, 2, 3] {
        all.populate(id, page);
    }
    let broken = all.break_up(id, 1);
    assert_eq!(
        (&broken.free[..], &broken.reserved[..]),
        (&[][..], &[id][..])
    );
    assert_eq!(all.around((0, 7)), Some(id));
    assert_eq!(
        (all.around((0, 8)), all.around((1, 5)), all.around((0, 3))),
        (None, None, None)
    );
    all.populate(id, 1);
    assert_eq!((all.len(), all.victim_at_least(0)), (1, None));
    let broken = all.break_up(id, 1);
    let whole = Part {
        key: (0, 4),
        first_frame: 8,
        level: 2,
    };
    assert_eq!(broken.left, [whole]);
    assert!(all.is_empty() && all.reserved_unpopulated() == 0);
    all.check();
}
