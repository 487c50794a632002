//! Preempting a reservation.

use super::{Key, Reservation, ReservationId, Reservations};
use crate::population::Population;

/// An aligned part of a reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokenPart<K> {
    /// The key of the part's first page.
    pub key: K,
    /// The frame of the part's first page.
    pub first_frame: u64,
    /// The level of the part's size.
    pub level: usize,
}

impl<K: Key> BrokenPart<K> {
    fn at(self, page: u64, level: usize) -> Self {
        Self {
            key: self.key.plus(page),
            first_frame: self.first_frame + page,
            level,
        }
    }
}

/// The parts of a broken reservation. Each of its frames is in exactly one part.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "free extents have to go back to where they came from"]
pub struct Broken<K> {
    /// Extents that are free again, in ascending order: the first frame and the order of each. The
    /// caller returns them to the allocator.
    pub free: Vec<(u64, u8)>,
    /// Parts that are reservations again, in ascending order of their frames.
    pub reserved: Vec<ReservationId>,
    /// Fully populated parts, in ascending order. Their pages keep their frames and are no longer
    /// tracked.
    pub left: Vec<BrokenPart<K>>,
}

impl<K: Key> Reservations<K> {
    /// Preempts a reservation for a piece of `wanted_level`: frees every free piece of that level
    /// or larger.
    ///
    /// The reservation is split into pieces of the next smaller size, and so is each part that
    /// holds a free piece of the wanted level without being one. Free pieces are freed, and full
    /// pieces leave. The others become reservations of their own (Navarro 2002, on preemption).
    /// With the level of the reservation's own list, the split ends at its largest free pieces.
    /// With level 0, the reservation is dissolved.
    ///
    /// Pages have no time of their own, so each part gets the last allocation time of the whole. A
    /// reservation without a free piece of the wanted level does not change, unless it is full:
    /// then all of it leaves.
    pub fn break_up(&mut self, id: ReservationId, wanted_level: usize) -> Broken<K> {
        let mut broken = Broken {
            free: Vec::new(),
            reserved: Vec::new(),
            left: Vec::new(),
        };
        let largest = self.get(id).population.largest_free_level();
        if largest.is_some_and(|level| level < wanted_level) {
            broken.reserved.push(id);
            return broken;
        }
        let Reservation {
            key,
            first_frame,
            last_allocation,
            population,
            given_up,
            is_preempted,
        } = self.remove(id);
        let whole = BrokenPart {
            key,
            first_frame,
            level: population.top_level(),
        };
        let mut breaking = Breaking {
            reservations: self,
            wanted_level,
            last_allocation,
            first_frame,
            given_up,
            is_preempted,
            broken,
        };
        breaking.split(whole, population);
        breaking.broken
    }

    /// Breaks a reservation into base pages and frees all its free parts, in the largest aligned
    /// extents.
    pub fn dissolve(&mut self, id: ReservationId) -> Broken<K> {
        self.break_up(id, 0)
    }
}

/// A reservation that is being broken.
struct Breaking<'a, K> {
    reservations: &'a mut Reservations<K>,
    wanted_level: usize,
    last_allocation: u64,
    first_frame: u64,
    /// The pages whose frames the whole gave up.
    given_up: Vec<u64>,
    is_preempted: bool,
    broken: Broken<K>,
}

impl<K: Key> Breaking<'_, K> {
    fn split(&mut self, part: BrokenPart<K>, population: Population) {
        match population.largest_free_level() {
            None => self.broken.left.push(part),
            Some(level) if level == part.level => self.give_up(part),
            Some(level) if level < self.wanted_level => self.reserve(part, population),
            // Down to base pages, no part stays: those that are the largest of their kind are found
            // without splitting.
            Some(_) if self.wanted_level == 0 => self.dissolve(part, &population),
            Some(_) => {
                for (page, piece) in population.split() {
                    self.split(part.at(page, piece.top_level()), piece);
                }
            }
        }
    }

    /// Frees all free pieces of a part.
    fn dissolve(&mut self, part: BrokenPart<K>, population: &Population) {
        for piece in population.pieces() {
            let part = part.at(piece.page, piece.level);
            if piece.populated {
                self.broken.left.push(part);
            } else {
                self.give_up(part);
            }
        }
    }

    fn give_up(&mut self, part: BrokenPart<K>) {
        let order = self.reservations.sizes.order(part.level);
        self.broken.free.push((part.first_frame, order));
    }

    fn reserve(&mut self, part: BrokenPart<K>, population: Population) {
        let before = part.first_frame - self.first_frame;
        let given_up = self.given_up.iter().filter_map(|page| {
            let page = page.checked_sub(before)?;
            (page < population.len()).then_some(page)
        });
        let given_up: Vec<u64> = given_up.collect();
        if population.count() == given_up.len() as u64 {
            // No page has its frame in this part.
            self.dissolve(part, &population);
            return;
        }
        let id = self.reservations.enter(Reservation {
            key: part.key,
            first_frame: part.first_frame,
            last_allocation: self.last_allocation,
            population,
            given_up,
            is_preempted: self.is_preempted,
        });
        self.broken.reserved.push(id);
    }
}
