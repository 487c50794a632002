//! Passes over the trace of a task. The replays of a pass go through one decoding side by side.

use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ScopedJoinHandle;

use broadleaf_model::pool::AroundWorker;
use broadleaf_report::BASELINE;

use super::cells::{CellClass, SweepReplay, TraceCells};
use crate::cache::TraceCache;
use crate::compare::{
    ComparisonAnswer, Request, SideBySide, WARM_UP, available_threads, compare_beside,
    needs_fetches, policies, visit_ends,
};
use crate::failure::Failure;
use crate::memory::{Amount, footprint};
use crate::source::TraceReading;
use crate::source::origin::PassCount;
use crate::source::shared::{SharedReader, SharedTrace, is_of_another_reader};
use crate::watch::{Task, Watch, Work};

/// The maximum number of replays of a pass.
const MOST_BESIDE: usize = 32;
/// The estimated bytes of a replay, beside its frames: 17 to 32 MB were measured.
const REPLAY_BYTES: u64 = 32 << 20;
/// The estimated bytes of a frame in each memory: 6 were measured with fragmented memory.
const FRAME_BYTES: u64 = 8;

/// A piece of work over a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SweepJob {
    /// The measurement of the footprint, which later replays depend on.
    Footprint,
    /// The replay of this number.
    Replay(usize),
}

/// The result of a job.
enum SweepJobAnswer {
    Footprint(u64),
    Replay(usize, Box<ComparisonAnswer>),
}

/// Divides replays into the jobs of each pass, such that those of one pass take at most `room`
/// bytes by estimate. Replays in a share of the footprint come after the pass that measures it.
pub(super) fn rounds(
    replays: &[SweepReplay],
    all: &TraceCells,
    room: Option<u64>,
) -> Vec<Vec<SweepJob>> {
    let numbers = 0..replays.len();
    let depends = |number: &usize| depends_on_footprint(&replays[*number], all);
    let (later, sooner): (Vec<usize>, Vec<usize>) = numbers.partition(depends);
    let jobs = |numbers: Vec<usize>| numbers.into_iter().map(SweepJob::Replay);
    let measuring = (!later.is_empty()).then_some(SweepJob::Footprint);
    let mut rounds = Vec::new();
    for group in [
        measuring.into_iter().chain(jobs(sooner)).collect(),
        jobs(later).collect(),
    ] {
        let group: Vec<SweepJob> = group;
        let (mut round, mut bytes): (Vec<SweepJob>, u64) = (Vec::new(), 0);
        for job in group {
            let more = estimate(job, replays, all);
            let is_full = round.len() == MOST_BESIDE
                || room.is_some_and(|room| bytes.saturating_add(more) > room);
            if is_full && !round.is_empty() {
                rounds.push(std::mem::take(&mut round));
                bytes = 0;
            }
            round.push(job);
            bytes = bytes.saturating_add(more);
        }
        rounds.extend(Some(round).filter(|round| !round.is_empty()));
    }
    rounds
}

/// Returns true if the memory of a replay is a share of the footprint.
fn depends_on_footprint(replay: &SweepReplay, all: &TraceCells) -> bool {
    let memory = all.conditions[replay.condition].as_ref();
    memory.is_some_and(|memory| {
        let amounts = [memory.request.memory, memory.request.swap];
        let is_share = |amount: &Amount| matches!(amount, Amount::Percent(_));
        amounts.iter().flatten().any(is_share)
    })
}

/// The estimated bytes of a job. A share of the footprint counts as no frame.
fn estimate(job: SweepJob, replays: &[SweepReplay], all: &TraceCells) -> u64 {
    let SweepJob::Replay(number) = job else {
        return REPLAY_BYTES;
    };
    let replay = &replays[number];
    let memory = all.conditions[replay.condition].as_ref();
    let bytes = match memory.and_then(|memory| memory.request.memory) {
        Some(Amount::Bytes(bytes)) => bytes,
        _ => 0,
    };
    let worlds = (replay.policies.len() as u64 + 1) * replay.machines.len() as u64;
    let frames = (bytes >> 12).saturating_mul(worlds);
    REPLAY_BYTES.saturating_add(frames.saturating_mul(FRAME_BYTES))
}

/// The replays of a task.
pub(super) struct TaskReplays<'a> {
    pub(super) path: &'a Path,
    pub(super) all: &'a TraceCells,
    pub(super) replays: &'a [SweepReplay],
    pub(super) restart: bool,
    pub(super) threads: Option<NonZero<usize>>,
    pub(super) cache: Option<&'a TraceCache>,
    pub(super) watch: &'a dyn Watch,
    /// The number of tasks that run at the same time on this machine, this one included.
    pub(super) tasks: NonZero<usize>,
}

/// The answers of all replays, in their order, and the number of passes over the trace.
pub(super) struct TaskAnswers {
    pub(super) answers: Vec<ComparisonAnswer>,
    pub(super) passes: u64,
}

impl TaskReplays<'_> {
    /// Answers all replays.
    ///
    /// # Errors
    /// If the trace cannot be read, or a replay fails.
    pub(super) fn run(&self) -> Result<TaskAnswers, Failure> {
        let mut found: Vec<Option<ComparisonAnswer>> = self.replays.iter().map(|_| None).collect();
        let (mut passes, mut footprint) = (0, None);
        let room = crate::room::available().map(|room| room / self.tasks.get() as u64);
        for round in rounds(self.replays, self.all, room) {
            let (answers, more) = self.round(&round, footprint)?;
            passes += more;
            for answer in answers {
                match answer {
                    SweepJobAnswer::Footprint(bytes) => footprint = Some(bytes),
                    SweepJobAnswer::Replay(number, answer) => found[number] = Some(*answer),
                }
            }
        }
        let answers = found.into_iter().collect::<Option<Vec<_>>>();
        let answers = answers.ok_or_else(|| Failure::failed("a replay was left out"))?;
        Ok(TaskAnswers { answers, passes })
    }

    /// Does the jobs of one pass side by side. Jobs that fail are done once more alone, since they
    /// may need all the room. Returns the number of passes too.
    fn round(
        &self,
        jobs: &[SweepJob],
        footprint: Option<u64>,
    ) -> Result<(Vec<SweepJobAnswer>, u64), Failure> {
        let (mut answers, mut failed, mut passes) = (Vec::new(), jobs.to_vec(), 0);
        if jobs.len() > 1
            && let Ok(shared) = SharedTrace::open(self.path, self.reading(jobs), self.threads())
        {
            failed.clear();
            let done = self.side_by_side(jobs, footprint, &shared);
            for (job, done) in jobs.iter().zip(done) {
                match done {
                    Ok(answer) => answers.push(answer),
                    Err(failure) if self.watch.is_stopped() => return Err(failure),
                    Err(_) => failed.push(*job),
                }
            }
            passes = shared.passes();
        }
        for job in failed {
            let beside = SideBySide {
                footprint,
                others: self.tasks.get() as u64 - 1,
                ..SideBySide::default()
            };
            answers.push(self.job(job, self.threads, self.watch, self.cache, beside)?);
            passes += 1;
        }
        Ok((answers, passes))
    }

    fn side_by_side(
        &self,
        jobs: &[SweepJob],
        footprint: Option<u64>,
        shared: &Arc<SharedTrace>,
    ) -> Vec<Result<SweepJobAnswer, Failure>> {
        let each = NonZero::new((self.threads() / jobs.len()).max(1));
        let failed = AtomicBool::new(false);
        let watch = RoundWatch {
            watch: self.watch,
            failed: &failed,
        };
        let shared_reading = self.reading(jobs);
        let readers: Vec<SharedReader> = jobs.iter().map(|_| shared.reader()).collect();
        std::thread::scope(|scope| {
            let (watch, failed) = (&watch, &failed);
            let running = jobs.iter().zip(readers).map(|(job, reader)| {
                let beside = SideBySide {
                    reader: Some(reader),
                    footprint,
                    others: (jobs.len() * self.tasks.get()) as u64 - 1,
                };
                // Fetches and executions cut visits, so that samples of memory come at other
                // times. A replay that reads them for others keeps no result.
                let own = self.reading(&[*job]);
                let is_own =
                    (own.fetches, own.ends) == (shared_reading.fetches, shared_reading.ends);
                let cache = self.cache.filter(|_| is_own);
                scope.spawn(move || {
                    let done = self.job(*job, each, watch, cache, beside);
                    failed.fetch_or(done.is_err(), Ordering::Relaxed);
                    done
                })
            });
            let running: Vec<_> = running.collect();
            let joined: Vec<_> = running.into_iter().map(ScopedJoinHandle::join).collect();
            let (mut done, mut panics) = (Vec::new(), Vec::new());
            for job in joined {
                match job {
                    Ok(answer) => done.push(answer),
                    Err(panic) => panics.push(panic),
                }
            }
            // The first cause: other readers end because one panicked.
            panics.sort_by_key(|panic| is_of_another_reader(panic.as_ref()));
            if let Some(panic) = panics.into_iter().next() {
                std::panic::resume_unwind(panic);
            }
            done
        })
    }

    fn job(
        &self,
        job: SweepJob,
        threads: Option<NonZero<usize>>,
        watch: &dyn Watch,
        cache: Option<&TraceCache>,
        beside: SideBySide,
    ) -> Result<SweepJobAnswer, Failure> {
        let SweepJob::Replay(number) = job else {
            let reading = self.reading(&[job]);
            let threads = threads.map_or_else(available_threads, NonZero::get);
            let bytes = footprint(self.path, &reading, threads, cache, watch, beside.reader);
            return Ok(SweepJobAnswer::Footprint(bytes?));
        };
        let replay = &self.replays[number];
        let extra: &[&str] = match replay.class {
            CellClass::Grid => &[],
            CellClass::Quick | CellClass::Frames => &[BASELINE],
        };
        let memory = self.all.conditions[replay.condition].as_ref();
        let request = Request {
            trace: self.path,
            keep_going: false,
            max_accesses: self.all.max_accesses,
            policies: policies(&replay.policies, &[], false)?,
            machines: replay.machines.clone(),
            threads,
            curves: false,
            misses_over_time: false,
            warm_up: WARM_UP,
            restarts: self.restart,
            memory: memory.map(|memory| &memory.request),
            cache,
            explain_plan: None,
            watch,
        };
        let answer = compare_beside(request, extra, beside)?;
        Ok(SweepJobAnswer::Replay(number, Box::new(answer)))
    }

    /// The reading that serves all these jobs.
    fn reading(&self, jobs: &[SweepJob]) -> TraceReading {
        let fetches = |job: &SweepJob| match job {
            SweepJob::Footprint => false,
            SweepJob::Replay(number) => {
                let replay = &self.replays[*number];
                let memory = self.all.conditions[replay.condition].as_ref();
                needs_fetches(memory.map(|memory| &memory.request), &replay.machines)
            }
        };
        let machines = |job: &SweepJob| match job {
            SweepJob::Footprint => &[],
            SweepJob::Replay(number) => self.replays[*number].machines.as_slice(),
        };
        TraceReading {
            passes: PassCount::Several,
            keep_going: false,
            fetches: jobs.iter().any(fetches),
            ends: visit_ends(self.restart, jobs.iter().flat_map(machines)),
            max_accesses: self.all.max_accesses,
        }
    }

    fn threads(&self) -> usize {
        self.threads.map_or_else(available_threads, NonZero::get)
    }
}

/// Stops all jobs of a pass when one fails.
#[derive(Debug)]
struct RoundWatch<'a> {
    watch: &'a dyn Watch,
    failed: &'a AtomicBool,
}

impl Watch for RoundWatch<'_> {
    fn begin(&self, doing: &str, work: Work) -> Box<dyn Task> {
        self.watch.begin(doing, work)
    }

    fn around_workers(&self) -> Option<AroundWorker> {
        self.watch.around_workers()
    }

    fn is_stopped(&self) -> bool {
        self.failed.load(Ordering::Relaxed) || self.watch.is_stopped()
    }
}

#[cfg(test)]
#[path = "rounds_tests.rs"]
mod tests;
