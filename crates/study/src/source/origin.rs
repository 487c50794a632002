//! Where a trace's bytes come from: a file, or standard input.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek};
use std::os::fd::AsFd;
use std::path::Path;

use broadleaf_trace::MAGIC;
use broadleaf_trace::reduced::REDUCED_MAGIC;

use crate::failure::Failure;
use crate::output::{shown, sweep};

/// Enough of a trace's start to tell what it is.
const START: u64 = 4096;

/// Bytes that can be read, again if they are a file's.
#[derive(Debug)]
pub struct Origin {
    name: String,
    from: From,
    start: Vec<u8>,
}

#[derive(Debug)]
enum From {
    File {
        file: File,
        size: u64,
        /// The number of bytes to read, if more follow: an entry of the cache.
        length: Option<u64>,
    },
    /// Standard input behind its start, which was read already.
    Stream { taken: bool },
}

/// How often an origin may be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Passes {
    /// Once.
    #[default]
    One,
    /// Once, or as often as it takes where it is a recording or its reduced form: those may tell late what has to be known early.
    AsTold,
    /// More than once.
    Several,
}

impl Passes {
    /// Whether what begins so may be read more than once.
    fn may_be_several(self, start: &[u8]) -> bool {
        match self {
            Self::One => false,
            Self::AsTold => start.starts_with(&MAGIC) || start.starts_with(&REDUCED_MAGIC),
            Self::Several => true,
        }
    }
}

/// What reads an origin.
pub type Bytes = Box<dyn Read + Send>;

impl Origin {
    /// Opens a file, or standard input where `path` is `-`. What may be read more than once and is no file is copied to an
    /// unnamed temporary one.
    ///
    /// # Errors
    /// Where there is nothing to read.
    pub fn open(path: &Path, passes: Passes) -> Result<Self, Failure> {
        if path.as_os_str() == "-" {
            return Self::standard_input(passes);
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

    fn standard_input(passes: Passes) -> Result<Self, Failure> {
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
            from: From::Stream { taken: false },
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
            from: From::File {
                file,
                size,
                length: None,
            },
            start,
        }
        .refuse_empty()
    }

    /// The first `length` bytes of an entry of the cache. Limits go by `size`, the size of the trace
    /// that the entry was made of.
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
            from: From::File {
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

    /// What it is called in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its first bytes.
    pub fn start(&self) -> &[u8] {
        &self.start
    }

    /// How many bytes there are, where that is known.
    pub const fn size(&self) -> Option<u64> {
        match self.from {
            From::File { size, .. } => Some(size),
            From::Stream { .. } => None,
        }
    }

    /// The file that holds it, where one does.
    pub fn file(&self) -> Option<File> {
        match &self.from {
            From::File { file, .. } => file.try_clone().ok(),
            From::Stream { .. } => None,
        }
    }

    /// All bytes from the start.
    ///
    /// # Errors
    /// Where a stream was read already, or a file cannot be read.
    pub fn bytes(&mut self) -> io::Result<Bytes> {
        match &mut self.from {
            From::File { file, length, .. } => {
                let mut file = file.try_clone()?;
                file.rewind()?;
                Ok(match length {
                    Some(length) => Box::new(file.take(*length)),
                    None => Box::new(file),
                })
            }
            From::Stream { taken } if !*taken => {
                *taken = true;
                Ok(Box::new(Cursor::new(self.start.clone()).chain(io::stdin())))
            }
            From::Stream { .. } => Err(io::Error::other("a stream cannot be read twice")),
        }
    }
}

/// Returns true if the first bytes and the name of a file are those of a trace.
fn is_trace(path: &Path, start: &[u8]) -> bool {
    super::kind::kind(path, start).is_some()
}

/// The message that refuses a file that is no trace.
pub(crate) fn not_a_trace(name: &str, start: &[u8]) -> String {
    if start.is_empty() {
        return format!("{name}: is empty, not a trace");
    }
    let shown = &start[..start.len().min(16)];
    format!(
        "{name}: is not a trace: it begins with \"{}\", which neither a recording (.bl) nor Lackey text (.lackey) does",
        shown.escape_ascii(),
    )
}

/// What stands behind this, where it is a regular file of which nothing was read yet.
fn whole_file(from: impl AsFd) -> Option<File> {
    let mut file = File::from(from.as_fd().try_clone_to_owned().ok()?);
    let is_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
    (is_file && file.stream_position().is_ok_and(|at| at == 0)).then_some(file)
}

/// An unnamed temporary file of all that `from` holds.
fn copy(mut from: impl Read) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(&mut from, &mut file)?;
    Ok(file)
}
