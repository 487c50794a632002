//! Cells go through a trace together.

use super::Limits;
use super::cast::Cast;
use super::earlier::Names;
use super::result;
use super::steps::Steps;
use crate::events::tells_a_mapping;
use crate::outcome::refused;
use crate::pool::Pool;
use crate::populate::parts;
use crate::stream::{Refused, Stream, TooLate};
use crate::{Error, Part, Piece, Plan, Progress, Source};
use broadleaf_memory::GEOMETRY;
use broadleaf_metrics::CellResult;
use broadleaf_trace::reduced::Sums;
use broadleaf_trace::{Advice, Event, KernelTouch, Range, Visit};
use broadleaf_units::{PageNumber, SpaceId};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// How many visits are replayed at a time.
const BATCH: usize = 1 << 14;

/// What there is when all traces were read.
pub(super) struct Replayed<'a> {
    pub(super) cast: Cast<'a>,
    pub(super) stream: Stream,
    /// What cells came to on the way, at the times that the plan asks for.
    pub(super) interim: Vec<Vec<CellResult>>,
}

/// How a pass ended.
pub(super) enum Ended {
    AtItsEnd,
    /// The mappings of this space are told, and were not known to be.
    ToBeginAgain(SpaceId),
}

/// The spaces whose mappings a trace tells.
pub(super) fn spaces_told<S: Source>(
    source: &mut S,
    names: &Names,
) -> Result<BTreeSet<SpaceId>, Error<S::Error>> {
    let (mut told, mut running) = (BTreeSet::new(), names.space(SpaceId(0))?);
    while let Some(mut part) = source.next_part().map_err(Error::Source)? {
        while let Some(piece) = part.next().map_err(Error::Source)? {
            match piece {
                Piece::Event(Event::SpaceSwitch(space)) => running = names.space(*space)?,
                Piece::Event(event) if tells_a_mapping(event) => {
                    told.insert(running);
                }
                _ => {}
            }
        }
        if source.close(part).map_err(Error::Source)?.is_break() {
            break;
        }
    }
    Ok(told)
}

/// Cells that are going through traces.
pub(super) struct Replay<'a, 'p> {
    cast: Cast<'a>,
    stream: Stream,
    names: Names,
    /// Accesses before the trace that is being read.
    begun: u64,
    steps: Steps,
    pool: &'p Pool,
    /// How many low bits of a unit lie inside a base page.
    shift: u32,
    /// Whether pages that instructions come from are in this memory too.
    code: bool,
    /// Whether processes that were forked are in the trace.
    children: bool,
    plan: &'p Plan,
    /// Results so far, at the times that the plan asks for.
    interim: Vec<Vec<CellResult>>,
}

impl<'a, 'p> Replay<'a, 'p> {
    /// Of cells that have seen nothing yet.
    pub(super) fn new(
        cast: Cast<'a>,
        stream: Stream,
        plan: &'p Plan,
        limits: &Limits,
        pool: &'p Pool,
    ) -> Self {
        Self {
            cast,
            stream,
            names: Names::default(),
            begun: 0,
            steps: Steps::default(),
            pool,
            shift: 0,
            code: limits.code,
            children: true,
            plan,
            interim: Vec::new(),
        }
    }

    /// The names that spaces have in the trace that is being read.
    pub(super) const fn names(&self) -> &Names {
        &self.names
    }

    /// All traces were read.
    pub(super) fn finish(mut self) -> Replayed<'a> {
        self.flush();
        self.cast.pass(&self.stream);
        Replayed {
            cast: self.cast,
            stream: self.stream,
            interim: self.interim,
        }
    }

    /// A trace begins: an earlier one, or the one that results are about.
    pub(super) fn begin<S: Source>(
        &mut self,
        earlier: Option<usize>,
        source: &S,
    ) -> Result<(), Error<S::Error>> {
        self.end_spaces();
        self.names.begin(earlier);
        self.stream.switch(self.names.space(SpaceId(0))?);
        self.shift = u32::from(GEOMETRY.base().shift() - source.grain().shift());
        self.children = source.holds_children();
        self.begun = self.stream.now();
        if earlier.is_none() {
            self.stream.begin();
            let now = self.stream.now();
            self.cast.cells.iter_mut().for_each(|cell| cell.begin(now));
        }
        Ok(())
    }

    pub(super) fn all<S: Source>(
        &mut self,
        source: &mut S,
        state: &mut Progress,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Ended, Error<S::Error>> {
        while let Some(mut part) = source.next_part().map_err(Error::Source)? {
            while let Some(piece) = part.next().map_err(Error::Source)? {
                match piece {
                    Piece::Visits(visits) => self
                        .visits(visits.iter().copied())
                        .map_err(|why| refused(why, self.cast.cells.len()))?,
                    Piece::Phrased(phrased) => self
                        .visits(phrased.visits())
                        .map_err(|why| refused(why, self.cast.cells.len()))?,
                    Piece::Reduced(..) => {
                        let why = "a reduced form leaves out what limited memory notices";
                        return Err(Error::Memory(why.to_string()));
                    }
                    Piece::Event(event) => {
                        let event = self.names.of(event)?;
                        if let Event::Populate { range, touch, .. } = &*event {
                            let populated = self.populate(*range, *touch);
                            populated.map_err(|why| refused(why, self.cast.cells.len()))?;
                        } else if self.event(&event).is_err() {
                            return Ok(Ended::ToBeginAgain(self.stream.running));
                        }
                        let room = self.refuse_more_than_may_be();
                        room.map_err(|why| refused(why, self.cast.cells.len()))?;
                    }
                }
                state.accesses = self.stream.now() - self.begun;
                if progress(*state).is_break() {
                    return Err(Error::Stopped);
                }
            }
            if source.close(part).map_err(Error::Source)?.is_break() {
                break;
            }
        }
        Ok(Ended::AtItsEnd)
    }

    fn visits(&mut self, visits: impl IntoIterator<Item = Visit>) -> Result<(), Refused> {
        for visit in visits {
            let mut sums = Sums {
                instructions: visit.instructions.into(),
                ..Sums::default()
            };
            if !visit.fetch || self.code {
                if self.stream.is_ending() {
                    self.end_spaces();
                }
                self.look_at_results();
                if self.steps.space != self.stream.running || self.steps.steps.len() >= BATCH {
                    self.flush();
                    self.refuse_more_than_may_be()?;
                }
                let page = PageNumber(visit.unit >> self.shift);
                self.stream.notice(page)?;
                self.steps.space = self.stream.running;
                let before = self.stream.summary.instructions;
                self.steps.add(&visit, page, self.stream.now(), before);
                sums.loads = visit.loads.into();
                sums.stores = visit.stores.into();
            }
            self.stream.pass(&sums);
        }
        Ok(())
    }

    /// Returns an error if the model takes more memory than it may. Called after each batch, since
    /// one batch adds little.
    fn refuse_more_than_may_be(&self) -> Result<(), Refused> {
        let Some(limit) = self.plan.most_bytes() else {
            return Ok(());
        };
        let of_cells = self
            .cast
            .cells
            .iter()
            .map(|cell| cell.system.bytes() as u64);
        let needed = self.stream.bytes() + of_cells.sum::<u64>();
        if needed <= limit {
            return Ok(());
        }
        let blocks = self.stream.spaces.blocks();
        Err(Refused::Room {
            needed,
            limit,
            blocks,
        })
    }

    /// Keeps what cells come to where the plan asks for that before what comes now.
    fn look_at_results(&mut self) {
        while (self.plan.interim().get(self.interim.len())).is_some_and(|after| {
            !self.names.are_earlier() && *after <= self.stream.summary.accesses
        }) {
            self.flush();
            self.cast.pass(&self.stream);
            let results = result::results(&self.cast, &self.stream, self.plan);
            self.interim.push(results);
        }
    }

    /// Something comes after the end of a space: it is gone.
    fn end_spaces(&mut self) {
        self.flush();
        self.cast.pass(&self.stream);
        for change in &self.stream.end_spaces() {
            self.cast
                .cells
                .iter_mut()
                .for_each(|cell| cell.apply(change));
        }
    }

    /// Lets all cells replay what has come together.
    fn flush(&mut self) {
        if self.steps.steps.is_empty() {
            return;
        }
        let (steps, stream) = (&self.steps, &self.stream);
        let replays = self
            .cast
            .cells
            .iter_mut()
            .map(|cell| move || cell.replay(steps, stream));
        self.pool.run(replays);
        self.steps.steps.clear();
    }

    /// The kernel makes pages resident, without a reference of the program.
    fn populate(&mut self, range: Range, touch: KernelTouch) -> Result<(), Refused> {
        self.flush();
        self.cast.pass(&self.stream);
        let space = self.stream.running;
        let parts = parts(&self.stream.spaces, space, range, touch);
        for part in &parts {
            for page in part.pages.start..part.pages.end {
                self.stream.notice(PageNumber(page))?;
            }
        }
        for cell in &mut self.cast.cells {
            cell.populate(space, &parts, &self.stream);
            if touch == KernelTouch::Collapse {
                cell.collapse(space, crate::events::pages(range), &self.stream);
            }
        }
        Ok(())
    }

    fn event(&mut self, event: &Event) -> Result<(), TooLate> {
        let forks = matches!(event, Event::Fork { .. });
        if forks && !self.children {
            // Children that a recording does not follow need no memory.
            return Ok(());
        }
        if crate::events::is_seen_by_no_policy(event) && !forks {
            return self.stream.event(event).map(|_| ());
        }
        self.flush();
        self.cast.pass(&self.stream);
        let running = self.stream.running;
        let changes = self.stream.event(event)?;
        let spaces = &self.stream.spaces;
        for cell in &mut self.cast.cells {
            if cell.ended.is_some() {
                continue;
            }
            if crate::events::takes_something_away(event) {
                cell.system.visited(running);
            }
            if let Event::Fork { child } = event {
                // What a child of the same number that never began has goes before what nobody else has.
                cell.system.fork(spaces, running, *child);
            }
            changes.iter().for_each(|change| cell.apply(change));
            match event {
                Event::SpaceStart { pid, .. } if self.children => cell.system.begin(running, *pid),
                Event::Advise(range, Advice::Free) => {
                    cell.system
                        .freed(spaces, running, crate::events::pages(*range));
                }
                _ => {}
            }
        }
        Ok(())
    }
}
