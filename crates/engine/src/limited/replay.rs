//! Cells go through a trace together.

use super::Limits;
use super::cast::Cast;
use super::earlier::Names;
use super::filter::{BatchPart, SharedFilter, VisitSlice};
use super::gathered::GatheredVisits;
use super::result;
use crate::events::tells_a_mapping;
use crate::passes::refused;
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

/// How many visits a batch has. Cells sample memory after each batch.
const BATCH: usize = 1 << 14;

/// Visits that most traces do not have.
#[derive(Clone, Copy, Debug, Default)]
struct UnusualVisits {
    /// Visits that fetch instructions.
    fetches: bool,
    /// Visits without a reference. They count as visits to their pages.
    empty: bool,
}

impl UnusualVisits {
    fn of(visits: &[Visit]) -> Self {
        let mut found = Self::default();
        for visit in visits {
            found.fetches |= visit.fetch;
            found.empty |= is_empty(visit);
        }
        found
    }
}

/// True if a visit references nothing, and fetches no instructions.
fn is_empty(visit: &Visit) -> bool {
    visit.lookups() == 0 && !visit.fetch
}

/// The visits since cells last sampled memory.
#[derive(Clone, Copy, Debug, Default)]
struct OpenBatch {
    space: SpaceId,
    visits: usize,
    /// When the last visit began that cells have replayed.
    last: u64,
}

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
    batch: OpenBatch,
    /// Visits of the batch that cells have not replayed yet.
    gathered: GatheredVisits,
    /// The number of the part of a trace that is read.
    trace_part: u64,
    /// The filter that cells share; `None` if no cell uses it.
    filter: Option<SharedFilter>,
    /// What unusual visits the vocabulary at this address and of this length has.
    unusual: Option<(usize, usize, UnusualVisits)>,
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
        let mut cast = cast;
        let filter = (!limits.code && !plan.replays_all_visits())
            .then(|| SharedFilter::new(plan.machines().iter().map(|machine| &machine.design)));
        let mut filter = filter;
        if let Some(shared) = &filter
            && !cast.filter(shared)
        {
            filter = None;
        }
        Self {
            cast,
            stream,
            names: Names::default(),
            begun: 0,
            batch: OpenBatch::default(),
            gathered: GatheredVisits::default(),
            trace_part: 0,
            filter,
            unusual: None,
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
        self.end_batch();
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
            self.begin_trace_part();
            while let Some(piece) = part.next().map_err(Error::Source)? {
                match piece {
                    Piece::Visits(visits) => self
                        .visits(VisitSlice::Each(visits))
                        .map_err(|why| refused(why, self.cast.cells.len()))?,
                    Piece::Phrased(phrased) => self
                        .visits(VisitSlice::Named(phrased))
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

    /// Forgets the words of the last part of a trace.
    fn begin_trace_part(&mut self) {
        self.flush();
        self.unusual = None;
        self.trace_part += 1;
        if let Some(filter) = &mut self.filter {
            filter.begin_trace_part();
        }
    }

    /// Replays visits with no event between them.
    fn visits(&mut self, visits: VisitSlice<'_>) -> Result<(), Refused> {
        let mut at = 0;
        while at < visits.len() {
            let first = visits.visit(at);
            if first.fetch && !self.code {
                self.stream.pass(&Sums {
                    instructions: first.instructions.into(),
                    ..Sums::default()
                });
                at += 1;
                continue;
            }
            if self.stream.is_ending() {
                self.end_spaces();
            }
            self.look_at_results();
            if self.batch.space != self.stream.running || self.batch.visits >= BATCH {
                self.end_batch();
                self.refuse_more_than_may_be()?;
            }
            let (to, counted) = self.end_of_part(&visits, at);
            self.batch.visits += counted;
            self.gather(&visits.range(at, to))?;
            at = to;
        }
        Ok(())
    }

    /// The number of the first visit after `from` before which something else happens: the batch
    /// ends, or results are due. Returns also how many visits before it count for the batch.
    fn end_of_part(&mut self, visits: &VisitSlice<'_>, from: usize) -> (usize, usize) {
        let room = BATCH - self.batch.visits;
        let due = self.next_results().unwrap_or(u64::MAX);
        if due == u64::MAX && !self.unusual(visits).fetches {
            let to = visits.len().min(from + room);
            return (to, to - from);
        }
        let (mut counted, mut accesses) = (0, self.stream.summary.accesses);
        for at in from..visits.len() {
            let visit = visits.visit(at);
            if !visit.fetch || self.code {
                if counted == room || accesses >= due {
                    return (at, counted);
                }
                counted += 1;
                accesses = accesses.saturating_add(visit.accesses());
            }
        }
        (visits.len(), counted)
    }

    /// Returns which unusual visits there may be.
    fn unusual(&mut self, visits: &VisitSlice<'_>) -> UnusualVisits {
        let phrased = match visits {
            VisitSlice::Each(visits) => return UnusualVisits::of(visits),
            VisitSlice::Named(phrased) => phrased,
        };
        let address = phrased.vocabulary.as_ptr().addr();
        let length = phrased.vocabulary.len();
        match self.unusual {
            Some((known, as_long, found)) if (known, as_long) == (address, length) => found,
            _ => {
                let found = UnusualVisits::of(phrased.vocabulary);
                self.unusual = Some((address, length, found));
                found
            }
        }
    }

    /// Filters visits of the running space between which nothing else happens, and gathers them
    /// for the cells.
    fn gather(&mut self, visits: &VisitSlice<'_>) -> Result<(), Refused> {
        if !self.gathered.can_take(visits, self.trace_part) {
            self.flush();
        }
        let has_empty = self.filter.is_some() && self.unusual(visits).empty;
        let Self {
            gathered,
            stream,
            filter,
            ..
        } = self;
        if gathered.is_empty() {
            gathered.begin = stream.now();
            gathered.instructions = stream.summary.instructions;
        }
        self.batch.space = stream.running;
        gathered.add(visits, self.trace_part);
        let before = gathered.sums;
        match filter.as_mut().filter(|filter| !filter.rests()) {
            Some(filter) => {
                let kept = filter.filter(visits, self.shift, &mut gathered.sums);
                for kept in kept {
                    stream.notice(PageNumber(kept.page))?;
                }
                if has_empty {
                    let all = (0..visits.len()).map(|at| visits.visit(at));
                    for visit in all.filter(is_empty) {
                        stream.notice(PageNumber(visit.unit >> self.shift))?;
                    }
                }
            }
            None => {
                for visit in (0..visits.len()).map(|at| visits.visit(at)) {
                    gathered.sums.instructions += u64::from(visit.instructions);
                    if !visit.fetch || self.code {
                        gathered.sums.loads += u64::from(visit.loads);
                        gathered.sums.stores += u64::from(visit.stores);
                        stream.notice(PageNumber(visit.unit >> self.shift))?;
                    }
                }
            }
        }
        stream.pass(&Sums {
            loads: gathered.sums.loads - before.loads,
            stores: gathered.sums.stores - before.stores,
            instructions: gathered.sums.instructions - before.instructions,
            data: gathered.sums.data,
        });
        Ok(())
    }

    /// Lets all cells replay the visits that were gathered.
    fn flush(&mut self) {
        if self.gathered.is_empty() {
            return;
        }
        let Self {
            gathered, stream, ..
        } = self;
        let filter = self.filter.as_mut().filter(|filter| !filter.rests());
        let filtered = filter.map(|filter| filter.end_part(&gathered.sums));
        let part = BatchPart {
            space: self.batch.space,
            visits: gathered.all(),
            shift: self.shift,
            begin: gathered.begin,
            instructions: gathered.instructions,
            code: self.code,
            trace_part: self.trace_part,
            filtered,
        };
        self.batch.last = part.last_time(&gathered.sums);
        let stream = &*stream;
        let cells = self.cast.cells.iter_mut();
        self.pool
            .run(cells.map(|cell| move || cell.replay(&part, stream)));
        if let Some(filter) = &mut self.filter {
            filter.clear(gathered.all().len());
        }
        gathered.clear();
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

    /// The accesses of the trace after which the plan asks for results next.
    fn next_results(&self) -> Option<u64> {
        let after = self.plan.interim().get(self.interim.len()).copied();
        after.filter(|_| !self.names.are_earlier())
    }

    /// Keeps the results of all cells if the plan asks for results before the next visit.
    fn look_at_results(&mut self) {
        while self
            .next_results()
            .is_some_and(|after| after <= self.stream.summary.accesses)
        {
            self.end_batch();
            self.cast.pass(&self.stream);
            let results = result::results(&self.cast, &self.stream, self.plan);
            self.interim.push(results);
        }
    }

    /// Something comes after the end of a space: it is gone.
    fn end_spaces(&mut self) {
        self.end_batch();
        self.cast.pass(&self.stream);
        for change in &self.stream.end_spaces() {
            self.cast
                .cells
                .iter_mut()
                .for_each(|cell| cell.apply(change));
        }
    }

    /// Lets all cells replay what is left of a batch, and then sample memory.
    fn end_batch(&mut self) {
        self.flush();
        if self.batch.visits > 0 {
            let last = self.batch.last;
            let cells = self.cast.cells.iter_mut();
            cells.for_each(|cell| cell.end_batch(last));
            self.batch.visits = 0;
        }
    }

    /// The kernel makes pages resident, without a reference of the program.
    fn populate(&mut self, range: Range, touch: KernelTouch) -> Result<(), Refused> {
        self.end_batch();
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
        self.end_batch();
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
