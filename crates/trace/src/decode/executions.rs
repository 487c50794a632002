//! From heads to executions.

use super::fault::Fault;
use super::tables::{NO_PATTERN, NO_UNIT, recent_place};
use super::{ChunkReader, MOST_REACH};
use crate::definitions::{Definitions, Kind};
use crate::visit::Lead;

const PATH_NEXT: u8 = 0;
const PATH_OTHER: u8 = 1;
const PATH_NONE: u8 = 3;
const LONG_RUN: u64 = 15;
const UNIT_SAME: u8 = 0;
const UNIT_PLACE: u8 = 255;

/// What is out of the ordinary about one reference of an execution.
#[derive(Clone, Copy, Debug)]
pub(super) enum Special {
    /// It was not made.
    Absent,
    /// It reaches into so many further units.
    Reach(u64),
}

impl ChunkReader {
    /// Executes until the item is full, an event is due, or the heads are at their end.
    ///
    /// What is told only changes the tables. Then it is foretold, and executed with what the next head counts.
    pub(super) fn work(&mut self, definitions: &Definitions) -> Result<(), Fault> {
        loop {
            if self.run > 0 && (self.head.is_some() || !self.more_heads()) {
                self.foretold(definitions)?;
                if self.run > 0 {
                    return Ok(());
                }
            }
            if self.visits.is_full() {
                return Ok(());
            }
            if let Some(head) = self.head.take() {
                self.told(definitions, head)?;
            } else if self.more_heads() {
                self.begin_head()?;
            } else {
                return Ok(());
            }
        }
    }

    /// Whether a head comes before the next event.
    #[inline]
    fn more_heads(&self) -> bool {
        let heads = &self.sections.heads;
        heads.at != self.event_at && !heads.is_empty()
    }

    /// Reads a head. What it counts is added to what is counted already.
    #[inline]
    fn begin_head(&mut self) -> Result<(), Fault> {
        let Some(head) = self.sections.heads.byte() else {
            return Ok(());
        };
        let mut run = u64::from(head >> 4);
        if run == LONG_RUN {
            let more = self.sections.runs.number();
            let more = more.map_err(|_| Fault::Run)?;
            run = run.saturating_add(more);
        }
        let told = head & 0xf;
        let executions = run.saturating_add(u64::from(told & 3 != PATH_NONE));
        let sum = self.made.executions.checked_add(executions);
        self.made.executions = sum
            .filter(|&sum| sum <= self.totals.executions)
            .ok_or(Fault::Executions)?;
        match told {
            // What was foretold and stayed where it was may be told all the same.
            PATH_NEXT => run = executions,
            PATH_NONE => {}
            told if told & 3 == PATH_NONE => return Err(Fault::LeftByNone),
            told => self.head = Some(told),
        }
        self.run += run;
        Ok(())
    }

    /// Executions of the patterns that are foretold, until the run ends or the item is full.
    #[inline]
    fn foretold(&mut self, definitions: &Definitions) -> Result<(), Fault> {
        loop {
            let tables = &self.tables;
            self.visits.follow(
                &tables.rows,
                &tables.references,
                &mut self.current,
                &mut self.run,
            )?;
            if self.run == 0 || self.visits.is_full() {
                return Ok(());
            }
            let number = self.tables.rows[self.current as usize].next;
            self.execute_carefully(definitions, number)?;
            self.run -= 1;
        }
    }

    /// What is told of one execution. Once the tables know it, it is foretold.
    #[inline]
    fn told(&mut self, definitions: &Definitions, head: u8) -> Result<(), Fault> {
        let row = &self.tables.rows[self.current as usize];
        let number = match head & 3 {
            PATH_NEXT => row.next,
            PATH_OTHER => row.other,
            _ => self.named(definitions)?,
        };
        if number == NO_PATTERN {
            return Err(Fault::NotForetold);
        }
        if head & 3 != PATH_NEXT {
            self.tables.link(self.current, number);
        }
        if head >> 2 != 0 {
            self.leave(definitions, number, head >> 2)?;
        }
        self.tables.settle(number);
        if self.specials.is_empty() {
            self.run = 1;
            return Ok(());
        }
        let executed = self.execute_carefully(definitions, number);
        self.specials.clear();
        executed
    }

    /// The next pattern that is named.
    #[inline]
    fn named(&mut self, definitions: &Definitions) -> Result<u32, Fault> {
        let number = match self.sections.patterns.take(3) {
            Some(&[low, middle, high]) => u32::from_le_bytes([low, middle, high, 0]),
            _ => return Err(Fault::FewPatterns),
        };
        let fetching = self.fetches && !definitions.fetches_of.is_empty();
        self.tables.name(number, definitions, fetching)?;
        Ok(number)
    }

    /// Takes in which references of an execution left their units, and where to.
    #[inline]
    fn leave(&mut self, definitions: &Definitions, number: u32, left: u8) -> Result<(), Fault> {
        let row = self.tables.rows[number as usize];
        let steps = usize::from(row.steps);
        if steps > 8 {
            return self.leave_many(definitions, row.first, steps, left);
        }
        let mask = match left {
            1 => row.mask,
            2 => {
                let mask = self.sections.masks.byte().ok_or(Fault::FewMasks)?;
                check_mask(mask, steps)?;
                self.tables.rows[number as usize].mask = mask;
                mask
            }
            _ => return Err(Fault::Left),
        };
        self.leave_by(definitions, row.first, 0, mask, &mut 0)
    }

    fn leave_many(
        &mut self,
        definitions: &Definitions,
        first: u32,
        steps: usize,
        left: u8,
    ) -> Result<(), Fault> {
        if left != 2 {
            return Err(Fault::NoMaskOfItsOwn);
        }
        let mut reach = 0;
        for from in (0..steps).step_by(8) {
            let mask = self.sections.masks.byte().ok_or(Fault::FewMasks)?;
            check_mask(mask, steps - from)?;
            self.leave_by(definitions, first, from as u16, mask, &mut reach)?;
        }
        Ok(())
    }

    /// Those of 8 references that a mask names.
    #[inline]
    fn leave_by(
        &mut self,
        definitions: &Definitions,
        first: u32,
        from: u16,
        mask: u8,
        reach: &mut u64,
    ) -> Result<(), Fault> {
        let mut mask = mask;
        while mask != 0 {
            let step = from + mask.trailing_zeros() as u16;
            mask &= mask - 1;
            let unit = match self.sections.units.byte().ok_or(Fault::FewUnits)? {
                UNIT_SAME => self.tables.last_told,
                UNIT_PLACE => match self.place(step, reach)? {
                    Some(unit) => unit,
                    None => continue,
                },
                place => {
                    let unit = self.tables.recent[usize::from(place)];
                    // A place that nothing was entered in names unit 0, whose own place is another.
                    if unit == 0 {
                        self.tables.recent[recent_place(0)] = 0;
                    }
                    unit
                }
            };
            let reference = first + u32::from(step);
            self.tables.place(reference, unit, definitions);
        }
        Ok(())
    }

    /// A unit from the places, entered among the recent ones; `None` where the reference was not made.
    fn place(&mut self, step: u16, reach: &mut u64) -> Result<Option<u64>, Fault> {
        let places = &mut self.sections.places;
        let value = places.number().map_err(|_| Fault::Place)?;
        let span = match value & 1 {
            0 => 0,
            _ => places.number().map_err(|_| Fault::Place)?,
        };
        if value == 1 && span == 0 {
            self.specials.push((step, Special::Absent));
            return Ok(None);
        }
        let zigzag = value >> 1;
        let distance = (zigzag >> 1) ^ (zigzag & 1).wrapping_neg();
        let unit = self.tables.last_told.wrapping_add(distance);
        let end = unit.checked_add(span);
        if end.is_none_or(|end| end > self.most_unit) {
            return Err(Fault::Address);
        }
        if span > 0 {
            *reach += span;
            if *reach > MOST_REACH {
                return Err(Fault::Reach);
            }
            self.specials.push((step, Special::Reach(span)));
        }
        self.tables.recent[recent_place(unit)] = unit;
        Ok(Some(unit))
    }

    /// One execution, item by item.
    #[inline(never)]
    fn execute_carefully(&mut self, definitions: &Definitions, number: u32) -> Result<(), Fault> {
        let pattern = &definitions.patterns[number as usize];
        self.current = number;
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
            let unit = self.tables.references[first + usize::from(at)].unit;
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
#[inline]
fn check_mask(mask: u8, steps: usize) -> Result<(), Fault> {
    if steps < 8 && mask >> steps != 0 {
        return Err(Fault::Mask);
    }
    Ok(())
}
