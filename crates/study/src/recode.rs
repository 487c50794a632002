//! `recode`: writes a recording in version 2 of the format.

use std::collections::VecDeque;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, Scope};

use broadleaf_trace::VisitEnds;
use broadleaf_trace::{
    DEFAULT_LEVEL, DecodingEffort, Header, Part, RecodeError, Recoded, Recoder, TraceWriter,
    WriteError,
};

use crate::compare::available_threads;
use crate::failure::Failure;
use crate::output::{Access, Output, refuse_input};
use crate::source::origin::PassCount;
use crate::source::{ReadError, Trace, TraceReading, Whole};
use crate::watch::{Task, Watch};

/// The number of parts of each thread: one that it works on, and one that waits.
const EACH: usize = 2;

/// A recording to write in version 2.
#[derive(Debug)]
pub struct RecodeRequest<'a> {
    /// The recording, or `-` for standard input.
    pub trace: &'a Path,
    /// The file to write, or `-` for standard output.
    pub output: &'a Path,
    /// Overwrite the file if it exists.
    pub force: bool,
    /// Write version 2 even if it is read more slowly than the recording.
    pub even_if_slower: bool,
    /// The number of threads. `None` takes as many as the process may use.
    pub threads: Option<NonZero<usize>>,
    /// The maximum number of accesses to read. `None` derives a limit from the file's size.
    pub max_accesses: Option<u64>,
    /// Receives the progress.
    pub watch: &'a dyn Watch,
}

/// A recording that was written in version 2.
#[derive(Clone, Debug)]
pub struct RecodedTrace {
    /// The name of the file that was written.
    pub output: String,
    /// The size of that file, in bytes.
    pub bytes: u64,
    /// The name of the recording.
    pub trace: String,
    /// The size of the recording, in bytes.
    pub trace_bytes: u64,
    /// The number of accesses of both.
    pub accesses: u64,
}

/// Writes a recording in version 2 of the format.
///
/// # Errors
/// If the trace is no whole recording of version 1, if version 2 would be read more slowly, or if
/// the output cannot be written.
pub fn recode(request: &RecodeRequest<'_>) -> Result<RecodedTrace, Failure> {
    refuse_input(request.output, [request.trace])?;
    let reading = TraceReading {
        ends: VisitEnds::Units,
        passes: PassCount::One,
        keep_going: false,
        fetches: true,
        max_accesses: request.max_accesses,
    };
    let mut trace = Trace::open(request.trace, reading, Whole::Work)?;
    let header = header(&trace)?;
    let out = Output::create(Some(request.output), request.force, Access::Owner)?;
    if out.is_terminal() {
        return Err(Failure::wrong(
            "a recording is no text: give a file with -o, or a pipe",
        ));
    }
    let out_name = out.name().to_owned();
    let mut writer =
        Recoder::writer(out, &header).map_err(|error| cannot_write(&out_name, error))?;
    let task = request.watch.begin("recoding", trace.work());
    let mut transfer = Transfer {
        trace: &mut trace,
        header: &header,
        writer: &mut writer,
        out_name: &out_name,
        threads: request.threads.map_or_else(available_threads, NonZero::get),
    };
    let (accesses, effort) = thread::scope(|scope| transfer.run(scope, &*task))?;
    drop(task);
    trace.finish().map_err(cannot_recode)?;
    if !request.even_if_slower {
        refuse_slower(trace.name(), effort)?;
    }
    let out = writer.finish();
    let out = out.map_err(|error| cannot_write(&out_name, error))?;
    let bytes = out.written();
    out.finish()?;
    Ok(RecodedTrace {
        output: out_name,
        bytes,
        trace: trace.name().to_owned(),
        trace_bytes: trace.meter().bytes(),
        accesses,
    })
}

/// The version of recoded traces. Traces with windows and of whole systems keep their own version.
const RECODED: u16 = 2;
/// The number of codes and words per visit from which version 2 is read more slowly than version 1.
/// Two million updates at random pages were measured under `pop-64`, of 4,096 pages (1.01: 0.7 of
/// version 1's time), 20,000 pages (1.48: 1.8 times) and 262,144 pages (1.97: 1.8 times).
const SLOWER: f64 = 1.15;
/// The number of visits below which a recording is read in no time, whichever the version.
const FEW: u64 = 1 << 20;

/// Refuses to write version 2 if it would be read more slowly than the recording.
fn refuse_slower(name: &str, effort: DecodingEffort) -> Result<(), Failure> {
    let each = effort.for_each_visit();
    if effort.visits < FEW || each < SLOWER {
        return Ok(());
    }
    Err(Failure::Wrong(format!(
        "{name}: version 2 of it would be read more slowly, since its visits hardly repeat: it \
        takes {each:.2} codes and words for each visit, and saves time below {SLOWER:.2}. \
         Nothing was written; --even-if-slower writes it"
    )))
}

/// A thread that recodes the parts that it is given, in their order.
struct RecodeThread {
    parts: SyncSender<Part>,
    recoded: Receiver<Result<Recoded, RecodeError>>,
}

impl RecodeThread {
    fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        header: &Header,
    ) -> Result<Self, WriteError> {
        let mut recoder = Recoder::new(header, DEFAULT_LEVEL)?;
        let (parts, to_do) = sync_channel::<Part>(EACH);
        let (done, recoded) = sync_channel(EACH);
        scope.spawn(move || {
            for part in to_do {
                // Parts after the damage are not used.
                if done.send(recoder.recode(part)).is_err() {
                    return;
                }
            }
        });
        Ok(Self { parts, recoded })
    }
}

/// The transfer of a trace from one version to the other.
struct Transfer<'a> {
    trace: &'a mut Trace,
    header: &'a Header,
    writer: &'a mut TraceWriter<Output>,
    out_name: &'a str,
    threads: usize,
}

impl Transfer<'_> {
    /// Hands the parts of the trace to the workers in turn, and writes the recoded parts in order.
    /// Returns the number of accesses and the effort of reading the recoded trace.
    fn run<'scope>(
        &mut self,
        scope: &'scope Scope<'scope, '_>,
        task: &dyn Task,
    ) -> Result<(u64, DecodingEffort), Failure> {
        let meter = self.trace.meter();
        // There are no more threads than parts.
        let mut workers: Vec<RecodeThread> = Vec::new();
        let mut turns = (0..self.threads).cycle();
        // The threads of the parts that were handed out, and the accesses of these parts.
        let mut under_way = VecDeque::new();
        let mut later_error = None;
        let mut ended = false;
        let (mut accesses, mut effort) = (0, DecodingEffort::default());
        loop {
            while !ended && under_way.len() < EACH * self.threads {
                match self.trace.next_stored() {
                    Ok(Some(part)) => {
                        let Some(turn) = turns.next() else { break };
                        if turn == workers.len() {
                            let worker = RecodeThread::start(scope, self.header);
                            workers.push(worker.map_err(|error| self.cannot_write(error))?);
                        }
                        under_way.push_back((turn, part.info().totals.accesses()));
                        // A thread that went away is found below.
                        let _ = workers[turn].parts.send(part);
                    }
                    Ok(None) => ended = true,
                    // Errors of earlier parts are reported first.
                    Err(error) => {
                        ended = true;
                        later_error = Some(error);
                    }
                }
            }
            let Some((turn, of_part)) = under_way.pop_front() else {
                break;
            };
            let recoded = workers[turn].recoded.recv();
            let recoded = recoded.map_err(|_| Failure::failed("a thread went away"))?;
            effort.add(self.write(recoded)?);
            accesses += of_part;
            task.set(meter.bytes(), accesses);
        }
        match later_error {
            Some(error) => Err(cannot_recode(error)),
            None => Ok((accesses, effort)),
        }
    }

    fn write(&mut self, recoded: Result<Recoded, RecodeError>) -> Result<DecodingEffort, Failure> {
        let recoded = recoded.map_err(|error| match error {
            RecodeError::Read(error) => cannot_recode(self.trace.damaged(error)),
            RecodeError::Write(error) => self.cannot_write(error),
        })?;
        for chunk in recoded.chunks {
            let written = self.writer.write(chunk);
            written.map_err(|error| self.cannot_write(error))?;
        }
        if let Some(closed) = recoded.closed {
            self.trace.close_stored(closed);
        }
        Ok(recoded.effort)
    }

    fn cannot_write(&self, error: WriteError) -> Failure {
        cannot_write(self.out_name, error)
    }
}

/// The header of a trace that can be recoded.
fn header(trace: &Trace) -> Result<Header, Failure> {
    let name = trace.name();
    let (Some(header), Some(version)) = (trace.header(), trace.version()) else {
        return Err(Failure::Wrong(format!(
            "{name}: is text, not a recording: `broadleaf import` makes a recording of it, which \
            can be recoded"
        )));
    };
    if version == RECODED {
        return Err(Failure::Wrong(format!(
            "{name}: is of version {version} already: there is nothing to do"
        )));
    }
    Ok(header.clone())
}

fn cannot_write(name: &str, error: WriteError) -> Failure {
    match error {
        WriteError::Io(error) => Failure::writing(name, &error),
        error => Failure::Failed(format!("{name}: {error}")),
    }
}

/// The refusal of a damaged trace. A part that was recoded would be taken for the whole.
fn cannot_recode(error: ReadError) -> Failure {
    match error {
        ReadError::Damaged { name, damage } => Failure::Wrong(format!(
            "{name}: {damage}; only a whole trace can be recoded"
        )),
        error => error.into(),
    }
}

/// The default name of version 2 of the trace at `path`.
pub fn recoded_name(path: &Path) -> PathBuf {
    let ending = path.extension().unwrap_or("bl".as_ref());
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(".2.");
    name.push(ending);
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::recoded_name;
    use std::path::Path;

    #[test]
    fn version_2_stands_beside() {
        for (of, at) in [
            ("gzip.bl", "gzip.2.bl"),
            ("a.b/gzip.9.bl", "a.b/gzip.9.2.bl"),
            ("a.b/gzip", "a.b/gzip.2.bl"),
        ] {
            assert_eq!(recoded_name(Path::new(of)), Path::new(at));
        }
    }
}
