//! A sweep over the cores of this machine.

use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use broadleaf_report::number::counted;

use super::data_set::DataSet;
use super::experiment::Experiment;
use super::plan::{SweepPlan, plan};
use super::task::SweepTask;
use super::turns::Turns;
use crate::cache::TraceCache;
use crate::compare::available_threads;
use crate::failure::Failure;
use crate::watch::{Task, Watch, Work};

/// The time between two looks at the progress.
const EVERY: Duration = Duration::from_millis(50);

/// The end of a sweep.
#[derive(Debug)]
pub struct SweepOutcome {
    /// The number of all cells of the experiment.
    pub cells: usize,
    /// The cells that were computed now.
    pub computed: usize,
    /// The cells that were finished before.
    pub finished: usize,
    /// The traces whose task failed, with the reason.
    pub failed: Vec<(String, Failure)>,
}

/// Computes the cells of an experiment that the data set in `folder` lacks. `threads` are the
/// threads of all tasks together. A task that fails does not end the others.
///
/// # Errors
/// Those of [`plan`]. If results cannot be written, or the watcher stops the sweep.
pub fn sweep(
    experiment: &Experiment,
    folder: &Path,
    threads: Option<NonZero<usize>>,
    cache: Option<&TraceCache>,
    watch: &dyn Watch,
) -> Result<SweepOutcome, Failure> {
    let data = DataSet::new(folder);
    let SweepPlan {
        tasks,
        cells,
        finished,
        mut failed,
    } = plan(experiment, &data, watch)?;
    let open: usize = tasks.iter().map(|task| task.cells.len()).sum();
    let threads = threads.map_or_else(available_threads, NonZero::get);
    let workers = threads.min(tasks.len());
    let beside = NonZero::new(workers).unwrap_or(NonZero::<usize>::MIN);
    let tallies: Vec<Arc<Tally>> = tasks.iter().map(|_| Arc::default()).collect();
    let total: u64 = tasks.iter().map(SweepTask::work).sum();
    let bar = watch.begin(&format!("sweeping {open} cells"), Work::Accesses(total));
    let threads = NonZero::new(threads).unwrap_or(NonZero::<usize>::MIN);
    let turns = Turns::new(threads, tasks.iter().map(SweepTask::work));
    let stops = AtomicBool::new(false);
    let mut computed = 0;
    let mut fatal = None;
    std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        for _ in 0..workers {
            let (sender, tasks, tallies) = (sender.clone(), &tasks, &tallies);
            let (turns, stops) = (&turns, &stops);
            scope.spawn(move || {
                while !stops.load(Ordering::Relaxed)
                    && let Some(turn) = turns.next()
                    && !stops.load(Ordering::Relaxed)
                {
                    let number = turn.task;
                    let watch = TallyWatch {
                        tally: &tallies[number],
                        stops,
                    };
                    let done = tasks[number].run(Some(turn.threads), beside, cache, &watch);
                    if sender.send((number, done)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut complete = vec![false; tasks.len()];
        loop {
            match receiver.recv_timeout(EVERY) {
                Ok((number, Ok(result))) => {
                    complete[number] = true;
                    match data.add(&experiment.name, &result) {
                        Ok(()) => computed += tasks[number].cells.len(),
                        Err(failure) => {
                            stops.store(true, Ordering::Relaxed);
                            fatal.get_or_insert(failure);
                        }
                    }
                }
                Ok((number, Err(failure))) => {
                    complete[number] = true;
                    failed.push((tasks[number].trace.clone(), failure));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let done = |number: usize| {
                let all = tasks[number].work();
                match complete[number] {
                    true => all,
                    false => tallies[number].of(all),
                }
            };
            bar.set(0, (0..tasks.len()).map(done).sum());
            if watch.is_stopped() && !stops.swap(true, Ordering::Relaxed) {
                fatal.get_or_insert_with(|| Failure::failed("the sweep was stopped"));
            }
        }
    });
    match fatal {
        Some(failure) => Err(failure),
        None => Ok(SweepOutcome {
            cells,
            computed,
            finished,
            failed,
        }),
    }
}

impl SweepOutcome {
    /// The end in a sentence.
    pub fn sentence(&self, folder: &Path) -> String {
        let missing = self.cells - self.computed - self.finished;
        let lacks = match missing {
            0 => String::new(),
            missing => format!(", {missing} missing"),
        };
        format!(
            "{}: {} computed, {} known before{lacks}. Next: broadleaf results {}",
            counted(self.cells as u64, "cell"),
            self.computed,
            self.finished,
            crate::output::argument(folder)
        )
    }

    /// The failure of a sweep whose tasks failed in part: one line for each trace.
    ///
    /// # Errors
    /// [`Failure::Failed`] if a task failed.
    pub fn complete(&self) -> Result<(), Failure> {
        if self.failed.is_empty() {
            return Ok(());
        }
        let lines = self
            .failed
            .iter()
            .map(|(trace, failure)| format!("\n  {trace}: {failure}"));
        Err(Failure::Failed(format!(
            "{} of the traces failed, the others are complete; run the sweep again to compute what \
             is missing:{}",
            self.failed.len(),
            lines.collect::<String>()
        )))
    }
}

/// The accesses of a task's passes, some of which run at the same time.
#[derive(Debug, Default)]
struct Tally {
    /// Those of all passes that have begun.
    begun: AtomicU64,
    /// Those that are done.
    done: AtomicU64,
    /// The most work that was reported.
    reported: AtomicU64,
}

impl Tally {
    /// The part that is done of `all` planned work, of a task that runs. It may need more passes
    /// than were planned, so a fiftieth is left until its end.
    fn of(&self, all: u64) -> u64 {
        let [begun, done] = [&self.begun, &self.done].map(|of| of.load(Ordering::Relaxed));
        let whole = u128::from(begun.max(all).max(1));
        let part = u128::from(all) * u128::from(done) / whole;
        let part = u64::try_from(part).unwrap_or(all).min(all - all / 50);
        // What was reported does not become less when a pass begins.
        self.reported.fetch_max(part, Ordering::Relaxed).max(part)
    }
}

/// Adds the progress of a task to its tally.
#[derive(Debug)]
struct TallyWatch<'a> {
    tally: &'a Arc<Tally>,
    stops: &'a AtomicBool,
}

impl Watch for TallyWatch<'_> {
    fn begin(&self, _: &str, work: Work) -> Box<dyn Task> {
        if let Work::Accesses(accesses) | Work::Replay { accesses, .. } = work {
            self.tally.begun.fetch_add(accesses, Ordering::Relaxed);
        }
        Box::new(TallyTask {
            tally: Arc::clone(self.tally),
            known: AtomicU64::new(0),
        })
    }

    fn is_stopped(&self) -> bool {
        self.stops.load(Ordering::Relaxed)
    }
}

/// One replay of a task.
struct TallyTask {
    tally: Arc<Tally>,
    /// The accesses that the tally has of this replay.
    known: AtomicU64,
}

impl Task for TallyTask {
    fn set(&self, _: u64, accesses: u64) {
        let known = self.known.fetch_max(accesses, Ordering::Relaxed);
        let more = accesses.saturating_sub(known);
        self.tally.done.fetch_add(more, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pass that was not planned makes the rest of the work longer, and nothing is undone.
    #[test]
    fn a_task_is_not_done_before_its_last_pass() {
        let (tally, stops) = (Arc::new(Tally::default()), AtomicBool::new(false));
        let watch = TallyWatch {
            tally: &tally,
            stops: &stops,
        };
        let begin = || watch.begin("comparing", Work::Accesses(100));
        let (first, second) = (begin(), begin());
        first.set(0, 100);
        second.set(0, 50);
        assert_eq!(tally.of(200), 150);
        let third = begin();
        assert_eq!(tally.of(200), 150);
        second.set(0, 100);
        third.set(0, 50);
        assert_eq!(tally.of(200), 166);
        third.set(0, 100);
        assert_eq!(tally.of(200), 196);
    }
}
