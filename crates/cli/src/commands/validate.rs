//! `validate`: predictions of a program beside measurements.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use broadleaf_live::govern::SettingsRequest;
use broadleaf_live::same_end::as_program;
use broadleaf_live::validate::{Validated, ValidationRequest, validate};
use broadleaf_record::scratch::{Purpose, Scratch};
use broadleaf_report::{Glyphs, View, validation_table};
use broadleaf_study::failure::{Failure, reason};
use broadleaf_study::output::{Access, Output, json, refuse_input};
use broadleaf_study::predicting::one_machine;
use broadleaf_study::recording::{claim, plain_recording, size_and_end};
use broadleaf_study::unfinished::Unfinished;

use super::govern::PROGRAM_SIGNALS;
use super::record::{record_to, unheard};
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
    let request = ValidationRequest {
        settings: SettingsRequest {
            command: &options.command,
            rounds: options.rounds,
            policies: &options.policy,
            may_switch: options.set_switch,
            signals: &PROGRAM_SIGNALS,
            watch: &Bars,
        },
        trace: &trace,
        machine,
        counters,
        configuration: &format!("{options:?}"),
    };
    let mut recording = Some(recording);
    let mut record = |ends| {
        let what = plain_recording(&options.command, ends, unheard);
        let to = recording.take().map_or_else(|| claim(&trace, true), Ok)?;
        let finished = record_to(to, &what, &trace, !io::stdout().is_terminal())?;
        say!("recorded {}", size_and_end(&finished, &trace));
        Ok(())
    };
    let report = match validate(request, &mut record)? {
        Validated::Report(report) => report,
        Validated::Interrupted(status) => return Err(as_program(status)),
    };
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
