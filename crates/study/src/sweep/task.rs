//! A task of a sweep: one trace with all its cells that are not finished.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;
use std::path::{Path, PathBuf};

use broadleaf_metrics::{CellResult, Comparison};
use broadleaf_policy::Refusal;
use broadleaf_report::{Column, Values, columns, write_column_file};
use serde::{Deserialize, Serialize};

use super::cells::{CellClass, TraceCells};
use super::conditions::MemoryCondition;
use super::experiment::Experiment;
use super::keys::KeyTable;
use super::rounds::{TaskAnswers, TaskReplays, rounds};
use super::rows::joined;
use crate::cache::{TraceCache, build};
use crate::compare::ComparisonAnswer;
use crate::failure::Failure;
use crate::foreign::DirectTrace;
use crate::output::shown;
use crate::source::origin::is_trace;
use crate::source::reduced::hash;
use crate::watch::Watch;

/// The name of the text in the metadata of a file of results.
pub(super) const METADATA: &str = "broadleaf.sweep";

/// A task. JSON carries it to other machines, whose build has to be the same.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SweepTask {
    /// The experiment file: its name, its text and the folder of its paths.
    file: String,
    text: String,
    folder: PathBuf,
    /// The name of the experiment.
    pub experiment: String,
    /// The trace by its name in results.
    pub trace: String,
    /// The path of the trace.
    pub path: PathBuf,
    /// The hash of the trace's bytes.
    pub hash: String,
    /// The accesses of the trace; 0 if the trace does not say.
    pub accesses: u64,
    /// The keys of the cells to compute.
    pub cells: Vec<String>,
    /// The number of jobs over the trace: its replays, and the measurement of its footprint where
    /// memory is a share of that.
    pub jobs: u64,
    /// The build that planned the task.
    build: String,
}

/// The facts of a file of results, in its metadata.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct FileFacts {
    pub(super) experiment: String,
    pub(super) trace: String,
    pub(super) hash: String,
    /// The keys of the cells, in the order of the rows.
    pub(super) cells: Vec<String>,
    pub(super) accesses: u64,
    /// The number of cells with frames.
    pub(super) frames: u64,
    /// The time of the task.
    pub(super) seconds: f64,
    /// The number of passes over the trace.
    #[serde(default)]
    pub(super) passes: u64,
    pub(super) notes: Vec<String>,
    pub(super) version: String,
    pub(super) commit: String,
    pub(super) host: String,
}

/// The results of a task.
#[derive(Debug)]
pub struct TaskResult {
    /// The name of the file of results in the partition of the experiment.
    pub name: String,
    /// The bytes of that file.
    pub bytes: Vec<u8>,
}

impl SweepTask {
    /// The task for those cells of a trace that `finished` lacks; `None` if it has all.
    pub(super) fn new(
        experiment: &Experiment,
        (trace, path): (&str, &Path),
        (hash, accesses): (String, u64),
        cells: &TraceCells,
        finished: &BTreeSet<String>,
    ) -> Option<Self> {
        let keys = cells.cells.iter().map(|cell| &cell.key);
        let open: Vec<String> = keys
            .filter(|key| !finished.contains(*key))
            .cloned()
            .collect();
        if open.is_empty() {
            return None;
        }
        let replays = cells.replays(&open.iter().cloned().collect());
        let jobs = rounds(&replays, cells, None).iter().flatten().count() as u64;
        Some(Self {
            file: experiment.file.clone(),
            text: experiment.text.clone(),
            folder: experiment.folder.clone(),
            experiment: experiment.name.clone(),
            trace: trace.to_owned(),
            path: path.to_owned(),
            hash,
            accesses,
            cells: open,
            jobs,
            build: build().to_owned(),
        })
    }

    /// The name of the file of results.
    pub fn file_name(&self) -> String {
        let digits = self.hash.rsplit(':').next().unwrap_or_default();
        let keys = blake3::hash(self.cells.join("\n").as_bytes()).to_hex();
        let digits = digits.get(..12).unwrap_or(digits);
        format!("{digits}-{}.parquet", &keys[..12])
    }

    /// Computes all cells. `threads` are those of this task, and `tasks` is the number of tasks
    /// that share this machine's memory at the same time.
    ///
    /// # Errors
    /// If this build is another, the trace is missing or has other bytes, or a replay fails.
    pub fn run(
        &self,
        threads: Option<NonZero<usize>>,
        tasks: NonZero<usize>,
        cache: Option<&TraceCache>,
        watch: &dyn Watch,
    ) -> Result<TaskResult, Failure> {
        let began = std::time::Instant::now();
        if self.build != build() {
            return Err(Failure::Wrong(format!(
                "{}: this worker has another build of Broadleaf ({}, version {}) than the one that \
                 planned the sweep ({}): install the same version on all machines",
                self.trace,
                build(),
                env!("CARGO_PKG_VERSION"),
                self.build
            )));
        }
        let experiment = Experiment::parse(&self.file, self.text.clone(), self.folder.clone())?;
        let all = experiment.cells_of(&self.trace, &self.hash)?;
        let wanted: BTreeSet<String> = self.cells.iter().cloned().collect();
        let known = all
            .cells
            .iter()
            .filter(|cell| wanted.contains(&cell.key))
            .count();
        if known != wanted.len() {
            return Err(Failure::Wrong(format!(
                "{}: {} of {} cells are others on this worker: a file that the experiment names \
                 (a machine, free memory) differs here, or its machine is `native`",
                self.trace,
                wanted.len() - known,
                wanted.len()
            )));
        }
        let mut found: BTreeMap<String, CellResult> = BTreeMap::new();
        let mut whole: Option<Comparison> = None;
        let mut notes = Vec::new();
        let replays = all.replays(&wanted);
        let task = TaskReplays {
            path: &self.path,
            all: &all,
            replays: &replays,
            restart: experiment.restart,
            threads,
            cache,
            watch,
            tasks,
        };
        let TaskAnswers { answers, passes } = task.run()?;
        for (replay, answer) in replays.iter().zip(answers) {
            let (comparison, results) = self.checked(answer)?;
            for cell in &all.cells {
                let is_of_it = (cell.condition, cell.class) == (replay.condition, replay.class);
                if !is_of_it || !wanted.contains(&cell.key) {
                    continue;
                }
                let is_it = |result: &&CellResult| {
                    result.policy == cell.policy && result.machine == cell.machine.name
                };
                if let Some(result) = results.iter().find(is_it) {
                    found.insert(cell.key.clone(), result.clone());
                }
            }
            for note in &comparison.notes {
                if !notes.contains(note) {
                    notes.push(note.clone());
                }
            }
            whole.get_or_insert(comparison);
        }
        let Some(mut comparison) = whole else {
            return Err(Failure::failed("a task has at least one cell"));
        };
        let cells: Vec<_> = all
            .cells
            .iter()
            .filter(|cell| wanted.contains(&cell.key))
            .collect();
        let results = cells
            .iter()
            .map(|cell| found.remove(&cell.key))
            .collect::<Option<Vec<_>>>();
        comparison.results = results.ok_or_else(|| {
            Failure::Failed(format!("{}: the replay lacks a cell's result", self.trace))
        })?;
        comparison.trace.path.clone_from(&self.trace);
        comparison.trace.hash.clone_from(&self.hash);
        let provenance = &comparison.provenance;
        let facts = FileFacts {
            experiment: self.experiment.clone(),
            trace: self.trace.clone(),
            hash: self.hash.clone(),
            cells: cells.iter().map(|cell| cell.key.clone()).collect(),
            accesses: comparison.trace.accesses,
            frames: cells
                .iter()
                .filter(|cell| cell.class != CellClass::Quick)
                .count() as u64,
            seconds: began.elapsed().as_secs_f64(),
            passes,
            notes,
            version: provenance.version.clone(),
            commit: provenance.commit.clone(),
            host: provenance.host.clone(),
        };
        let refusals: Vec<&str> = Refusal::ALL.iter().map(|refusal| refusal.name()).collect();
        let mut rows = vec![text_column("cell", facts.cells.clone())];
        let conditions = cells
            .iter()
            .map(|cell| all.conditions[cell.condition].as_ref());
        rows.extend(memory_columns(&conditions.collect::<Vec<_>>()));
        // Columns of several results would depend on all of them.
        let each: Vec<Vec<Column>> = std::mem::take(&mut comparison.results)
            .into_iter()
            .map(|mut result| {
                // The policy `offline` of the same replay would decide whether there is a ratio.
                if let Some(memory) = &mut result.memory {
                    memory.times_offline = None;
                }
                comparison.results = vec![result];
                columns(std::slice::from_ref(&comparison), &refusals)
            })
            .collect();
        rows.extend(joined(&each));
        let text = serde_json::to_string(&facts).map_err(Failure::failed)?;
        let mut bytes = Vec::new();
        write_column_file(&rows, METADATA, text, &mut bytes).map_err(Failure::failed)?;
        Ok(TaskResult {
            name: self.file_name(),
            bytes,
        })
    }

    /// The accesses of all jobs together; 0 if the trace does not say how many it has.
    pub const fn work(&self) -> u64 {
        self.accesses.saturating_mul(self.jobs)
    }

    /// Refuses results of another trace. Returns the comparison without its results, and those.
    fn checked(&self, answer: ComparisonAnswer) -> Result<(Comparison, Vec<CellResult>), Failure> {
        let mut comparison = answer.comparison;
        // The hash is unknown after several passes. That of a foreign trace is of the recording
        // that was read, which depends on the machines.
        if comparison.trace.hash.is_empty() || DirectTrace::named(&self.path, is_trace).is_some() {
            comparison.trace.hash = content_hash(&self.path)?;
        }
        if comparison.trace.hash != self.hash {
            return Err(Failure::Wrong(format!(
                "{}: has other bytes than when the sweep was planned: copy the trace again, or run \
                 the sweep again if the trace was replaced",
                shown(&self.path)
            )));
        }
        let results = std::mem::take(&mut comparison.results);
        Ok((comparison, results))
    }
}

/// The hash of a trace's bytes, as results name it.
pub(super) fn content_hash(path: &Path) -> Result<String, Failure> {
    if let Some(foreign) = DirectTrace::named(path, is_trace) {
        return foreign.content_hash();
    }
    let hashed = std::fs::File::open(path).and_then(hash);
    hashed.map_err(|error| Failure::reading(&shown(path), &error))
}

fn text_column(name: &str, values: Vec<String>) -> Column {
    Column {
        name: name.to_owned(),
        values: Values::Text(values),
    }
}

/// One column for each key of memory. Each file has all of them, because files are combined.
fn memory_columns(conditions: &[Option<&MemoryCondition>]) -> Vec<Column> {
    let value = |condition: &Option<&MemoryCondition>, key: &str| {
        let fields = condition.map_or(&[][..], |condition| &condition.fields);
        let field = fields.iter().find(|(name, _)| name == key);
        field.map_or_else(String::new, |(_, text)| text.clone())
    };
    let column = |key: &str| {
        let values = conditions.iter().map(|condition| value(condition, key));
        text_column(&format!("memory_{key}"), values.collect())
    };
    KeyTable::Memory.names().into_iter().map(column).collect()
}
