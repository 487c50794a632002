//! Worlds go through a trace together.

mod batches;
pub(crate) mod cores;
mod kernel_events;
pub(crate) mod mix;
mod recorded;

use super::MemoryLimits;
use super::earlier::Names;
use super::filter_groups::SharedFilters;
use super::gathered::GatheredVisits;
use super::result;
use super::visit_slice::VisitSlice;
use super::worlds::Worlds;
use crate::events::lists_a_mapping;
use crate::origin::OriginTracker;
use crate::outcome::refused;
use crate::pool::Pool;
use crate::populate::parts;
use crate::stream::{Refused, Stream, TooLate};
use crate::visit_groups::VisitGroups;
use crate::world::World;
use crate::{Error, Plan, ReplayProgress, Source, SourcePart, SourcePiece};
use batches::{NO_PAGE, NOTED, OpenBatch, UnusualVisits};
use broadleaf_memory::GEOMETRY;
use broadleaf_metrics::CellResult;
use broadleaf_trace::{Advice, Event, KernelTouch, Range, SystemEvent};
use broadleaf_units::{PageNumber, SpaceId};
use cores::FollowedCore;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// The state after all traces were read.
pub(super) struct Replayed<'a> {
    pub(super) worlds: Worlds<'a>,
    pub(super) stream: Stream,
    /// The results of all worlds at the times that the plan asks for.
    pub(super) interim: Vec<Vec<CellResult>>,
}

/// The end of a pass.
pub(super) enum Ended {
    AtItsEnd,
    /// The trace lists the mappings of this space, and the replay took it for one without.
    ToBeginAgain(SpaceId),
}

/// The spaces whose mappings a trace lists.
pub(super) fn spaces_told<S: Source>(
    source: &mut S,
    names: &Names,
) -> Result<BTreeSet<SpaceId>, Error<S::Error>> {
    let (mut told, mut running) = (BTreeSet::new(), names.space(SpaceId(0))?);
    while let Some(mut part) = source.next_part().map_err(Error::Source)? {
        while let Some(piece) = part.next().map_err(Error::Source)? {
            match piece {
                SourcePiece::Event(
                    Event::SpaceSwitch(space) | Event::System(SystemEvent::Space(space)),
                ) => running = names.space(*space)?,
                SourcePiece::Event(event) if lists_a_mapping(event) => {
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

/// Worlds that are going through traces.
pub(super) struct Replay<'a, 'p> {
    worlds: Worlds<'a>,
    stream: Stream,
    names: Names,
    /// Accesses before the trace that is being read.
    begun: u64,
    batch: OpenBatch,
    origins: OriginTracker,
    core: FollowedCore,
    /// Visits of the batch that worlds have not replayed yet.
    gathered: GatheredVisits,
    /// The number of the part of a trace that is read.
    trace_part: u64,
    /// The filters that worlds share; none if no world uses one.
    filters: SharedFilters,
    /// The groups of the gathered visits; `None` if no world without a filter passes groups.
    groups: Option<VisitGroups>,
    /// Pages whose visits were noted lately.
    noted: Box<[PageNumber; NOTED]>,
    /// The unusual visits of the vocabulary at this address and of this length.
    unusual: Option<(usize, usize, UnusualVisits)>,
    pool: &'p Pool,
    /// The number of low bits of a unit that lie inside a base page.
    shift: u32,
    /// True if code pages use this memory, too.
    code: bool,
    /// True if the trace follows forked processes.
    children: bool,
    plan: &'p Plan,
    /// Results so far, at the times that the plan asks for.
    interim: Vec<Vec<CellResult>>,
}

impl<'a, 'p> Replay<'a, 'p> {
    /// A replay of worlds at their beginning.
    pub(super) fn new(
        worlds: Worlds<'a>,
        stream: Stream,
        plan: &'p Plan,
        limits: &MemoryLimits,
        pool: &'p Pool,
    ) -> Self {
        let mut worlds = worlds;
        let filters = worlds.filter();
        let passes_groups =
            |world: &World<'_>| world.filter_group().is_none() && world.passes_groups();
        let any_passes_groups = worlds.all.iter().any(passes_groups);
        Self {
            worlds,
            stream,
            names: Names::default(),
            begun: 0,
            batch: OpenBatch::default(),
            origins: OriginTracker::default(),
            core: FollowedCore::new(plan),
            gathered: GatheredVisits::default(),
            trace_part: 0,
            filters,
            groups: any_passes_groups.then(VisitGroups::default),
            noted: Box::new([NO_PAGE; NOTED]),
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
        self.worlds.run_daemons(&self.stream);
        Replayed {
            worlds: self.worlds,
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
        self.plan
            .check_grain(source.grain())
            .map_err(Error::Memory)?;
        self.end_spaces();
        self.names.begin(earlier);
        let first = self.names.space(SpaceId(0))?;
        self.stream.switch(first);
        self.origins.switch(first);
        self.follow_core();
        let kernel = source.holds_system().then_some(first);
        self.stream.set_kernel(kernel);
        if kernel.is_some() {
            // No group of visits is passed where the kernel has pages in every space.
            self.groups = None;
        }
        let code = source.code();
        let worlds = self.worlds.all.iter_mut();
        worlds.for_each(|world| world.follow_code(code.as_ref()));
        self.shift = u32::from(GEOMETRY.base().shift() - source.grain().shift());
        self.children = source.holds_children();
        self.begun = self.stream.now();
        if earlier.is_none() {
            self.stream.begin();
            let now = self.stream.now();
            self.worlds
                .all
                .iter_mut()
                .for_each(|world| world.begin(now));
        }
        Ok(())
    }

    pub(super) fn all<S: Source>(
        &mut self,
        source: &mut S,
        state: &mut ReplayProgress,
        progress: &mut dyn FnMut(ReplayProgress) -> ControlFlow<()>,
    ) -> Result<Ended, Error<S::Error>> {
        while let Some(mut part) = source.next_part().map_err(Error::Source)? {
            self.begin_trace_part();
            while let Some(piece) = part.next().map_err(Error::Source)? {
                // These pieces place pages.
                let places = match &piece {
                    SourcePiece::Event(event) => matches!(event, Event::Populate { .. }),
                    _ => true,
                };
                if places {
                    self.core.check()?;
                }
                match piece {
                    SourcePiece::Visits(visits) => self
                        .visits(VisitSlice::Each(visits))
                        .map_err(|why| refused(why, self.worlds.all.len()))?,
                    SourcePiece::Phrased(phrased) => self
                        .visits(VisitSlice::Named(phrased))
                        .map_err(|why| refused(why, self.worlds.all.len()))?,
                    SourcePiece::Reduced(..) => {
                        let why = "a reduced form leaves visits out, and the frame-level model \
                                   needs them: give the trace itself";
                        return Err(Error::Memory(why.to_string()));
                    }
                    SourcePiece::Event(event) => {
                        let event = self.names.of(event)?;
                        self.origins.event(&event);
                        self.follow_core();
                        if let Event::Populate { range, touch, .. } = &*event {
                            let populated = self.populate(*range, *touch);
                            populated.map_err(|why| refused(why, self.worlds.all.len()))?;
                        } else if let Event::System(system) = &*event {
                            self.system_event(system);
                        } else if let Event::Kernel(of_kernel) = &*event {
                            self.kernel_event(of_kernel);
                        } else if self.event(&event).is_err() {
                            return Ok(Ended::ToBeginAgain(self.stream.running));
                        }
                        let room = self.refuse_more_than_may_be();
                        room.map_err(|why| refused(why, self.worlds.all.len()))?;
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

    /// Returns an error if the model takes more memory than it may. Called after each batch, since
    /// one batch adds little.
    fn refuse_more_than_may_be(&self) -> Result<(), Refused> {
        let Some(limit) = self.plan.most_bytes() else {
            return Ok(());
        };
        let of_worlds = self
            .worlds
            .all
            .iter()
            .map(|world| world.system.bytes() as u64);
        let needed = self.stream.bytes() + of_worlds.sum::<u64>();
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

    /// Keeps the results of all worlds if the plan asks for results before the next visit.
    fn look_at_results(&mut self) {
        while self
            .next_results()
            .is_some_and(|after| after <= self.stream.summary.accesses)
        {
            self.end_batch();
            self.worlds.run_daemons(&self.stream);
            let results = result::results(&self.worlds, &self.stream, self.plan);
            self.interim.push(results);
        }
    }

    /// Removes the spaces that ended, before anything else happens.
    fn end_spaces(&mut self) {
        self.end_batch();
        self.worlds.run_daemons(&self.stream);
        for change in &self.stream.end_spaces() {
            let spaces = &self.stream.spaces;
            let worlds = self.worlds.all.iter_mut();
            worlds.for_each(|world| world.apply(change, spaces));
        }
    }

    /// The kernel makes pages resident, without a reference of the program.
    fn populate(&mut self, range: Range, touch: KernelTouch) -> Result<(), Refused> {
        self.end_batch();
        self.worlds.run_daemons(&self.stream);
        let space = self.stream.running;
        let parts = parts(&self.stream.spaces, space, range, touch);
        for part in &parts {
            for page in part.pages.start..part.pages.end {
                self.stream.note_visit(PageNumber(page))?;
            }
        }
        for world in &mut self.worlds.all {
            world.populate(space, &parts, &self.stream);
            if touch == KernelTouch::Collapse {
                world.collapse(space, crate::events::pages(range), &self.stream);
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
        if broadleaf_filter::is_seen_by_no_policy(event) && !forks {
            return self.stream.event(event).map(|_| ());
        }
        self.end_batch();
        self.worlds.run_daemons(&self.stream);
        let running = self.stream.running;
        let changes = self.stream.event(event)?;
        let spaces = &self.stream.spaces;
        for world in &mut self.worlds.all {
            if world.ended.is_some() {
                continue;
            }
            if crate::events::removes_or_moves_pages(event) {
                world.system.visited(running);
            }
            if let Event::Fork { child } = event {
                // The pages of an unborn child of the same number go first, then memory that no
                // other space shares.
                world.system.fork(spaces, running, *child);
            }
            let changes = changes.iter();
            changes.for_each(|change| world.apply(change, spaces));
            match event {
                Event::SpaceStart { pid, .. } if self.children => world.system.begin(running, *pid),
                Event::Advise(range, Advice::Free) => {
                    world
                        .system
                        .freed(spaces, running, crate::events::pages(*range));
                }
                _ => {}
            }
        }
        Ok(())
    }
}
