//! The passes over a trace.

use crate::batch::Batch;
use crate::cell::{Cell, Promoted};
use crate::events::tells_a_mapping;
use crate::feed::{Fed, Feed};
use crate::kept::{Keeping, Kept};
use crate::limited::Sources;
use crate::members::MOST_MEMBERS;
use crate::offline::Choice;
use crate::pool::Pool;
use crate::sieve::Sieve;
use crate::stream::{Refused, Stream, TooLate};
use crate::team::Team;
use crate::trail::stretches;
use crate::{Plan, Source, limited, result};
use broadleaf_memory::{Change, GEOMETRY};
use broadleaf_metrics::{CellResult, TraceSummary};
use broadleaf_trace::Event;
use broadleaf_translation::{PageId, Recency};
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
    /// What a pass kept for the next cannot be read.
    #[error("what the first pass kept cannot be read again: {0}")]
    Kept(String),
    /// Memory cannot be as it was asked for.
    #[error("{0}")]
    Memory(String),
    /// The threads that were asked for cannot be had.
    #[error("cannot start {threads} threads: {reason}")]
    NoThreads {
        /// How many.
        threads: usize,
        /// What the system says.
        reason: String,
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
    /// Which of the traces that ran before is being read, from 0; `None` for the one that results are about.
    pub earlier: Option<usize>,
    /// What a policy with foresight would do is being tried: for which time, from 1. The trace is not being read.
    pub trial: Option<u32>,
    /// Accesses of that trace that were replayed in this pass.
    pub accesses: u64,
}

/// What a replay found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The trace, with an empty path and hash, which only the host knows.
    pub trace: TraceSummary,
    /// One result for each policy and machine: policies in the order asked, machines inside.
    pub results: Vec<CellResult>,
    /// The same for each time of [`Plan::with_interim_results`], as if the trace ended before the first visit at or after it. Address spaces that had ended
    /// are gone.
    pub interim: Vec<Vec<CellResult>>,
    /// What a reader of the numbers has to know about the trace and the model.
    pub notes: Vec<String>,
    /// What was chosen for policies that know the trace beforehand, in the order of their results.
    pub choices: Vec<Choice>,
}

/// Replays a trace under every policy and machine of a plan.
///
/// Takes one pass, and one more where a policy needs to know the future. Where a trace turns out to tell the mappings of an
/// address space only after references to it, it is read again from the start. `progress` is called many times
/// a second, and stops the replay with [`ControlFlow::Break`].
///
/// # Errors
/// Where the source fails, the trace holds an address or a number of address spaces or blocks that the model cannot take,
/// or `progress` stops.
pub fn run<S: Source>(
    source: &mut S,
    plan: &Plan,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Outcome, Error<S::Error>> {
    run_after(&mut [], source, plan, progress)
}

/// The same in memory that earlier traces have used, one after the other: what they leave in it, and in the TLBs, is what the trace begins
/// with. Nothing of them is counted. A process of theirs that has not ended goes on living; a file that two traces name by the same path is one.
///
/// # Errors
/// As [`run`]; and where there are earlier traces and memory is not modelled down to the frame, or there are too many.
pub fn run_after<S: Source>(
    earlier: &mut [S],
    source: &mut S,
    plan: &Plan,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Outcome, Error<S::Error>> {
    if !earlier.is_empty() && plan.limits().is_none() {
        return Err(Error::Memory(
            "what ran before leaves nothing behind where memory is not limited".to_string(),
        ));
    }
    if earlier.len() > limited::MOST_EARLIER {
        return Err(Error::Memory(format!(
            "at most {} traces may run before another",
            limited::MOST_EARLIER
        )));
    }
    let passes = if plan.foreseen().is_empty() {
        1
    } else {
        2 + earlier.len() as u32
    };
    let mut passes = Passes {
        progress,
        state: Progress {
            pass: 0,
            passes,
            earlier: None,
            trial: None,
            accesses: 0,
        },
        told: BTreeSet::new(),
        plan,
        pool: Pool::new(plan.threads()).map_err(|reason| Error::NoThreads {
            threads: plan.threads(),
            reason,
        })?,
    };
    let mut before = Foresight::new();
    for (number, source) in earlier.iter_mut().enumerate() {
        passes.state.earlier = Some(number);
        let (foresight, _) = foresee(&mut passes, source, plan)?;
        for (policy, promoted) in foresight {
            let named = limited::named(promoted, number)?;
            before.entry(policy).or_default().extend(named);
        }
    }
    passes.state.earlier = None;
    let (mut foresight, kept) = foresee(&mut passes, source, plan)?;
    for (policy, promoted) in before {
        foresight.entry(policy).or_default().extend(promoted);
    }
    if let Some(limits) = plan.limits() {
        let Passes {
            progress,
            state,
            pool,
            ..
        } = passes;
        let sources = Sources {
            read: state.pass > 0,
            earlier,
            last: source,
        };
        return limited::run(sources, plan, limits, &foresight, &pool, state, progress);
    }
    let baseline = plan.baseline().name();
    let extra = (plan.policies().iter()).all(|policy| policy.name() != baseline);
    loop {
        let mut cells = Vec::new();
        for policy in plan.policies() {
            let name = policy.needs().foresight.policy();
            let foreseen = name.and_then(|name| foresight.get(name));
            cells.push(Cell::new(policy.as_ref(), foreseen));
        }
        let mut teams = teams(cells, plan);
        if plan.curves() {
            teams = teams.into_iter().map(Team::with_curves).collect();
        }
        if extra {
            // Only its faults are wanted.
            teams.push(Team::new(vec![Cell::new(plan.baseline(), None)], &[]));
        }
        let replayed = match &kept {
            None => passes.replay(source, &mut teams, None)?,
            Some(kept) => {
                let mut source = kept
                    .source()
                    .map_err(|error| Error::Kept(error.to_string()))?;
                let replayed = passes.replay(&mut source, &mut teams, None);
                replayed.map_err(|error| match error {
                    Error::Source(error) => Error::Kept(error.to_string()),
                    Error::Kept(why) => Error::Kept(why),
                    Error::Address { address } => Error::Address { address },
                    Error::TooManyBlocks {
                        blocks,
                        policies,
                        limit,
                    } => Error::TooManyBlocks {
                        blocks,
                        policies,
                        limit,
                    },
                    Error::NoThreads { threads, reason } => Error::NoThreads { threads, reason },
                    Error::Memory(why) => Error::Memory(why),
                    Error::Stopped => Error::Stopped,
                })?
            }
        };
        if let Some(stream) = replayed {
            return Ok(result::outcome(&teams, &stream, plan));
        }
    }
}

/// How many policies a team has at least, where there are threads for another: what they look up in common they look up once.
const WORTH_A_TEAM: usize = 16;

/// No more teams than there are threads, unless one would be too large, of about the same size.
fn teams<'a>(mut cells: Vec<Cell<'a>>, plan: &'a Plan) -> Vec<Team<'a>> {
    let count = plan
        .threads()
        .min(cells.len() / WORTH_A_TEAM)
        .max(cells.len().div_ceil(MOST_MEMBERS));
    let mut teams = Vec::new();
    for left in (1..=count).rev() {
        let rest = cells.split_off(cells.len().div_ceil(left));
        teams.push(Team::new(cells, plan.machines()));
        cells = rest;
    }
    teams
}

/// What policies foresee: what each promotes, by its name.
pub(crate) type Foresight = BTreeMap<String, Promoted>;

/// What each policy that others foresee promotes, and the reduced form of the trace, where that is small enough to be kept for the pass to come.
fn foresee<S: Source>(
    passes: &mut Passes<'_>,
    source: &mut S,
    plan: &Plan,
) -> Result<(Foresight, Option<Kept>), Error<S::Error>> {
    if plan.foreseen().is_empty() {
        return Ok((Foresight::new(), None));
    }
    // Spaces of other traces have the same names.
    passes.told.clear();
    loop {
        let cells = (plan.foreseen().iter())
            .map(|policy| Cell::new(policy.as_ref(), None).remembering())
            .collect();
        let mut teams = vec![Team::new(cells, &[])];
        // Curves follow what is not kept.
        let mut keeping = (!plan.curves()).then(|| Keeping::new(plan.most_kept()));
        let replayed = passes.replay(source, &mut teams, keeping.as_mut())?;
        if replayed.is_some() {
            let cells = teams.into_iter().flat_map(Team::into_cells);
            let foresight = cells.map(|cell| (cell.policy.name(), cell.into_promoted()));
            return Ok((foresight.collect(), keeping.and_then(Keeping::finish)));
        }
    }
}

/// How many batches are prepared before the teams begin with them.
const MOST_BATCHES: usize = 64;
/// From how many batches on it is worth while to decode more at the same time, where enough is decoded.
const WORTH_SHARING: usize = 4;

/// What the passes over a trace share.
struct Passes<'a> {
    progress: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
    state: Progress,
    /// Address spaces that are known to have their mappings told.
    told: BTreeSet<SpaceId>,
    plan: &'a Plan,
    pool: Pool,
}

/// Batches that are prepared, and old ones whose memory is used again.
#[derive(Default)]
struct Prepared {
    batches: Vec<Batch>,
    used: usize,
}

impl Prepared {
    fn clear(&mut self) {
        self.used = 0;
    }

    fn add(&mut self) -> &mut Batch {
        if self.used == self.batches.len() {
            self.batches.push(Batch::default());
        }
        self.used += 1;
        &mut self.batches[self.used - 1]
    }

    fn get(&self) -> &[Batch] {
        &self.batches[..self.used]
    }
}

impl Passes<'_> {
    /// Takes the teams through the trace. `None` where it has to be done again with new ones: what a space's mappings are
    /// was told too late, and is known now.
    ///
    /// In turns: what was decoded is prepared, up to an event that changes what policies see; then the teams replay it while more is
    /// decoded. `keeping` is handed all that the teams are.
    fn replay<S: Source>(
        &mut self,
        source: &mut S,
        teams: &mut [Team<'_>],
        mut keeping: Option<&mut Keeping>,
    ) -> Result<Option<Stream>, Error<S::Error>> {
        if self.state.pass > 0 {
            source.rewind().map_err(Error::Source)?;
        }
        self.state.pass += 1;
        let policies = teams.iter().map(|team| team.cells().len()).sum();
        let designs = self.plan.machines().iter().map(|machine| &machine.design);
        let mut sieve = Sieve::new(Recency::new(designs));
        if self.plan.curves() {
            sieve = sieve.following();
        }
        let mut stream = Stream::new(self.told.clone());
        let mut feed = Feed::new(source, sieve, self.plan.threads());
        let mut prepared = Prepared::default();
        let mut pending = None;
        loop {
            prepared.clear();
            let mut decodes = true;
            loop {
                let piece = match pending.take() {
                    Some(piece) => piece,
                    None => match feed.next().map_err(Error::Source)? {
                        Some(piece) => piece,
                        None => break,
                    },
                };
                if prepared.used > 0 && stream.is_changed_by(&piece) {
                    // The teams have to come as far first. More is decoded already.
                    pending = Some(piece);
                    decodes = prepared.used >= WORTH_SHARING;
                    break;
                }
                if let Some(keeping) = &mut keeping {
                    keeping.add(&piece);
                }
                if stream.is_changed_by(&piece) {
                    teams.iter_mut().for_each(|team| team.pass(&stream));
                }
                match piece {
                    Fed::Visits(sifted, sums) => {
                        if sums.data {
                            let changes = stream.end_spaces();
                            apply(&changes, teams, &mut stream);
                        }
                        for stretch in stretches(&sifted) {
                            stream
                                .take(&sifted, stretch, prepared.add())
                                .map_err(|why| refused(why, policies))?;
                        }
                        stream.pass(&sums);
                        feed.give_back(sifted);
                    }
                    Fed::Event(event) => match stream.event(&event) {
                        Ok(changes) => apply(&changes, teams, &mut stream),
                        Err(TooLate) => {
                            learn(&mut self.told, &mut feed, stream.running, &self.pool)?;
                            self.state.passes += 1;
                            return Ok(None);
                        }
                    },
                }
                has_room(&stream, policies, self.plan.most_blocks())?;
                if prepared.used >= MOST_BATCHES {
                    break;
                }
            }
            if prepared.used == 0 && pending.is_none() && feed.is_at_end() {
                teams.iter_mut().for_each(|team| team.pass(&stream));
                return Ok(Some(stream));
            }
            if decodes {
                feed.open();
            }
            let replays = teams.iter_mut().map(|team| {
                let (batches, stream) = (prepared.get(), &stream);
                move || batches.iter().for_each(|batch| team.replay(batch, stream))
            });
            self.pool.run(replays, feed.steps().filter(|_| decodes));
            #[cfg(test)]
            teams.iter().for_each(|team| team.check(&stream));
            self.state.accesses = stream.now();
            if (self.progress)(self.state).is_break() {
                return Err(Error::Stopped);
            }
        }
    }
}

/// Reads the rest of the trace for the spaces whose mappings it tells; the running one is known to be such.
fn learn<S: Source>(
    told: &mut BTreeSet<SpaceId>,
    feed: &mut Feed<'_, S>,
    mut running: SpaceId,
    pool: &Pool,
) -> Result<(), Error<S::Error>> {
    told.insert(running);
    while !feed.is_at_end() {
        while let Some(piece) = feed.next().map_err(Error::Source)? {
            match piece {
                Fed::Event(Event::SpaceSwitch(space)) => running = space,
                Fed::Event(event) if tells_a_mapping(&event) => {
                    told.insert(running);
                }
                Fed::Event(_) => {}
                Fed::Visits(sifted, _) => feed.give_back(sifted),
            }
        }
        feed.open();
        pool.run(std::iter::empty::<fn()>(), feed.steps());
    }
    Ok(())
}

/// Tells all teams what changes, which have replayed all that comes before.
fn apply(changes: &[Change], teams: &mut [Team<'_>], stream: &mut Stream) {
    for change in changes {
        stream.histories.make_room(stream.spaces.blocks());
        for team in &mut *teams {
            team.apply(change, stream);
        }
        stream.histories.apply(change);
    }
}

/// Whether every policy may keep all blocks that are known.
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

pub(crate) fn refused<E>(refused: Refused, policies: usize) -> Error<E> {
    match refused {
        Refused::Page(page) => Error::Address {
            address: page.0 << GEOMETRY.base().shift(),
        },
        Refused::Block => Error::TooManyBlocks {
            blocks: PageId::MOST_BLOCKS + 1,
            policies,
            limit: PageId::MOST_BLOCKS,
        },
    }
}
