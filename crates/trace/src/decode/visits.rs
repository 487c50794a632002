//! Visits that are being put together from executions.

use super::fault::Fault;
use super::tables::{Care, NO_UNIT, Row};
use crate::block::MOST_BLOCK_REFERENCES;
use crate::definitions::{LARGE, Step};
use crate::visit::{Lead, Visit};

/// How many visits an item holds at most, but for what one execution adds to the last one that fits: as many as the
/// nearest cache holds.
const MOST_VISITS: usize = 1024;
/// What every plain execution finds room for.
const ROOM: usize = MOST_VISITS + MOST_BLOCK_REFERENCES + 2;
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
    all: Vec<Visit>,
    /// How many of these count.
    length: usize,
    /// Instructions since the last reference.
    carried: u64,
    /// Where the last reference before this item went.
    unit: u64,
    /// How many more executions the item may hold.
    executions: u64,
}

impl Default for Visits {
    fn default() -> Self {
        Self {
            all: vec![BEFORE; ROOM],
            length: 1,
            carried: 0,
            unit: 0,
            executions: MOST_EXECUTIONS,
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
        self.executions = MOST_EXECUTIONS;
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
        self.length > MOST_VISITS || self.executions == 0
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
        if self.length == self.all.len() {
            self.all.resize(2 * self.length, BEFORE);
        }
        self.all[self.length] = visit;
        self.length += 1;
    }

    /// Executes what is foretold from the pattern `current` on, as long as that is plain, at most `run` times or until the item is
    /// full. Moves `current` and `run` on.
    ///
    /// This is where a reader spends its time. It looks at a row and the references of each execution, and at nothing else.
    #[inline]
    pub(super) fn follow(
        &mut self,
        rows: &[Row],
        references: &[Visit],
        current: &mut u32,
        run: &mut u64,
    ) -> Result<(), Fault> {
        let all = self.all.as_mut_slice();
        let mut length = self.length;
        let mut unit = all[length - 1].unit;
        let mut carried = self.carried as u32;
        let most = (*run).min(self.executions);
        let mut left = most;
        let mut number = *current;
        let mut row = &rows[number as usize];
        let result = loop {
            if left == 0 || length > MOST_VISITS {
                break Ok(());
            }
            let Some(next) = rows.get(row.next as usize) else {
                break Err(Fault::NotForetold);
            };
            if next.care != Care::Plain {
                break Ok(());
            }
            number = row.next;
            row = next;
            let first = row.first as usize;
            for reference in &references[first..first + usize::from(row.steps)] {
                let instructions = reference.instructions + carried;
                carried = 0;
                if reference.unit == unit {
                    let visit = &mut all[length - 1];
                    if visit.stores == 0 {
                        visit.loads_before_store += reference.loads_before_store;
                    }
                    visit.loads += reference.loads;
                    visit.stores += reference.stores;
                    visit.instructions += instructions;
                } else {
                    unit = reference.unit;
                    let visit = &mut all[length];
                    *visit = *reference;
                    visit.instructions = instructions;
                    length += 1;
                }
            }
            carried += row.tail;
            left -= 1;
        };
        self.length = length;
        self.carried = carried.into();
        self.executions -= most - left;
        *run -= most - left;
        *current = number;
        result
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
        } else {
            self.push(*more);
        }
    }
}
