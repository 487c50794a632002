//! The source of a trace's bytes: a file, or standard input.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek};
use std::os::fd::AsFd;
use std::path::Path;

use broadleaf_trace::MAGIC;
use broadleaf_trace::reduced::REDUCED_MAGIC;

use crate::failure::Failure;
use crate::foreign::DirectTrace;
use crate::output::{shown, sweep};
use crate::reduce::PART_MAGIC;

/// The number of first bytes that identify a trace.
const START: u64 = 4096;

/// A source of bytes. The bytes of a file can be read again.
#[derive(Debug)]
pub struct Origin {
    name: String,
    from: OriginKind,
    start: Vec<u8>,
}

#[derive(Debug)]
enum OriginKind {
    File {
        file: File,
        size: u64,
        /// The number of bytes to read, if more follow: an entry of the cache.
        length: Option<u64>,
    },
    /// Standard input after its start, which was read already.
    Stream { taken: bool },
}

/// The number of passes over an origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PassCount {
    /// One pass.
    #[default]
    One,
    /// One pass; or several over a recording or its reduced form, which may contain late what must
    /// be known early.
    AsGiven,
    /// Several passes.
    Several,
}

impl PassCount {
    /// Returns true if an origin that begins with `start` may be read more than once.
    fn may_be_several(self, start: &[u8]) -> bool {
        match self {
            Self::One => false,
            Self::AsGiven => start.starts_with(&MAGIC) || start.starts_with(&REDUCED_MAGIC),
            Self::Several => true,
        }
    }
}

/// A reader of an origin.
pub type OriginBytes = Box<dyn Read + Send>;

impl Origin {
    /// Opens a file, or standard input if `path` is `-`. For several passes, other sources than
    /// files are copied to an unnamed temporary file. A foreign trace is rewritten there as a
    /// recording, with the fetches of instructions if `fetches` asks for them.
    ///
    /// # Errors
    /// Returns an error if there is nothing to read.
    pub fn open(path: &Path, passes: PassCount, fetches: bool) -> Result<Self, Failure> {
        if path.as_os_str() == "-" {
            return Self::standard_input(passes);
        }
        if let Some(foreign) = DirectTrace::named(path, is_trace) {
            let (name, recording) = foreign.recording(fetches)?;
            return Self::of_file(name, recording);
        }
        let name = shown(path);
        let cannot = |error: io::Error| Failure::reading(&name, &error);
        sweep(path.parent().unwrap_or(Path::new(".")));
        let file = File::open(path).map_err(cannot)?;
        let metadata = file.metadata().map_err(cannot)?;
        if metadata.is_dir() {
            return Err(Failure::Wrong(format!(
                "{name}: is a directory, not a trace"
            )));
        }
        if metadata.is_file() {
            return Self::of_file(name, file);
        }
        // A named pipe or a device can be read once, so it is copied if it has to be read again.
        // Its first bytes are checked before, because a device has no end.
        let mut start = Vec::new();
        (&file)
            .take(START)
            .read_to_end(&mut start)
            .map_err(cannot)?;
        if !is_trace(path, &start) {
            return Err(Failure::Wrong(not_a_trace(&name, &start)));
        }
        let all = Cursor::new(start).chain(file);
        Self::of_file(name.clone(), copy(all).map_err(cannot)?)
    }

    fn standard_input(passes: PassCount) -> Result<Self, Failure> {
        let name = "standard input".to_owned();
        let cannot =
            |error: io::Error| Failure::Failed(format!("standard input: cannot read it: {error}"));
        if let Some(file) = whole_file(io::stdin()) {
            return Self::of_file(name, file);
        }
        let mut start = Vec::new();
        io::stdin()
            .lock()
            .take(START)
            .read_to_end(&mut start)
            .map_err(cannot)?;
        if !is_trace(Path::new("-"), &start) && !start.is_empty() {
            return Err(Failure::Wrong(not_a_trace(&name, &start)));
        }
        if passes.may_be_several(&start) {
            let all = Cursor::new(start).chain(io::stdin());
            return Self::of_file(name, copy(all).map_err(cannot)?);
        }
        Self {
            name,
            from: OriginKind::Stream { taken: false },
            start,
        }
        .refuse_empty()
    }

    fn of_file(name: String, mut file: File) -> Result<Self, Failure> {
        let mut start = Vec::new();
        let mut read = |file: &mut File| {
            file.rewind()?;
            file.take(START).read_to_end(&mut start)?;
            file.metadata().map(|metadata| metadata.len())
        };
        let size = read(&mut file)
            .map_err(|error| Failure::Failed(format!("{name}: cannot read it: {error}")))?;
        Self {
            name,
            from: OriginKind::File {
                file,
                size,
                length: None,
            },
            start,
        }
        .refuse_empty()
    }

    /// The first `length` bytes of an entry of the cache. Limits go by `size`, the size of the
    /// trace that the entry was made of.
    pub(crate) fn of_entry(
        name: String,
        mut file: File,
        length: u64,
        size: u64,
    ) -> io::Result<Self> {
        file.rewind()?;
        let mut start = Vec::new();
        (&file).take(START.min(length)).read_to_end(&mut start)?;
        Ok(Self {
            name,
            from: OriginKind::File {
                file,
                size,
                length: Some(length),
            },
            start,
        })
    }

    fn refuse_empty(self) -> Result<Self, Failure> {
        if self.start.is_empty() {
            return Err(Failure::Wrong(format!(
                "{}: is empty, not a trace",
                self.name
            )));
        }
        Ok(self)
    }

    /// The name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The first bytes.
    pub fn start(&self) -> &[u8] {
        &self.start
    }

    /// The size in bytes, if known.
    pub const fn size(&self) -> Option<u64> {
        match self.from {
            OriginKind::File { size, .. } => Some(size),
            OriginKind::Stream { .. } => None,
        }
    }

    /// The file of the origin, if there is one.
    pub fn file(&self) -> Option<File> {
        match &self.from {
            OriginKind::File { file, .. } => file.try_clone().ok(),
            OriginKind::Stream { .. } => None,
        }
    }

    /// A reader of all bytes from the start.
    ///
    /// # Errors
    /// Returns an error if a stream was read already, or if a file is unreadable.
    pub fn bytes(&mut self) -> io::Result<OriginBytes> {
        match &mut self.from {
            OriginKind::File { file, length, .. } => {
                let mut file = file.try_clone()?;
                file.rewind()?;
                Ok(match length {
                    Some(length) => Box::new(file.take(*length)),
                    None => Box::new(file),
                })
            }
            OriginKind::Stream { taken } if !*taken => {
                *taken = true;
                Ok(Box::new(Cursor::new(self.start.clone()).chain(io::stdin())))
            }
            OriginKind::Stream { .. } => Err(io::Error::other("a stream cannot be read twice")),
        }
    }
}

/// Returns true if a trace at this path can be opened again: not standard input or a pipe.
pub(crate) fn can_be_opened_again(path: &Path) -> bool {
    path.as_os_str() != "-" && path.is_file()
}

/// Returns true if the first bytes and the name of a file are those of a trace.
pub(crate) fn is_trace(path: &Path, start: &[u8]) -> bool {
    super::kind::kind(path, start).is_some()
}

/// The message for a file that is not a trace.
pub(crate) fn not_a_trace(name: &str, start: &[u8]) -> String {
    if start.is_empty() {
        return format!("{name}: is empty, not a trace");
    }
    if start.starts_with(&PART_MAGIC) {
        return format!(
            "{name}: is part of a reduced trace: join all parts with broadleaf reduce --join \
             PART... -o FILE"
        );
    }
    let shown = &start[..start.len().min(16)];
    format!(
        "{name}: is not a trace: it begins with \"{}\", which neither a recording (.bl) nor Lackey \
         text (.lackey) does. If another tool wrote the file, name its format: FORMAT:FILE, with a \
         FORMAT of broadleaf list formats",
        shown.escape_ascii(),
    )
}

/// The file of a stream, if it is a regular file at position 0.
fn whole_file(from: impl AsFd) -> Option<File> {
    let mut file = File::from(from.as_fd().try_clone_to_owned().ok()?);
    let is_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
    (is_file && file.stream_position().is_ok_and(|at| at == 0)).then_some(file)
}

/// Copies all bytes of `from` to an unnamed temporary file.
fn copy(mut from: impl Read) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(&mut from, &mut file)?;
    Ok(file)
}
