//! Reading one stream chunk.

mod sections;
mod tables;
mod visits;

use crate::Item;
use crate::chunk::Totals;
use crate::compress::Unpacker;
use crate::definitions::{Definitions, Kind, Pattern};
use crate::error::{Bad, Section};
use crate::event::Event;
use crate::event_bytes;
use crate::visit::{Grain, Lead, Visit};
use sections::Sections;
pub(crate) use tables::recent_place;
use tables::{NO_PATTERN, NO_UNIT, Tables};
use visits::{NOT_PLACED, Visits};

/// How many units beyond their first the accesses of one execution reach together, at most.
pub const MOST_REACH: u64 = 65535;

const PATH_NEXT: u8 = 0;
const PATH_OTHER: u8 = 1;
const PATH_NAMED: u8 = 2;
const PATH_NONE: u8 = 3;
const LONG_RUN: u64 = 15;
const UNIT_SAME: u8 = 0;
const UNIT_PLACE: u8 = 255;

/// What is out of the ordinary about one reference of an execution.
#[derive(Clone, Copy, Debug)]
enum Special {
    /// It was not made.
    Absent,
    /// It reaches into so many further units.
    Reach(u64),
}

/// What [`ChunkReader::next_item`] found.
pub(crate) enum Found {
    /// They stand in [`ChunkReader::visits`].
    Visits,
    /// It stands in [`ChunkReader::event`].
    Event,
    End,
}

/// Reads stream chunks one at a time, in any order: each can be read without the ones before, once its patterns are known.
pub struct ChunkReader {
    most_unit: u64,
    fetches: bool,
    unpacker: Unpacker,
    sections: Sections,
    tables: Tables,
    visits: Visits,
    /// Those of one execution that is to be remembered.
    alone: Visits,
    /// What the chunk says that it comes to.
    totals: Totals,
    clock: u64,
    /// What was made of it so far.
    made: Totals,
    /// The sizes of the definitions that the chunk was begun with.
    sizes: (usize, usize),
    /// The pattern that was executed last.
    current: u32,
    /// Executions that are still only counted.
    run: u64,
    /// The head whose execution follows them.
    head: Option<u8>,
    specials: Vec<(u16, Special)>,
    /// Before which head the next event stands.
    event_at: usize,
    event: Event,
    ended: bool,
}

impl ChunkReader {
    /// A reader of chunks of this grain. With `fetches`, instruction fetches are visits of their own where they are told, and
    /// data visits carry no instructions there; without, they are left out, and data visits carry them.
    pub fn new(grain: Grain, fetches: bool) -> Self {
        Self {
            most_unit: u64::MAX >> grain.shift(),
            fetches,
            unpacker: Unpacker::new(),
            sections: Sections::default(),
            tables: Tables::default(),
            visits: Visits::default(),
            alone: Visits::default(),
            totals: Totals::default(),
            clock: 0,
            made: Totals::default(),
            sizes: (0, 0),
            current: NO_PATTERN,
            run: 0,
            head: None,
            specials: Vec::new(),
            event_at: usize::MAX,
            event: Event::Fork { child: 0 },
            ended: true,
        }
    }

    /// Begins a stream chunk, given its body (see [`read_body`](crate::read_body)) and the patterns of its process.
    /// Answers what it says that it comes to.
    ///
    /// # Errors
    /// Where the body is not that of a stream chunk.
    pub fn begin(&mut self, body: &[u8], definitions: &Definitions) -> Result<Totals, Bad> {
        self.ended = true;
        let start = self.sections.unpack(body, &mut self.unpacker)?;
        self.totals = start.totals;
        self.clock = start.clock;
        self.made = Totals::default();
        self.sizes = (definitions.patterns(), definitions.references());
        self.current = self.tables.empty(definitions);
        self.visits.restart();
        self.run = 0;
        self.head = None;
        self.event_at = 0;
        self.find_event()?;
        self.ended = false;
        Ok(self.totals)
    }

    /// Nanoseconds since the recording began when this chunk was finished.
    pub const fn clock(&self) -> u64 {
        self.clock
    }

    /// The next visits (there may be none in a piece that only took long) or event of the chunk; `None` at its end. The
    /// definitions are those that the chunk was begun with.
    ///
    /// # Errors
    /// Where the chunk says what it cannot mean. It ends there.
    pub fn next_item(&mut self, definitions: &Definitions) -> Result<Option<Item<'_>>, Bad> {
        Ok(match self.advance(definitions)? {
            Found::Visits => Some(Item::Visits(self.visits())),
            Found::Event => Some(Item::Event(self.event())),
            Found::End => None,
        })
    }

    pub(crate) fn visits(&self) -> &[Visit] {
        self.visits.done()
    }

    pub(crate) const fn event(&self) -> &Event {
        &self.event
    }

    /// What was made of the chunk so far.
    pub(crate) const fn made(&self) -> Totals {
        self.made
    }

    /// Goes on to the next visits or event.
    pub(crate) fn advance(&mut self, definitions: &Definitions) -> Result<Found, Bad> {
        if self.sizes != (definitions.patterns(), definitions.references()) {
            let reason = "it was begun with other definitions";
            return Err(Bad::new(Section::Patterns, reason));
        }
        let found = self.find(definitions);
        self.ended |= found.is_err();
        found
    }

    fn find(&mut self, definitions: &Definitions) -> Result<Found, Bad> {
        loop {
            if self.ended {
                return Ok(Found::End);
            }
            self.visits.begin();
            self.work(definitions)?;
            let more = self.run > 0 || self.head.is_some();
            if more || !self.visits.done().is_empty() {
                return self.count();
            }
            if self.event_at == self.sections.heads.at {
                let event = self.next_event()?;
                if matches!(event, Some(Event::SpaceEnd { .. })) {
                    // What the space did is told before its end, since nothing of it may come after.
                    self.visits.put_down();
                    if !self.visits.done().is_empty() {
                        return self.count();
                    }
                }
                self.find_event_after()?;
                let Some(event) = event else { continue };
                self.event = event;
                return Ok(Found::Event);
            }
            if self.sections.heads.is_empty() {
                self.visits.put_down();
                if !self.visits.done().is_empty() {
                    return self.count();
                }
                self.ended = true;
                self.sections.all_used()?;
                self.compare_totals()?;
            }
        }
    }

    /// Adds up the visits of the item, which is complete.
    fn count(&mut self) -> Result<Found, Bad> {
        for visit in self.visits.done() {
            self.made.loads += u64::from(visit.loads);
            self.made.stores += u64::from(visit.stores);
            self.made.instructions += u64::from(visit.instructions);
        }
        Ok(Found::Visits)
    }

    fn compare_totals(&self) -> Result<(), Bad> {
        if self.totals == self.made {
            Ok(())
        } else {
            Err(Bad::new(
                Section::Totals,
                "they are not what the executions come to",
            ))
        }
    }

    // ---- events ----

    /// Finds out before which head the next event stands.
    fn find_event(&mut self) -> Result<(), Bad> {
        let events = &mut self.sections.events;
        if events.is_empty() {
            self.event_at = usize::MAX;
            return Ok(());
        }
        let skip = events.number();
        let skip = skip.map_err(|reason| Bad::new(Section::Events, reason))?;
        let heads = self.sections.heads.bytes.len();
        let at = usize::try_from(skip).ok();
        let at = at.and_then(|skip| self.event_at.checked_add(skip));
        let at = at.filter(|&at| at <= heads);
        self.event_at = at.ok_or(Bad::new(
            Section::Events,
            "an event stands behind the last head",
        ))?;
        Ok(())
    }

    /// The event that stands here, without moving on. `None` where its kind is of a later version.
    fn next_event(&mut self) -> Result<Option<Event>, Bad> {
        let events = &mut self.sections.events;
        let bad = |reason| Bad::new(Section::Events, reason);
        let start = events.at;
        let kind = events.byte().ok_or(bad("an event has no kind"))?;
        let length = events.number().map_err(bad)?;
        let payload = events
            .take(length)
            .ok_or(bad("an event is longer than its section"))?;
        let event = event_bytes::parse(kind, payload).map_err(bad)?;
        events.at = start;
        Ok(event)
    }

    /// Moves behind the event that stands here.
    fn find_event_after(&mut self) -> Result<(), Bad> {
        let events = &mut self.sections.events;
        let _kind = events.byte();
        if let Ok(length) = events.number() {
            events.take(length);
        }
        self.find_event()
    }

    // ---- executions ----

    /// Executes until the item is full, an event is due, or the heads are at their end.
    fn work(&mut self, definitions: &Definitions) -> Result<(), Bad> {
        loop {
            if self.visits.is_full() {
                return Ok(());
            }
            if self.run > 0 {
                self.foretold(definitions)?;
                continue;
            }
            if let Some(head) = self.head.take() {
                self.told(definitions, head)?;
                continue;
            }
            if self.sections.heads.at == self.event_at {
                return Ok(());
            }
            let Some(head) = self.sections.heads.byte() else {
                return Ok(());
            };
            self.begin_head(head)?;
        }
    }

    fn begin_head(&mut self, head: u8) -> Result<(), Bad> {
        let mut run = u64::from(head >> 4);
        if run == LONG_RUN {
            let more = self.sections.runs.number();
            let more = more.map_err(|reason| Bad::new(Section::Runs, reason))?;
            run = run.saturating_add(more);
        }
        let told = head & 0xf;
        let executions = run.saturating_add(u64::from(told & 3 != PATH_NONE));
        let sum = self.made.executions.checked_add(executions);
        self.made.executions = sum
            .filter(|&sum| sum <= self.totals.executions)
            .ok_or(Bad::new(
                Section::Runs,
                "more executions than the chunk says it has",
            ))?;
        match told {
            // What was foretold and stayed where it was may be told all the same.
            PATH_NEXT => self.run = run + 1,
            PATH_NONE => self.run = run,
            told if told & 3 == PATH_NONE => {
                let reason = "references of no execution leave their units";
                return Err(Bad::new(Section::Heads, reason));
            }
            told => {
                self.run = run;
                self.head = Some(told);
            }
        }
        Ok(())
    }

    /// Executions of the patterns that are foretold, until the run ends or the item is full.
    fn foretold(&mut self, definitions: &Definitions) -> Result<(), Bad> {
        const NONE: Bad = Bad::new(
            Section::Heads,
            "a pattern is foretold where none followed before",
        );
        let mut current = self.current;
        let mut run = self.run;
        let result = loop {
            let number = self.tables.known[current as usize].next;
            let Some(known) = self.tables.known.get(number as usize) else {
                break Err(NONE);
            };
            if let Some(visits) = self.tables.remembered(known) {
                self.visits.repeat(visits, known.count as usize, known.tail);
                self.visits.spend(known.cost);
            } else if let Err(bad) = self.execute(definitions, number, true) {
                break Err(bad);
            }
            current = number;
            run -= 1;
            if run == 0 || self.visits.is_full() {
                break Ok(());
            }
        };
        self.run = run;
        self.current = current;
        result
    }

    /// One execution that is told.
    fn told(&mut self, definitions: &Definitions, head: u8) -> Result<(), Bad> {
        let link = self.tables.known[self.current as usize];
        let number = match head & 3 {
            PATH_NEXT => link.next,
            PATH_OTHER => link.other,
            PATH_NAMED => match self.sections.patterns.take(3) {
                Some(&[low, middle, high]) => u32::from_le_bytes([low, middle, high, 0]),
                _ => return Err(Bad::new(Section::Patterns, "there are too few")),
            },
            _ => return Ok(()),
        };
        let Some(pattern) = definitions.patterns.get(number as usize) else {
            return Err(Bad::new(
                Section::Patterns,
                "a pattern is executed that is not defined, or foretold where none followed before",
            ));
        };
        if head & 3 != PATH_NEXT {
            self.tables.link(self.current, number);
        }
        self.current = number;
        self.specials.clear();
        if head >> 2 != 0 {
            self.tables.moves(pattern.block);
            self.leave(pattern, number, head >> 2)?;
        }
        if self.specials.is_empty() {
            self.execute(definitions, number, false)
        } else {
            self.execute_carefully(definitions, number, pattern)
        }
    }

    /// Takes in which references of an execution left their units, and where to.
    fn leave(&mut self, pattern: &Pattern, number: u32, left: u8) -> Result<(), Bad> {
        const SHORT: Bad = Bad::new(Section::Masks, "there are too few");
        let bad = |reason| Err(Bad::new(Section::Masks, reason));
        let steps = usize::from(pattern.steps);
        let mut reach = 0;
        if steps > 8 {
            if left != 2 {
                return bad("a pattern of more than 8 references has no mask of its own");
            }
            for from in (0..steps).step_by(8) {
                let mask = self.sections.masks.byte().ok_or(SHORT)?;
                if steps - from < 8 && mask >> (steps - from) != 0 {
                    return bad("references leave their units that the pattern does not have");
                }
                self.leave_by(pattern.first_step, from as u16, mask, &mut reach)?;
            }
            return Ok(());
        }
        let mask = match left {
            1 => self.tables.masks[number as usize],
            2 => {
                let mask = self.sections.masks.byte().ok_or(SHORT)?;
                if u32::from(mask) >> steps != 0 {
                    return bad("references leave their units that the pattern does not have");
                }
                self.tables.mask(number, mask);
                mask
            }
            _ => return Err(Bad::new(Section::Heads, "a head is of no known kind")),
        };
        self.leave_by(pattern.first_step, 0, mask, &mut reach)
    }

    /// Those of 8 references that a mask names.
    #[inline]
    fn leave_by(&mut self, first: u32, from: u16, mask: u8, reach: &mut u64) -> Result<(), Bad> {
        let mut mask = mask;
        while mask != 0 {
            let step = from + mask.trailing_zeros() as u16;
            mask &= mask - 1;
            let byte = self.sections.units.byte();
            let unit = match byte.ok_or(Bad::new(Section::Units, "there are too few"))? {
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
            self.tables.place(first + u32::from(step), unit);
        }
        Ok(())
    }

    /// A unit from the places, entered among the recent ones; `None` where the reference was not made.
    fn place(&mut self, step: u16, reach: &mut u64) -> Result<Option<u64>, Bad> {
        let bad = |reason| Bad::new(Section::Places, reason);
        let value = self.sections.places.number().map_err(bad)?;
        let span = match value & 1 {
            0 => 0,
            _ => self.sections.places.number().map_err(bad)?,
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
            return Err(bad("a unit lies past the last address"));
        }
        if span > 0 {
            *reach += span;
            if *reach > MOST_REACH {
                return Err(bad("accesses reach further than they may"));
            }
            self.specials.push((step, Special::Reach(span)));
        }
        self.tables.recent[recent_place(unit)] = unit;
        Ok(Some(unit))
    }

    /// One execution, with every reference made where it is now known to go. With `again`, its visits are remembered.
    fn execute(&mut self, definitions: &Definitions, number: u32, again: bool) -> Result<(), Bad> {
        let Some(pattern) = definitions.patterns.get(number as usize) else {
            return Err(Bad::new(Section::Patterns, "a pattern is not defined"));
        };
        if pattern.kind != Kind::Plain || (self.fetches && !definitions.fetches_of.is_empty()) {
            self.specials.clear();
            return self.execute_carefully(definitions, number, pattern);
        }
        let first = pattern.first_step as usize;
        let all = first..first + usize::from(pattern.steps);
        let (units, steps) = (&self.tables.last[all.clone()], &definitions.steps[all]);
        if again {
            self.alone.restart();
            self.alone.execute(units, steps, 0)?;
            self.tables.remember(number, pattern, self.alone.done());
        }
        let units = &self.tables.last[first..first + usize::from(pattern.steps)];
        self.visits.spend(pattern.cost);
        self.visits.execute(units, steps, pattern.tail)
    }

    /// One execution of which something is out of the ordinary.
    #[inline(never)]
    fn execute_carefully(
        &mut self,
        definitions: &Definitions,
        number: u32,
        pattern: &Pattern,
    ) -> Result<(), Bad> {
        if pattern.kind == Kind::Undefined {
            return Err(Bad::new(
                Section::Patterns,
                "a pattern is executed whose definition was lost",
            ));
        }
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
            let unit = self.tables.last[first + usize::from(at)];
            let special = specials.next_if(|&(of, _)| of == at);
            if let Some((_, Special::Absent)) = special {
                self.visits.carry(counted(step.instructions));
                continue;
            }
            if unit == NO_UNIT {
                return Err(NOT_PLACED);
            }
            self.visits
                .reference(unit, step, counted(step.instructions));
            if let Some((_, Special::Reach(span))) = special {
                let lead = match (step.loads, step.stores) {
                    (1, 0) => Lead::Load,
                    (0, 1) => Lead::Store,
                    _ => {
                        let reason = "a reference of several accesses reaches into further units";
                        return Err(Bad::new(Section::Places, reason));
                    }
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
        self.visits.spend(pattern.cost);
        if pattern.kind == Kind::Large {
            self.visits.fill();
        }
        Ok(())
    }
}
