//! One recording, from the program's start to the last byte of the trace.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use broadleaf_trace::{
    Grain, Header, Options as Contents, Program, Totals, TraceWriter, WriteError,
};

use super::launch::{Workplace, find_program, machine};
use super::leftovers;
use super::pack::Shared;
use super::process::{BadWords, Process};
use super::ring::{Ring, Segment, Wait};
use super::sink::{ProcessSink, Setting, Stopped};

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
    /// Level of compression, as Zstandard counts.
    pub level: i32,
    /// Name and version of what records, for the trace's head.
    pub recorder: String,
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
    /// How many processes it holds; a process that executes another program counts again.
    pub processes: u32,
    /// How the program ended.
    pub status: ExitStatus,
    /// Time from the program's start to its end and the last byte.
    pub elapsed: Duration,
}

/// Why a recording failed.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// There is no command.
    #[error("no program to record was given")]
    NoCommand,
    /// The program's file was not found, or is none.
    #[error("there is no program {0:?}: nothing of that name can be run")]
    NoProgram(OsString),
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
    let program = find_program(name).ok_or_else(|| RecordError::NoProgram(name.clone()))?;
    let workplace = Workplace::new()?;
    let writer = TraceWriter::new(output, &header(options, &program)?)?;
    let shared = Shared::new(writer, options.level);
    let control = Control::open(&workplace.rings.path().join(leftovers::CONTROL))?;

    let began = Instant::now();
    let mut child = workplace.start(options)?;
    let told = thread::scope(|scope| {
        let setting = Setting {
            began,
            instruction_pages: options.instructions,
            unit_shift: options.grain.shift().into(),
        };
        let mut readers = Readers::new(&shared, setting);
        let mut control = control;
        let status = loop {
            for ring in control.announced()? {
                readers.start(scope, workplace.rings.path().join(ring))?;
            }
            if let Some(status) = child.try_wait()? {
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
            for ring in control.announced()? {
                readers.start(scope, workplace.rings.path().join(ring))?;
            }
            if readers.all_done() {
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
        readers.join().map(|processes| (status, processes))
    });
    let (status, processes) = told?;
    if processes == 0 {
        return Err(RecordError::NothingRecorded(status));
    }
    let writer = shared.into_writer();
    let totals = writer.totals();
    let mut output = writer.finish()?;
    output.flush()?;
    Ok(Finished {
        output,
        totals,
        processes,
        status,
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
        program: Some(Program {
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

/// The pipe on which processes announce their rings.
struct Control {
    pipe: File,
    text: Vec<u8>,
}

impl Control {
    fn open(path: &Path) -> io::Result<Self> {
        // Open for writing too: otherwise the pipe would end with each process that announces itself.
        let pipe = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(path)?;
        Ok(Self {
            pipe,
            text: Vec::new(),
        })
    }

    /// The rings announced since the last call.
    fn announced(&mut self) -> io::Result<Vec<String>> {
        let mut bytes = [0; 4096];
        loop {
            match self.pipe.read(&mut bytes) {
                Ok(0) => break,
                Ok(n) => self.text.extend_from_slice(&bytes[..n]),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        let whole = self
            .text
            .iter()
            .rposition(|&b| b == b'\n')
            .map_or(0, |at| at + 1);
        let lines: Vec<u8> = self.text.drain(..whole).collect();
        Ok(String::from_utf8_lossy(&lines)
            .lines()
            .map(str::to_owned)
            .collect())
    }
}

/// The threads that read the processes.
struct Readers<'scope, 'env, W> {
    shared: &'env Shared<W>,
    setting: Setting,
    threads: Vec<ScopedJoinHandle<'scope, Result<(), RecordError>>>,
    /// For each process id, the flag that tells its reader that another program runs under that id now.
    replaced: BTreeMap<u32, Arc<AtomicBool>>,
}

impl<'scope, 'env, W: Write + Send> Readers<'scope, 'env, W> {
    const fn new(shared: &'env Shared<W>, setting: Setting) -> Self {
        Self {
            shared,
            setting,
            threads: Vec::new(),
            replaced: BTreeMap::new(),
        }
    }

    fn start(&mut self, scope: &'scope Scope<'scope, 'env>, path: PathBuf) -> io::Result<()>
    where
        'env: 'scope,
    {
        let ring = Ring::open(&path)?;
        // Mapped on both sides: the name is no longer needed.
        fs::remove_file(&path)?;
        let gone = Arc::new(AtomicBool::new(false));
        if let Some(before) = self.replaced.insert(ring.pid(), Arc::clone(&gone)) {
            before.store(true, Ordering::Release);
        }
        let (shared, setting, number) = (self.shared, self.setting, self.threads.len() as u32);
        self.threads
            .push(scope.spawn(move || record_process(&ring, shared, setting, number, &gone)));
        Ok(())
    }

    fn all_done(&self) -> bool {
        self.threads.iter().all(ScopedJoinHandle::is_finished)
    }

    fn join(self) -> Result<u32, RecordError> {
        let mut first = Ok(self.threads.len() as u32);
        for reader in self.threads {
            let outcome = reader.join().unwrap_or_else(|_| {
                Err(RecordError::Tool("a reader of the recording failed".into()))
            });
            if let (Ok(_), Err(e)) = (&first, outcome) {
                first = Err(e);
            }
        }
        first
    }
}

/// Records one process to its end: what it tells becomes chunks here, and another thread writes them.
fn record_process<W: Write + Send>(
    ring: &Ring,
    shared: &Shared<W>,
    setting: Setting,
    number: u32,
    replaced: &AtomicBool,
) -> Result<(), RecordError> {
    thread::scope(|scope| {
        // One chunk is written, one waits, and one is made.
        let (chunks, to_write) = mpsc::sync_channel(1);
        let (written, emptied) = mpsc::channel();
        let packer = scope.spawn(move || shared.pack(number, &to_write, &written));
        let mut sink = ProcessSink::new(setting, chunks, emptied);
        let read = read(ring, &mut sink, replaced);
        let events = sink.finish();
        let packed = packer.join().unwrap_or_else(|_| {
            Err(io::Error::other("the thread that writes the recording failed").into())
        });
        packed?;
        events?;
        match read {
            Err(Unread::Bad(bad)) => Err(bad.into()),
            // Whoever stopped has said why above.
            Ok(()) | Err(Unread::Stopped(Stopped)) => Ok(()),
        }
    })
}

/// Why a process was not read to its end.
enum Unread {
    Bad(BadWords),
    Stopped(Stopped),
}

/// Reads one process to its end. After an error it goes on taking segments, so that the program is not held up.
fn read(ring: &Ring, sink: &mut ProcessSink, replaced: &AtomicBool) -> Result<(), Unread> {
    let mut process = Process::new(ring.unit_shift());
    let mut outcome = Ok(());
    let mut segment = Segment::default();
    loop {
        match ring.wait() {
            Wait::Full => {
                ring.take(&mut segment);
                if outcome.is_ok() {
                    outcome = match process.segment(&segment, sink) {
                        Ok(told) => told.map_err(Unread::Stopped),
                        Err(bad) => Err(Unread::Bad(bad)),
                    };
                }
            }
            Wait::Ended => break,
            Wait::Idle if replaced.load(Ordering::Acquire) || !is_running(ring.pid()) => {
                // It may have written its last between the wait and the look.
                if ring.wait() != Wait::Full {
                    break;
                }
            }
            Wait::Idle => {
                if outcome.is_ok() {
                    outcome = process.idle(sink).map_err(Unread::Stopped);
                }
            }
        }
    }
    outcome.and_then(|()| process.end_chunk(sink).map_err(Unread::Stopped))
}

/// Whether there is such a process and it has not ended.
fn is_running(pid: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return false;
    };
    // The state follows the name, which is in brackets and may hold anything.
    !matches!(
        stat.rsplit_once(") ")
            .and_then(|(_, rest)| rest.chars().next()),
        None | Some('Z' | 'X')
    )
}
