//! What a reader foretells from: the tables that are empty at the start of each chunk.

use super::fault::Fault;
use crate::definitions::{Definitions, Kind};
use crate::visit::Visit;

/// No pattern.
pub(super) const NO_PATTERN: u32 = u32::MAX;
/// No unit. Units are addresses without their lowest bits, so none is that large.
pub(super) const NO_UNIT: u64 = u64::MAX;
/// How many recent units there are.
const RECENT: usize = 256;

/// A pattern, and which ones followed it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) next: u32,
    pub(super) other: u32,
    /// Its first reference.
    pub(super) first: u32,
    pub(super) steps: u16,
    pub(super) care: Care,
    pub(super) mask: u8,
    /// Instructions behind its last reference.
    pub(super) tail: u32,
}

/// How a pattern is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Care {
    /// It was not named in this chunk, so the rest of its row says nothing.
    Unnamed,
    /// Item by item, until all its references are somewhere.
    Fresh,
    /// Every reference is somewhere and adds to a visit, and no count can overflow.
    Plain,
    /// Item by item.
    Careful,
}

const UNNAMED: Row = Row {
    next: NO_PATTERN,
    other: NO_PATTERN,
    first: 0,
    steps: 0,
    care: Care::Unnamed,
    mask: 0,
    tail: 0,
};

/// A reference that was not made yet.
const UNPLACED: Visit = Visit {
    unit: NO_UNIT,
    loads: 0,
    stores: 0,
    loads_before_store: 0,
    instructions: 0,
    lead: crate::Lead::None,
    fetch: false,
};

/// The tables. What was entered is noted, so that emptying them takes as long as filling them did, however large they are.
#[derive(Debug)]
pub(super) struct Tables {
    /// By pattern; the one behind the last is the state before any.
    pub(super) rows: Vec<Row>,
    /// By reference: the visit that it makes if nothing else adds to it, in the unit where it went last.
    pub(super) references: Vec<Visit>,
    /// By place.
    pub(super) recent: [u64; RECENT],
    pub(super) last_told: u64,
    /// Patterns whose rows say something.
    named: Vec<u32>,
    placed: Vec<u32>,
}

impl Default for Tables {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            references: Vec::new(),
            recent: [0; RECENT],
            last_told: 0,
            named: Vec::new(),
            placed: Vec::new(),
        }
    }
}

impl Tables {
    /// Empties the tables, and makes room for these patterns. Answers the state before any pattern.
    pub(super) fn empty(&mut self, definitions: &Definitions) -> u32 {
        for &pattern in &self.named {
            self.rows[pattern as usize] = UNNAMED;
        }
        for &reference in &self.placed {
            self.references[reference as usize] = UNPLACED;
        }
        self.named.clear();
        self.placed.clear();
        self.recent = [0; RECENT];
        self.last_told = 0;

        let patterns = definitions.patterns.len();
        if self.rows.len() < patterns + 1 {
            self.rows.resize(patterns + 1, UNNAMED);
        }
        if self.references.len() < definitions.steps.len() {
            self.references.resize(definitions.steps.len(), UNPLACED);
        }
        // The state before any pattern is followed like a pattern, so it is emptied like one.
        self.named.push(patterns as u32);
        patterns as u32
    }

    /// Enters a pattern by its number. With `careful`, whatever it is, it is executed item by item.
    #[inline]
    pub(super) fn name(
        &mut self,
        number: u32,
        definitions: &Definitions,
        careful: bool,
    ) -> Result<(), Fault> {
        match self.rows.get(number as usize) {
            Some(row) if row.care != Care::Unnamed => Ok(()),
            _ => self.enter(number, definitions, careful),
        }
    }

    fn enter(
        &mut self,
        number: u32,
        definitions: &Definitions,
        careful: bool,
    ) -> Result<(), Fault> {
        let pattern = definitions.patterns.get(number as usize);
        let pattern = pattern.ok_or(Fault::NotDefined)?;
        let care = match pattern.kind {
            Kind::Plain if !careful => Care::Fresh,
            Kind::Plain | Kind::Large => Care::Careful,
            Kind::Undefined => return Err(Fault::LostDefinition),
        };
        self.rows[number as usize] = Row {
            first: pattern.first_step,
            steps: pattern.steps,
            care,
            tail: pattern.tail,
            ..UNNAMED
        };
        self.named.push(number);
        Ok(())
    }

    /// Sees whether a pattern that was told has all its references somewhere now.
    #[inline]
    pub(super) fn settle(&mut self, number: u32) {
        let row = &mut self.rows[number as usize];
        if row.care == Care::Fresh {
            let first = row.first as usize;
            let references = &self.references[first..first + usize::from(row.steps)];
            if references.iter().all(|reference| reference.unit != NO_UNIT) {
                row.care = Care::Plain;
            }
        }
    }

    /// `pattern` followed `before`, and was not what should have followed.
    #[inline]
    pub(super) fn link(&mut self, before: u32, pattern: u32) {
        let row = &mut self.rows[before as usize];
        row.other = row.next;
        row.next = pattern;
    }

    /// A reference went to `unit`.
    #[inline]
    pub(super) fn place(&mut self, reference: u32, unit: u64, definitions: &Definitions) {
        let entry = &mut self.references[reference as usize];
        if entry.unit == NO_UNIT {
            let step = &definitions.steps[reference as usize];
            entry.loads = step.loads;
            entry.stores = step.stores;
            entry.loads_before_store = step.loads_before_store;
            entry.instructions = step.instructions;
            self.placed.push(reference);
        }
        entry.unit = unit;
        self.last_told = unit;
    }
}

/// The place of a unit in the table of recent ones: 1..=254.
#[inline]
pub(crate) const fn recent_place(unit: u64) -> usize {
    1 + (((unit.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) * 254) >> 32) as usize
}
