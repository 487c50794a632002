//! The source of a foreign trace: a file, a folder or a pipe.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::ahead::ReadAhead;
use crate::compression::{Bytes, Compression, peek};
use crate::error::ImportError;

/// The input of an import.
pub struct ImportSource {
    name: String,
    meter: ImportMeter,
    from: SourceKind,
}

enum SourceKind {
    /// A regular file.
    File(File),
    /// A folder of files.
    Folder(PathBuf),
    /// A pipe, a device or bytes in memory.
    Stream(Bytes),
}

/// The amount of an input that was read. Clones share the amount.
#[derive(Clone, Debug, Default)]
pub struct ImportMeter(Arc<MeterState>);

#[derive(Debug, Default)]
struct MeterState {
    read: AtomicU64,
    /// 0 where it is not known.
    size: AtomicU64,
}

impl ImportMeter {
    /// Bytes that were read, as they are stored.
    pub fn read(&self) -> u64 {
        self.0.read.load(Ordering::Relaxed)
    }

    /// Bytes that the input has, if that is known.
    pub fn size(&self) -> Option<u64> {
        Some(self.0.size.load(Ordering::Relaxed)).filter(|size| *size > 0)
    }

    /// Counts bytes that were read without a stream.
    pub(crate) fn add(&self, bytes: u64) {
        self.0.read.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn set_size(&self, size: u64) {
        self.0.size.store(size, Ordering::Relaxed);
    }

    /// `from`, with its bytes counted here.
    pub(crate) fn counted(&self, from: impl Read + Send + 'static) -> Bytes {
        Box::new(CountedBytes {
            from,
            meter: self.clone(),
        })
    }
}

struct CountedBytes<R> {
    from: R,
    meter: ImportMeter,
}

impl<R: Read> Read for CountedBytes<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(into)?;
        self.meter.add(count as u64);
        Ok(count)
    }
}

/// A stream of decompressed bytes.
pub(crate) struct Opened {
    pub(crate) name: String,
    pub(crate) bytes: Bytes,
    /// The bytes come from a decompressor.
    pub(crate) decompressed: bool,
}

impl ImportSource {
    /// Opens a file or a folder, or standard input where `path` is `-`.
    ///
    /// # Errors
    /// There is nothing to read.
    pub fn open(path: &Path, shown: &str) -> Result<Self, ImportError> {
        if path.as_os_str() == "-" {
            return Ok(Self::standard_input());
        }
        let cannot = |error| ImportError::io(shown, error);
        let metadata = path.metadata().map_err(cannot)?;
        let meter = ImportMeter::default();
        let from = if metadata.is_dir() {
            SourceKind::Folder(path.to_owned())
        } else {
            let file = File::open(path).map_err(cannot)?;
            if metadata.is_file() {
                meter.set_size(metadata.len());
                SourceKind::File(file)
            } else {
                SourceKind::Stream(Box::new(file))
            }
        };
        Ok(Self {
            name: shown.to_owned(),
            meter,
            from,
        })
    }

    fn standard_input() -> Self {
        let meter = ImportMeter::default();
        if let Ok(stdin) = io::stdin().as_fd().try_clone_to_owned() {
            let metadata = File::from(stdin).metadata();
            if let Some(file) = metadata.ok().filter(std::fs::Metadata::is_file) {
                meter.set_size(file.len());
            }
        }
        Self {
            name: "standard input".to_owned(),
            meter,
            from: SourceKind::Stream(Box::new(io::stdin())),
        }
    }

    /// Bytes in memory or from anywhere else.
    pub fn stream(name: &str, from: impl Read + Send + 'static) -> Self {
        Self {
            name: name.to_owned(),
            meter: ImportMeter::default(),
            from: SourceKind::Stream(Box::new(from)),
        }
    }

    /// The meter of the bytes that were read.
    pub fn meter(&self) -> ImportMeter {
        self.meter.clone()
    }

    /// The input's name in messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The folder, if the input is one.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match &self.from {
            SourceKind::Folder(path) => Some(path),
            SourceKind::File(_) | SourceKind::Stream(_) => None,
        }
    }

    /// The file, if the input is a regular one.
    pub(crate) fn file(&self) -> Option<&File> {
        match &self.from {
            SourceKind::File(file) => Some(file),
            SourceKind::Folder(_) | SourceKind::Stream(_) => None,
        }
    }

    /// The bytes as they are stored, with the compression that their start shows.
    ///
    /// # Errors
    /// The input is a folder, is empty or cannot be read.
    pub(crate) fn stored(self) -> Result<(Compression, Bytes), ImportError> {
        let name = self.name;
        let bytes = match self.from {
            SourceKind::File(file) => self.meter.counted(file),
            SourceKind::Stream(stream) => self.meter.counted(stream),
            SourceKind::Folder(_) => {
                let reason = "is a directory, not a trace: give a file";
                return Err(ImportError::input(&name, reason));
            }
        };
        let (compression, mut bytes) =
            peek(bytes).map_err(|error| ImportError::io(&name, error))?;
        let mut first = [0];
        let count = bytes.read(&mut first);
        if count.map_err(|error| ImportError::io(&name, error))? == 0 {
            return Err(ImportError::input(&name, "is empty, not a trace"));
        }
        Ok((compression, Box::new(io::Cursor::new(first).chain(bytes))))
    }

    /// The decompressed bytes.
    ///
    /// # Errors
    /// As [`ImportSource::stored`]; or the input is a zip archive.
    pub(crate) fn decompressed(self) -> Result<Opened, ImportError> {
        let name = self.name.clone();
        let (compression, bytes) = self.stored()?;
        if compression == Compression::Zip {
            let reason = "is a zip archive: unpack it first and import what it holds";
            return Err(ImportError::input(&name, reason));
        }
        let bytes = match compression {
            Compression::Plain => Ok(bytes),
            // Decompressing takes longer than all that follows.
            compressed => (compressed.reader(bytes))
                .and_then(|bytes| -> io::Result<Bytes> { Ok(Box::new(ReadAhead::new(bytes)?)) }),
        };
        Ok(Opened {
            bytes: bytes.map_err(|error| ImportError::io(&name, error))?,
            name,
            decompressed: compression != Compression::Plain,
        })
    }
}
