//! Interleaving the files of a trace by their time stamps, and making visits and events of them.
//!
//! Time stamps cut the records of each file into stretches. The stretch with the smallest time
//! comes next; among equals the file that runs goes on, and then the first by name. So DynamoRIO
//! interleaves them as well.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use broadleaf_trace::Header;

use super::file::{FileRecords, ThreadFile};
use super::folder::trace_files;
use super::physical::PhysicalPages;
use super::record::{DrRecord, IDLE, filetype, marker};
use super::threads::DrThreads;
use super::unkept::Unkept;
use crate::batch::ImportBatch;
use crate::error::ImportError;
use crate::import::{ImportCounts, ImportOptions, LeftOut, OpenedImport, Taken, TraceImporter};
use crate::source::{ImportMeter, ImportSource};
use broadleaf_trace::{DataAccess, Fold};
use broadleaf_units::{CoreId, SpaceId};

/// The number of records that one call reads at most, so that a caller can show progress.
const MOST_RECORDS: u64 = 1 << 18;

pub(super) struct DrmemtraceImporter {
    pub(super) name: String,
    pub(super) files: Vec<ThreadFile>,
    meter: ImportMeter,
    /// Files that have records left, by the time of their next stretch.
    waiting: BinaryHeap<Reverse<(u64, usize)>>,
    /// The file whose stretch is read.
    current: Option<usize>,
    /// The thread of the next reference may not be the one that runs.
    pub(super) may_switch: bool,
    pub(super) threads: DrThreads,
    pub(super) maker: Maker,
}

/// The maker of visits and counts.
pub(super) struct Maker {
    pub(super) fold: Fold,
    pub(super) fetches: bool,
    pub(super) counts: ImportCounts,
    pub(super) unkept: Unkept,
    /// The physical places of pages, if they are kept.
    pub(super) physical: Option<PhysicalPages>,
}

/// Begins an import.
pub(super) fn open(source: ImportSource, options: &ImportOptions) -> OpenedImport {
    let meter = source.meter();
    let name = source.name().to_owned();
    let files = match source.folder() {
        None => vec![ThreadFile::alone(source)?],
        Some(folder) => {
            let paths = trace_files(folder, source.name())?;
            let sizes = paths.iter().filter_map(|path| path.metadata().ok());
            meter.set_size(sizes.map(|metadata| metadata.len()).sum());
            let files = paths.into_iter().map(ThreadFile::of_folder);
            files.collect::<Result<_, _>>()?
        }
    };
    let mut physical = options.physical.then(PhysicalPages::new);
    if let Some(pages) = &mut physical {
        for (bytes, spot) in files.iter().filter_map(|file| file.head.page_size) {
            let known = pages.page_size(bytes);
            known.map_err(|reason| ImportError::record(&name, spot, reason))?;
        }
    }
    let times = files.iter().map(|file| file.head.time.unwrap_or(0));
    Ok(Box::new(DrmemtraceImporter {
        name,
        waiting: times.zip(0..).map(Reverse).collect(),
        files,
        meter,
        current: None,
        may_switch: true,
        threads: DrThreads::new(options.physical),
        maker: Maker {
            fold: Fold::new(options.grain),
            fetches: options.fetches,
            counts: ImportCounts::default(),
            unkept: Unkept::default(),
            physical,
        },
    }))
}

impl TraceImporter for DrmemtraceImporter {
    fn describe(&self, header: &mut Header) {
        header.options.instruction_counts = true;
        header.options.instruction_pages = self.maker.fetches;
        let heads = || self.files.iter().map(|file| &file.head);
        let first = heads().find_map(|head| head.process);
        let mut processes = heads().filter_map(|head| head.process);
        header.options.system = self.maker.physical.is_some();
        header.options.children = processes.any(|process| Some(process) != first);
        let bits = heads().fold(0, |bits, head| bits | head.filetype);
        let without_time = heads().filter(|head| head.time.is_none()).count();
        let mut note = |is_true: bool, note: &str| {
            if is_true {
                header.notes.push(note.to_owned());
            }
        };
        note(
            true,
            "imported from drmemtrace of DynamoRIO: nothing is known of mappings",
        );
        note(
            self.files.len() > 1 && without_time > 0,
            "some files have no time stamps: their threads come first, each as a whole",
        );
        note(
            self.maker.physical.is_some(),
            "page tables are what markers of physical addresses say: rights and superpages of the \
             recorded kernel are not known, and every leaf allows all accesses",
        );
        note(
            bits & filetype::FILTERED != 0,
            "the trace was filtered when it was recorded: references that hit in the filter's \
             cache are missing, so accesses and misses are too few",
        );
        note(
            bits & filetype::INSTRUCTIONS_ONLY != 0,
            "the trace was recorded without data references",
        );
        note(
            bits & filetype::WHOLE_SYSTEM != 0,
            "the trace holds references of the kernel among those of the program",
        );
    }

    fn read(&mut self, batch: &mut ImportBatch) -> Result<bool, ImportError> {
        let before = batch.len();
        let records = self.maker.counts.records;
        while batch.len() < before + ImportBatch::GOAL
            && self.maker.counts.records < records + MOST_RECORDS
        {
            let Some(current) = self.current.or_else(|| self.next_file()) else {
                self.maker.fold.cut(&mut batch.visits);
                self.check_physical()?;
                return Ok(batch.len() > before);
            };
            self.record_of(current, batch)?;
            if !self.may_switch
                && let Some(current) = self.current
            {
                let file = &mut self.files[current];
                let goal = before + ImportBatch::GOAL;
                self.maker.plain_records(file, goal, batch);
            }
        }
        Ok(true)
    }

    fn counts(&self) -> ImportCounts {
        self.maker.counts
    }

    fn may_leave_out(&self) -> bool {
        true
    }

    fn left_out(&self) -> Vec<LeftOut> {
        self.maker.unkept.left_out()
    }

    fn taken(&self) -> Vec<Taken> {
        let pages = self.maker.physical.as_ref();
        let missing = pages.map_or(0, |pages| pages.missing);
        self.maker.unkept.taken(missing)
    }
}

impl DrmemtraceImporter {
    fn next_file(&mut self) -> Option<usize> {
        let Reverse((_, next)) = self.waiting.pop()?;
        self.current = Some(next);
        self.may_switch = true;
        Some(next)
    }

    /// Reads a record of the file `current`.
    fn record_of(&mut self, current: usize, batch: &mut ImportBatch) -> Result<(), ImportError> {
        let file = &mut self.files[current];
        let records = match &mut file.records {
            FileRecords::Open(records) => records,
            FileRecords::Closed(_) => return file.open(&self.meter),
            FileRecords::Done => {
                self.current = None;
                return Ok(());
            }
        };
        let Some(&bytes) = records.next()? else {
            if !file.has_ended {
                return Err(records.bad(
                    "the file ends after this record, without a footer: the trace was cut short. \
                     Convert the raw files again, or record again",
                ));
            }
            file.records = FileRecords::Done;
            self.current = None;
            return Ok(());
        };
        let record = DrRecord::from_bytes(&bytes).map_err(|kind| {
            records.bad(format!(
                "no record has type {kind}: the input is damaged, or newer than version 7"
            ))
        })?;
        if records.count() == file.head.records + 1 {
            // The head was read when the file was opened.
            self.maker.counts.records += file.head.records;
            self.maker.unkept.markers += file.head.markers;
            if let (Some(thread), Some(process)) = (file.head.thread, file.head.process) {
                let known = self.threads.belongs(thread, process);
                known.map_err(|reason| records.bad(reason))?;
            }
        }
        self.maker.counts.records += 1;
        file.has_ended = record == DrRecord::Footer;
        match record {
            DrRecord::Thread(IDLE) | DrRecord::Header(_) | DrRecord::Footer => {}
            DrRecord::Thread(thread) => {
                file.head.thread = Some(thread);
                file.core = None;
                self.may_switch = true;
            }
            DrRecord::Process(process) => {
                if let Some(thread) = file.head.thread {
                    let known = self.threads.belongs(thread, process);
                    known.map_err(|reason| records.bad(reason))?;
                }
                self.may_switch = true;
            }
            DrRecord::ThreadExit(thread) => {
                file.head.thread = Some(thread);
                let ended = self
                    .threads
                    .run(Some(thread), None, &mut self.maker.fold, batch);
                ended.map_err(|reason| records.bad(reason))?;
                self.threads.end(&mut self.maker.fold, batch);
                self.may_switch = true;
            }
            DrRecord::Marker(kind, value) => {
                file.mark(kind);
                if kind == marker::CPU_ID {
                    // -1 is an unknown core.
                    file.core = u32::try_from(value).ok().map(CoreId);
                    self.may_switch = true;
                }
                self.place_of_page(current, kind, value, batch)?;
                let earlier = |next: &Reverse<(u64, usize)>| next.0.0 < value;
                if kind == marker::TIMESTAMP && self.waiting.peek().is_some_and(earlier) {
                    self.waiting.push(Reverse((value, current)));
                    self.current = None;
                }
            }
            reference => {
                if self.may_switch && !file.in_kernel {
                    let thread = file.head.thread;
                    let ran = self
                        .threads
                        .run(thread, file.core, &mut self.maker.fold, batch);
                    ran.map_err(|reason| records.bad(reason))?;
                    self.may_switch = false;
                }
                let made = self.maker.make(file, reference, self.threads.space, batch);
                if let (Err(reason), FileRecords::Open(records)) = (made, &file.records) {
                    return Err(records.bad(reason));
                }
            }
        }
        Ok(())
    }
}

impl ThreadFile {
    /// A marker of this type was read.
    const fn mark(&mut self, kind: u16) {
        match kind {
            marker::SYSCALL_TRACE_START | marker::CONTEXT_SWITCH_START => self.in_kernel = true,
            marker::SYSCALL_TRACE_END | marker::CONTEXT_SWITCH_END => self.in_kernel = false,
            _ => {}
        }
    }
}

impl Maker {
    /// Makes visits of a record that is a reference, an instruction or something like these.
    #[inline]
    fn make(
        &mut self,
        file: &mut ThreadFile,
        record: DrRecord,
        space: SpaceId,
        batch: &mut ImportBatch,
    ) -> Result<(), String> {
        match record {
            DrRecord::Encoding => self.unkept.encodings += 1,
            _ if file.in_kernel => self.unkept.kernel += 1,
            DrRecord::Data {
                access,
                address,
                size,
            } => return self.data(access, (address, size), space, batch),
            DrRecord::Instruction { address, size } => {
                return self.instruction(file, (address, size), space, batch);
            }
            DrRecord::MaybeFetch { address, .. } if address == file.pointer => {
                self.unkept.iterations += 1;
            }
            DrRecord::MaybeFetch { address, size } => {
                return self.instruction(file, (address, size), space, batch);
            }
            DrRecord::NoFetch => self.unkept.iterations += 1,
            DrRecord::Bundle { count, lengths } => {
                let lengths = lengths.get(..usize::from(count));
                let lengths =
                    lengths.ok_or("a bundle has more than 8 instructions: the input is damaged")?;
                for length in lengths {
                    let next = (file.next_pointer, u16::from(*length));
                    self.instruction(file, next, space, batch)?;
                }
            }
            DrRecord::Prefetch => self.unkept.prefetches += 1,
            DrRecord::Flush => self.unkept.flushes += 1,
            // The caller handles these.
            DrRecord::Thread(_)
            | DrRecord::ThreadExit(_)
            | DrRecord::Process(_)
            | DrRecord::Header(_)
            | DrRecord::Footer
            | DrRecord::Marker(..) => {}
        }
        Ok(())
    }

    #[inline]
    fn data(
        &mut self,
        access: DataAccess,
        (address, size): (u64, u16),
        space: SpaceId,
        batch: &mut ImportBatch,
    ) -> Result<(), String> {
        let reach = u64::from(size.max(1)) - 1;
        let last = address.checked_add(reach);
        let last = last.ok_or("the reference reaches past the end of the address space")?;
        if let Some(pages) = &mut self.physical {
            pages.refer(space, (address, last), &mut self.fold, batch)?;
        }
        match access {
            DataAccess::Load => self.counts.loads += 1,
            DataAccess::Store => self.counts.stores += 1,
        }
        self.unkept.of_no_bytes += u64::from(size == 0);
        self.fold.access(access, address, last, &mut batch.visits);
        Ok(())
    }

    #[inline]
    fn instruction(
        &mut self,
        file: &mut ThreadFile,
        (address, size): (u64, u16),
        space: SpaceId,
        batch: &mut ImportBatch,
    ) -> Result<(), String> {
        file.pointer = address;
        file.next_pointer = address.wrapping_add(u64::from(size));
        if size == 0 {
            self.unkept.pointers += 1;
            return Ok(());
        }
        self.counts.instructions += 1;
        if self.fetches {
            if let Some(pages) = &mut self.physical {
                pages.refer(space, (address, address), &mut self.fold, batch)?;
            }
            self.fold.fetch(address, &mut batch.visits);
        } else {
            self.fold.instruction();
        }
        Ok(())
    }
}
