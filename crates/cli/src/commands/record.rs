//! `record`: run a program and write down what it does.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufReader, IsTerminal, stdout};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use broadleaf_record::valgrind::{self, Finished, Options, RecordError};
use broadleaf_report::number::{grouped, size};
use broadleaf_trace::{DEFAULT_LEVEL, TraceIndex, WriteError};

use crate::args::{Engine, Record};
use crate::failure::{Failure, reason};
use crate::interrupt::LeftToChild;
use crate::output::{Direct, Named, refuse_input};
use crate::progress::Progress;

pub(crate) fn run(options: &Record) -> Result<(), Failure> {
    if options
        .output
        .as_deref()
        .is_some_and(|path| path.as_os_str() == "-")
    {
        return Err(Failure::wrong(
            "a recording needs a file: standard output is the program's own",
        ));
    }
    let path = match &options.output {
        Some(path) => path.clone(),
        None => free_name(&options.command[0]),
    };
    // A program that is named by a path, and whatever files its arguments name.
    refuse_input(&path, options.command.iter().map(Path::new))?;
    let what = match options.engine {
        Engine::Valgrind => Options {
            command: options.command.clone(),
            grain: options.grain.into(),
            instructions: options.instructions,
            follow_children: options.follow_children,
            clock: options.clock(),
            level: DEFAULT_LEVEL,
            recorder: made_by("tool for Valgrind"),
        },
    };
    // On a terminal the program's output and a bar would spoil each other.
    let finished = record(&what, &path, options.force, !stdout().is_terminal())?;
    eprintln!("broadleaf: {}", summary(&finished, &path));
    Ok(())
}

/// Records to `path`, with a bar where that is wanted.
pub(crate) fn record(
    what: &Options,
    path: &Path,
    force: bool,
    bar: bool,
) -> Result<Finished<Direct>, Failure> {
    let output = Direct::at(path, force)?;
    let named = output.named();
    let bar = Progress::of_recording("recording", bar);
    let mut show = |state: valgrind::Progress| bar.set(state.bytes, state.accesses);
    let left = LeftToChild::new();
    let outcome = valgrind::record(what, output, &mut show);
    drop((left, bar));
    outcome.map_err(|error| explain(error, path, &named))
}

/// What went wrong, and what is left of it.
fn explain(error: RecordError, path: &Path, named: &Named) -> Failure {
    let name = path.display();
    match error {
        RecordError::NoCommand | RecordError::NoProgram(_) | RecordError::Path(_) => {
            Failure::wrong(error)
        }
        RecordError::NoValgrind | RecordError::NotBuilt | RecordError::NothingRecorded(_) => {
            Failure::failed(error)
        }
        RecordError::Io(error) => Failure::Failed(format!(
            "the recording failed: {}{}",
            reason(&error),
            left(path, named)
        )),
        RecordError::Write(WriteError::Io(error)) => Failure::Failed(format!(
            "{name}: cannot write the trace: {}{}",
            reason(&error),
            left(path, named)
        )),
        RecordError::Write(_) | RecordError::Tool(_) => {
            Failure::Failed(format!("{name}: {error}{}", left(path, named)))
        }
    }
}

/// What can be read of a recording that failed: the file itself knows best.
fn left(path: &Path, named: &Named) -> String {
    if !named.is() {
        return String::new();
    }
    let saved = File::open(path)
        .ok()
        .and_then(|file| TraceIndex::read(BufReader::new(file)).ok())
        .map_or(0, |index| index.totals().accesses());
    match saved {
        0 => "; nothing can be read of it".to_owned(),
        saved => format!(
            "; the {} accesses written before can be read with --keep-going",
            grouped(saved)
        ),
    }
}

/// What made a trace, as its header names it.
pub(crate) fn made_by(part: &str) -> String {
    format!(
        "broadleaf {} ({}), {part}",
        env!("CARGO_PKG_VERSION"),
        env!("BROADLEAF_COMMIT")
    )
}

/// What was recorded, and how the program ended.
pub(crate) fn summary(finished: &Finished<Direct>, path: &Path) -> String {
    let bytes = path.metadata().map_or(0, |metadata| metadata.len());
    let accesses = finished.totals.accesses();
    let processes = match finished.processes {
        1 => String::new(),
        count => format!(" of {count} processes"),
    };
    format!(
        "{}: {} accesses{processes} in {} ({:.3} bytes an access), {:.1} s; the program {}",
        path.display(),
        grouped(accesses),
        size(bytes),
        bytes as f64 / accesses.max(1) as f64,
        finished.elapsed.as_secs_f64(),
        ending(finished.status),
    )
}

fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit status {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

/// `PROGRAM.bl` in this folder, or the first of `PROGRAM.1.bl`, `PROGRAM.2.bl` and so on that is free.
fn free_name(program: &OsStr) -> PathBuf {
    let program = Path::new(program).file_name().unwrap_or(program);
    let named = |number: u32| {
        let mut name = OsString::from(program);
        name.push(if number == 0 {
            ".bl".to_owned()
        } else {
            format!(".{number}.bl")
        });
        PathBuf::from(name)
    };
    (0..u32::MAX)
        .map(named)
        .find(|path| path.symlink_metadata().is_err())
        .unwrap_or_else(|| named(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_trace::{Encoder, Grain, Header, Visit};

    fn full(path: &Path) -> String {
        let error = std::io::Error::from_raw_os_error(28);
        let named = Named::yes();
        explain(WriteError::Io(error).into(), path, &named).to_string()
    }

    #[test]
    fn a_full_disk_is_told_with_what_can_still_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.bl");
        let mut encoder = Encoder::new(Vec::new(), &Header::new(Grain::Page)).unwrap();
        let visit = Visit {
            unit: 7,
            loads: 1234,
            loads_before_store: 1234,
            ..Visit::default()
        };
        encoder.visits(&[visit]).unwrap();
        let bytes = encoder.finish().unwrap();
        // The index is what the disk had no room for.
        std::fs::write(&path, &bytes[..bytes.len() - 20]).unwrap();
        let said = full(&path);
        assert!(
            said.ends_with(
                "x.bl: cannot write the trace: No space left on device; \
                 the 1,234 accesses written before can be read with --keep-going"
            ),
            "{said}"
        );
        // The head alone, or less.
        for cut in [0, 10, 60] {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            let said = full(&path);
            assert!(said.ends_with("; nothing can be read of it"), "{said}");
        }
    }
}
