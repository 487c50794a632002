//! One recording, from the program's start to the last byte of the trace.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use broadleaf_trace::{
    Grain, Header, Options as Contents, RecordedProgram, Totals, TraceWriter, WriteError,
};

use super::cause;
use super::launch::{Workplace, machine};
use super::pack::Shared;
use super::process::BadWords;
use super::program;
use super::readers::Readers;
use super::sink::Setting;

/// What to record, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// The unit in which the trace names places.
    pub grain: Grain,
    /// Tell the pages (lines) of instructions too.
    pub instructions: bool,
    /// Record the processes that the program forks too.
    pub follow_children: bool,
    /// The clock that the program sees.
    pub clock: Clock,
    /// Prepares the command before it starts, so that the program inherits the user's settings.
    pub prepare: fn(&mut Command),
    /// Level of compression, as Zstandard counts.
    pub level: i32,
    /// Name and version of what records, for the trace's head.
    pub recorder: String,
}

/// The clock that a recorded program sees. A rate is a number of instructions in a microsecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The real one: the program takes many times longer by it than without the recorder.
    Wall,
    /// Executed instructions drive processor time and all clocks that count from an arbitrary
    /// start.
    Program(u32),
    /// The date does too.
    Date(u32),
}

impl Clock {
    /// The default number of instructions in a microsecond: the rate of gzip and allocators on a
    /// processor of 3 GHz.
    pub const RATE: u32 = 3500;
}

impl Default for Clock {
    fn default() -> Self {
        Self::Program(Self::RATE)
    }
}

/// How far a recording is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Accesses in the file.
    pub accesses: u64,
    /// Bytes in the file.
    pub bytes: u64,
    /// Time since the program was started.
    pub elapsed: Duration,
}

/// A recording that ended.
#[derive(Debug)]
pub struct Finished<W> {
    /// Where the trace was written to.
    pub output: W,
    /// What it holds.
    pub totals: Totals,
    /// The number of processes, by process id.
    pub processes: u32,
    /// The number of address spaces: one for each program that a process executed.
    pub spaces: u32,
    /// How the program ended.
    pub status: ExitStatus,
    /// Why the program failed, if the recorder itself is likely to have made it fail.
    pub likely_cause: Option<&'static str>,
    /// Time from the program's start to its end and the last byte.
    pub elapsed: Duration,
}

impl<W> Finished<W> {
    /// The output, and the rest.
    pub fn take_output(self) -> (W, Finished<()>) {
        let Self {
            output,
            totals,
            processes,
            spaces,
            status,
            likely_cause,
            elapsed,
        } = self;
        let rest = Finished {
            output: (),
            totals,
            processes,
            spaces,
            status,
            likely_cause,
            elapsed,
        };
        (output, rest)
    }
}

/// Why a recording failed.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// There is no command.
    #[error("no program to record was given")]
    NoCommand,
    /// The program's file was not found, or is not executable.
    #[error("{}: cannot run it: {error}", program.display())]
    NoProgram {
        /// The program's name, as it was given.
        program: OsString,
        /// The error with which `execvp` would fail.
        error: io::Error,
    },
    /// Valgrind cannot run the program.
    #[error("{program:?} {why}")]
    CannotRun {
        /// The program's file, or that of a script's interpreter.
        program: OsString,
        /// The reason, and the user's remedy.
        why: &'static str,
    },
    /// Valgrind is not installed here.
    #[error(
        "recording needs Valgrind, which is not installed here (on Debian: apt-get install valgrind)"
    )]
    NoValgrind,
    /// Valgrind was not installed where this program was built.
    #[error(
        "this build of Broadleaf has no recorder, because Valgrind was missing when it was built (on Debian: apt-get install valgrind gcc make, then build again)"
    )]
    NotBuilt,
    /// The program began to run and nothing was recorded.
    #[error(
        "the program ended ({0}) before it could be recorded; Valgrind's own words are above, if it had any"
    )]
    NothingRecorded(ExitStatus),
    /// The trace could not be written. What was written before can be read.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The recorder and this program disagree.
    #[error("{0}")]
    Tool(String),
    /// A folder for the recorder's own files could not be made.
    #[error("cannot make the recorder's files in {}: {error}", folder.display())]
    Folder {
        /// The path at which the folder was to be made.
        folder: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// Something else that the system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A path with a zero byte.
    #[error(transparent)]
    Path(#[from] std::ffi::NulError),
}

impl From<BadWords> for RecordError {
    fn from(e: BadWords) -> Self {
        Self::Tool(e.to_string())
    }
}

/// Runs a program and writes what it does to `output`.
///
/// `progress` is called a few times a second. The program's standard streams are this process's own. The trace can be read up to
/// its last whole chunk wherever this is interrupted.
///
/// # Errors
/// See [`RecordError`]. Where the trace could not be written, the program still runs to its end.
pub fn record<W: Write + Send>(
    options: &Options,
    output: W,
    progress: &mut dyn FnMut(Progress),
) -> Result<Finished<W>, RecordError> {
    let name = options.command.first().ok_or(RecordError::NoCommand)?;
    let program = program::find(name)?;
    program::check(&program)?;
    let mut workplace = Workplace::new()?;
    let writer = TraceWriter::new(output, &header(options, &program)?)?;
    let shared = Shared::new(writer, options.level);

    let began = Instant::now();
    let mut child = workplace.start(options)?;
    let told = thread::scope(|scope| {
        let setting = Setting {
            began,
            instruction_pages: options.instructions,
            unit_shift: options.grain.shift().into(),
            first: child.id(),
        };
        let mut readers = Readers::new(&shared, setting);
        let watch = shared.order.watch();
        let status = loop {
            for ring in workplace.control.announced()? {
                readers.start(scope, &workplace.ring(&ring))?;
            }
            shared.order.looked();
            if let Some(status) = child.try_wait()? {
                shared.order.ended(status.into_raw());
                break status;
            }
            let (accesses, bytes) = shared.so_far();
            progress(Progress {
                accesses,
                bytes,
                elapsed: began.elapsed(),
            });
            thread::sleep(Duration::from_millis(
                if began.elapsed().as_millis() < 200 {
                    5
                } else {
                    50
                },
            ));
        };
        // A ring announced just before the end, and processes that outlive the first.
        loop {
            for ring in workplace.control.announced()? {
                readers.start(scope, &workplace.ring(&ring))?;
            }
            shared.order.looked();
            if readers.all_done() {
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
        watch.well();
        readers.join().map(|counted| (status, counted))
    });
    let (status, counted) = told?;
    if counted.processes == 0 {
        return Err(RecordError::NothingRecorded(status));
    }
    let writer = shared.into_writer();
    let totals = writer.totals();
    let mut output = writer.finish()?;
    output.flush()?;
    Ok(Finished {
        output,
        totals,
        processes: counted.processes,
        spaces: counted.spaces,
        status,
        likely_cause: cause::likely_cause(&program, status),
        elapsed: began.elapsed(),
    })
}

fn header(options: &Options, program: &Path) -> io::Result<Header> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(File::open(program)?)?;
    Ok(Header {
        grain: options.grain,
        options: Contents {
            instruction_counts: true,
            instruction_pages: options.instructions,
            events: true,
            children: options.follow_children,
        },
        command: options
            .command
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        program: Some(RecordedProgram {
            path: program.canonicalize()?.to_string_lossy().into_owned(),
            hash: *hasher.finalize().as_bytes(),
        }),
        machine: machine(),
        recorder: options.recorder.clone(),
        time: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |d| d.as_secs()),
        notes: vec![
            "references of the program itself, not of the kernel for it".into(),
            "mappings stand where Linux puts them with address randomisation off, modulo 2 MiB"
                .into(),
            "threads ran one at a time, in the order that Valgrind's scheduler chose".into(),
        ],
    })
}
