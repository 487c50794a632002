//! What a reader foretells from: the tables that are empty at the start of each chunk.
//!
//! Patterns and references are numbered anew in each chunk, in the order in which they are named, so that what a chunk uses lies
//! together however much is defined.

use super::fault::Fault;
use crate::definitions::{Definitions, Kind, Pattern};

/// The row that stands for no pattern.
pub(super) const NO_ROW: u32 = 0;
/// The row that stands for the state before any pattern.
pub(super) const START: u32 = 1;
/// No unit. Units are addresses without their lowest bits, so none is that large.
pub(super) const NO_UNIT: u64 = u64::MAX;
/// Where the unit that was told last stands among the recent ones: at what is no place, but names it.
pub(super) const LAST_TOLD: usize = 0;
/// How many recent units there are.
pub(super) const RECENT: usize = 256;
/// Which rows followed a row: the last that did, and what was the last before that became so. What is foretold depends on
/// nothing else, so it lies apart from what is executed.
pub(super) type Link = [u32; 2];

/// A pattern.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// Its first reference.
    pub(super) first: u32,
    /// Instructions behind its last reference. Says nothing where the pattern is executed item by item.
    pub(super) tail: u16,
    pub(super) steps: u16,
    pub(super) care: Care,
    pub(super) mask: u8,
}

/// How a pattern is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Care {
    /// It is none.
    None,
    /// Item by item, until all its references are somewhere.
    Fresh,
    /// Every reference is somewhere and adds to a visit, and no count can overflow.
    Plain,
    /// Item by item.
    Careful,
}

const NONE: Row = Row {
    first: 0,
    tail: 0,
    steps: 0,
    care: Care::None,
    mask: 0,
};

/// One reference: where it went last, and what it adds to a visit there. Counts stand two in a word, so that one addition adds
/// both: none of them overflows, see [`super::visits`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Reference {
    pub(super) unit: u64,
    /// Loads, and stores in the upper half.
    pub(super) accesses: u64,
    /// Loads before the first store, and instructions in the upper half.
    pub(super) others: u64,
}

/// Two counts in a word.
pub(super) const fn pair(lower: u32, upper: u32) -> u64 {
    lower as u64 | (upper as u64) << 32
}

/// The tables.
#[derive(Debug)]
pub(super) struct Tables {
    pub(super) rows: Vec<Row>,
    /// By row.
    pub(super) links: Vec<Link>,
    /// By row: the pattern's number.
    pub(super) numbers: Vec<u32>,
    pub(super) references: Vec<Reference>,
    /// By place, and [`LAST_TOLD`].
    pub(super) recent: [u64; RECENT],
    /// By pattern: its row.
    pub(super) row_of: Vec<u32>,
    /// By reference as it is defined: behind which one here the references of its block begin, and one more; 0 where the block was
    /// not named, and where it is not the first of its block.
    first_of: Vec<u32>,
    /// Where these say something.
    blocks: Vec<u32>,
}

impl Default for Tables {
    fn default() -> Self {
        Self {
            rows: vec![NONE; 2],
            links: vec![[NO_ROW; 2]; 2],
            numbers: vec![u32::MAX; 2],
            references: Vec::new(),
            recent: [0; RECENT],
            row_of: Vec::new(),
            first_of: Vec::new(),
            blocks: Vec::new(),
        }
    }
}

impl Tables {
    /// Empties the tables, and makes room for these patterns. Takes as long as filling them did, however much is defined.
    pub(super) fn empty(&mut self, definitions: &Definitions) {
        for &number in &self.numbers[2..] {
            self.row_of[number as usize] = NO_ROW;
        }
        for &first in &self.blocks {
            self.first_of[first as usize] = 0;
        }
        self.numbers.truncate(2);
        self.blocks.clear();
        self.rows.clear();
        self.rows.extend([NONE; 2]);
        self.links.clear();
        self.links.extend([[NO_ROW; 2]; 2]);
        self.references.clear();
        self.recent = [0; RECENT];

        let patterns = definitions.patterns.len();
        if self.row_of.len() < patterns {
            self.row_of.resize(patterns, NO_ROW);
        }
        if self.first_of.len() < definitions.steps.len() {
            self.first_of.resize(definitions.steps.len(), 0);
        }
    }

    /// The row of a pattern, which is entered where it was not named before. With `careful`, whatever it is, it is executed item by
    /// item.
    #[inline]
    pub(super) fn name(
        &mut self,
        number: u32,
        definitions: &Definitions,
        careful: bool,
    ) -> Result<u32, Fault> {
        match self.row_of.get(number as usize) {
            Some(&row) if row != NO_ROW => Ok(row),
            _ => self.enter(number, definitions, careful),
        }
    }

    #[inline(never)]
    fn enter(
        &mut self,
        number: u32,
        definitions: &Definitions,
        careful: bool,
    ) -> Result<u32, Fault> {
        let pattern = definitions.patterns.get(number as usize);
        let pattern = pattern.ok_or(Fault::NotDefined)?;
        let (care, tail) = match pattern.kind {
            Kind::Plain if !careful => (Care::Fresh, pattern.tail as u16),
            Kind::Plain | Kind::Large => (Care::Careful, 0),
            Kind::Undefined => return Err(Fault::LostDefinition),
        };
        let row = self.rows.len() as u32;
        let first = self.first_reference(pattern, definitions);
        self.rows.push(Row {
            first,
            steps: pattern.steps,
            care,
            tail,
            mask: 0,
        });
        self.links.push([NO_ROW; 2]);
        self.numbers.push(number);
        self.row_of[number as usize] = row;
        Ok(row)
    }

    /// Where the references of the pattern's block begin. They are entered where none of its patterns was named before.
    fn first_reference(&mut self, pattern: &Pattern, definitions: &Definitions) -> u32 {
        if pattern.block_steps == 0 {
            return 0;
        }
        let defined = pattern.first_step as usize;
        let entry = &mut self.first_of[defined];
        if *entry == 0 {
            *entry = self.references.len() as u32 + 1;
            self.blocks.push(pattern.first_step);
            let steps = &definitions.steps[defined..defined + usize::from(pattern.block_steps)];
            self.references.extend(steps.iter().map(|step| Reference {
                unit: NO_UNIT,
                accesses: pair(step.loads, step.stores),
                others: pair(step.loads_before_store, step.instructions),
            }));
        }
        *entry - 1
    }

    /// Sees whether a pattern that was told has all its references somewhere now.
    #[inline]
    pub(super) fn settle(&mut self, row: u32) {
        let row = &mut self.rows[row as usize];
        if row.care == Care::Fresh {
            let first = row.first as usize;
            let references = &self.references[first..first + usize::from(row.steps)];
            if references.iter().all(|reference| reference.unit != NO_UNIT) {
                row.care = Care::Plain;
            }
        }
    }
}

/// The place of a unit in the table of recent ones: 1..=254.
#[inline]
pub(crate) const fn recent_place(unit: u64) -> usize {
    1 + (((unit.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) * 254) >> 32) as usize
}
