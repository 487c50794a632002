//! From heads to executions: what is out of the ordinary about them. The rest is in [`super::plain`].

use super::ChunkReader;
use super::fault::Fault;
use super::plain::Stop;
use super::tables::{NO_ROW, NO_UNIT};
use super::units::{Special, Units};
use crate::definitions::{Definitions, Kind};
use crate::visit::Lead;

/// The bits of a head that say which pattern is executed.
pub(super) const PATH: u8 = 3;
pub(super) const PATH_NEXT: u8 = 0;
const PATH_OTHER: u8 = 1;
pub(super) const PATH_NAMED: u8 = 2;
pub(super) const PATH_NONE: u8 = 3;
/// The bits of a head that say which references left their units.
pub(super) const LEFT: u8 = 3 << 2;
const LEFT_SAME: u8 = 1 << 2;
pub(super) const LEFT_MASK: u8 = 2 << 2;
pub(super) const LONG_RUN: u64 = 15;

impl ChunkReader {
    /// Executes until the item is full, an event is due, or the heads are at their end.
    pub(super) fn work(&mut self, definitions: &Definitions) -> Result<(), Fault> {
        loop {
            match self.go()? {
                Stop::Done => return Ok(()),
                Stop::Foretold => {
                    let row = self.tables.links[self.current as usize][0];
                    if row == NO_ROW {
                        return Err(Fault::NotForetold);
                    }
                    self.execute_carefully(definitions, row)?;
                    self.run -= 1;
                }
                Stop::Told(head) => {
                    let row = self.told(definitions, head)?;
                    if self.specials.is_empty() {
                        // It is foretold now.
                        self.run = 1;
                    } else {
                        self.execute_specially(definitions, row)?;
                    }
                }
                Stop::Special(row) => self.execute_specially(definitions, row)?,
            }
        }
    }

    fn execute_specially(&mut self, definitions: &Definitions, row: u32) -> Result<(), Fault> {
        let executed = self.execute_carefully(definitions, row);
        self.specials.clear();
        executed
    }

    /// What is told of one execution. Answers its row; it is entered in the tables that this follows.
    fn told(&mut self, definitions: &Definitions, head: u8) -> Result<u32, Fault> {
        let [next, other] = self.tables.links[self.current as usize];
        let row = match head & PATH {
            PATH_NEXT => next,
            PATH_OTHER => other,
            _ => self.named(definitions)?,
        };
        if row == NO_ROW {
            return Err(Fault::NotForetold);
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

    /// The row of the next pattern that is named.
    fn named(&mut self, definitions: &Definitions) -> Result<u32, Fault> {
        let number = match self.sections.patterns.take(3) {
            Some(&[low, middle, high]) => u32::from_le_bytes([low, middle, high, 0]),
            _ => return Err(Fault::FewPatterns),
        };
        let fetching = self.fetches && !definitions.fetches_of.is_empty();
        self.tables.name(number, definitions, fetching)
    }

    /// Takes in which references of an execution left their units, and where to.
    fn leave(&mut self, row: u32, left: u8) -> Result<(), Fault> {
        let row = &mut self.tables.rows[row as usize];
        let (first, steps) = (row.first, usize::from(row.steps));
        if steps > 8 {
            return self.leave_many(first, steps, left);
        }
        match left {
            LEFT_SAME => {}
            LEFT_MASK => {
                let mask = self.sections.masks.byte().ok_or(Fault::FewMasks)?;
                check_mask(mask, steps)?;
                row.mask = mask;
            }
            _ => return Err(Fault::Left),
        }
        let mask = row.mask;
        self.leave_by(first, 0, mask, &mut 0)
    }

    fn leave_many(&mut self, first: u32, steps: usize, left: u8) -> Result<(), Fault> {
        if left != LEFT_MASK {
            return Err(Fault::NoMaskOfItsOwn);
        }
        let mut reach = 0;
        for from in (0..steps).step_by(8) {
            let mask = self.sections.masks.byte().ok_or(Fault::FewMasks)?;
            check_mask(mask, steps - from)?;
            self.leave_by(first, from as u16, mask, &mut reach)?;
        }
        Ok(())
    }

    /// Those of 8 references that a mask names.
    fn leave_by(&mut self, first: u32, from: u16, mask: u8, reach: &mut u64) -> Result<(), Fault> {
        let sections = &mut self.sections;
        let mut units = Units {
            told: &sections.units.bytes,
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

    /// One execution, item by item.
    #[inline(never)]
    fn execute_carefully(&mut self, definitions: &Definitions, row: u32) -> Result<(), Fault> {
        let number = self.tables.numbers[row as usize];
        let pattern = &definitions.patterns[number as usize];
        let references = self.tables.rows[row as usize].first as usize;
        self.current = row;
        self.visits.count_one();
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
                return Err(Fault::NotPlaced);
            }
            self.visits
                .reference(unit, step, counted(step.instructions));
            if let Some((_, Special::Reach(span))) = special {
                let lead = match (step.loads, step.stores) {
                    (1, 0) => Lead::Load,
                    (0, 1) => Lead::Store,
                    _ => return Err(Fault::SeveralReach),
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
        if pattern.kind == Kind::Large {
            self.visits.fill();
        }
        Ok(())
    }
}

/// Whether a mask names only references that there are.
fn check_mask(mask: u8, steps: usize) -> Result<(), Fault> {
    if steps < 8 && mask >> steps != 0 {
        return Err(Fault::Mask);
    }
    Ok(())
}
