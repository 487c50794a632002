//! Traces for the engine: a recording or a foreign trace, from a file or standard input.

pub(crate) mod measured;
pub(crate) mod origin;

use std::io;
use std::path::Path;

use broadleaf_record::import::lackey;
use broadleaf_report::number::grouped;
use broadleaf_trace::{
    Grain, Header, Item, Lost, MAGIC, ReadOptions, TraceError, TraceReader, Visit,
};

use crate::failure::{Failure, reason};
use measured::{Measured, Meter};
use origin::{Bytes, Origin, Passes};

/// What can be done about damage.
const HINT: &str = "--keep-going reads what is not damaged";

/// Why a trace could not be read on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    /// A foreign trace holds something else.
    #[error("{name}: {error}")]
    Lackey { name: String, error: lackey::Error },
    /// A recording is damaged.
    #[error("{name}: {error}{}", hint(error))]
    Recording { name: String, error: TraceError },
    /// The file or the pipe failed.
    #[error("{name}: cannot read it: {}", reason(error))]
    Io { name: String, error: io::Error },
}

fn hint(error: &TraceError) -> String {
    match error {
        TraceError::Truncated { .. }
        | TraceError::BadCheck { .. }
        | TraceError::BadContent { .. } => format!("; {HINT}"),
        _ => String::new(),
    }
}

impl ReadError {
    fn recording(name: &str, error: TraceError) -> Self {
        let name = name.to_owned();
        match error {
            TraceError::Io(error) => Self::Io { name, error },
            error => Self::Recording { name, error },
        }
    }

    fn lackey(name: &str, error: lackey::Error) -> Self {
        let name = name.to_owned();
        match error {
            lackey::Error::Io(error) => Self::Io { name, error },
            error => Self::Lackey { name, error },
        }
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        match &error {
            ReadError::Io { .. } => Self::failed(error),
            ReadError::Lackey { .. } | ReadError::Recording { .. } => Self::wrong(error),
        }
    }
}

/// How a trace is to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    /// How often it may be read.
    pub(crate) passes: Passes,
    /// Where it is damaged, what is not is read all the same.
    pub(crate) keep_going: bool,
    /// Instruction fetches are told where a recording has them.
    pub(crate) fetches: bool,
}

/// What kind of trace it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Recording,
    Lackey,
}

/// A trace that is being read.
pub(crate) struct Trace {
    origin: Origin,
    kind: Kind,
    reading: Reading,
    decoder: Decoder,
    meter: Meter,
    /// What was read in place of the rest, with `keep_going`.
    damage: Option<String>,
    visits: Vec<Visit>,
}

enum Decoder {
    Recording(Box<TraceReader<Measured<Bytes>>>),
    Lackey(lackey::Reader<Measured<Bytes>>),
}

impl Trace {
    /// Opens the trace at `path`, or on standard input where that is `-`.
    ///
    /// # Errors
    /// Where there is no such file, or it is no trace.
    pub(crate) fn open(path: &Path, reading: Reading) -> Result<Self, Failure> {
        let mut origin = Origin::open(path, reading.passes)?;
        let kind = kind(path, &origin)?;
        let meter = Meter::default();
        let decoder = decode(kind, reading, &mut origin, &meter)?;
        Ok(Self {
            origin,
            kind,
            reading,
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

    /// The hash of its bytes; known after [`Trace::finish`].
    pub(crate) fn hash(&self) -> Option<String> {
        self.meter.hash()
    }

    /// The name of its format, as `broadleaf list formats` has it.
    pub(crate) const fn format(&self) -> &'static str {
        match self.kind {
            Kind::Recording => "broadleaf",
            Kind::Lackey => "lackey",
        }
    }

    /// What a recording says about itself.
    pub(crate) fn header(&self) -> Option<&Header> {
        match &self.decoder {
            Decoder::Recording(reader) => Some(reader.header()),
            Decoder::Lackey(_) => None,
        }
    }

    /// Whether the trace was written to its end; known at the end of a pass. A text has no mark at its end.
    pub(crate) fn is_complete(&self) -> Option<bool> {
        match &self.decoder {
            Decoder::Recording(reader) => Some(reader.complete()),
            Decoder::Lackey(_) => None,
        }
    }

    /// What was not read and why, with `keep_going`; known at the end of a pass.
    pub(crate) fn damage(&self) -> Option<String> {
        match &self.decoder {
            Decoder::Recording(reader) => Some(reader.lost())
                .filter(|lost| lost.places > 0)
                .map(|lost| describe(&lost)),
            Decoder::Lackey(_) => self.damage.clone(),
        }
    }

    /// What a reader of results has to know about how much of the trace was read.
    pub(crate) fn note(&self) -> Option<String> {
        match (self.damage(), self.is_complete()) {
            (Some(damage), _) => Some(format!("the trace is damaged: {damage}")),
            (None, Some(false)) => {
                Some("the recording was cut short: what was written of it was read".to_owned())
            }
            (None, _) => None,
        }
    }

    /// Reads what is left behind the last item, of which nothing is needed but the hash. To be called after a pass.
    ///
    /// # Errors
    /// Where that cannot be read.
    pub(crate) fn finish(&mut self) -> Result<(), ReadError> {
        if self.meter.hash().is_none() {
            let bytes = match &mut self.decoder {
                Decoder::Recording(reader) => reader.get_mut(),
                Decoder::Lackey(reader) => reader.get_mut(),
            };
            io::copy(bytes, &mut io::sink()).map_err(|error| ReadError::Io {
                name: self.origin.name().to_owned(),
                error,
            })?;
            self.meter.end_pass();
        }
        Ok(())
    }
}

impl broadleaf_engine::Source for Trace {
    type Error = ReadError;

    fn grain(&self) -> Grain {
        self.header().map_or(Grain::Page, |header| header.grain)
    }

    fn rewind(&mut self) -> Result<(), ReadError> {
        self.finish()?;
        self.meter.restart();
        self.decoder = decode(self.kind, self.reading, &mut self.origin, &self.meter)?;
        Ok(())
    }

    fn next(&mut self) -> Result<Option<Item<'_>>, ReadError> {
        match &mut self.decoder {
            Decoder::Recording(reader) => reader
                .next_item()
                .map_err(|error| ReadError::recording(self.origin.name(), error)),
            Decoder::Lackey(reader) => {
                self.visits.clear();
                let more = match reader.read(&mut self.visits) {
                    Ok(more) => more,
                    Err(error @ lackey::Error::BadLine { .. }) if self.reading.keep_going => {
                        self.damage = Some(format!("it was read up to {error}"));
                        !self.visits.is_empty()
                    }
                    Err(error) => return Err(ReadError::lackey(self.origin.name(), error)),
                };
                Ok(more.then_some(Item::Visits(&self.visits)))
            }
        }
    }
}

/// Begins a pass.
fn decode(
    kind: Kind,
    reading: Reading,
    origin: &mut Origin,
    meter: &Meter,
) -> Result<Decoder, ReadError> {
    let bytes = origin.bytes().map_err(|error| ReadError::Io {
        name: origin.name().to_owned(),
        error,
    })?;
    let bytes = Measured::new(bytes, meter.clone());
    Ok(match kind {
        Kind::Recording => {
            let options = ReadOptions {
                keep_going: reading.keep_going,
                fetches: reading.fetches,
            };
            let reader = TraceReader::with_options(bytes, options)
                .map_err(|error| ReadError::recording(origin.name(), error))?;
            Decoder::Recording(Box::new(reader))
        }
        Kind::Lackey => Decoder::Lackey(lackey::Reader::new(bytes, Grain::Page)),
    })
}

/// What stands in the file, by its first bytes; an ending only says that a text is meant to be Lackey's.
fn kind(path: &Path, origin: &Origin) -> Result<Kind, Failure> {
    let start = origin.start();
    let magic = &MAGIC[..MAGIC.len().min(start.len())];
    if start.starts_with(magic) {
        return Ok(Kind::Recording);
    }
    let is_named_so = path.extension().is_some_and(|ending| ending == "lackey");
    if is_named_so || lackey::looks_like_lackey(start) {
        return Ok(Kind::Lackey);
    }
    let shown = &start[..start.len().min(16)];
    Err(Failure::Wrong(format!(
        "{}: is not a trace: it begins with \"{}\", which neither a recording (.bl) nor Lackey text (.lackey) does",
        origin.name(),
        shown.escape_ascii(),
    )))
}

fn describe(lost: &Lost) -> String {
    let places = if lost.places == 1 {
        "one place".to_owned()
    } else {
        format!("{} places", grouped(lost.places))
    };
    let accesses = match lost.totals {
        Some(totals) => format!("{} accesses", grouped(totals.accesses())),
        None => "an unknown number of accesses".to_owned(),
    };
    format!(
        "{} bytes in {places} could not be read, and with them {accesses} were lost",
        grouped(lost.bytes)
    )
}
