//! Visits that are being put together from executions.

use super::tables::NO_UNIT;
use crate::block::MOST_BLOCK_REFERENCES;
use crate::chunk::Totals;
use crate::definitions::{LARGE, Step};
use crate::visit::{Lead, Visit};

/// How many visits an item holds at most, but for what one execution adds to the last one that fits: as many as the
/// nearest cache holds.
pub(super) const MOST_VISITS: usize = 1024;
/// What every plain execution finds room for.
pub(super) const ROOM: usize = MOST_VISITS + MOST_BLOCK_REFERENCES + 2;
/// How many plain executions an item holds at most. What they add, with what is carried into the item and what one careful
/// execution adds, is below 2^32, so no count needs a look.
const MOST_EXECUTIONS: u64 = 1 << 16;
/// From here on, what is carried becomes a visit without an access.
const MOST_CARRIED: u64 = 1 << 30;

const _: () = assert!(MOST_EXECUTIONS * LARGE + MOST_CARRIED + 2 * LARGE < 1 << 32);

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
    pub(super) all: Vec<Visit>,
    /// How many of these count.
    pub(super) length: usize,
    /// Instructions since the last reference.
    pub(super) carried: u64,
    /// Where the last reference before this item went.
    unit: u64,
    /// How many more executions the item may hold.
    pub(super) executions: u64,
    /// Whether any is other than a sum of data references.
    flagged: bool,
    /// What the item's visits come to.
    pub(super) made: Totals,
}

impl Default for Visits {
    fn default() -> Self {
        Self {
            all: vec![BEFORE; ROOM],
            length: 1,
            carried: 0,
            unit: 0,
            executions: MOST_EXECUTIONS,
            flagged: false,
            made: Totals::default(),
        }
    }
}

impl Visits {
    /// Begins a chunk.
    pub(super) fn restart(&mut self) {
        self.empty();
        self.carried = 0;
        self.unit = 0;
    }

    /// Begins an item.
    pub(super) fn begin(&mut self) {
        if let [.., last] = self.done() {
            self.unit = last.unit;
        }
        self.empty();
        self.made = Totals::default();
        self.executions = MOST_EXECUTIONS;
        if self.carried >= MOST_CARRIED {
            self.put_down();
        }
    }

    fn empty(&mut self) {
        if std::mem::take(&mut self.flagged) {
            // What begins a visit in the ordinary way writes its unit and its counts, and nothing else.
            self.all[..self.length].fill(BEFORE);
        }
        // What was out of the ordinary made more room than the next item needs.
        self.all.truncate(16 * ROOM);
        self.length = 1;
    }

    /// The item's visits.
    pub(super) fn done(&self) -> &[Visit] {
        &self.all[1..self.length]
    }

    /// What the item's visits come to; executions are not counted here.
    pub(super) const fn made(&self) -> &Totals {
        &self.made
    }

    /// Nothing more goes into this item.
    pub(super) const fn fill(&mut self) {
        self.executions = 0;
    }

    /// Makes visits without an access of the instructions since the last reference. The item is full then, since these may be.
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
        self.fill();
    }

    fn push(&mut self, visit: Visit) {
        self.made.loads += u64::from(visit.loads);
        self.made.stores += u64::from(visit.stores);
        self.made.instructions += u64::from(visit.instructions);
        if self.length == self.all.len() {
            self.all.resize(2 * self.length, BEFORE);
        }
        self.flagged |= visit.fetch || visit.lead != Lead::None;
        self.all[self.length] = visit;
        self.length += 1;
    }
}

// ---- executions out of the ordinary ----

impl Visits {
    /// Another execution, item by item.
    pub(super) const fn count_one(&mut self) {
        self.executions = self.executions.saturating_sub(1);
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
            self.made.loads += u64::from(more.loads);
            self.made.stores += u64::from(more.stores);
            self.made.instructions += u64::from(more.instructions);
        } else {
            self.push(*more);
        }
    }
}
