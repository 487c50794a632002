//! `sweep`: plans, tasks and results of experiment files.

use std::num::NonZero;
use std::path::PathBuf;

use broadleaf_study::failure::Failure;
use broadleaf_study::sweep::{
    DataSet, Experiment, SweepTask, TaskResult, plan, sweep as sweep_here, view_of,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arguments::{cache, threads as thread_count};
use crate::errors::invalid;
use crate::run::Run;

/// The traces whose task failed, with the reason.
type FailedTraces = Vec<(String, String)>;

fn failures(failed: Vec<(String, Failure)>) -> FailedTraces {
    let texts = failed.into_iter();
    texts
        .map(|(trace, failure)| (trace, failure.to_string()))
        .collect()
}

/// Runs an experiment on this machine. Returns the numbers of all cells, of those that were
/// computed and of those that were known, and the failed traces.
#[pyfunction]
#[pyo3(signature = (file, folder, *, threads, use_cache, progress))]
pub(crate) fn sweep_local(
    py: Python<'_>,
    file: PathBuf,
    folder: PathBuf,
    threads: Option<usize>,
    use_cache: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<(usize, usize, usize, FailedTraces)> {
    let threads = thread_count(py, threads)?;
    let cache = cache(py, use_cache)?;
    let outcome = Run::new(progress).work(py, |run| {
        let experiment = Experiment::read(&file)?;
        sweep_here(&experiment, &folder, threads, cache.as_ref(), run)
    })?;
    let failed = failures(outcome.failed);
    Ok((outcome.cells, outcome.computed, outcome.finished, failed))
}

/// A planned sweep: the experiment's name, all cells, the known ones, tasks and failed traces. A
/// task is its JSON, its trace, its path, the number of its cells and the accesses to replay.
type PlannedSweep = (
    String,
    usize,
    usize,
    Vec<(String, String, PathBuf, usize, u64)>,
    FailedTraces,
);

/// Plans an experiment: records its programs, and leaves out the cells that `folder` has.
#[pyfunction]
#[pyo3(signature = (file, folder, *, progress))]
pub(crate) fn plan_sweep(
    py: Python<'_>,
    file: PathBuf,
    folder: PathBuf,
    progress: Option<Py<PyAny>>,
) -> PyResult<PlannedSweep> {
    let run = Run::new(progress);
    let (name, planned) = run.work(py, |run| {
        let experiment = Experiment::read(&file)?;
        let planned = plan(&experiment, &DataSet::new(&folder), run)?;
        Ok((experiment.name, planned))
    })?;
    let mut tasks = Vec::new();
    for task in planned.tasks {
        let json = serde_json::to_string(&task).map_err(|error| invalid(py, error))?;
        let (cells, accesses) = (task.cells.len(), task.work());
        tasks.push((json, task.trace, task.path, cells, accesses));
    }
    let failed = failures(planned.failed);
    Ok((name, planned.cells, planned.finished, tasks, failed))
}

/// The number of tasks on a worker's machine: a worker does not know what else runs there.
const ONE: NonZero<usize> = NonZero::<usize>::MIN;

/// Runs a task, on any machine. Returns the name and the bytes of its file of results. `progress`
/// receives the accesses of all replays together.
#[pyfunction]
#[pyo3(signature = (task, *, threads, use_cache, progress))]
pub(crate) fn run_sweep_task<'py>(
    py: Python<'py>,
    task: &str,
    threads: Option<usize>,
    use_cache: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, Bound<'py, PyBytes>)> {
    let threads = thread_count(py, threads)?;
    let cache = cache(py, use_cache)?;
    let task: SweepTask = serde_json::from_str(task).map_err(|error| {
        let message =
            format!("this worker cannot read the task ({error}): install the same version");
        invalid(py, message)
    })?;
    let run = Run::summed(progress, task.work());
    let done = run.work(py, |run| task.run(threads, ONE, cache.as_ref(), run))?;
    Ok((done.name, PyBytes::new(py, &done.bytes)))
}

/// Adds a file of results to a data set.
#[pyfunction]
pub(crate) fn add_sweep_result(
    py: Python<'_>,
    folder: PathBuf,
    experiment: &str,
    name: String,
    bytes: Vec<u8>,
) -> PyResult<()> {
    let result = TaskResult { name, bytes };
    Run::new(None).work(py, |_| DataSet::new(&folder).add(experiment, &result))
}

/// The SQL statement that makes the view `results` of a data set.
#[pyfunction]
pub(crate) fn results_view(folder: PathBuf) -> String {
    view_of(&folder)
}
