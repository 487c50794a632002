//! Traces for the engine: a recording or a foreign trace, from a file or standard input.

mod measured;
mod origin;

use std::io;
use std::path::Path;

use broadleaf_record::import::lackey;
use broadleaf_trace::{Grain, Item, Visit};

use crate::failure::Failure;
use measured::{Measured, Meter};
use origin::{Bytes, Origin};

/// Why a trace could not be read on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    /// A foreign trace holds something else.
    #[error("{name}: {error}")]
    Lackey { name: String, error: lackey::Error },
    /// The file or the pipe failed.
    #[error("{name}: cannot read it: {error}")]
    Io { name: String, error: io::Error },
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        match &error {
            ReadError::Lackey {
                error: lackey::Error::Io(_),
                ..
            }
            | ReadError::Io { .. } => Self::failed(error),
            ReadError::Lackey { .. } => Self::wrong(error),
        }
    }
}

/// What kind of trace it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Lackey,
}

/// A trace that is being read.
pub(crate) struct Trace {
    origin: Origin,
    kind: Kind,
    keep_going: bool,
    decoder: Decoder,
    meter: Meter,
    /// What was read in place of the rest, with `keep_going`.
    damage: Option<String>,
    visits: Vec<Visit>,
}

enum Decoder {
    Lackey(lackey::Reader<Measured<Bytes>>),
}

impl Trace {
    /// Opens the trace at `path`, or on standard input where that is `-`. `again` says that it will be read more than once,
    /// `keep_going` that it ends, for all that follows, where it is damaged.
    ///
    /// # Errors
    /// Where there is no such file, or it is no trace.
    pub(crate) fn open(path: &Path, again: bool, keep_going: bool) -> Result<Self, Failure> {
        let mut origin = Origin::open(path, again)?;
        let kind = kind(path, &origin)?;
        let meter = Meter::default();
        let decoder = decode(kind, &mut origin, &meter)?;
        Ok(Self {
            origin,
            kind,
            keep_going,
            decoder,
            meter,
            damage: None,
            visits: Vec::new(),
        })
    }

    /// What it is called in messages and results.
    pub(crate) fn name(&self) -> &str {
        self.origin.name()
    }

    /// How many bytes it has, where that is known.
    pub(crate) const fn size(&self) -> Option<u64> {
        self.origin.size()
    }

    /// What knows how many bytes of this pass were read.
    pub(crate) fn meter(&self) -> Meter {
        self.meter.clone()
    }

    /// The hash of its bytes; known after it was read to its end once.
    pub(crate) fn hash(&self) -> Option<String> {
        self.meter.hash()
    }

    /// The name of its format, as `broadleaf list formats` has it.
    pub(crate) const fn format(&self) -> &'static str {
        match self.kind {
            Kind::Lackey => "lackey",
        }
    }

    /// Where and why it was not read on, with `keep_going`.
    pub(crate) fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    /// Reads what is left for the hash, of which the decoder needs nothing.
    fn finish_pass(&mut self) -> Result<(), ReadError> {
        if self.meter.hash().is_none() {
            let Decoder::Lackey(reader) = &mut self.decoder;
            let rest = io::copy(reader.get_mut(), &mut io::sink());
            rest.map_err(|error| ReadError::Io {
                name: self.origin.name().to_owned(),
                error,
            })?;
            self.meter.end_pass();
        }
        Ok(())
    }

    fn read(&mut self) -> Result<bool, ReadError> {
        self.visits.clear();
        let Decoder::Lackey(reader) = &mut self.decoder;
        match reader.read(&mut self.visits) {
            Ok(more) => Ok(more),
            Err(error @ lackey::Error::BadLine { .. }) if self.keep_going => {
                self.damage = Some(error.to_string());
                Ok(!self.visits.is_empty())
            }
            Err(error) => Err(ReadError::Lackey {
                name: self.origin.name().to_owned(),
                error,
            }),
        }
    }
}

impl broadleaf_engine::Source for Trace {
    type Error = ReadError;

    fn grain(&self) -> Grain {
        Grain::Page
    }

    fn rewind(&mut self) -> Result<(), ReadError> {
        self.finish_pass()?;
        self.meter.restart();
        self.decoder =
            decode(self.kind, &mut self.origin, &self.meter).map_err(|error| ReadError::Io {
                name: self.origin.name().to_owned(),
                error: io::Error::other(error),
            })?;
        Ok(())
    }

    fn next(&mut self) -> Result<Option<Item<'_>>, ReadError> {
        if !self.read()? {
            self.finish_pass()?;
            return Ok(None);
        }
        Ok(Some(Item::Visits(&self.visits)))
    }
}

fn decode(kind: Kind, origin: &mut Origin, meter: &Meter) -> Result<Decoder, Failure> {
    let bytes = origin
        .bytes()
        .map_err(|error| Failure::Failed(format!("{}: cannot read it: {error}", origin.name())))?;
    let bytes = Measured::new(bytes, meter.clone());
    Ok(match kind {
        Kind::Lackey => Decoder::Lackey(lackey::Reader::new(bytes, Grain::Page)),
    })
}

/// What stands in the file, by its first bytes; an ending only says that a text is meant to be Lackey's.
fn kind(path: &Path, origin: &Origin) -> Result<Kind, Failure> {
    let start = origin.start();
    if path.extension().is_some_and(|ending| ending == "lackey") || lackey::looks_like_lackey(start)
    {
        return Ok(Kind::Lackey);
    }
    let shown = &start[..start.len().min(16)];
    Err(Failure::Wrong(format!(
        "{}: is not a trace: it begins with \"{}\", which neither a recording (.bl) nor Lackey text (.lackey) does",
        origin.name(),
        shown.escape_ascii(),
    )))
}
