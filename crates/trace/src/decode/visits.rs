//! Visits that are being put together from executions.

use super::tables::NO_UNIT;
use crate::definitions::Step;
use crate::error::{Bad, Section};
use crate::visit::{Lead, Visit};

/// How many visits an item holds at most, but for what one execution adds to the last one that fits.
pub(super) const MOST_VISITS: usize = 4096;
/// How much the executions of an item may cost together, but for the last. With what is carried into the item (as much again at
/// most) and the last execution (less than 2^31) no count of a visit can reach 2^32.
pub(super) const BUDGET: i64 = 1 << 30;
/// From here on, what is carried becomes a visit without an access.
const MOST_CARRIED: u64 = 1 << 30;

pub(super) const NOT_PLACED: Bad = Bad::new(
    Section::Units,
    "a reference stays where it was before it was anywhere",
);

/// No visit is open.
const NONE: Visit = Visit {
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
    pub(super) done: Vec<Visit>,
    /// The one that may still grow; its unit is [`NO_UNIT`] where there is none.
    open: Visit,
    /// Instructions since the last reference.
    carried: u64,
    /// Where the last reference before this item went.
    unit: u64,
    pub(super) budget: i64,
}

impl Default for Visits {
    fn default() -> Self {
        Self {
            done: Vec::new(),
            open: NONE,
            carried: 0,
            unit: 0,
            budget: BUDGET,
        }
    }
}

impl Visits {
    /// Begins a chunk.
    pub(super) fn restart(&mut self) {
        self.done.clear();
        self.open = NONE;
        self.carried = 0;
        self.unit = 0;
    }

    /// Begins an item.
    pub(super) fn begin(&mut self) {
        self.done.clear();
        self.budget = BUDGET;
        if self.carried >= MOST_CARRIED {
            self.put_down();
        }
    }

    /// Ends the item: the open visit grows no more.
    pub(super) fn end(&mut self) {
        if self.open.unit != NO_UNIT {
            self.unit = self.open.unit;
            self.done.push(self.open);
            self.open = NONE;
        }
    }

    #[inline]
    pub(super) const fn is_full(&self) -> bool {
        self.done.len() >= MOST_VISITS || self.budget <= 0
    }

    /// Makes visits without an access of the instructions since the last reference.
    pub(super) fn put_down(&mut self) {
        self.end();
        while self.carried > 0 {
            let instructions = u32::try_from(self.carried).unwrap_or(u32::MAX);
            self.carried -= u64::from(instructions);
            self.done.push(Visit {
                unit: self.unit,
                instructions,
                ..Visit::default()
            });
        }
    }

    /// One execution of a plain pattern: every step in its unit.
    #[inline(always)]
    pub(super) fn execute(&mut self, units: &[u64], steps: &[Step], tail: u32) -> Result<(), Bad> {
        let mut open = self.open;
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
                if open.unit != NO_UNIT {
                    self.done.push(open);
                }
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
        self.open = open;
        self.carried = u64::from(carried) + u64::from(tail);
        Ok(())
    }

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
        let more = Visit {
            unit,
            loads: step.loads,
            stores: step.stores,
            loads_before_store: step.loads_before_store,
            instructions,
            ..Visit::default()
        };
        if !self.grow(&more) {
            self.end();
            self.open = more;
        }
    }

    /// Instructions that are fetched from `unit`.
    pub(super) fn fetch(&mut self, unit: u64, count: u32) {
        let more = Visit {
            unit,
            instructions: count,
            fetch: true,
            ..Visit::default()
        };
        if !self.grow(&more) {
            self.end();
            self.open = more;
        }
    }

    /// The access before reaches into this unit too.
    pub(super) fn lead(&mut self, unit: u64, lead: Lead) {
        self.end();
        self.open = Visit {
            unit,
            lead,
            ..Visit::default()
        };
    }

    /// Adds `more` to the open visit, if that is to the same unit and has room.
    fn grow(&mut self, more: &Visit) -> bool {
        let open = &mut self.open;
        if open.unit != more.unit || open.fetch != more.fetch {
            return false;
        }
        let sums = (
            open.loads.checked_add(more.loads),
            open.stores.checked_add(more.stores),
            open.instructions.checked_add(more.instructions),
        );
        let (Some(loads), Some(stores), Some(instructions)) = sums else {
            return false;
        };
        if open.stores == 0 {
            open.loads_before_store += more.loads_before_store;
        }
        open.loads = loads;
        open.stores = stores;
        open.instructions = instructions;
        true
    }
}
