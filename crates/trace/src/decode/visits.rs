//! Visits under construction, from executions.

use super::tables::NO_UNIT;
use crate::block::MOST_BLOCK_REFERENCES;
use crate::chunk::Totals;
use crate::definitions::{LARGE, ReferenceCounts};
use crate::read::VisitEnds;
use crate::visit::{Lead, Visit};

/// The maximum number of visits of an item, excluding those that the last execution adds. The
/// number fits the first-level cache.
pub(super) const MOST_VISITS: usize = 1024;
/// The room that every plain execution finds.
pub(super) const ROOM: usize = MOST_VISITS + MOST_BLOCK_REFERENCES + 2;
/// The maximum number of plain executions of an item. Their counts, the carried instructions and
/// one careful execution together stay below 2^32, so no count needs an overflow check.
const MOST_EXECUTIONS: u64 = 1 << 16;
/// The number of carried instructions that become a visit without an access.
const MOST_CARRIED: u64 = 1 << 30;

const _: () = assert!(MOST_EXECUTIONS * LARGE + MOST_CARRIED + 2 * LARGE < 1 << 32);

/// The element before the first visit of an item. No visit merges with this element.
const BEFORE: Visit = Visit {
    unit: NO_UNIT,
    loads: 0,
    stores: 0,
    loads_before_store: 0,
    instructions: 0,
    lead: Lead::None,
    fetch: false,
    execution: 0,
};

/// The visits of one item.
#[derive(Debug)]
pub(super) struct Visits {
    /// [`BEFORE`], the visits, and old visits. The last visit may grow.
    pub(super) all: Vec<Visit>,
    /// The number of valid elements.
    pub(super) length: usize,
    /// Instructions since the last reference.
    pub(super) carried: u64,
    /// The unit of the last reference before this item.
    unit: u64,
    /// The number of executions for which the item has room.
    pub(super) executions: u64,
    /// True if a visit has a lead, is a fetch or begins an execution.
    flagged: bool,
    /// Where visits end.
    pub(super) ends: VisitEnds,
    /// The code of the execution that begins with the next visit.
    beginning: u32,
    /// The totals of the item's visits.
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
            ends: VisitEnds::Units,
            beginning: 0,
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
        self.beginning = 0;
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
            // A plain execution writes unit and counts of a new visit, and no other field.
            self.all[..self.length].fill(BEFORE);
        }
        // Special executions may have enlarged the vector beyond the needs of the next item.
        self.all.truncate(16 * ROOM);
        self.length = 1;
    }

    /// The item's visits.
    pub(super) fn done(&self) -> &[Visit] {
        &self.all[1..self.length]
    }

    /// The totals of the item's visits, without executions.
    pub(super) const fn made(&self) -> &Totals {
        &self.made
    }

    /// Marks the item as full.
    pub(super) const fn fill(&mut self) {
        self.executions = 0;
    }

    /// Converts the instructions since the last reference into visits without an access, and marks
    /// the item as full.
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
        let visit = Visit {
            execution: std::mem::take(&mut self.beginning),
            ..visit
        };
        self.flagged |= visit.fetch || visit.lead != Lead::None || visit.execution != 0;
        self.all[self.length] = visit;
        self.length += 1;
    }
}

// ---- special executions ----

impl Visits {
    /// Counts an execution that runs item by item.
    pub(super) const fn count_one(&mut self) {
        self.executions = self.executions.saturating_sub(1);
    }

    /// Begins an execution of a pattern with this code.
    pub(super) fn begin_execution(&mut self, code: u32) {
        if self.ends == VisitEnds::Executions {
            self.beginning = code;
        }
    }

    /// Ends an execution: the instructions after its last reference are a visit without an access.
    pub(super) fn end_execution(&mut self) {
        if self.ends == VisitEnds::Executions && self.carried > 0 {
            let room = self.executions;
            self.put_down();
            self.executions = room;
        }
        self.beginning = 0;
    }

    /// Adds instructions without a following reference.
    pub(super) fn carry(&mut self, instructions: u32) {
        self.carried += u64::from(instructions);
        if self.carried >= MOST_CARRIED {
            self.put_down();
        }
    }

    /// Adds one reference with any counts.
    pub(super) fn reference(&mut self, unit: u64, step: &ReferenceCounts, instructions: u32) {
        if self.carried + u64::from(instructions) > u64::from(u32::MAX) {
            self.put_down();
        }
        let instructions = self.carried as u32 + instructions;
        self.carried = 0;
        let visit = Visit {
            unit,
            loads: step.loads,
            stores: step.stores,
            loads_before_store: step.loads_before_store,
            instructions,
            ..Visit::default()
        };
        if (self.ends != VisitEnds::Units && instructions > 0) || self.beginning != 0 {
            self.push(visit);
        } else {
            self.add(&visit);
        }
    }

    /// Adds instructions fetched from `unit`.
    pub(super) fn fetch(&mut self, unit: u64, count: u32) {
        self.add(&Visit {
            unit,
            instructions: count,
            fetch: true,
            ..Visit::default()
        });
    }

    /// Adds a unit into which the access before reaches.
    pub(super) fn lead(&mut self, unit: u64, lead: Lead) {
        self.push(Visit {
            unit,
            lead,
            ..Visit::default()
        });
    }

    /// Merges a visit with the last visit if the unit is equal and no count overflows; otherwise
    /// appends the visit.
    fn add(&mut self, more: &Visit) {
        if self.beginning != 0 {
            self.push(*more);
            return;
        }
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
