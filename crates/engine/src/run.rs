//! The passes over a trace.

use crate::batch::Batch;
use crate::cell::{Cell, Promoted};
use crate::events::tells_a_mapping;
use crate::filter::Filter;
use crate::stream::{Refused, Stream, TooLate};
use crate::{Plan, Source, result};
use broadleaf_memory::{Change, GEOMETRY};
use broadleaf_metrics::{CellResult, TraceSummary};
use broadleaf_trace::{Event, Item};
use broadleaf_translation::{Machine, SpaceTag};
use broadleaf_units::SpaceId;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// Why a replay failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error<E> {
    /// The trace could not be read.
    #[error("{0}")]
    Source(E),
    /// An address that no x86-64 processor translates.
    #[error("the address {address:#x} is not canonical: no x86-64 processor translates it")]
    Address {
        /// The first byte of its page.
        address: u64,
    },
    /// More address spaces are alive at once than a TLB of this model can tell apart.
    #[error("more than {limit} address spaces are alive at once")]
    TooManySpaces {
        /// How many it can.
        limit: usize,
    },
    /// The blocks that the trace reaches, kept once for each policy, would take more memory than a replay may.
    #[error(
        "the trace reaches {blocks} blocks of 2 MiB or more; under {policies} policies at a time (4k, with which faults are \
         compared, is always one) a replay keeps {limit} in all: compare fewer policies at a time"
    )]
    TooManyBlocks {
        /// How many blocks it had reached.
        blocks: usize,
        /// How many policies were replayed at a time.
        policies: usize,
        /// How many blocks of all policies together are kept.
        limit: usize,
    },
    /// The progress callback asked to stop.
    #[error("stopped")]
    Stopped,
}

/// How far a replay has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Which pass over the trace this is, from 1.
    pub pass: u32,
    /// How many passes there will be, as far as is known.
    pub passes: u32,
    /// Accesses replayed in this pass.
    pub accesses: u64,
}

/// What a replay found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The trace, with an empty path and hash, which only the host knows.
    pub trace: TraceSummary,
    /// One result for each policy and machine: policies in the order asked, machines inside.
    pub results: Vec<CellResult>,
    /// What a reader of the numbers has to know about the trace and the model.
    pub notes: Vec<String>,
}

/// Replays a trace under every policy and machine of a plan.
///
/// Takes one pass, and one more where a policy needs to know the future. Where a trace turns out to tell the mappings of an
/// address space only after references to it, it is read again from the start. `progress` is called every few thousand
/// visits, and stops the replay with [`ControlFlow::Break`].
///
/// # Errors
/// Where the source fails, the trace holds an address or a number of address spaces or blocks that the model cannot take,
/// or `progress` stops.
pub fn run<S: Source>(
    source: &mut S,
    plan: &Plan,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Outcome, Error<S::Error>> {
    let passes = if plan.foreseen().is_empty() { 1 } else { 2 };
    let mut passes = Passes {
        source,
        progress,
        state: Progress {
            pass: 0,
            passes,
            accesses: 0,
        },
        told: BTreeSet::new(),
        most_blocks: plan.most_blocks(),
        machines: plan.machines(),
    };
    let foresight = foresee(&mut passes, plan)?;
    loop {
        let mut cells: Vec<Cell<'_>> = Vec::new();
        for policy in plan.policies() {
            let foreseen = policy
                .needs()
                .foresight_of
                .and_then(|name| foresight.get(name));
            cells.push(Cell::new(policy.as_ref(), plan.machines(), foreseen));
        }
        let baseline = match plan
            .policies()
            .iter()
            .position(|policy| policy.name() == plan.baseline().name())
        {
            Some(at) => at,
            None => {
                cells.push(Cell::new(plan.baseline(), &[], None));
                cells.len() - 1
            }
        };
        if let Some(stream) = passes.replay(&mut cells)? {
            let base_faults = cells[baseline].memory.counters().page_faults;
            return Ok(Outcome {
                trace: result::summary(&stream),
                results: cells
                    .iter()
                    .flat_map(|cell| result::results(cell, &stream, base_faults))
                    .collect(),
                notes: result::notes(&stream),
            });
        }
    }
}

/// What each policy that others foresee promotes, by its name.
fn foresee<S: Source>(
    passes: &mut Passes<'_, S>,
    plan: &Plan,
) -> Result<BTreeMap<String, Promoted>, Error<S::Error>> {
    if plan.foreseen().is_empty() {
        return Ok(BTreeMap::new());
    }
    loop {
        let cells = plan
            .foreseen()
            .iter()
            .map(|policy| Cell::new(policy.as_ref(), &[], None).remembering());
        let mut cells: Vec<Cell<'_>> = cells.collect();
        if passes.replay(&mut cells)?.is_some() {
            return Ok(cells
                .into_iter()
                .map(|cell| (cell.policy.name(), cell.into_promoted()))
                .collect());
        }
    }
}

/// How many visits are prepared at a time: few enough that they stay in the cache while every cell replays them.
const BATCH: usize = 4096;

/// A source that is read once or more.
struct Passes<'a, S> {
    source: &'a mut S,
    progress: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
    state: Progress,
    /// Address spaces that are known to have their mappings told.
    told: BTreeSet<SpaceId>,
    /// How many blocks the cells may keep together.
    most_blocks: usize,
    /// All that any cell has.
    machines: &'a [Machine],
}

impl<S: Source> Passes<'_, S> {
    /// Takes the cells through the trace. `None` where it has to be done again with new cells: what a space's mappings are
    /// was told too late, and is known now.
    fn replay(&mut self, cells: &mut [Cell<'_>]) -> Result<Option<Stream>, Error<S::Error>> {
        if self.state.pass > 0 {
            self.source.rewind().map_err(Error::Source)?;
        }
        self.state.pass += 1;
        let filter = Filter::new(self.machines);
        let mut stream = Stream::new(self.source.grain(), self.told.clone(), filter);
        let mut batch = Batch::default();
        while let Some(item) = self.source.next().map_err(Error::Source)? {
            match item {
                Item::Visits(visits) => {
                    let changes = stream.end_spaces_before(visits);
                    apply(&changes, cells, &mut stream);
                    for visits in visits.chunks(BATCH) {
                        stream.take(visits, &mut batch).map_err(refused)?;
                        has_room(&stream, cells.len(), self.most_blocks)?;
                        let mut disturbed = false;
                        for cell in &mut *cells {
                            disturbed |= cell.replay(&batch, &stream);
                        }
                        if disturbed {
                            stream.disturb();
                        }
                        self.state.accesses = stream.now();
                        if (self.progress)(self.state).is_break() {
                            return Err(Error::Stopped);
                        }
                    }
                }
                Item::Event(event) => match stream.event(event) {
                    Ok(changes) => {
                        has_room(&stream, cells.len(), self.most_blocks)?;
                        apply(&changes, cells, &mut stream);
                    }
                    Err(TooLate) => {
                        self.learn(stream.running)?;
                        self.state.passes += 1;
                        return Ok(None);
                    }
                },
            }
            #[cfg(test)]
            cells.iter().for_each(Cell::check);
        }
        Ok(Some(stream))
    }

    /// Reads the rest of the trace for the spaces whose mappings it tells; this one is known to be such.
    fn learn(&mut self, mut running: SpaceId) -> Result<(), Error<S::Error>> {
        self.told.insert(running);
        while let Some(item) = self.source.next().map_err(Error::Source)? {
            match item {
                Item::Event(Event::SpaceSwitch(space)) => running = *space,
                Item::Event(event) if tells_a_mapping(event) => {
                    self.told.insert(running);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn apply(changes: &[Change], cells: &mut [Cell<'_>], stream: &mut Stream) {
    if !changes.is_empty() {
        stream.disturb();
    }
    for change in changes {
        cells.iter_mut().for_each(|cell| cell.apply(change, stream));
        if let Change::End(extent) = change {
            stream.tags.take_back(extent.space);
        }
    }
}

/// Whether every cell may keep all blocks that are known.
fn has_room<E>(stream: &Stream, policies: usize, limit: usize) -> Result<(), Error<E>> {
    let blocks = stream.spaces.blocks();
    if blocks.saturating_mul(policies) <= limit {
        return Ok(());
    }
    Err(Error::TooManyBlocks {
        blocks,
        policies,
        limit,
    })
}

fn refused<E>(refused: Refused) -> Error<E> {
    match refused {
        Refused::Page(page) => Error::Address {
            address: page.0 << GEOMETRY.base().shift(),
        },
        Refused::Space => Error::TooManySpaces {
            limit: SpaceTag::COUNT,
        },
    }
}
