//! The plan of a sweep: recordings, tasks, and the cells that are finished already.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use broadleaf_record::valgrind::{self, Clock, Engine, Options};
use broadleaf_trace::{DEFAULT_LEVEL, Grain};

use super::data_set::DataSet;
use super::experiment::{Experiment, SweepProgram};
use super::task::{SweepTask, content_hash};
use crate::failure::{Failure, reason};
use crate::foreign::DirectTrace;
use crate::output::shown;
use crate::papers::recorded::silently_in;
use crate::provenance::made_by;
use crate::recording::{claim, finish};
use crate::source::{Trace, TraceReading, Whole};
use crate::watch::{Watch, Work};
use crate::windows::warn_of_windows;

/// The plan of a sweep.
#[derive(Debug, Default)]
pub struct SweepPlan {
    /// The tasks, the longest first.
    pub tasks: Vec<SweepTask>,
    /// The number of all cells of the experiment.
    pub cells: usize,
    /// The number of finished cells among them.
    pub finished: usize,
    /// The traces that could not be read, with the reason.
    pub failed: Vec<(String, Failure)>,
}

impl SweepPlan {
    /// The number of cells to compute.
    pub fn open(&self) -> usize {
        self.tasks.iter().map(|task| task.cells.len()).sum()
    }
}

/// Records the programs of an experiment that have no recording yet, and plans its tasks.
///
/// # Errors
/// If a program cannot be recorded, a trace is missing, or a file that memory begins from cannot be
/// read. A trace that is damaged is no error: the plan names it.
pub fn plan(
    experiment: &Experiment,
    data: &DataSet,
    watch: &dyn Watch,
) -> Result<SweepPlan, Failure> {
    data.tidy(&experiment.name);
    let mut traces: Vec<(String, PathBuf)> = Vec::new();
    for trace in &experiment.traces {
        if traces.iter().all(|(name, _)| *name != trace.name) {
            traces.push((trace.name.clone(), trace.path.clone()));
        }
    }
    for program in &experiment.programs {
        let path = recording(program, &experiment.folder, &data.recordings(), watch)?;
        traces.push((program.name.clone(), path));
    }
    // A mistyped name is found before hours of work on the other traces.
    for (name, path) in &traces {
        let input = path.to_str().and_then(DirectTrace::split);
        let input = input.map_or(path.as_path(), |(_, input)| Path::new(input));
        if !input.exists() {
            return Err(Failure::Wrong(format!(
                "{name}: the experiment names this trace, and there is no file {}",
                shown(input)
            )));
        }
    }
    let finished = data.finished(&experiment.name);
    let mut plan = SweepPlan::default();
    let mut known = BTreeSet::new();
    for (name, path) in &traces {
        let contents = content_hash(path).and_then(|hash| Ok((hash, accesses_of(path)?)));
        let (hash, accesses) = match contents {
            Ok(contents) => contents,
            Err(failure) => {
                plan.failed.push((name.clone(), failure));
                continue;
            }
        };
        let mut cells = experiment.cells_of(name, &hash)?;
        let all = cells.cells.len();
        cells.cells.retain(|cell| known.insert(cell.key.clone()));
        if cells.cells.len() < all {
            log::warn!("{name}: another trace has the same bytes, so its cells are computed once");
        }
        plan.cells += cells.cells.len();
        let done = cells.cells.iter();
        plan.finished += done.filter(|cell| finished.contains(&cell.key)).count();
        let contents = (hash, accesses);
        let task = SweepTask::new(experiment, (name, path), contents, &cells, &finished);
        plan.tasks.extend(task);
    }
    // A long task that begins last would leave the other cores idle.
    plan.tasks
        .sort_by_key(|task| std::cmp::Reverse(task.work()));
    Ok(plan)
}

/// The accesses of a trace; 0 if the trace does not say.
pub(super) fn accesses_of(path: &Path) -> Result<u64, Failure> {
    let trace = Trace::open(path, TraceReading::default(), Whole::Work)?;
    warn_of_windows(&trace);
    Ok(match trace.work() {
        Work::Accesses(accesses) => accesses,
        _ => 0,
    })
}

/// The recording of a program, which is made unless it exists. Its name depends on the command.
fn recording(
    program: &SweepProgram,
    folder: &Path,
    recordings: &Path,
    watch: &dyn Watch,
) -> Result<PathBuf, Failure> {
    let asked = format!(
        "{:?}",
        (&program.command, program.by_line, program.instructions)
    );
    let digits = blake3::hash(asked.as_bytes()).to_hex();
    let path = recordings.join(format!("{}-{}.bl", program.name, &digits[..8]));
    if path.exists() {
        return Ok(path);
    }
    let cannot = |error: std::io::Error| {
        Failure::Failed(format!("{}: {}", shown(recordings), reason(&error)))
    };
    std::fs::create_dir_all(recordings).map_err(cannot)?;
    let options = Options {
        engine: Engine::Valgrind,
        guest: None,
        command: silently_in(folder, program.command.iter().map(OsString::from)),
        grain: match program.by_line {
            true => Grain::Line,
            false => Grain::Page,
        },
        instructions: program.instructions,
        follow_children: true,
        code: false,
        sites: false,
        align: Vec::new(),
        windows: None,
        clock: Clock::default(),
        prepare: |_| {},
        level: DEFAULT_LEVEL,
        recorder: made_by("tool for Valgrind"),
        measured: None,
    };
    let output = claim(&path, false)?;
    let kept = output.kept();
    let task = watch.begin(&format!("recording {}", program.name), Work::Unknown);
    let outcome = valgrind::record(&options, output, &mut |state| {
        task.set(state.bytes, state.accesses);
    });
    drop(task);
    let finished = finish(outcome, &path, &kept)?;
    if !finished.status.success() {
        // A later sweep would take a failed run for the program.
        std::fs::remove_file(&path).map_err(cannot)?;
        return Err(Failure::Failed(format!(
            "the program {} failed while it was recorded ({}): no cell was computed",
            program.name, finished.status
        )));
    }
    Ok(path)
}
