//! Exports for drmemtrace: one file, in which the threads take turns.
//!
//! The file is that of one core. Each stretch of a thread begins with the thread, its process, a
//! time stamp and the core, as DynamoRIO writes a trace that it has sharded by cores.

use std::collections::BTreeMap;
use std::io::Write;

use broadleaf_trace::{DataAccess, Event, Header, Item, Lead, Totals, Visit};
use broadleaf_units::{CoreId, SpaceId, ThreadId};

use super::record::{RECORD_BYTES, code, filetype, marker};
use crate::error::ExportError;
use crate::export::{ExportCounts, TraceExporter};
use crate::import::LeftOut;
use crate::unfolded::{accesses, unwritten};

/// The version of the format: nothing of later versions is written.
const VERSION: u64 = 3;
/// The core of a stretch whose core is unknown.
const UNKNOWN_CORE: u64 = u64::MAX;
/// Bytes of an instruction and of an access, since a trace of ours holds no sizes.
const ONE_BYTE: u16 = 1;
/// The reason why a trace of a whole system is refused.
const OF_SYSTEM: &str = "is a recording of a whole system, whose references belong to no threads, \
                         and a drmemtrace file names the thread of each reference: record the \
                         program alone, with --engine valgrind or --engine qemu";

/// Estimates the size of an export. The records of stretches are left out.
pub(super) fn estimate(_: &Header, totals: &Totals) -> u64 {
    let records = totals.accesses().saturating_add(totals.instructions);
    records.saturating_mul(RECORD_BYTES as u64)
}

/// Begins an export.
pub(super) fn create<'a>(to: &'a mut dyn Write, header: &Header) -> Box<dyn TraceExporter + 'a> {
    Box::new(DrExporter {
        to,
        shift: header.grain.shift(),
        system: header.options.system,
        begun: false,
        space: SpaceId(0),
        processes: BTreeMap::new(),
        running: BTreeMap::new(),
        cores: BTreeMap::new(),
        written: None,
        instruction: 0,
        counts: ExportCounts::default(),
        others: 0,
        leads: 0,
    })
}

/// A stretch of references: the process, the thread and the core.
type Stretch = (u64, u64, u64);

struct DrExporter<'a> {
    to: &'a mut dyn Write,
    /// Low bits of an address that lie inside a unit.
    shift: u8,
    /// The trace is one of a whole system.
    system: bool,
    /// The head of the file was written.
    begun: bool,
    space: SpaceId,
    /// The number of each process that is known.
    processes: BTreeMap<SpaceId, u64>,
    /// The thread of each address space that runs, or ran last.
    running: BTreeMap<SpaceId, ThreadId>,
    /// The core of each thread, if it is known.
    cores: BTreeMap<(SpaceId, ThreadId), CoreId>,
    /// The stretch that was begun last.
    written: Option<Stretch>,
    /// The address of instructions; 0 if the trace holds none.
    instruction: u64,
    counts: ExportCounts,
    /// Events without a form in the format.
    others: u64,
    leads: u64,
}

impl DrExporter<'_> {
    fn record(&mut self, kind: u16, size: u16, value: u64) -> Result<(), ExportError> {
        let mut bytes = [0; RECORD_BYTES];
        bytes[..2].copy_from_slice(&kind.to_le_bytes());
        bytes[2..4].copy_from_slice(&size.to_le_bytes());
        bytes[4..].copy_from_slice(&value.to_le_bytes());
        self.counts.records += 1;
        Ok(self.to.write_all(&bytes)?)
    }

    fn mark(&mut self, kind: u16, value: u64) -> Result<(), ExportError> {
        self.record(code::MARKER, kind, value)
    }

    /// Writes the head of the file.
    fn begin(&mut self) -> Result<(), ExportError> {
        if self.begun {
            return Ok(());
        }
        self.begun = true;
        self.record(code::HEADER, 0, VERSION)?;
        self.mark(marker::VERSION, VERSION)?;
        self.mark(marker::FILETYPE, filetype::X86_64 | filetype::CORE_SHARDED)?;
        self.mark(marker::CACHE_LINE_SIZE, 64)?;
        self.mark(marker::PAGE_SIZE, 4096)
    }

    /// The number of a process. DynamoRIO has none that is 0.
    fn process(&self, space: SpaceId) -> u64 {
        let known = self.processes.get(&space).copied();
        known.unwrap_or(u64::from(space.0) + 1)
    }

    /// The stretch of the thread that runs.
    fn stretch(&self) -> Stretch {
        let thread = self.running.get(&self.space).copied();
        let core = thread.and_then(|thread| self.cores.get(&(self.space, thread)));
        let number = thread.map_or(1, |thread| u64::from(thread.0).max(1));
        let core = core.map_or(UNKNOWN_CORE, |core| u64::from(core.0));
        (self.process(self.space), number, core)
    }

    /// Begins a stretch, unless the last one goes on.
    fn go_on(&mut self) -> Result<(), ExportError> {
        let stretch = self.stretch();
        if self.written == Some(stretch) {
            return Ok(());
        }
        self.begin()?;
        let (process, thread, core) = stretch;
        self.record(code::THREAD, 8, thread)?;
        self.record(code::PROCESS, 8, process)?;
        // Records before a stretch are its time, since a trace of ours has no clock.
        self.mark(marker::TIMESTAMP, self.counts.records)?;
        self.mark(marker::CPU_ID, core)?;
        self.written = Some(stretch);
        Ok(())
    }

    fn visit(&mut self, visit: &Visit) -> Result<(), ExportError> {
        let address = visit.unit << self.shift;
        if visit.fetch {
            self.instruction = address;
        }
        let is_empty = visit.instructions == 0 && (visit.fetch || visit.lookups() == 0);
        if is_empty {
            return Ok(());
        }
        self.go_on()?;
        for _ in 0..visit.instructions {
            self.record(code::INSTRUCTION, ONE_BYTE, self.instruction)?;
        }
        if visit.fetch {
            return Ok(());
        }
        self.leads += u64::from(visit.lead != Lead::None);
        for (access, count) in accesses(visit) {
            let kind = match access {
                DataAccess::Load => code::LOAD,
                DataAccess::Store => code::STORE,
            };
            for _ in 0..count {
                self.record(kind, ONE_BYTE, address)?;
            }
            self.counts.references += u64::from(count);
        }
        Ok(())
    }

    fn event(&mut self, event: &Event) -> Result<(), ExportError> {
        match event {
            Event::SpaceSwitch(space) => self.space = *space,
            Event::SpaceStart { pid, .. } if *pid > 0 => {
                self.processes.insert(self.space, u64::from(*pid));
            }
            Event::ThreadSwitch(thread) => {
                self.running.insert(self.space, *thread);
            }
            Event::ThreadStart(thread) => {
                self.cores.remove(&(self.space, *thread));
            }
            Event::CoreSwitch(core) => {
                if let Some(thread) = self.running.get(&self.space) {
                    self.cores.insert((self.space, *thread), *core);
                }
            }
            Event::ThreadEnd(thread) => {
                self.begin()?;
                self.record(code::THREAD, 8, u64::from(thread.0).max(1))?;
                self.record(code::PROCESS, 8, self.process(self.space))?;
                self.record(code::THREAD_EXIT, 8, u64::from(thread.0).max(1))?;
                self.written = None;
            }
            _ => self.others += 1,
        }
        Ok(())
    }
}

impl TraceExporter for DrExporter<'_> {
    fn item(&mut self, item: &Item<'_>) -> Result<(), ExportError> {
        if self.system {
            return Err(ExportError::NoForm(OF_SYSTEM.to_owned()));
        }
        match item {
            Item::Visits(visits) => visits.iter().try_for_each(|visit| self.visit(visit)),
            Item::Event(event) => self.event(event),
        }
    }

    fn finish(&mut self) -> Result<(), ExportError> {
        if self.system {
            return Err(ExportError::NoForm(OF_SYSTEM.to_owned()));
        }
        self.begin()?;
        self.record(code::FOOTER, 0, 0)?;
        Ok(self.to.flush()?)
    }

    fn counts(&self) -> ExportCounts {
        self.counts
    }

    fn left_out(&self) -> Vec<LeftOut> {
        LeftOut::some(&unwritten(self.others, self.leads))
    }
}

#[cfg(test)]
mod tests {
    use broadleaf_trace::Grain;

    use super::*;

    /// An export mixes no processes of a whole system: it is refused before its first byte.
    #[test]
    fn a_trace_of_a_whole_system_is_refused() {
        for system in [false, true] {
            let mut header = Header::new(Grain::Page);
            header.options.system = system;
            let mut out = Vec::new();
            let mut exporter = create(&mut out, &header);
            let of_visits = exporter.item(&Item::Visits(&[Visit::default()]));
            assert_eq!(of_visits.is_err(), system);
            let finished = exporter.finish();
            assert_eq!(finished.is_err(), system);
            if let Err(error) = finished {
                assert!(error.to_string().contains("whole system"), "{error}");
            }
            drop(exporter);
            assert_eq!(out.is_empty(), system);
        }
    }
}
