//! Replaying in memory that runs short: every policy on every machine has a memory of its own, down to the frame.
//!
//! Nothing is left out of the trace here. What a page's last use was decides what leaves memory, so a visit that hits a TLB changes
//! something; and what one policy has in memory another has not, so little can be shared. It takes some tens of nanoseconds for each visit,
//! policy and machine.

mod cell;
mod charged;
mod earlier;
mod limits;
mod result;
mod steps;

pub use limits::Limits;

pub(crate) use earlier::{MOST_EARLIER, is_earlier};

use crate::cell::Promoted;
use crate::events::tells_a_mapping;
use crate::pool::Pool;
use crate::run::{Foresight, refused};
use crate::stream::{Stream, TooLate};
use crate::{Error, Outcome, Part, Piece, Plan, Progress, Source};
use broadleaf_memory::GEOMETRY;
use broadleaf_metrics::CellResult;
use broadleaf_trace::reduced::Sums;
use broadleaf_trace::{Advice, Event, Visit};
use broadleaf_units::{PageNumber, SpaceId};
use cell::Cell;
use earlier::{Names, NoRoom};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use steps::Steps;

/// How many visits are replayed at a time.
const BATCH: usize = 1 << 14;

/// Traces that are replayed one after the other: what ran before, and the one that results are about.
pub(crate) struct Sources<'s, S> {
    pub(crate) earlier: &'s mut [S],
    pub(crate) last: &'s mut S,
    /// Whether any of them was read before.
    pub(crate) read: bool,
}

impl<S: Source> Sources<'_, S> {
    /// All of them in order, each with its number where it is an earlier one.
    pub(crate) fn in_order(&mut self) -> impl Iterator<Item = (Option<usize>, &mut S)> {
        let earlier = self.earlier.iter_mut().enumerate();
        let earlier = earlier.map(|(number, source)| (Some(number), source));
        earlier.chain([(None, &mut *self.last)])
    }
}

/// Replays traces in limited memory.
pub(crate) fn run<S: Source>(
    mut sources: Sources<'_, S>,
    plan: &Plan,
    limits: &Limits,
    foresight: &Foresight,
    pool: &Pool,
    mut state: Progress,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Outcome, Error<S::Error>> {
    let mut told = BTreeSet::new();
    'again: loop {
        let mut replay = Replay {
            cells: cells(plan, limits, foresight).map_err(Error::Memory)?,
            stream: Stream::new(told.clone()),
            names: Names::default(),
            begun: 0,
            steps: Steps::default(),
            pool,
            shift: 0,
            code: limits.code,
            children: true,
            plan,
            interim: Vec::new(),
        };
        if sources.read {
            for (_, source) in sources.in_order() {
                source.rewind().map_err(Error::Source)?;
            }
        }
        sources.read = true;
        state.pass += 1;
        state.passes = state.passes.max(state.pass);
        for (number, source) in sources.in_order() {
            (state.earlier, state.accesses) = (number, 0);
            if progress(state).is_break() {
                return Err(Error::Stopped);
            }
            replay.begin(number, source)?;
            if let Ended::ToBeginAgain(space) = replay.all(source, &mut state, progress)? {
                told.insert(space);
                source.rewind().map_err(Error::Source)?;
                told.extend(spaces_told(source, &replay.names)?);
                continue 'again;
            }
        }
        replay.flush();
        let Replay {
            mut cells,
            stream,
            interim,
            ..
        } = replay;
        cells.iter_mut().for_each(|cell| cell.pass(&stream));
        return Ok(result::outcome(&cells, &stream, plan, interim));
    }
}

/// A cell for each policy and machine, policies in the order asked; and one of the policy to which faults are compared.
fn cells<'a>(
    plan: &'a Plan,
    limits: &Limits,
    foresight: &'a Foresight,
) -> Result<Vec<Cell<'a>>, String> {
    let mut cells = Vec::new();
    let baseline = plan.baseline();
    let extra = (plan.policies().iter()).all(|policy| policy.name() != baseline.name());
    let policies = plan.policies().iter().map(|policy| policy.as_ref());
    let pairs = policies.flat_map(|policy| plan.machines().iter().map(move |on| (policy, on)));
    let extra = plan.machines().iter().filter(|_| extra);
    for (policy, machine) in pairs.chain(extra.map(|machine| (baseline, machine))) {
        let spec = limits
            .spec(machine, &policy.needs())
            .map_err(|why| format!("{}: {why}", machine.name))?;
        let name = policy.needs().foresight_of;
        let foreseen = name.and_then(|name| foresight.get(name));
        cells.push(Cell::new(policy, machine, &spec, foreseen));
    }
    Ok(cells)
}

/// What a policy promotes in an earlier trace, by the names that it has among others.
pub(crate) fn named<E>(promoted: Promoted, earlier: usize) -> Result<Promoted, Error<E>> {
    let mut names = Names::default();
    names.begin(Some(earlier));
    let named = promoted.into_iter();
    named
        .map(|(space, block)| Ok((names.space(space)?, block)))
        .collect()
}

impl<E> From<NoRoom> for Error<E> {
    fn from(error: NoRoom) -> Self {
        Self::Memory(error.to_string())
    }
}

/// How a pass ended.
enum Ended {
    AtItsEnd,
    /// The mappings of this space are told, and were not known to be.
    ToBeginAgain(SpaceId),
}

/// The spaces whose mappings a trace tells.
fn spaces_told<S: Source>(
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

struct Replay<'a> {
    cells: Vec<Cell<'a>>,
    stream: Stream,
    names: Names,
    /// Accesses before the trace that is being read.
    begun: u64,
    steps: Steps,
    pool: &'a Pool,
    /// How many low bits of a unit lie inside a base page.
    shift: u32,
    /// Whether pages that instructions come from are in this memory too.
    code: bool,
    /// Whether processes that were forked are in the trace.
    children: bool,
    plan: &'a Plan,
    /// Results so far, at the times that the plan asks for.
    interim: Vec<Vec<CellResult>>,
}

impl Replay<'_> {
    /// A trace begins: an earlier one, or the one that results are about.
    fn begin<S: Source>(
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
            self.cells.iter_mut().for_each(|cell| cell.begin(now));
        }
        Ok(())
    }

    fn all<S: Source>(
        &mut self,
        source: &mut S,
        state: &mut Progress,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Ended, Error<S::Error>> {
        while let Some(mut part) = source.next_part().map_err(Error::Source)? {
            while let Some(piece) = part.next().map_err(Error::Source)? {
                match piece {
                    Piece::Visits(visits) => {
                        self.visits(visits)
                            .map_err(|why| refused(why, self.plan.policies().len()))?;
                    }
                    Piece::Reduced(..) => {
                        let why = "a reduced form leaves out what limited memory notices";
                        return Err(Error::Memory(why.to_string()));
                    }
                    Piece::Event(event) => {
                        let event = self.names.of(event)?;
                        if self.event(&event).is_err() {
                            return Ok(Ended::ToBeginAgain(self.stream.running));
                        }
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

    fn visits(&mut self, visits: &[Visit]) -> Result<(), crate::stream::Refused> {
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
                }
                let page = PageNumber(visit.unit >> self.shift);
                self.stream.notice(page)?;
                self.steps.space = self.stream.running;
                let before = self.stream.summary.instructions;
                self.steps.add(visit, page, self.stream.now(), before);
                sums.loads = visit.loads.into();
                sums.stores = visit.stores.into();
            }
            self.stream.pass(&sums);
        }
        Ok(())
    }

    /// Keeps what cells come to where the plan asks for that before what comes now.
    fn look_at_results(&mut self) {
        while (self.plan.interim().get(self.interim.len())).is_some_and(|after| {
            !self.names.are_earlier() && *after <= self.stream.summary.accesses
        }) {
            self.flush();
            self.cells
                .iter_mut()
                .for_each(|cell| cell.pass(&self.stream));
            let results = result::results(&self.cells, &self.stream, self.plan);
            self.interim.push(results);
        }
    }

    /// Something comes after the end of a space: it is gone.
    fn end_spaces(&mut self) {
        self.flush();
        self.cells
            .iter_mut()
            .for_each(|cell| cell.pass(&self.stream));
        for change in &self.stream.end_spaces() {
            self.cells.iter_mut().for_each(|cell| cell.apply(change));
        }
    }

    /// Lets all cells replay what has come together.
    fn flush(&mut self) {
        if self.steps.steps.is_empty() {
            return;
        }
        let (steps, stream) = (&self.steps, &self.stream);
        let replays = self
            .cells
            .iter_mut()
            .map(|cell| move || cell.replay(steps, stream));
        self.pool.run(replays, std::iter::empty::<fn()>());
        self.steps.steps.clear();
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
        self.cells
            .iter_mut()
            .for_each(|cell| cell.pass(&self.stream));
        let running = self.stream.running;
        let changes = self.stream.event(event)?;
        let spaces = &self.stream.spaces;
        for cell in &mut self.cells {
            if cell.ended.is_some() {
                continue;
            }
            if crate::events::takes_something_away(event) {
                cell.system.visited(running);
            }
            changes.iter().for_each(|change| cell.apply(change));
            match event {
                Event::Fork { child } => cell.system.fork(spaces, running, *child),
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
