//! The threads that read the processes of a recording: two for each, one that makes chunks and one that writes them.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, Scope, ScopedJoinHandle};

use super::order::{Mark, Order};
use super::pack::Shared;
use super::process::{BadWords, Process};
use super::ring::{Ring, Segment, Wait};
use super::session::RecordError;
use super::sink::{ProcessSink, Setting, Stopped};

/// The number of processes that were recorded, and of their address spaces.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counted {
    /// One for each program that a process executed.
    pub(super) spaces: u32,
    pub(super) processes: u32,
}

/// The threads that read the processes.
pub(super) struct Readers<'scope, 'env, W> {
    shared: &'env Shared<W>,
    setting: Setting,
    threads: Vec<ScopedJoinHandle<'scope, Result<(), RecordError>>>,
    /// For each process id, which process has it, and the flag that tells its reader that another program runs under that id now.
    latest: BTreeMap<u32, (u32, Arc<AtomicBool>)>,
}

impl<'scope, 'env, W: Write + Send> Readers<'scope, 'env, W> {
    pub(super) const fn new(shared: &'env Shared<W>, setting: Setting) -> Self {
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
        // Mapped on both sides: the name is no longer needed.
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

    /// The counts of the recording, once all processes are done.
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

/// A process that is recorded.
struct Recorded {
    ring: Ring,
    number: u32,
    /// What its first chunk stands behind.
    after: Option<Mark>,
    /// Another program runs under its process id.
    replaced: Arc<AtomicBool>,
}

/// Why a process was not read to its end.
enum Unread {
    Bad(BadWords),
    Stopped(Stopped),
}

impl Recorded {
    /// To its end: what it tells becomes chunks here, and another thread writes them.
    fn record<W: Write + Send>(
        &self,
        shared: &Shared<W>,
        setting: Setting,
    ) -> Result<(), RecordError> {
        let watch = shared.order.watch();
        let awaited = matches!(self.after, Some(Mark::Fork(_)));
        let mut process = Process::new(self.ring.unit_shift(), awaited);
        let ending = (self.ring.pid() == setting.first).then_some(&shared.order);
        thread::scope(|scope| {
            // One chunk is written, one waits, and one is made.
            let (chunks, to_write) = mpsc::sync_channel(1);
            let (written, emptied) = mpsc::channel();
            let packer =
                scope.spawn(move || shared.pack(self.number, self.after, &to_write, &written));
            let mut sink = ProcessSink::new(setting, ending, chunks, emptied);
            let read = self.read(&mut process, &mut sink, &shared.order);
            let events = sink.finish();
            let packed = packer.join().unwrap_or_else(|_| {
                Err(io::Error::other("the thread that writes the recording failed").into())
            });
            packed?;
            events?;
            match read {
                Err(Unread::Bad(bad)) => Err(RecordError::from(bad)),
                // Whoever stopped has said why above.
                Ok(()) | Err(Unread::Stopped(Stopped)) => Ok(()),
            }
        })?;
        if let Some(fork) = process.forking() {
            // It failed, or the process was killed in it before its child was heard of.
            shared.order.reach(Mark::Fork(fork));
        }
        watch.well();
        Ok(())
    }

    /// Reads the process to its end. After an error it goes on taking segments, so that the program is not held up.
    fn read(
        &self,
        process: &mut Process,
        sink: &mut ProcessSink<'_>,
        order: &Order,
    ) -> Result<(), Unread> {
        let mut outcome = Ok(());
        let mut segment = Segment::default();
        loop {
            let wait = self.ring.wait();
            match wait {
                Wait::Full => self.ring.take(&mut segment),
                Wait::Ended => break,
                Wait::Idle if self.is_gone() => {
                    // It may have written its last between the wait and the look.
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
                    Ok(told) => told.map_err(Unread::Stopped),
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

    /// Whether the process has ended or runs another program.
    fn is_gone(&self) -> bool {
        self.replaced.load(Ordering::Acquire) || !is_running(self.ring.pid())
    }
}

/// Where a process is at a fork whose child has announced itself, that child is told.
fn name_child(
    process: &mut Process,
    sink: &mut ProcessSink<'_>,
    order: &Order,
) -> Result<(), Stopped> {
    match process.forking().and_then(|fork| order.child_of(fork)) {
        Some(child) => process.bore(child, sink),
        None => Ok(()),
    }
}

/// Whether there is such a process and it has not ended.
pub(super) fn is_running(pid: u32) -> bool {
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
