//! `import`: another tool's trace, rewritten as one of ours.

use std::io::Read;
use std::path::{Path, PathBuf};

use broadleaf_record::import::lackey;
use broadleaf_report::number::{grouped, size};
use broadleaf_trace::{Encoder, Header, Options, WriteError};

use crate::args::{Format, Import};
use crate::progress::{TaskBar, Work};
use broadleaf_study::failure::Failure;
use broadleaf_study::output::{Access, Output, refuse_input};
use broadleaf_study::provenance::made_by;
use broadleaf_study::source::measured::{Measured, Meter};
use broadleaf_study::source::origin::{Origin, Passes};

pub(crate) fn run(options: &Import) -> Result<(), Failure> {
    let path = output_path(options)?;
    refuse_input(&path, [options.input.as_path()])?;
    let mut origin = Origin::open(&options.input, Passes::One)?;
    let out = Output::create(Some(&path), options.force, Access::Owner)?;
    if out.is_terminal() {
        return Err(Failure::wrong(
            "a trace is no text: give a file with -o, or a pipe",
        ));
    }
    let meter = Meter::default();
    let bar = TaskBar::new(
        "importing",
        origin.size().map_or(Work::Unknown, Work::Bytes),
    );
    let bytes = origin
        .bytes()
        .map_err(|error| Failure::reading(origin.name(), &error))?;
    let bytes = Measured::new(bytes, meter.clone());
    let (out, counts) = match options.format {
        Format::Lackey => from_lackey(bytes, out, options, origin.name(), &|counts| {
            bar.set(meter.bytes(), counts.loads + counts.stores);
        })?,
    };
    drop(bar);
    let name = out.name().to_owned();
    let written = out.written();
    out.finish()?;
    let accesses = counts.loads + counts.stores;
    say!(
        "{name}: {} accesses and {} instructions from {} lines, a trace of {} ({:.3} bytes an access)",
        grouped(accesses),
        grouped(counts.instructions),
        grouped(counts.lines),
        size(written),
        written as f64 / accesses.max(1) as f64,
    );
    Ok(())
}

fn from_lackey(
    bytes: impl Read,
    out: Output,
    options: &Import,
    input: &str,
    progress: &dyn Fn(lackey::Counts),
) -> Result<(Output, lackey::Counts), Failure> {
    let name = out.name().to_owned();
    let cannot_write = |error: WriteError| match error {
        WriteError::Io(error) => Failure::writing(&name, &error),
        error => Failure::Failed(format!("{name}: {error}")),
    };
    let mut reader = lackey::Reader::new(bytes, options.grain.into());
    let mut header = Header::new(options.grain.into());
    header.options = Options {
        instruction_counts: true,
        ..Options::default()
    };
    header.recorder = made_by("import from Lackey");
    header.notes = vec!["imported from Lackey text: nothing is known of mappings".to_owned()];
    let mut encoder = Encoder::new(out, &header).map_err(cannot_write)?;
    let mut visits = Vec::new();
    loop {
        visits.clear();
        let more = reader.read(&mut visits).map_err(|error| match error {
            lackey::Error::Io(error) => Failure::reading(input, &error),
            error => Failure::Wrong(format!("{input}: {error}")),
        })?;
        if !more {
            break;
        }
        encoder.visits(&visits).map_err(cannot_write)?;
        progress(reader.counts());
    }
    Ok((encoder.finish().map_err(cannot_write)?, reader.counts()))
}

/// What was asked for, or INPUT with the ending `.bl`.
fn output_path(options: &Import) -> Result<PathBuf, Failure> {
    match (&options.output, options.input.as_os_str() == "-") {
        (Some(path), _) => Ok(path.clone()),
        (None, true) => Err(Failure::wrong(
            "a trace from standard input needs a name: give it with -o",
        )),
        (None, false) => {
            let named = options.input.with_extension("bl");
            if named == options.input {
                return Err(Failure::Wrong(format!(
                    "{}: would be written over by its import: give another name with -o",
                    Path::display(&named)
                )));
            }
            Ok(named)
        }
    }
}
