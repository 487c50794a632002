//! One file of a trace: the records of a thread, or of a core.

use std::fs::File;
use std::io::Seek;
use std::path::{Path, PathBuf};

use super::record::{DrRecord, NEWEST_VERSION, RECORD_BYTES, marker};
use super::zip;
use crate::compression::{Compression, peek};
use crate::error::{ImportError, Spot};
use crate::records::Records;
use crate::source::{ImportMeter, ImportSource, Opened};
use broadleaf_units::CoreId;

/// The maximum number of records before the first time stamp or reference.
const MOST_HEAD: u64 = 1 << 16;
/// Linux's number of the error "too many open files".
const TOO_MANY_FILES: i32 = 24;

/// A file that is read record by record.
pub(super) struct ThreadFile {
    pub(super) records: FileRecords,
    pub(super) head: FileHead,
    /// The last record was the file's end.
    pub(super) has_ended: bool,
    /// The records are of the kernel.
    pub(super) in_kernel: bool,
    /// The core that the markers after the last change of threads named.
    pub(super) core: Option<CoreId>,
    /// The address of the last instruction, and the address after it.
    pub(super) pointer: u64,
    pub(super) next_pointer: u64,
}

/// The source of the records.
pub(super) enum FileRecords {
    /// The file is opened at its turn, so that only files of threads that run are open.
    Closed(PathBuf),
    /// The file is read.
    Open(Box<Records<RECORD_BYTES>>),
    /// The file was read.
    Done,
}

/// The content of the records before the first time stamp or reference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FileHead {
    /// The number of these records.
    pub(super) records: u64,
    pub(super) markers: u64,
    pub(super) filetype: u64,
    /// The first time stamp, if there is one before the first reference.
    pub(super) time: Option<u64>,
    pub(super) thread: Option<u64>,
    pub(super) process: Option<u64>,
    /// The bytes of a page, and the place of their record.
    pub(super) page_size: Option<(u64, Spot)>,
}

impl ThreadFile {
    fn new(records: FileRecords, head: FileHead) -> Self {
        Self {
            records,
            head,
            has_ended: false,
            in_kernel: false,
            core: None,
            pointer: 0,
            next_pointer: 0,
        }
    }

    /// A file of a folder. Its head is read, and the file closed again.
    ///
    /// # Errors
    /// The file cannot be read, or is none of drmemtrace.
    pub(super) fn of_folder(path: PathBuf) -> Result<Self, ImportError> {
        let mut records = open_path(&path, &ImportMeter::default())?;
        let head = read_head(&mut records)?;
        Ok(Self::new(FileRecords::Closed(path), head))
    }

    /// The only file of a trace.
    ///
    /// # Errors
    /// The file cannot be read, or is none of drmemtrace.
    pub(super) fn alone(source: ImportSource) -> Result<Self, ImportError> {
        let name = source.name().to_owned();
        let mut records = match source.file() {
            Some(file) => {
                let file = file.try_clone();
                let file = file.map_err(|error| ImportError::io(&name, error))?;
                records(file, name, &source.meter())?
            }
            None => Records::new(source.decompressed()?),
        };
        let head = read_head(&mut records)?;
        Ok(Self::new(FileRecords::Open(Box::new(records)), head))
    }

    /// Opens the file where it is not, and skips its head.
    ///
    /// # Errors
    /// The file cannot be read, or has changed.
    pub(super) fn open(&mut self, meter: &ImportMeter) -> Result<(), ImportError> {
        if let FileRecords::Closed(path) = &self.records {
            let mut records = open_path(path, meter)?;
            self.head = read_head(&mut records)?;
            self.records = FileRecords::Open(Box::new(records));
        }
        Ok(())
    }
}

fn open_path(path: &Path, meter: &ImportMeter) -> Result<Records<RECORD_BYTES>, ImportError> {
    let name = path.display().to_string();
    match File::open(path) {
        Ok(file) => records(file, name, meter),
        Err(error) if error.raw_os_error() == Some(TOO_MANY_FILES) => Err(ImportError::input(
            &name,
            "too many threads run at a time: allow more open files with `ulimit -n`",
        )),
        Err(error) => Err(ImportError::io(&name, error)),
    }
}

/// The records of a file from its start.
fn records(
    mut file: File,
    name: String,
    meter: &ImportMeter,
) -> Result<Records<RECORD_BYTES>, ImportError> {
    let cannot = |error| ImportError::io(&name, error);
    let start = file.try_clone().map_err(cannot)?;
    let (compression, _) = peek(Box::new(start)).map_err(cannot)?;
    // The clone has the same place in the file.
    file.rewind().map_err(cannot)?;
    let bytes = match compression {
        Compression::Zip => zip::chunks(file, &name, meter)?,
        other => other.reader(meter.counted(file)).map_err(cannot)?,
    };
    Ok(Records::new(Opened {
        name,
        bytes,
        decompressed: compression != Compression::Plain,
    }))
}

/// Reads the records before the first time stamp or reference.
fn read_head(records: &mut Records<RECORD_BYTES>) -> Result<FileHead, ImportError> {
    let mut head = FileHead::default();
    while let Some(&bytes) = records.next()? {
        match DrRecord::from_bytes(&bytes) {
            Ok(DrRecord::Header(version)) => check_version(records, version)?,
            _ if records.count() == 1 => {
                let reason = format!(
                    "its type is {}, and a file of drmemtrace begins with a header (type 25): the \
                     input is in another format, or is a raw file that was not converted",
                    u16::from_le_bytes([bytes[0], bytes[1]])
                );
                return Err(records.bad(reason));
            }
            Ok(DrRecord::Thread(thread)) => head.thread = Some(thread),
            Ok(DrRecord::Process(process)) => head.process = Some(process),
            Ok(DrRecord::Marker(marker::VERSION, version)) => check_version(records, version)?,
            Ok(DrRecord::Marker(marker::FILETYPE, bits)) => head.filetype = bits,
            Ok(DrRecord::Marker(kind, time)) if kind == marker::TIMESTAMP => {
                head.time = Some(time);
                records.unread();
                return Ok(head);
            }
            Ok(DrRecord::Marker(kind, value)) if head.records < MOST_HEAD && is_of_head(kind) => {
                if kind == marker::PAGE_SIZE {
                    head.page_size = Some((value, records.spot()));
                }
                head.markers += 1;
            }
            _ => {
                records.unread();
                return Ok(head);
            }
        }
        head.records += 1;
    }
    if records.count() == 0 {
        return Err(ImportError::input(records.name(), "is empty, not a trace"));
    }
    Ok(head)
}

/// Returns true if a marker describes the file as a whole: the sizes of cache lines, pages, chunks
/// and vectors.
const fn is_of_head(kind: u16) -> bool {
    matches!(kind, marker::CACHE_LINE_SIZE | marker::PAGE_SIZE | 20 | 36)
}

fn check_version(records: &Records<RECORD_BYTES>, version: u64) -> Result<(), ImportError> {
    if version <= NEWEST_VERSION {
        return Ok(());
    }
    Err(records.bad(if version >> 32 != 0 {
        "the version does not fit 32 bits: the trace was probably made by a 32-bit build, whose \
         records have 8 bytes and are not supported"
            .to_owned()
    } else {
        format!(
            "the format has version {version}, and versions up to {NEWEST_VERSION} are known: \
             upgrade Broadleaf, or convert the raw files with an older DynamoRIO"
        )
    }))
}
