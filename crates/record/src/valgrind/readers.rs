//! The threads that read the processes of a recording. Each process has one thread that makes
//! chunks and one that writes them.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, Scope, ScopedJoinHandle};

use super::errors::RecordError;
use super::order::{Mark, WriteOrder};
use super::pack::Shared;
use super::process::{BadWords, TracedProcess};
use super::ring::{Ring, Segment, Wait};
use super::sink::{ProcessSink, RecordSetting, Stopped};

/// The numbers of recorded processes and address spaces.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counted {
    /// The number of address spaces, one for each program that a process executed.
    pub(super) spaces: u32,
    pub(super) processes: u32,
}

/// The threads that read the processes.
pub(super) struct Readers<'scope, 'env, W> {
    shared: &'env Shared<W>,
    setting: RecordSetting,
    threads: Vec<ScopedJoinHandle<'scope, Result<(), RecordError>>>,
    /// For each process id, the number of its latest process. The flag informs the process's reader
    /// that another program now runs under that id.
    latest: BTreeMap<u32, (u32, Arc<AtomicBool>)>,
}

impl<'scope, 'env, W: Write + Send> Readers<'scope, 'env, W> {
    pub(super) const fn new(shared: &'env Shared<W>, setting: RecordSetting) -> Self {
        Self {
            shared,
            setting,
            threads: Vec::new(),
            latest: BTreeMap::new(),
        }
    }

    /// Starts to read the process with this ring.
    pub(super) fn start(
        &mut self,
        scope: &'scope Scope<'scope, 'env>,
        path: &Path,
    ) -> io::Result<()>
    where
        'env: 'scope,
    {
        let ring = Ring::open(path)?;
        // Both sides have mapped the ring, so its name is no longer needed.
        fs::remove_file(path)?;
        let (shared, setting, number) = (self.shared, self.setting, self.threads.len() as u32);
        let (pid, replaced) = (ring.pid(), Arc::new(AtomicBool::new(false)));
        let before = self.latest.insert(pid, (number, Arc::clone(&replaced)));
        if let Some((_, flag)) = &before {
            flag.store(true, Ordering::Release);
        }
        let after = if ring.fork() == 0 {
            before.map(|(number, _)| Mark::End(number))
        } else {
            shared.order.born(ring.fork(), pid);
            Some(Mark::Fork(ring.fork()))
        };
        let recorded = Recorded {
            ring,
            number,
            after,
            replaced,
        };
        self.threads
            .push(scope.spawn(move || recorded.record(shared, setting)));
        Ok(())
    }

    pub(super) fn all_done(&self) -> bool {
        self.threads.iter().all(ScopedJoinHandle::is_finished)
    }

    /// Returns the counts of the recording after the end of all processes.
    pub(super) fn join(self) -> Result<Counted, RecordError> {
        let mut first = Ok(Counted {
            spaces: self.threads.len() as u32,
            processes: self.latest.len() as u32,
        });
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

/// A recorded process.
struct Recorded {
    ring: Ring,
    number: u32,
    /// The mark that its first chunk waits for.
    after: Option<Mark>,
    /// True if another program runs under its process id.
    replaced: Arc<AtomicBool>,
}

/// The reason for which a process was not read to its end.
enum Unread {
    Bad(BadWords),
    Stopped(Stopped),
}

impl Recorded {
    /// Records the process to its end. This thread makes chunks, and another thread writes them.
    fn record<W: Write + Send>(
        &self,
        shared: &Shared<W>,
        setting: RecordSetting,
    ) -> Result<(), RecordError> {
        let watch = shared.order.watch();
        let awaited = matches!(self.after, Some(Mark::Fork(_)));
        let mut process = TracedProcess::new(self.ring.unit_shift(), awaited, setting.sites);
        let ending = (self.ring.pid() == setting.first).then_some(&shared.order);
        thread::scope(|scope| {
            // One chunk is written, one waits, and one is made.
            let (chunks, to_write) = mpsc::sync_channel(1);
            let (written, emptied) = mpsc::channel();
            let packer =
                scope.spawn(move || shared.pack(self.number, self.after, &to_write, &written));
            let mut sink = ProcessSink::new(setting, ending, chunks, emptied);
            let read = self.read(&mut process, &mut sink, &shared.order, &|ring| {
                if ring.pid() == setting.first {
                    shared.show_window(ring.window());
                }
            });
            let events = sink.finish();
            let packed = packer.join().unwrap_or_else(|_| {
                Err(io::Error::other("the thread that writes the recording failed").into())
            });
            packed?;
            events?;
            match read {
                Err(Unread::Bad(bad)) => Err(RecordError::from(bad)),
                // The stopped part has returned its error above.
                Ok(()) | Err(Unread::Stopped(Stopped)) => Ok(()),
            }
        })?;
        shared.add_forks(process.forks());
        if let Some(fork) = process.forking() {
            // The fork failed, or the process was killed in it before its child announced itself.
            shared.order.reach(Mark::Fork(fork));
        }
        watch.well();
        Ok(())
    }

    /// Reads the process to its end. After an error, it continues to take segments, so that the
    /// program does not wait.
    fn read(
        &self,
        process: &mut TracedProcess,
        sink: &mut ProcessSink<'_>,
        order: &WriteOrder,
        show: &dyn Fn(&Ring),
    ) -> Result<(), Unread> {
        let mut outcome = Ok(());
        let mut segment = Segment::default();
        loop {
            let wait = self.ring.wait();
            show(&self.ring);
            match wait {
                Wait::Full => self.ring.take(&mut segment),
                Wait::Ended => break,
                Wait::Idle if self.is_gone() => {
                    // The process may have written its last words between the wait and the check.
                    if self.ring.wait() != Wait::Full {
                        break;
                    }
                    continue;
                }
                Wait::Idle => {}
            }
            if outcome.is_err() {
                continue;
            }
            outcome = if wait == Wait::Full {
                match process.segment(&segment, sink) {
                    Ok(done) => done.map_err(Unread::Stopped),
                    Err(bad) => Err(Unread::Bad(bad)),
                }
            } else {
                name_child(process, sink, order)
                    .and_then(|()| process.idle(sink))
                    .map_err(Unread::Stopped)
            };
            if outcome.is_err() {
                order.give_up();
            }
        }
        outcome?;
        name_child(process, sink, order)
            .and_then(|()| process.end_chunk(sink))
            .map_err(Unread::Stopped)
    }

    /// Returns true if the process has ended or runs another program.
    fn is_gone(&self) -> bool {
        self.replaced.load(Ordering::Acquire) || !is_running(self.ring.pid())
    }
}

/// Names the child of a fork in progress, if the child has announced itself.
fn name_child(
    process: &mut TracedProcess,
    sink: &mut ProcessSink<'_>,
    order: &WriteOrder,
) -> Result<(), Stopped> {
    match process.forking().and_then(|fork| order.child_of(fork)) {
        Some(child) => process.bore(child, sink),
        None => Ok(()),
    }
}

/// Returns true if the process exists and has not ended.
pub(super) fn is_running(pid: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return false;
    };
    // The state follows the name, which is in brackets and may contain any characters.
    !matches!(
        stat.rsplit_once(") ")
            .and_then(|(_, rest)| rest.chars().next()),
        None | Some('Z' | 'X')
    )
}
