//! `validate`: predictions of a program beside measurements.

use std::ffi::OsString;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use broadleaf_live::govern::SettingsRequest;
use broadleaf_live::validate::{
    CountersFile, Validated, ValidationRequest, validate as run_validation,
};
use broadleaf_report::{Glyphs, View, validation_table};
use broadleaf_study::failure::{Failure, reason};
use broadleaf_study::output::{json, refuse_input};
use broadleaf_study::predicting::{OneMachine, one_machine};
use broadleaf_study::recording::{claim, plain_recording};
use pyo3::prelude::*;

use crate::errors::{exception, invalid};
use crate::machines::machines;
use crate::record::{KeptSignals, interrupted, record_to};
use crate::run::Run;

/// Predicts, measures and compares. `broadleaf.validate` documents the arguments. Returns the
/// report as JSON (schema `broadleaf.validation/1`) and as a table for people.
#[pyfunction]
#[pyo3(signature = (
    command, *, policies, machine, rounds, set_switch, counters, keep, force, progress
))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn validate(
    py: Python<'_>,
    command: Vec<OsString>,
    policies: Vec<String>,
    machine: Option<Bound<'_, PyAny>>,
    rounds: u32,
    set_switch: bool,
    counters: Vec<(String, PathBuf)>,
    keep: Option<PathBuf>,
    force: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, String)> {
    if command.is_empty() {
        return Err(invalid(py, "no program to validate was given"));
    }
    let Some(rounds) = NonZero::new(rounds) else {
        return Err(invalid(py, "rounds is a number of rounds, at least 1"));
    };
    let run = Run::new(progress);
    let machine = match machine {
        None => one_machine(None).map_err(|failure| exception(py, &failure))?,
        Some(given) => {
            let asked = machines(py, vec![given], run.error())?;
            match (&asked.machines[..], asked.have_classes()) {
                ([machine], false) => OneMachine {
                    machine: machine.clone(),
                    note: None,
                },
                (_, true) => {
                    return Err(invalid(
                        py,
                        "validate takes no machine with parts that are classes",
                    ));
                }
                _ => return Err(invalid(py, "predictions are for one machine")),
            }
        }
    };
    let configuration = format!("{command:?} {policies:?} {rounds} {set_switch} {counters:?}");
    run.work(py, |run| {
        let counters = counters.into_iter().map(|(setting, path)| {
            let file = CountersFile { setting, path };
            let read = file.read()?;
            Ok((file, read))
        });
        let counters = counters.collect::<Result<Vec<_>, Failure>>()?;
        let folder = tempfile::tempdir()
            .map_err(|error| Failure::Failed(format!("a temporary folder: {}", reason(&error))))?;
        if let Some(path) = &keep {
            refuse_input(path, command.iter().map(Path::new))?;
        }
        let trace = keep.unwrap_or_else(|| folder.path().join("recording.bl"));
        let mut claimed = Some(claim(&trace, force)?);
        let mut record = |ends| {
            let what = plain_recording(&command, ends, |command| {
                command.stdin(Stdio::null()).stdout(Stdio::null());
            });
            let to = claimed.take().map_or_else(|| claim(&trace, true), Ok)?;
            record_to(to, &what, &trace, run).map(drop)
        };
        let request = ValidationRequest {
            settings: SettingsRequest {
                command: &command,
                rounds,
                policies: &policies,
                may_switch: set_switch,
                signals: &KeptSignals,
                watch: run,
            },
            trace: &trace,
            machine,
            counters,
            configuration: &configuration,
        };
        match run_validation(request, &mut record)? {
            Validated::Interrupted(status) => Err(interrupted(status)),
            Validated::Report(report) => Ok((
                json(&report)?,
                validation_table(&report, Glyphs::Braille, View::default()),
            )),
        }
    })
}
