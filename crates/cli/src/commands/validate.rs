//! `validate`: predictions of a program beside measurements.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use broadleaf_live::govern::{SettingsEnd, SettingsRequest, measure_settings};
use broadleaf_live::validate::{ValidationRequest, validation};
use broadleaf_record::scratch::{Purpose, Scratch};
use broadleaf_report::{Glyphs, View, validation_table};
use broadleaf_study::failure::{Failure, reason};
use broadleaf_study::output::{Access, Output, json, refuse_input};
use broadleaf_study::predicting::one_machine;
use broadleaf_study::recording::{claim, size_and_end};
use broadleaf_study::unfinished::Unfinished;

use super::govern::{PROGRAM_SIGNALS, as_program};
use super::record::{plain_recording, record_to};
use crate::args::{TableOrJson, ValidateArgs};
use crate::progress::Bars;
use crate::terminal::glyphs;

pub(crate) fn run(options: &ValidateArgs, view: View) -> Result<(), Failure> {
    // Everything that can be wrong is refused before the program runs.
    let machine = one_machine(options.machine.as_deref())?;
    let counters = (options.counters.iter()).map(|file| Ok((file.clone(), file.read()?)));
    let counters = counters.collect::<Result<Vec<_>, Failure>>()?;
    let files = options.keep.iter().chain(&options.output);
    for file in files {
        refuse_input(file, options.command.iter().map(Path::new))?;
    }
    let place = Output::create(options.output.as_deref(), options.force, Access::Everyone)?;
    let failed =
        |error: io::Error| Failure::Failed(format!("a temporary folder: {}", reason(&error)));
    let folder = Scratch::new(Purpose::Work).map_err(failed)?;
    let _unfinished = Unfinished::new(folder.path());
    let trace = match &options.keep {
        Some(path) => path.clone(),
        None => folder.path().join("recording.bl"),
    };
    let recording = claim(&trace, options.force)?;
    let end = measure_settings(&SettingsRequest {
        command: &options.command,
        rounds: options.rounds,
        policies: &options.policy,
        may_switch: options.set_switch,
        signals: &PROGRAM_SIGNALS,
        watch: &Bars,
    })?;
    let measured = match end {
        SettingsEnd::Measured(measured) => measured,
        SettingsEnd::Interrupted(status) => return Err(as_program(status)),
    };
    let what = plain_recording(&options.command, measured.ends.clone());
    let finished = record_to(recording, &what, &trace, !io::stdout().is_terminal())?;
    say!("recorded {}", size_and_end(&finished, &trace));
    let report = validation(ValidationRequest {
        command: &options.command,
        measured,
        trace: &trace,
        machine,
        counters,
        configuration: &format!("{options:?}"),
        watch: &Bars,
    })?;
    // A file has no width.
    let (view, glyphs) = match options.output {
        Some(_) => (View::default(), Glyphs::Ascii),
        None => (view, glyphs()),
    };
    let text = match options.format {
        TableOrJson::Table => validation_table(&report, glyphs, view),
        TableOrJson::Json => json(&report)?,
    };
    let mut out = place;
    out.write_all(text.as_bytes())
        .map_err(|error| Failure::writing(out.name(), &error))?;
    out.finish()
}
