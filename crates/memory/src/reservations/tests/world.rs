//! A host of reservations with its allocator, both slow and obvious.

use super::naive::{NaivePlace, NaiveReservations};
use crate::reservations::{BrokenPart, Reservations};
use broadleaf_units::PageSizes;
use std::collections::BTreeMap;

/// A host with its allocator, both slow and obvious.
pub(super) struct ReservationWorld {
    sizes: PageSizes,
    reservations: Reservations<NaivePlace>,
    naive: Vec<NaiveReservations>,
    now: u64,
    /// The frame of each populated page, whether or not it lies in a reservation.
    mapped: BTreeMap<NaivePlace, u64>,
    /// True for each free frame.
    free: Vec<bool>,
    /// The number of events of each kind.
    pub(super) seen: [u64; 6],
}

const OBJECTS: u8 = 2;
const LARGEST_PER_OBJECT: u64 = 2;

impl ReservationWorld {
    pub(super) fn new(sizes: PageSizes) -> Self {
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
        let reserved = self.naive.iter().any(|other| other.meets(key, pages));
        assert_eq!(self.reservations.overlaps(key, level), reserved);
        let around = self.naive.iter().find(|other| other.meets(key, 1));
        let said = self.reservations.around(key);
        let said = said.map(|id| self.reservations.get(id).key());
        assert_eq!(said, around.map(|other| other.key));
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
        self.naive.push(NaiveReservations {
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

    /// Populates or gives back all pages of an aligned piece, so that there are full and empty
    /// ones.
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

    /// Frees the frames of an object's populated pages outside reservations.
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
                left.push(BrokenPart {
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

    pub(super) fn step(&mut self, (kind, a, b): (u8, u32, u64)) {
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
            // A shortage preempts, in the order of lists of the search for a victim.
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
        // Each frame is free, mapped or reserved: none is lost.
        let free = self.free.iter().filter(|free| **free).count();
        let all = free + unpopulated + self.mapped.len();
        assert_eq!(all, self.free.len(), "frames");
        for frame in self.mapped.values() {
            assert!(!self.free[*frame as usize], "frame {frame} given twice");
        }
    }
}
