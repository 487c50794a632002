//! An experiment file: traces and programs, axes, and overrides.

use std::path::{Path, PathBuf};

use broadleaf_machine::Machine;
use broadleaf_units::plain_toml;
use toml::de::{DeTable, DeValue};

use super::conditions::{MemoryCondition, conditions};
use super::keys::KeyTable;
use super::values::{PlacedValue, check_keys, count, flag, list, scalar, tables};
use crate::compare::policies;
use crate::failure::Failure;
use crate::foreign::DirectTrace;
use crate::in_file::{self, InFile};
use crate::machines::{fits, machines};
use crate::names;
use crate::output::shown;

/// A parsed experiment file.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The name of the partition of results.
    pub name: String,
    /// The name of the file, for messages.
    pub file: String,
    /// The text of the file.
    pub text: String,
    /// The folder that paths are relative to.
    pub folder: PathBuf,
    /// Programs to record.
    pub programs: Vec<SweepProgram>,
    pub(super) traces: Vec<NamedTrace>,
    pub(super) restart: bool,
    axes: Axes,
    overrides: Vec<Override>,
}

/// A trace of an experiment.
#[derive(Clone, Debug)]
pub(super) struct NamedTrace {
    /// The name in results: the path as the file writes it.
    pub(super) name: String,
    pub(super) path: PathBuf,
}

/// A program of an experiment.
#[derive(Clone, Debug)]
pub struct SweepProgram {
    /// The name of the recording.
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Visits are those of cache lines, not pages.
    pub by_line: bool,
    /// Record the pages of instructions.
    pub instructions: bool,
}

/// The axes of a trace.
#[derive(Clone, Debug)]
pub(super) struct Axes {
    pub(super) policies: Vec<String>,
    pub(super) machines: Vec<Machine>,
    pub(super) memory: Vec<Option<MemoryCondition>>,
    pub(super) max_accesses: Option<u64>,
}

/// Other axes for some traces.
#[derive(Clone, Debug)]
struct Override {
    traces: Vec<String>,
    policies: Option<Vec<String>>,
    machines: Option<Vec<Machine>>,
    memory: Option<Vec<Option<MemoryCondition>>>,
    max_accesses: Option<u64>,
}

impl Experiment {
    /// Reads an experiment file.
    ///
    /// # Errors
    /// If the file cannot be read, or those of [`Experiment::parse`].
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let text = in_file::read(path)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let folder = std::path::absolute(match folder.as_os_str().is_empty() {
            true => Path::new("."),
            false => folder,
        });
        let folder = folder.map_err(|error| Failure::reading(&shown(path), &error))?;
        Self::parse(&shown(path), text, folder)
    }

    /// Parses the text of the experiment file `file`, whose paths are relative to `folder`.
    ///
    /// # Errors
    /// [`Failure::Wrong`] with line and column for invalid TOML, an unknown key or an invalid
    /// value. [`Failure::Wrong`] if a pattern fits no trace, or the file names no trace.
    pub fn parse(file: &str, text: String, folder: PathBuf) -> Result<Self, Failure> {
        let reader = Reader {
            file: InFile {
                name: file,
                text: &text,
            },
            folder: &folder,
        };
        let parsed = reader.experiment()?;
        Ok(Self {
            file: file.to_owned(),
            text: text.clone(),
            folder: folder.clone(),
            ..parsed
        })
    }

    /// The axes of a trace: those of the file, with its overrides in order.
    pub(super) fn axes_of(&self, trace: &str) -> Axes {
        let mut axes = self.axes.clone();
        for other in &self.overrides {
            if !other.traces.iter().any(|pattern| fits(pattern, trace)) {
                continue;
            }
            if let Some(policies) = &other.policies {
                axes.policies.clone_from(policies);
            }
            if let Some(machines) = &other.machines {
                axes.machines.clone_from(machines);
            }
            if let Some(memory) = &other.memory {
                axes.memory.clone_from(memory);
            }
            axes.max_accesses = other.max_accesses.or(axes.max_accesses);
        }
        axes
    }
}

/// Returns true if a file is an experiment and no machine.
pub(crate) fn is_experiment(path: &Path) -> bool {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let known = KeyTable::Experiment.names();
    DeTable::parse(&text).is_ok_and(|parsed| {
        let has = |name: &str| parsed.get_ref().contains_key(name);
        !has("tlb") && known.iter().any(|name| *name != "name" && has(name))
    })
}

/// Reads one file.
struct Reader<'a> {
    file: InFile<'a>,
    folder: &'a Path,
}

impl Reader<'_> {
    fn experiment(&self) -> Result<Experiment, Failure> {
        let file = &self.file;
        let parsed = DeTable::parse(file.text).map_err(|error| {
            file.wrong(error.span().unwrap_or(0..0), &plain_toml(error.message()))
        })?;
        let top = parsed.get_ref();
        check_keys(file, top, KeyTable::Experiment)?;
        let stem = Path::new(file.name).file_stem().unwrap_or_default();
        let mut name = stem.to_string_lossy().into_owned();
        if let Some(value) = top.get("name") {
            let given = scalar(file, value)?;
            name = given.text;
            if !is_name(&name) {
                return Err(file.wrong(given.at, NAMES));
            }
        }
        let mut traces = Vec::new();
        if let Some(value) = top.get("traces") {
            for written in list(file, value)? {
                let found = self.traces(&written.text);
                let found = found.map_err(|error| file.wrong(written.at, &error))?;
                traces.extend(found);
            }
        }
        let mut programs = Vec::new();
        if let Some(value) = top.get("program") {
            for table in tables(file, value)? {
                programs.push(self.program(table, value)?);
            }
        }
        if traces.is_empty() && programs.is_empty() {
            return Err(Failure::Wrong(format!(
                "{}: names no trace: add traces = [\"gzip.bl\"], or a [[program]]",
                file.name
            )));
        }
        let usual = || -> Result<Vec<String>, Failure> { Ok(policies(&[], &[], false)?.names()) };
        let axes = Axes {
            policies: self.policies(top)?.map_or_else(usual, Ok)?,
            machines: self
                .machines(top)?
                .map_or_else(|| machines(&["skylake".to_owned()]), Ok)?,
            memory: self.memory(top)?.unwrap_or_else(|| vec![None]),
            max_accesses: self.max_accesses(top)?,
        };
        let mut overrides = Vec::new();
        if let Some(value) = top.get("override") {
            let recorded = programs.iter().map(|program| &*program.name);
            let names: Vec<&str> = (traces.iter().map(|trace| &*trace.name))
                .chain(recorded)
                .collect();
            for table in tables(file, value)? {
                overrides.push(self.override_of(table, value, &names)?);
            }
        }
        let restart = top.get("restart").map(|value| flag(file, value));
        Ok(Experiment {
            name,
            file: String::new(),
            text: String::new(),
            folder: PathBuf::new(),
            programs,
            traces,
            restart: restart.transpose()?.unwrap_or(false),
            axes,
            overrides,
        })
    }

    fn policies(&self, table: &DeTable<'_>) -> Result<Option<Vec<String>>, Failure> {
        let Some(value) = table.get("policies") else {
            return Ok(None);
        };
        let mut all = Vec::new();
        for given in list(&self.file, value)? {
            for name in names::apart(&given.text) {
                let policy = names::policy(name.trim());
                policy
                    .map_err(|failure| self.file.wrong(given.at.clone(), &failure.to_string()))?;
                all.push(name.trim().to_owned());
            }
        }
        Ok(Some(all))
    }

    fn machines(&self, table: &DeTable<'_>) -> Result<Option<Vec<Machine>>, Failure> {
        let Some(value) = table.get("machines") else {
            return Ok(None);
        };
        let mut all: Vec<Machine> = Vec::new();
        for given in list(&self.file, value)? {
            // A file is relative to the experiment.
            let name = match given.text.ends_with(".toml") {
                true => self.folder.join(&given.text).to_string_lossy().into_owned(),
                false => given.text,
            };
            let found = machines(&[name]);
            let found =
                found.map_err(|failure| self.file.wrong(given.at.clone(), &failure.to_string()))?;
            for machine in found {
                if all.iter().all(|known| known.name != machine.name) {
                    all.push(machine);
                }
            }
        }
        Ok(Some(all))
    }

    fn memory(&self, from: &DeTable<'_>) -> Result<Option<Vec<Option<MemoryCondition>>>, Failure> {
        let Some(value) = from.get("memory") else {
            return Ok(None);
        };
        let mut all = Vec::new();
        for table in tables(&self.file, value)? {
            all.extend(conditions(&self.file, table, self.folder)?);
        }
        Ok(Some(all))
    }

    fn max_accesses(&self, table: &DeTable<'_>) -> Result<Option<u64>, Failure> {
        let value = table.get("max-accesses");
        value.map(|value| count(&self.file, value)).transpose()
    }

    /// The traces of a path whose last part may be a pattern, in the order of their names.
    fn traces(&self, written: &str) -> Result<Vec<NamedTrace>, String> {
        let (folder, last) = match written.rsplit_once('/') {
            Some((folder, last)) => (format!("{folder}/"), last),
            None => (String::new(), written),
        };
        if let Some((format, path)) = DirectTrace::split(written) {
            let path = self.folder.join(path);
            return Ok(vec![NamedTrace {
                path: format!("{format}:{}", path.display()).into(),
                name: written.to_owned(),
            }]);
        }
        let named = |name: String| NamedTrace {
            path: self.folder.join(&name),
            name,
        };
        if !last.contains('*') {
            return Ok(vec![named(written.to_owned())]);
        }
        let entries = std::fs::read_dir(self.folder.join(&folder))
            .into_iter()
            .flatten();
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| fits(last, name)).collect();
        names.sort();
        match names.is_empty() {
            true => Err(format!("no file fits {written:?}")),
            false => Ok(names
                .into_iter()
                .map(|name| named(format!("{folder}{name}")))
                .collect()),
        }
    }

    fn program(
        &self,
        table: &DeTable<'_>,
        whole: &PlacedValue<'_>,
    ) -> Result<SweepProgram, Failure> {
        let file = &self.file;
        check_keys(file, table, KeyTable::Program)?;
        let missing = |key: &str| {
            let at = table.keys().map(|key| key.span()).min_by_key(|at| at.start);
            let message = format!("this program lacks its {key}");
            file.wrong(at.unwrap_or(whole.span()), &message)
        };
        let name = table.get("name").ok_or_else(|| missing("name"))?;
        let name = scalar(file, name)?;
        if !is_name(&name.text) {
            return Err(file.wrong(name.at, NAMES));
        }
        let command = table.get("command").ok_or_else(|| missing("command"))?;
        let command = list(file, command)?.into_iter().map(|word| word.text);
        let by_line = match table.get("grain").map(|value| (value, value.get_ref())) {
            None => false,
            Some((_, DeValue::String(text))) if text == "page" => false,
            Some((_, DeValue::String(text))) if text == "line" => true,
            Some((value, _)) => return Err(file.wrong(value.span(), "grains are page and line")),
        };
        let instructions = table.get("instructions").map(|value| flag(file, value));
        Ok(SweepProgram {
            name: name.text,
            command: command.collect(),
            by_line,
            instructions: instructions.transpose()?.unwrap_or(false),
        })
    }

    /// Reads an override. `names` holds the traces and programs of the experiment.
    fn override_of(
        &self,
        table: &DeTable<'_>,
        whole: &PlacedValue<'_>,
        names: &[&str],
    ) -> Result<Override, Failure> {
        check_keys(&self.file, table, KeyTable::Override)?;
        let Some(traces) = table.get("traces") else {
            let at = table.keys().map(|key| key.span()).min_by_key(|at| at.start);
            let message = "this override names no traces: add traces = \"NAME*\"";
            return Err(self.file.wrong(at.unwrap_or(whole.span()), message));
        };
        let traces = list(&self.file, traces)?;
        for pattern in &traces {
            if !names.iter().any(|name| fits(&pattern.text, name)) {
                let some = names.len().min(SHOWN);
                let more = match names.len() - some {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                let message = format!(
                    "this pattern fits no trace of the experiment, which has {}{more}",
                    names[..some].join(", ")
                );
                return Err(self.file.wrong(pattern.at.clone(), &message));
            }
        }
        Ok(Override {
            traces: traces.into_iter().map(|trace| trace.text).collect(),
            policies: self.policies(table)?,
            machines: self.machines(table)?,
            memory: self.memory(table)?,
            max_accesses: self.max_accesses(table)?,
        })
    }
}

/// The number of traces that a refusal names.
const SHOWN: usize = 8;

/// The refusal of a name that no folder could have everywhere.
const NAMES: &str = "a name is made of letters, digits, -, _ and .";

fn is_name(name: &str) -> bool {
    let is_fine = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    !name.is_empty() && !name.starts_with('.') && name.chars().all(is_fine)
}
