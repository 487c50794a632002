//! The tables from which a decoder predicts. They are empty at the start of each chunk.
//!
//! Each chunk numbers patterns and references anew, in the order of their first use. The data of a
//! chunk is therefore close together, whatever the number of definitions.

use super::fault::ExecutionFault;
use crate::definitions::{DefinedPattern, Definitions, PatternCare};

/// The row of no pattern.
pub(super) const NO_ROW: u32 = 0;
/// The row of the state before any pattern.
pub(super) const START: u32 = 1;
/// No unit. A unit is an address without its lowest bits, so no unit has this value.
pub(super) const NO_UNIT: u64 = u64::MAX;
/// The index of the last explicit unit among the recent units. No hash gives this index.
pub(super) const LAST_UNIT: usize = 0;
/// The number of recent units.
pub(super) const RECENT: usize = 256;
/// The rows that followed a row: the last, and the last before that. Predictions depend on links
/// alone, so links are separate from rows.
pub(super) type RowLink = [u32; 2];

/// A pattern in use.
#[derive(Clone, Copy, Debug)]
pub(super) struct PatternRow {
    /// The index of its first reference.
    pub(super) first: u32,
    /// The instructions after the last reference. Meaningless if the pattern executes item by item.
    pub(super) tail: u16,
    pub(super) steps: u16,
    pub(super) care: RowCare,
    pub(super) mask: u8,
}

/// The manner of executing a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowCare {
    /// No pattern.
    None,
    /// Item by item, until all its references have units.
    Fresh,
    /// Plain: all references have units and add to a visit, and no count can overflow.
    Plain,
    /// Always item by item.
    Careful,
}

const NONE: PatternRow = PatternRow {
    first: 0,
    tail: 0,
    steps: 0,
    care: RowCare::None,
    mask: 0,
};

/// One reference: its last unit, and the counts that it adds to a visit. Each word holds two
/// counts, so that one addition adds both. No count overflows: see [`super::visits`].
#[derive(Clone, Copy, Debug)]
pub(super) struct ReferenceState {
    pub(super) unit: u64,
    /// Loads, and stores in the upper half.
    pub(super) accesses: u64,
    /// Loads before the first store, and instructions in the upper half.
    pub(super) others: u64,
}

/// Packs two counts into a word.
pub(super) const fn pair(lower: u32, upper: u32) -> u64 {
    lower as u64 | (upper as u64) << 32
}

/// The tables of a decoder.
#[derive(Debug)]
pub(super) struct DecodeTables {
    pub(super) rows: Vec<PatternRow>,
    /// The links of each row.
    pub(super) links: Vec<RowLink>,
    /// The pattern number of each row.
    pub(super) numbers: Vec<u32>,
    pub(super) references: Vec<ReferenceState>,
    /// The recent units by [`recent_place`], and the last unit at [`LAST_UNIT`].
    pub(super) recent: [u64; RECENT],
    /// The row of each pattern.
    pub(super) row_of: Vec<u32>,
    /// For the first reference of each named block, as defined: the index of the block's first
    /// reference here, plus 1. All other elements are 0.
    first_of: Vec<u32>,
    /// The indices of the nonzero elements of `first_of`.
    blocks: Vec<u32>,
}

impl Default for DecodeTables {
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

impl DecodeTables {
    /// Empties the tables and makes room for these patterns. The time is proportional to the filled
    /// part, not to the definitions.
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

    /// Returns the row of a pattern, and adds the row at the pattern's first use. With `careful`,
    /// the pattern always executes item by item.
    #[inline]
    pub(super) fn name(
        &mut self,
        number: u32,
        definitions: &Definitions,
        careful: bool,
    ) -> Result<u32, ExecutionFault> {
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
    ) -> Result<u32, ExecutionFault> {
        let pattern = definitions.patterns.get(number as usize);
        let pattern = pattern.ok_or(ExecutionFault::NotDefined)?;
        let (care, tail) = match pattern.kind {
            PatternCare::Plain if !careful => (RowCare::Fresh, pattern.tail as u16),
            PatternCare::Plain | PatternCare::Large => (RowCare::Careful, 0),
            PatternCare::Undefined => return Err(ExecutionFault::LostDefinition),
        };
        let row = self.rows.len() as u32;
        let first = self.first_reference(pattern, definitions);
        self.rows.push(PatternRow {
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

    /// Returns the index of the first reference of the pattern's block. Adds the references at the
    /// block's first use.
    fn first_reference(&mut self, pattern: &DefinedPattern, definitions: &Definitions) -> u32 {
        if pattern.block_steps == 0 {
            return 0;
        }
        let defined = pattern.first_step as usize;
        let entry = &mut self.first_of[defined];
        if *entry == 0 {
            *entry = self.references.len() as u32 + 1;
            self.blocks.push(pattern.first_step);
            let steps = &definitions.steps[defined..defined + usize::from(pattern.block_steps)];
            self.references
                .extend(steps.iter().map(|step| ReferenceState {
                    unit: NO_UNIT,
                    accesses: pair(step.loads, step.stores),
                    others: pair(step.loads_before_store, step.instructions),
                }));
        }
        *entry - 1
    }

    /// Makes a pattern plain if all its references now have units.
    #[inline]
    pub(super) fn settle(&mut self, row: u32) {
        let row = &mut self.rows[row as usize];
        if row.care == RowCare::Fresh {
            let first = row.first as usize;
            let references = &self.references[first..first + usize::from(row.steps)];
            if references.iter().all(|reference| reference.unit != NO_UNIT) {
                row.care = RowCare::Plain;
            }
        }
    }
}

/// The index of a unit in the table of recent units: 1..=254.
#[inline]
pub(crate) const fn recent_place(unit: u64) -> usize {
    1 + (((unit.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) * 254) >> 32) as usize
}
