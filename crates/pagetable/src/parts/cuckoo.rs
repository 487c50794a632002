//! The ways of elastic cuckoo tables: hashed arrays that grow and shrink gradually.

use broadleaf_units::{AlignedRun, Leaf, PageNumber, PageSize, SplitMix64};

/// The ways of a page size.
const WAYS: usize = 3;
/// The pages of a slot.
pub(crate) const SLOT_PAGES: u64 = 8;
/// The bytes of a slot.
pub(crate) const SLOT_BYTES: u64 = 64;
/// The slots of a way at the beginning: 128, so that a way is two base pages.
const FIRST_SLOTS: usize = 128;
/// A table grows when so many tenths of its slots are used, and shrinks below the other bound.
const GROW_TENTHS: usize = 6;
const SHRINK_TENTHS: usize = 2;
/// Moves after which an insertion lets the table grow instead.
const MOST_MOVES: usize = 32;
/// The empty slots that one insertion passes at most.
const MOST_PASSED: usize = 8;

/// A slot: its number, and the pages that are mapped.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) number: u64,
    pub(crate) leaves: [Option<Leaf>; SLOT_PAGES as usize],
}

/// One way: its slots, and the slots of its old size that were not moved yet.
#[derive(Clone, Debug)]
pub(crate) struct CuckooWay {
    slots: Vec<Option<Slot>>,
    old: Vec<Option<Slot>>,
    /// The slots of the old size below this one were moved.
    moved: usize,
    seed: u64,
}

impl CuckooWay {
    fn new(seed: u64) -> Self {
        Self {
            slots: vec![None; FIRST_SLOTS],
            old: Vec::new(),
            moved: 0,
            seed,
        }
    }

    fn hash(&self, number: u64, slots: usize) -> usize {
        let mut mixed = SplitMix64::new(number ^ self.seed.rotate_left(17));
        (mixed.next() % slots as u64) as usize
    }

    /// The place of a number: in the old slots if its place there was not moved.
    pub(crate) fn place(&self, number: u64) -> (bool, usize) {
        if !self.old.is_empty() {
            let at = self.hash(number, self.old.len());
            if at >= self.moved {
                return (true, at);
            }
        }
        (false, self.hash(number, self.slots.len()))
    }

    pub(crate) fn at(&self, (is_old, at): (bool, usize)) -> &Option<Slot> {
        if is_old {
            &self.old[at]
        } else {
            &self.slots[at]
        }
    }

    fn at_mut(&mut self, (is_old, at): (bool, usize)) -> &mut Option<Slot> {
        if is_old {
            &mut self.old[at]
        } else {
            &mut self.slots[at]
        }
    }

    /// Begins to change to another size. The slots move one by one.
    fn resize(&mut self, slots: usize) {
        self.old = std::mem::replace(&mut self.slots, vec![None; slots]);
        self.moved = 0;
    }

    /// Takes the next slot in use of the old size. Passes a few empty ones.
    fn next_old(&mut self) -> Option<Slot> {
        for _ in 0..MOST_PASSED {
            let slot = self.old.get_mut(self.moved)?.take();
            self.moved += 1;
            if self.moved == self.old.len() {
                self.old = Vec::new();
            }
            if slot.is_some() {
                return slot;
            }
        }
        None
    }
}

/// The ways of one page size of one address space.
#[derive(Clone, Debug)]
pub(crate) struct Ways {
    pub(crate) ways: [CuckooWay; WAYS],
    /// The slots in use.
    pub(crate) used: usize,
    /// The way from which the next insertion begins.
    turn: usize,
}

impl Ways {
    pub(crate) fn new() -> Self {
        Self {
            ways: [1, 2, 3].map(CuckooWay::new),
            used: 0,
            turn: 0,
        }
    }

    pub(crate) fn slots(&self) -> usize {
        self.ways
            .iter()
            .map(|way| way.slots.len() + way.old.len())
            .sum()
    }

    pub(crate) fn find(&mut self, number: u64) -> Option<&mut Slot> {
        let way = self.way_of(number)?;
        let place = self.ways[way].place(number);
        self.ways[way].at_mut(place).as_mut()
    }

    /// Returns true if pages of this size are mapped in the part of 2 MiB around a page.
    pub(crate) fn has_part(&self, page: PageNumber, size: PageSize) -> bool {
        let part = AlignedRun::around(page, PageSize::SIZE_2M);
        let shift = size.shift() - PageSize::SIZE_4K.shift();
        let (first, after) = part.bounds();
        let mut slots = (first >> shift) / SLOT_PAGES..=((after - 1) >> shift) / SLOT_PAGES;
        slots.any(|number| self.way_of(number).is_some())
    }

    fn way_of(&self, number: u64) -> Option<usize> {
        self.ways.iter().position(|way| {
            way.at(way.place(number))
                .as_ref()
                .is_some_and(|slot| slot.number == number)
        })
    }

    /// Inserts a slot that is not there. The slot in its place moves to the next way, and so on.
    pub(crate) fn insert(&mut self, mut slot: Slot) {
        self.used += 1;
        loop {
            self.work();
            for _ in 0..MOST_MOVES {
                let way = &mut self.ways[self.turn];
                self.turn = (self.turn + 1) % WAYS;
                let place = way.place(slot.number);
                match way.at_mut(place).replace(slot) {
                    None => return,
                    Some(moved) => slot = moved,
                }
            }
            self.grow();
        }
    }

    /// Moves one slot of each way that changes its size, and lets the ways grow or shrink.
    pub(crate) fn work(&mut self) {
        for way in 0..WAYS {
            if let Some(slot) = self.ways[way].next_old() {
                self.used -= 1;
                let at = self.ways[way].place(slot.number);
                let displaced = self.ways[way].at_mut(at).replace(slot);
                self.used += 1;
                if let Some(displaced) = displaced {
                    self.used -= 1;
                    self.put(displaced);
                }
            }
        }
        let now: usize = self.ways.iter().map(|way| way.slots.len()).sum();
        if self.used * 10 > now * GROW_TENTHS {
            self.grow();
        } else if self.used * 10 < now * SHRINK_TENTHS {
            self.shrink();
        }
    }

    /// Inserts a slot without letting anything else move.
    fn put(&mut self, mut slot: Slot) {
        self.used += 1;
        loop {
            for _ in 0..MOST_MOVES {
                let way = &mut self.ways[self.turn];
                self.turn = (self.turn + 1) % WAYS;
                let place = way.place(slot.number);
                match way.at_mut(place).replace(slot) {
                    None => return,
                    Some(moved) => slot = moved,
                }
            }
            self.grow();
        }
    }

    /// Doubles the smallest way that is not changing its size. If all are, their slots move first.
    fn grow(&mut self) {
        let ready = self.ways.iter_mut().filter(|way| way.old.is_empty());
        if let Some(way) = ready.min_by_key(|way| way.slots.len()) {
            let slots = way.slots.len() * 2;
            way.resize(slots);
            return;
        }
        let mut moved = Vec::new();
        for way in &mut self.ways {
            while !way.old.is_empty() {
                moved.extend(way.next_old());
            }
        }
        self.used -= moved.len();
        moved.into_iter().for_each(|slot| self.put(slot));
    }

    /// Halves the largest way that is not changing its size.
    fn shrink(&mut self) {
        let ready = self.ways.iter_mut().filter(|way| way.old.is_empty());
        if let Some(way) = ready.max_by_key(|way| way.slots.len())
            && way.slots.len() > FIRST_SLOTS
        {
            let slots = way.slots.len() / 2;
            way.resize(slots);
        }
    }

    /// Removes the slot of a number.
    pub(crate) fn remove(&mut self, number: u64) {
        if let Some(way) = self.way_of(number) {
            let place = self.ways[way].place(number);
            self.ways[way].at_mut(place).take();
            self.used -= 1;
        }
    }
}
