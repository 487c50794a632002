//! Special executions, decoded from heads. [`super::plain`] decodes the plain ones.

use super::ChunkReader;
use super::fault::ExecutionFault;
use super::plain::PlainStop;
use super::tables::{NO_ROW, NO_UNIT};
use super::units::{Special, Units};
use crate::definitions::{Definitions, PatternCare};
use crate::read::VisitEnds;
use crate::visit::Lead;

/// The head's bits for the executed pattern.
pub(super) const PATH: u8 = 3;
pub(super) const PATH_NEXT: u8 = 0;
const PATH_OTHER: u8 = 1;
pub(super) const PATH_NAMED: u8 = 2;
pub(super) const PATH_NONE: u8 = 3;
/// The head's bits for the references that left their units.
pub(super) const LEFT: u8 = 3 << 2;
const LEFT_SAME: u8 = 1 << 2;
pub(super) const LEFT_MASK: u8 = 2 << 2;
pub(super) const LONG_RUN: u64 = 15;
/// The head of one predicted execution whose references leave their units as they did last time.
pub(super) const JUMP: u8 = PATH_NEXT | LEFT_SAME;

impl ChunkReader {
    /// Executes until the item is full, an event is due, or no head is left.
    pub(super) fn work(&mut self, definitions: &Definitions) -> Result<(), ExecutionFault> {
        loop {
            match self.go()? {
                PlainStop::Done => return Ok(()),
                PlainStop::Predicted => {
                    let row = self.tables.links[self.current as usize][0];
                    if row == NO_ROW {
                        return Err(ExecutionFault::NotPredicted);
                    }
                    self.execute_carefully(definitions, row)?;
                    self.run -= 1;
                }
                PlainStop::Explicit(head) => {
                    let row = self.explicit(definitions, head)?;
                    if self.specials.is_empty() {
                        // The tables now predict this execution.
                        self.run = 1;
                    } else {
                        self.execute_specially(definitions, row)?;
                    }
                }
                PlainStop::Special(row) => self.execute_specially(definitions, row)?,
            }
        }
    }

    fn execute_specially(
        &mut self,
        definitions: &Definitions,
        row: u32,
    ) -> Result<(), ExecutionFault> {
        let executed = self.execute_carefully(definitions, row);
        self.specials.clear();
        executed
    }

    /// Decodes one execution from its head. Returns the row, and updates the links that predict
    /// this execution next time.
    fn explicit(&mut self, definitions: &Definitions, head: u8) -> Result<u32, ExecutionFault> {
        let [next, other] = self.tables.links[self.current as usize];
        let row = match head & PATH {
            PATH_NEXT => next,
            PATH_OTHER => other,
            _ => self.named(definitions)?,
        };
        if row == NO_ROW {
            return Err(ExecutionFault::NotPredicted);
        }
        if head & PATH != PATH_NEXT {
            self.tables.links[self.current as usize] = [row, next];
        }
        if head & LEFT != 0 {
            self.leave(row, head & LEFT)?;
        }
        self.tables.settle(row);
        Ok(row)
    }

    /// Decodes the row of the next named pattern.
    fn named(&mut self, definitions: &Definitions) -> Result<u32, ExecutionFault> {
        let number = match self.sections.patterns.take(3) {
            Some(&[low, middle, high]) => u32::from_le_bytes([low, middle, high, 0]),
            _ => return Err(ExecutionFault::FewPatterns),
        };
        let fetching = self.fetches && !definitions.fetches_of.is_empty();
        let careful = fetching || self.visits.ends != VisitEnds::Units;
        self.tables.name(number, definitions, careful)
    }

    /// Decodes the references of an execution that left their units, and their new units.
    fn leave(&mut self, row: u32, left: u8) -> Result<(), ExecutionFault> {
        let row = &mut self.tables.rows[row as usize];
        let (first, steps) = (row.first, usize::from(row.steps));
        if steps > 8 {
            return self.leave_many(first, steps, left);
        }
        match left {
            LEFT_SAME => {}
            LEFT_MASK => {
                let mask = self.sections.masks.byte().ok_or(ExecutionFault::FewMasks)?;
                check_mask(mask, steps)?;
                row.mask = mask;
            }
            _ => return Err(ExecutionFault::Left),
        }
        let mask = row.mask;
        self.leave_by(first, 0, mask, &mut 0)
    }

    fn leave_many(&mut self, first: u32, steps: usize, left: u8) -> Result<(), ExecutionFault> {
        if left != LEFT_MASK {
            return Err(ExecutionFault::SharedMask);
        }
        let mut reach = 0;
        for from in (0..steps).step_by(8) {
            let mask = self.sections.masks.byte().ok_or(ExecutionFault::FewMasks)?;
            check_mask(mask, steps - from)?;
            self.leave_by(first, from as u16, mask, &mut reach)?;
        }
        Ok(())
    }

    /// Decodes the new units of the references in a mask of 8 references.
    fn leave_by(
        &mut self,
        first: u32,
        from: u16,
        mask: u8,
        reach: &mut u64,
    ) -> Result<(), ExecutionFault> {
        let sections = &mut self.sections;
        let mut units = Units {
            codes: &sections.units.bytes,
            at: sections.units.at,
            places: &mut sections.places,
            recent: &mut self.tables.recent,
            references: &mut self.tables.references,
            most_unit: self.most_unit,
        };
        units.leave(first, from, mask, reach, &mut self.specials)?;
        sections.units.at = units.at;
        Ok(())
    }

    /// Executes one pattern item by item.
    #[inline(never)]
    fn execute_carefully(
        &mut self,
        definitions: &Definitions,
        row: u32,
    ) -> Result<(), ExecutionFault> {
        let number = self.tables.numbers[row as usize];
        let pattern = &definitions.patterns[number as usize];
        let references = self.tables.rows[row as usize].first as usize;
        self.current = row;
        self.visits.count_one();
        let code = definitions.code_of.get(number as usize);
        self.visits.begin_execution(code.copied().unwrap_or(0));
        let fetching = self.fetches && !definitions.fetches_of.is_empty();
        let mut fetches = match definitions.fetches_of.get(number as usize) {
            Some(&(from, to)) if fetching => &definitions.fetches[from as usize..to as usize],
            _ => &[],
        };
        let counted = |instructions| if fetching { 0 } else { instructions };
        let first = pattern.first_step as usize;
        let mut specials = self.specials.iter().copied().peekable();
        for at in 0..pattern.steps {
            while let [fetch, rest @ ..] = fetches
                && fetch.before == at
            {
                self.visits.fetch(fetch.unit, fetch.count);
                fetches = rest;
            }
            let step = &definitions.steps[first + usize::from(at)];
            let unit = self.tables.references[references + usize::from(at)].unit;
            let special = specials.next_if(|&(of, _)| of == at);
            if let Some((_, Special::Absent)) = special {
                self.visits.carry(counted(step.instructions));
                continue;
            }
            if unit == NO_UNIT {
                return Err(ExecutionFault::NotPlaced);
            }
            self.visits
                .reference(unit, step, counted(step.instructions));
            if let Some((_, Special::Reach(span))) = special {
                let lead = match (step.loads, step.stores) {
                    (1, 0) => Lead::Load,
                    (0, 1) => Lead::Store,
                    _ => return Err(ExecutionFault::SeveralReach),
                };
                for further in 1..=span {
                    self.visits.lead(unit + further, lead);
                }
            }
        }
        for fetch in fetches {
            self.visits.fetch(fetch.unit, fetch.count);
        }
        self.visits.carry(counted(pattern.tail));
        self.visits.end_execution();
        if pattern.kind == PatternCare::Large {
            self.visits.fill();
        }
        Ok(())
    }
}

/// Refuses a mask with references that the pattern lacks.
fn check_mask(mask: u8, steps: usize) -> Result<(), ExecutionFault> {
    if steps < 8 && mask >> steps != 0 {
        return Err(ExecutionFault::Mask);
    }
    Ok(())
}
