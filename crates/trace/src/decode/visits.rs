//! Visits that are being put together from executions.

use super::tables::{NO_UNIT, STRIDE};
use crate::block::MOST_BLOCK_REFERENCES;
use crate::definitions::Step;
use crate::error::{Bad, Section};
use crate::visit::{Lead, Visit};

/// How many visits an item holds at most, but for what one execution adds to the last one that fits: as many as the
/// nearest cache holds.
pub(super) const MOST_VISITS: usize = 1024;
/// What every execution but those out of the ordinary finds room for.
const ROOM: usize = MOST_VISITS + MOST_BLOCK_REFERENCES + 2 * STRIDE;
/// How much the executions of an item may cost together, but for the last. With what is carried into the item (as much again at
/// most) and the last execution (less than 2^31) no count of a visit can reach 2^32.
const BUDGET: i64 = 1 << 30;
/// From here on, what is carried becomes a visit without an access.
const MOST_CARRIED: u64 = 1 << 30;

pub(super) const NOT_PLACED: Bad = Bad::new(
    Section::Units,
    "a reference stays where it was before it was anywhere",
);

/// Stands before the first visit of an item: nothing merges with it.
const BEFORE: Visit = Visit {
    unit: NO_UNIT,
    loads: 0,
    stores: 0,
    loads_before_store: 0,
    instructions: 0,
    lead: Lead::None,
    fetch: false,
};

/// The visits of one item.
#[derive(Debug)]
pub(super) struct Visits {
    /// [`BEFORE`], and the visits; the last may still grow. Behind them old ones.
    all: Vec<Visit>,
    /// How many of these count.
    length: usize,
    /// Instructions since the last reference.
    carried: u64,
    /// Where the last reference before this item went.
    unit: u64,
    budget: i64,
}

impl Default for Visits {
    fn default() -> Self {
        Self {
            all: vec![BEFORE; ROOM],
            length: 1,
            carried: 0,
            unit: 0,
            budget: BUDGET,
        }
    }
}

impl Visits {
    /// Begins a chunk.
    pub(super) fn restart(&mut self) {
        self.length = 1;
        self.carried = 0;
        self.unit = 0;
    }

    /// Begins an item.
    pub(super) fn begin(&mut self) {
        if let [.., last] = self.done() {
            self.unit = last.unit;
        }
        // What was out of the ordinary made more room than the next item needs.
        self.all.truncate(16 * ROOM);
        self.length = 1;
        self.budget = BUDGET;
        if self.carried >= MOST_CARRIED {
            self.put_down();
        }
    }

    /// The item's visits.
    pub(super) fn done(&self) -> &[Visit] {
        &self.all[1..self.length]
    }

    #[inline]
    pub(super) const fn is_full(&self) -> bool {
        self.length > MOST_VISITS || self.budget <= 0
    }

    /// An execution was made that may fill a visit's counts.
    pub(super) const fn fill(&mut self) {
        self.budget = 0;
    }

    #[inline]
    pub(super) fn spend(&mut self, cost: u32) {
        self.budget -= i64::from(cost);
    }

    /// Makes visits without an access of the instructions since the last reference. The item is full then: their counts may be.
    pub(super) fn put_down(&mut self) {
        let unit = match self.done() {
            [.., last] => last.unit,
            [] => self.unit,
        };
        while self.carried > 0 {
            let instructions = u32::try_from(self.carried).unwrap_or(u32::MAX);
            self.carried -= u64::from(instructions);
            self.push(Visit {
                unit,
                instructions,
                ..Visit::default()
            });
        }
        self.budget = 0;
    }

    fn push(&mut self, visit: Visit) {
        if self.length == self.all.len() {
            self.all.resize(2 * self.length, BEFORE);
        }
        self.all[self.length] = visit;
        self.length += 1;
    }

    // ---- plain executions, for which there is room ----

    /// One execution of a plain pattern: every step in its unit.
    #[inline]
    pub(super) fn execute(&mut self, units: &[u64], steps: &[Step], tail: u32) -> Result<(), Bad> {
        let mut last = self.length - 1;
        let mut open = self.all[last];
        let mut carried = self.carried as u32;
        for (&unit, step) in units.iter().zip(steps) {
            let instructions = step.instructions + carried;
            carried = 0;
            if unit == open.unit {
                let before = if open.stores == 0 {
                    step.loads_before_store
                } else {
                    0
                };
                open.loads_before_store += before;
                open.loads += step.loads;
                open.stores += step.stores;
                open.instructions += instructions;
            } else {
                if unit == NO_UNIT {
                    return Err(NOT_PLACED);
                }
                self.all[last] = open;
                last += 1;
                open = Visit {
                    unit,
                    loads: step.loads,
                    stores: step.stores,
                    loads_before_store: step.loads_before_store,
                    instructions,
                    lead: Lead::None,
                    fetch: false,
                };
            }
        }
        self.all[last] = open;
        self.length = last + 1;
        self.carried = u64::from(carried) + u64::from(tail);
        Ok(())
    }

    /// One execution whose visits are known: `count` of them, at least one, and more behind them up to the stride.
    #[inline(always)]
    pub(super) fn repeat(&mut self, visits: &[Visit], count: usize, tail: u32) {
        let first = &visits[0];
        let last = &mut self.all[self.length - 1];
        let carried = self.carried as u32;
        self.carried = tail.into();
        // The first merges with the last or follows it; which of the two is hard to foresee, so nothing branches on it.
        let same = last.unit == first.unit;
        let keep = u32::from(same).wrapping_neg();
        let unstored = u32::from(last.stores == 0 || !same).wrapping_neg();
        let merged = Visit {
            unit: first.unit,
            loads: (last.loads & keep) + first.loads,
            stores: (last.stores & keep) + first.stores,
            loads_before_store: (last.loads_before_store & keep)
                + (first.loads_before_store & unstored),
            instructions: (last.instructions & keep) + first.instructions + carried,
            lead: if same { last.lead } else { Lead::None },
            fetch: false,
        };
        let at = self.length - usize::from(same);
        self.length = at + count;
        let room = &mut self.all[at..at + count.next_multiple_of(STRIDE)];
        room[0] = merged;
        room[1..STRIDE].copy_from_slice(&visits[1..STRIDE]);
        if count > STRIDE {
            let rest = count.next_multiple_of(STRIDE);
            room[STRIDE..rest].copy_from_slice(&visits[STRIDE..rest]);
        }
    }

    // ---- executions out of the ordinary ----

    /// Instructions that no reference has followed yet.
    pub(super) fn carry(&mut self, instructions: u32) {
        self.carried += u64::from(instructions);
        if self.carried >= MOST_CARRIED {
            self.put_down();
        }
    }

    /// One reference, whatever its counts.
    pub(super) fn reference(&mut self, unit: u64, step: &Step, instructions: u32) {
        if self.carried + u64::from(instructions) > u64::from(u32::MAX) {
            self.put_down();
        }
        let instructions = self.carried as u32 + instructions;
        self.carried = 0;
        self.add(&Visit {
            unit,
            loads: step.loads,
            stores: step.stores,
            loads_before_store: step.loads_before_store,
            instructions,
            ..Visit::default()
        });
    }

    /// Instructions that are fetched from `unit`.
    pub(super) fn fetch(&mut self, unit: u64, count: u32) {
        self.add(&Visit {
            unit,
            instructions: count,
            fetch: true,
            ..Visit::default()
        });
    }

    /// The access before reaches into this unit too.
    pub(super) fn lead(&mut self, unit: u64, lead: Lead) {
        self.push(Visit {
            unit,
            lead,
            ..Visit::default()
        });
    }

    /// Adds to the last visit, if that is to the same unit and has room.
    fn add(&mut self, more: &Visit) {
        let open = &mut self.all[self.length - 1];
        let sums = (
            open.loads.checked_add(more.loads),
            open.stores.checked_add(more.stores),
            open.instructions.checked_add(more.instructions),
        );
        if let (Some(loads), Some(stores), Some(instructions)) = sums
            && open.unit == more.unit
            && open.fetch == more.fetch
        {
            if open.stores == 0 {
                open.loads_before_store += more.loads_before_store;
            }
            open.loads = loads;
            open.stores = stores;
            open.instructions = instructions;
        } else {
            self.push(*more);
        }
    }
}
