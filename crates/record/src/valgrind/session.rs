//! One recording, from the program's start to the last byte of the trace.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use broadleaf_trace::{
    Grain, Header, MeasuredEnds, Options as Contents, RecordedProgram, Totals, TraceWriter,
    WindowPlan, head_bytes,
};
use broadleaf_units::PageSize;

use super::cause;
use super::errors::RecordError;
use super::launch::{Workplace, machine};
use super::pack::Shared;
use super::program;
use super::readers::Readers;
use super::sink::RecordSetting;
use crate::qemu::Emulated;
use crate::system::{GuestMachine, GuestReport, System};
use crate::windows::WindowProgress;

/// The engine that runs the recorded program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// The tool for Valgrind.
    #[default]
    Valgrind,
    /// The plugin of QEMU's user-mode programs. It records no allocation sites, and the program
    /// sees the real clock.
    Qemu,
    /// The plugin of QEMU's whole x86-64 machines. The command runs in a guest
    /// ([`Options::guest`]), and the trace has the guest's kernel and all of its processes.
    QemuSystem,
}

/// The program to record, with the options of the recording.
#[derive(Clone, Debug)]
pub struct Options {
    /// The engine that runs the program.
    pub engine: Engine,
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// The guest of [`Engine::QemuSystem`].
    pub guest: Option<GuestMachine>,
    /// The unit in which the trace names places.
    pub grain: Grain,
    /// If true, the trace has the pages (lines) of instructions too.
    pub instructions: bool,
    /// If true, the bytes of all executed instructions are recorded too. Only the tool for Valgrind
    /// records them.
    pub code: bool,
    /// If true, the processes that the program forks are recorded too.
    pub follow_children: bool,
    /// If true, the call stacks of allocations and mappings are recorded too.
    pub sites: bool,
    /// The page sizes to align mappings to, each to the largest that its object is as large as
    /// (Talluri 1995, section 6.8). Without any, mappings are placed as the kernel does. Only the
    /// tool for Valgrind aligns.
    pub align: Vec<PageSize>,
    /// The clock that the program sees.
    pub clock: Clock,
    /// Prepares the command before it starts, so that the program inherits the user's settings.
    pub prepare: fn(&mut Command),
    /// The windows to record; `None` for the whole program. Only the tool for Valgrind has windows.
    pub windows: Option<WindowPlan>,
    /// The compression level of Zstandard.
    pub level: i32,
    /// The name and version of the recorder, for the trace's header.
    pub recorder: String,
    /// Run times of the program without the recorder, for the trace's header.
    pub measured: Option<MeasuredEnds>,
}

/// The clock that a recorded program sees. A rate is a number of instructions in a microsecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The real clock. The recorder makes the program many times slower by this clock.
    Wall,
    /// Executed instructions drive processor time and all clocks that count from an arbitrary
    /// start.
    Program(u32),
    /// Executed instructions drive all clocks, including the date.
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

/// The progress of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordProgress {
    /// Accesses in the file.
    pub accesses: u64,
    /// Bytes in the file.
    pub bytes: u64,
    /// Time since the program was started.
    pub elapsed: Duration,
    /// The position of the program in its windows; `None` if the whole program is recorded.
    pub window: Option<WindowProgress>,
    /// The process of the program, for a caller that ends the program early.
    pub process: u32,
}

/// A recording that ended.
#[derive(Debug)]
pub struct Finished<W> {
    /// The output with the trace.
    pub output: W,
    /// The totals of the trace.
    pub totals: Totals,
    /// The number of processes, by process id.
    pub processes: u32,
    /// The number of address spaces: one for each program that a process executed.
    pub spaces: u32,
    /// The wait status of the program.
    pub status: ExitStatus,
    /// The reason of the program's failure, if the recorder itself is likely to have caused it.
    pub likely_cause: Option<&'static str>,
    /// The counters of a guest that was recorded.
    pub guest: Option<GuestReport>,
    /// The head of the trace with a note that is known at the end alone; `None` without such a
    /// note. It replaces as many bytes at the start of the output.
    pub new_head: Option<Vec<u8>>,
    /// The note that the new head has.
    pub new_note: Option<&'static str>,
    /// The processes that the recorded ones forked, and that the trace lacks.
    pub unrecorded_children: u64,
    /// The time from the program's start to its end and the last byte.
    pub elapsed: Duration,
}

/// The note of a trace whose run times contain processes that the trace lacks.
pub const UNRECORDED_CHILDREN: &str =
    "the measured times contain processes that the trace lacks: --follow-children records them";
/// The note of a trace without run times that lacks child processes.
pub const MISSING_CHILDREN: &str =
    "the program's child processes are not in the trace: --follow-children records them";
/// The bytes of a trace's head that are kept free for one of these notes.
const ROOM: usize = 120;

impl<W> Finished<W> {
    /// Separates the output from the other fields.
    pub fn take_output(self) -> (W, Finished<()>) {
        let Self {
            output,
            totals,
            processes,
            spaces,
            status,
            likely_cause,
            guest,
            new_head,
            new_note,
            unrecorded_children,
            elapsed,
        } = self;
        let rest = Finished {
            output: (),
            totals,
            processes,
            spaces,
            status,
            likely_cause,
            guest,
            new_head,
            new_note,
            unrecorded_children,
            elapsed,
        };
        (output, rest)
    }
}

/// Runs a program and records its references to `output`.
///
/// `progress` is called a few times a second. The program's standard streams are this process's
/// own. After an interruption, the trace can be read up to its last whole chunk.
///
/// # Errors
/// Returns a [`RecordError`]. If the trace cannot be written, the program still runs to its end.
pub fn record<W: Write + Send>(
    options: &Options,
    output: W,
    progress: &mut dyn FnMut(RecordProgress),
) -> Result<Finished<W>, RecordError> {
    let name = options.command.first().ok_or(RecordError::NoCommand)?;
    let system = match (options.engine, &options.guest) {
        (Engine::QemuSystem, None) => return Err(RecordError::NoGuest),
        (Engine::QemuSystem, Some(guest)) => Some(System::find(guest)?),
        _ => None,
    };
    let program = match &system {
        Some(system) => system.kernel_path(),
        None => program::find(name)?,
    };
    let emulated = match options.engine {
        Engine::Valgrind => program::check(&program).map(|()| None)?,
        Engine::QemuSystem => None,
        Engine::Qemu if options.sites => return Err(RecordError::EngineLacks("--sites")),
        Engine::Qemu if options.code => return Err(RecordError::EngineLacks("--code")),
        Engine::Qemu if !options.align.is_empty() => {
            return Err(RecordError::EngineLacks("--align"));
        }
        Engine::Qemu if options.windows.is_some() => {
            return Err(RecordError::EngineLacks("--skip, --for and --every"));
        }
        Engine::Qemu => Some(Emulated::find(&program, &options.command)?),
    };
    let mut workplace = Workplace::new(options.engine, system.as_ref())?;
    let mut header = header(options, &program, system.as_ref())?;
    let writer = TraceWriter::new(output, &header)?;
    let shared = Shared::new(writer, options.level);

    let began = Instant::now();
    let mut child = match &system {
        Some(system) => workplace.start_system(system, options)?,
        None => workplace.start(&program, emulated.as_ref(), options)?,
    };
    let outcome = thread::scope(|scope| {
        let setting = RecordSetting {
            began,
            instruction_pages: options.instructions,
            code: options.code,
            unit_shift: options.grain.shift().into(),
            sites: options.sites,
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
            progress(RecordProgress {
                accesses,
                bytes,
                elapsed: began.elapsed(),
                window: options.windows.and_then(|_| shared.window()),
                process: child.id(),
            });
            thread::sleep(Duration::from_millis(
                if began.elapsed().as_millis() < 200 {
                    5
                } else {
                    50
                },
            ));
        };
        // A ring may be announced just before the end, and processes may outlive the first one.
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
    let (status, counted) = outcome?;
    if counted.processes == 0 {
        return Err(RecordError::NothingRecorded(status));
    }
    let unrecorded_children = match options.follow_children {
        true => 0,
        false => shared.forks(),
    };
    let lacks_children = header.room > 0 && unrecorded_children > 0;
    let note = match options.measured {
        Some(_) => UNRECORDED_CHILDREN,
        None => MISSING_CHILDREN,
    };
    let new_head = match lacks_children && header.note_in_room(note.into()) {
        true => Some(head_bytes(&header)?),
        false => None,
    };
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
        likely_cause: match options.engine {
            Engine::Valgrind => cause::likely_cause(&program, status),
            Engine::Qemu | Engine::QemuSystem => None,
        },
        guest: system.map(|system| workplace.report(&system)),
        new_note: new_head.is_some().then_some(note),
        new_head,
        unrecorded_children,
        elapsed: began.elapsed(),
    })
}

fn header(options: &Options, program: &Path, system: Option<&System<'_>>) -> io::Result<Header> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(File::open(program)?)?;
    Ok(Header {
        grain: options.grain,
        options: Contents {
            instruction_counts: true,
            instruction_pages: options.instructions,
            events: true,
            children: options.follow_children || system.is_some(),
            system: system.is_some(),
            kernel_events: system.is_some_and(System::emits_events),
            code: options.code,
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
        machine: system.map_or_else(machine, System::description),
        recorder: options.recorder.clone(),
        measured: options.measured.clone(),
        windows: options.windows,
        time: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |d| d.as_secs()),
        notes: system.map_or_else(|| notes(options), System::notes),
        room: match options.follow_children {
            true => 0,
            false => ROOM,
        },
    })
}

/// Facts that users of a program's trace have to know.
fn notes(options: &Options) -> Vec<String> {
    vec![
        "memory accesses made by the kernel are not counted".into(),
        places(&options.align),
        match options.engine {
            Engine::Valgrind => {
                "threads ran one at a time, in the order that Valgrind's scheduler chose"
            }
            Engine::Qemu | Engine::QemuSystem => "threads ran one at a time under QEMU, in turns",
        }
        .into(),
    ]
}

/// A note on the places of the recorded program's mappings.
fn places(align: &[PageSize]) -> String {
    if align.is_empty() {
        return "mappings have their places of native Linux without address randomisation, modulo \
                2 MiB"
            .into();
    }
    let sizes: Vec<String> = align.iter().map(|s| s.short_name().to_string()).collect();
    format!(
        "each mapping is aligned to the largest of {} that its object is as large as",
        sizes.join(", ")
    )
}
