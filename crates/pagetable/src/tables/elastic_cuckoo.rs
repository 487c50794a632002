//! Elastic cuckoo tables: three hashed ways for each page size, read at once.

use super::no_spans;
use crate::{LevelSize, PageTable, PageTableKind, TableRead, TableSize};
use broadleaf_units::{AlignedRun, Described, Leaf, PageNumber, PageSize, SpaceId, SplitMix64};
use std::collections::BTreeMap;

pub(crate) static ELASTIC_CUCKOO: PageTableKind = PageTableKind {
    described: Described {
        name: "elastic-cuckoo",
        summary: "cuckoo hashing: three ways for each page size, which grow and shrink gradually",
        explanation: "A slot of 64 bytes holds a tag and the entries of eight neighbouring pages. \
                      A page size has three ways with a hash function each. A walk reads one slot \
                      of each way of each size that the address space has, all at once: they are \
                      several nodes and lines, and take the time of one. An insertion moves slots \
                      between ways. A way whose size doubles keeps its old half until each slot \
                      was moved: every insertion moves one, and a walk reads the half that has its \
                      slot. The walk caches of the original, which leave out sizes and ways, are \
                      not modelled.",
        source: "Skarlatos and others 2020, Elastic Cuckoo Page Tables (ASPLOS)",
    },
    build: |_| Box::new(Cuckoo(BTreeMap::new())),
    spans: no_spans,
    cost_by_size: false,
};

const WAYS: usize = 3;
/// The pages of a slot.
const SLOT_PAGES: u64 = 8;
const SLOT_BYTES: u64 = 64;
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
struct Slot {
    number: u64,
    leaves: [Option<Leaf>; SLOT_PAGES as usize],
}

/// One way: its slots, and the slots of its old size that were not moved yet.
#[derive(Clone, Debug)]
struct Way {
    slots: Vec<Option<Slot>>,
    old: Vec<Option<Slot>>,
    /// The slots of the old size below this one were moved.
    moved: usize,
    seed: u64,
}

impl Way {
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
    fn place(&self, number: u64) -> (bool, usize) {
        if !self.old.is_empty() {
            let at = self.hash(number, self.old.len());
            if at >= self.moved {
                return (true, at);
            }
        }
        (false, self.hash(number, self.slots.len()))
    }

    fn at(&self, (is_old, at): (bool, usize)) -> &Option<Slot> {
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
struct Ways {
    ways: [Way; WAYS],
    used: usize,
    /// The way from which the next insertion begins.
    turn: usize,
}

impl Ways {
    fn new() -> Self {
        Self {
            ways: [1, 2, 3].map(Way::new),
            used: 0,
            turn: 0,
        }
    }

    fn slots(&self) -> usize {
        self.ways
            .iter()
            .map(|way| way.slots.len() + way.old.len())
            .sum()
    }

    fn find(&mut self, number: u64) -> Option<&mut Slot> {
        let way = self.way_of(number)?;
        let place = self.ways[way].place(number);
        self.ways[way].at_mut(place).as_mut()
    }

    fn way_of(&self, number: u64) -> Option<usize> {
        self.ways.iter().position(|way| {
            way.at(way.place(number))
                .as_ref()
                .is_some_and(|slot| slot.number == number)
        })
    }

    /// Inserts a slot that is not there. The slot in its place moves to the next way, and so on.
    fn insert(&mut self, mut slot: Slot) {
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
    fn work(&mut self) {
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
    fn remove(&mut self, number: u64) {
        if let Some(way) = self.way_of(number) {
            let place = self.ways[way].place(number);
            self.ways[way].at_mut(place).take();
            self.used -= 1;
        }
    }
}

/// The ways of all address spaces, by space and page size.
#[derive(Clone, Debug)]
struct Cuckoo(BTreeMap<(SpaceId, PageSize), Ways>);

/// The number of a page of a size, split into its slot and its place there.
fn slot_of(run: AlignedRun) -> (u64, usize) {
    let number = run.first.0 >> (run.size.shift() - PageSize::SIZE_4K.shift());
    (number / SLOT_PAGES, (number % SLOT_PAGES) as usize)
}

impl PageTable for Cuckoo {
    fn map(&mut self, space: SpaceId, leaf: Leaf) {
        let (number, place) = slot_of(leaf.run);
        let ways = self
            .0
            .entry((space, leaf.run.size))
            .or_insert_with(Ways::new);
        match ways.find(number) {
            Some(slot) => slot.leaves[place] = Some(leaf),
            None => {
                let mut leaves = [None; SLOT_PAGES as usize];
                leaves[place] = Some(leaf);
                ways.insert(Slot { number, leaves });
            }
        }
    }

    fn unmap(&mut self, space: SpaceId, run: AlignedRun) {
        let (number, place) = slot_of(run);
        let Some(ways) = self.0.get_mut(&(space, run.size)) else {
            return;
        };
        let is_empty = ways.find(number).is_some_and(|slot| {
            slot.leaves[place] = None;
            slot.leaves.iter().all(Option::is_none)
        });
        if is_empty {
            ways.remove(number);
            ways.work();
            if ways.used == 0 {
                self.0.remove(&(space, run.size));
            }
        }
    }

    fn end(&mut self, space: SpaceId) {
        self.0.retain(|(of, _), _| *of != space);
    }

    fn walk(
        &mut self,
        space: SpaceId,
        page: PageNumber,
        reads: &mut dyn FnMut(TableRead),
    ) -> Option<Leaf> {
        let sizes = self
            .0
            .range((space, PageSize::SIZE_4K)..(SpaceId(space.0 + 1), PageSize::SIZE_4K));
        let mut found = None;
        for ((_, size), ways) in sizes {
            let (number, place) = slot_of(AlignedRun::around(page, *size));
            for (which, way) in ways.ways.iter().enumerate() {
                let (is_old, at) = way.place(number);
                let region = u64::from(size.shift()) * 8 + which as u64 * 2 + u64::from(is_old);
                let address = (region << 44) + (u64::from(space.0) << 36) + at as u64 * SLOT_BYTES;
                reads(TableRead::of_node(address, SLOT_BYTES as u32));
                let slot = way.at((is_old, at)).as_ref();
                let leaf = slot.filter(|slot| slot.number == number);
                found = found.or(leaf.and_then(|slot| slot.leaves[place]));
            }
        }
        found
    }

    fn size(&self) -> TableSize {
        let mut levels: BTreeMap<PageSize, LevelSize> = BTreeMap::new();
        for ((_, size), ways) in &self.0 {
            let level = levels.entry(*size).or_default();
            level.nodes += ways.used as u64;
            level.bytes += ways.slots() as u64 * SLOT_BYTES;
        }
        TableSize {
            levels: levels.into_values().collect(),
            fixed: 0,
        }
    }
}
