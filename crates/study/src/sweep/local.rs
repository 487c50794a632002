//! A sweep over the cores of this machine.

use std::num::NonZero;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use broadleaf_report::number::counted;

use super::data_set::DataSet;
use super::experiment::Experiment;
use super::plan::{SweepPlan, plan};
use super::tally::{PassTally, TalliedPass};
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
    let tallies: Vec<PassTally> = tasks.iter().map(|_| PassTally::default()).collect();
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
                    false => tallies[number].part_of(all),
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

/// Adds the progress of a task to its tally.
#[derive(Debug)]
struct TallyWatch<'a> {
    tally: &'a PassTally,
    stops: &'a AtomicBool,
}

impl Watch for TallyWatch<'_> {
    fn begin(&self, _: &str, work: Work) -> Box<dyn Task> {
        Box::new(TallyTask(self.tally.pass(work)))
    }

    fn is_stopped(&self) -> bool {
        self.stops.load(Ordering::Relaxed)
    }
}

/// One pass of a task.
struct TallyTask(TalliedPass);

impl Task for TallyTask {
    fn set(&self, _: u64, accesses: u64) {
        self.0.set(accesses);
    }
}
