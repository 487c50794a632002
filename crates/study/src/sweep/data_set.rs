//! The folder of results: a partition for each experiment, and a Parquet file for each task.
//!
//! ```text
//! DIR/experiment=NAME/HASH-KEYS.parquet
//! DIR/recordings/PROGRAM.bl
//! ```
//!
//! A file gets its name when it is whole. The names of its cells are in its metadata.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use broadleaf_report::{Column, ReadParquetError, read_column_file, text_of_column_file};

use super::task::{FileFacts, METADATA, TaskResult};
use crate::failure::{Failure, reason};
use crate::output::{Access, Output, shown, sweep};

/// A folder of results.
#[derive(Clone, Debug)]
pub struct DataSet {
    folder: PathBuf,
}

impl DataSet {
    /// The data set in `folder`, which may not exist yet.
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    /// The folder of recorded programs.
    pub fn recordings(&self) -> PathBuf {
        self.folder.join("recordings")
    }

    fn partition(&self, experiment: &str) -> PathBuf {
        self.folder.join(format!("experiment={experiment}"))
    }

    /// The keys of the finished cells of an experiment. A damaged file is named in a warning, and
    /// its cells are computed again.
    pub fn finished(&self, experiment: &str) -> BTreeSet<String> {
        let facts = self.facts(experiment).into_iter();
        facts.flat_map(|facts| facts.cells).collect()
    }

    /// The facts of all files of an experiment.
    pub(super) fn facts(&self, experiment: &str) -> Vec<FileFacts> {
        let read = |path: &PathBuf| match facts_of(path) {
            Ok(facts) => facts,
            Err(error) => {
                log::warn!(
                    "{}: is damaged ({error}): its cells are computed again; remove it",
                    shown(path)
                );
                None
            }
        };
        let files = files_in(&self.partition(experiment));
        files.iter().filter_map(read).collect()
    }

    /// Adds the results of a task.
    ///
    /// # Errors
    /// If the file cannot be written. No file of that name exists then, unless it did before.
    pub fn add(&self, experiment: &str, result: &TaskResult) -> Result<(), Failure> {
        let partition = self.partition(experiment);
        let cannot = |error: &std::io::Error| {
            Failure::Failed(format!(
                "{}: cannot write: {}",
                shown(&partition),
                reason(error)
            ))
        };
        std::fs::create_dir_all(&partition).map_err(|error| cannot(&error))?;
        let path = partition.join(&result.name);
        let mut out = Output::create(Some(&path), true, Access::Everyone)?;
        let written = out.write_all(&result.bytes);
        written.map_err(|error| Failure::writing(out.name(), &error))?;
        out.finish()
    }

    /// Removes unfinished files that a killed sweep left.
    pub fn tidy(&self, experiment: &str) {
        sweep(&self.partition(experiment));
    }

    /// The names of the experiments, in order.
    pub fn experiments(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten();
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names
            .filter_map(|name| Some(name.strip_prefix("experiment=")?.to_owned()))
            .collect();
        names.sort();
        names
    }

    /// The columns of each file of an experiment.
    ///
    /// # Errors
    /// If a file is damaged.
    pub fn columns(&self, experiment: &str) -> Result<Vec<Vec<Column>>, Failure> {
        let read = |path: &PathBuf| {
            let columns = File::open(path)
                .map_err(|error| reason(&error))
                .and_then(|file| read_column_file(file).map_err(|error| error.to_string()));
            columns.map_err(|error| {
                let name = shown(path);
                Failure::Wrong(format!("{name}: {error}: remove the file and sweep again"))
            })
        };
        files_in(&self.partition(experiment))
            .iter()
            .map(read)
            .collect()
    }
}

/// The facts of a file; `None` if another program wrote it.
fn facts_of(path: &Path) -> Result<Option<FileFacts>, String> {
    let file = File::open(path).map_err(|error| reason(&error))?;
    let text = text_of_column_file(file, METADATA);
    let text = text.map_err(|error: ReadParquetError| error.to_string())?;
    let facts = text.map(|text| serde_json::from_str(&text)).transpose();
    facts.map_err(|error| error.to_string())
}

/// The Parquet files of a folder, in order.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|of| of == "parquet"))
        .filter(|path| {
            let name = path.file_name();
            name.is_some_and(|name| !name.as_encoded_bytes().starts_with(b"."))
        })
        .collect();
    files.sort();
    files
}
