//! Traces for the engine: a recording or a foreign trace, from a file or standard input.

mod bound;
mod damage;
pub(crate) mod locate;
pub(crate) mod measured;
pub(crate) mod origin;
pub(crate) mod part;
pub(crate) mod reduced;
mod stored;

use std::io::{self, BufReader};
use std::ops::ControlFlow;
use std::path::Path;

use broadleaf_record::import::lackey;
use broadleaf_report::number::grouped;
use broadleaf_trace::reduced::{REDUCED_MAGIC, ReducedPartReader, ReducedReader};
use broadleaf_trace::{
    Grain, Header, Item, MAGIC, PartReader, ReadOptions, TraceError, TraceIndex, TraceReader, Visit,
};

use broadleaf_translation::Machine;

use crate::failure::{Failure, reason};
use crate::progress::Work;
use bound::{Bound, work};
use damage::{Damage, Stop};
use measured::{Measured, Meter};
use origin::{Bytes, Origin, Passes};
use part::TracePart;

/// Why a trace could not be read on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    /// It is no recording that could be read, or its head is damaged: nothing can be had of it.
    #[error("{name}: {error}")]
    Head { name: String, error: TraceError },
    /// It is damaged behind its head.
    #[error("{name}: {damage}; --keep-going reads the part before that")]
    Damaged { name: String, damage: Damage },
    /// It is the reduced form of a trace, and damaged.
    #[error(
        "{name}: {error}: reduce the trace again, or remove this file so that the trace itself is read"
    )]
    Reduced { name: String, error: TraceError },
    /// The recording holds more accesses than a file of its size may.
    #[error(
        "{name}: holds {} accesses or more in {} bytes, and {} are read at most of so small a recording: --max-accesses {accesses} reads it",
        grouped(*accesses), grouped(*bytes), grouped(*most)
    )]
    TooLong {
        name: String,
        accesses: u64,
        bytes: u64,
        most: u64,
    },
    /// The file or the pipe failed.
    #[error("{name}: cannot read it: {}", reason(error))]
    Io { name: String, error: io::Error },
}

impl ReadError {
    fn reduced(name: &str, error: TraceError) -> Self {
        let name = name.to_owned();
        match error {
            TraceError::Io(error) => Self::Io { name, error },
            error => Self::Reduced { name, error },
        }
    }

    fn head(name: &str, error: TraceError) -> Self {
        let name = name.to_owned();
        match error {
            TraceError::Io(error) => Self::Io { name, error },
            error => Self::Head { name, error },
        }
    }

    pub(super) fn behind_head(name: &str, stop: Stop) -> Self {
        let name = name.to_owned();
        match stop {
            Stop::Io(error) => Self::Io { name, error },
            Stop::Damage(damage) => Self::Damaged { name, damage },
        }
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        match &error {
            ReadError::Io { .. } => Self::failed(error),
            ReadError::Head { .. }
            | ReadError::Damaged { .. }
            | ReadError::Reduced { .. }
            | ReadError::TooLong { .. } => Self::wrong(error),
        }
    }
}

/// How a trace is to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    /// How often it may be read.
    pub(crate) passes: Passes,
    /// Where it is damaged, what stands before the damage is read.
    pub(crate) keep_going: bool,
    /// Instruction fetches are told where a recording has them.
    pub(crate) fetches: bool,
    /// The maximum number of accesses to read; `None` derives a limit from the file's size.
    pub(crate) max_accesses: Option<u64>,
}

/// What needs all visits of a trace, so that its reduced form does not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whole {
    /// The work itself.
    Work,
    /// `compare --curve`.
    Curve,
    /// `compare --memory`.
    Memory,
    /// `advise`.
    Advice,
}

impl Whole {
    const fn why(self) -> &'static str {
        match self {
            Self::Work => "which only `broadleaf compare` reads",
            Self::Curve => {
                "and --curve needs the whole trace, since other TLBs miss on other visits"
            }
            Self::Memory => {
                "and --memory needs the whole trace, since limited memory notices each visit"
            }
            Self::Advice => {
                "and advice needs the whole trace, since what a superpage spares depends on each visit"
            }
        }
    }
}

/// What kind of trace it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Recording,
    Lackey,
    Reduced,
}

/// A trace that is being read.
pub(crate) struct Trace {
    origin: Origin,
    /// What it is called, where that is not what is read: it has a reduced form.
    called: Option<String>,
    kind: Kind,
    reading: Reading,
    bound: Bound,
    decoder: Decoder,
    meter: Meter,
    /// Whether it was read to its end, or to where it is damaged.
    ended: bool,
    /// Where reading stopped, with `keep_going`.
    damage: Option<Damage>,
    /// How many bytes it has and how many accesses are known to stand behind the damage; known after [`Trace::finish`].
    bytes: u64,
    lost: Option<u64>,
    visits: Vec<Visit>,
    /// Readers of parts that are not in use.
    readers: Vec<PartReader>,
    reduced_readers: Vec<ReducedPartReader>,
    /// What a recording holds, where its index or the heads of its chunks tell.
    holds: Option<Holds>,
}

/// What a recording's index says.
#[derive(Clone, Copy, Debug)]
struct Holds {
    accesses: u64,
    /// The work of reading the trace (see `bound::work`).
    work: u64,
    /// Whether that is all that was recorded, and not what is whole of it.
    is_all: bool,
}

enum Decoder {
    Recording(Box<TraceReader<Measured<Bytes>>>),
    Lackey(lackey::Reader<Measured<Bytes>>),
    Reduced(Box<ReducedReader<Measured<Bytes>>>),
    /// The text's reader is handed out: a text is one part.
    Away,
}

impl Trace {
    /// Opens the trace at `path`, or on standard input where that is `-`.
    ///
    /// # Errors
    /// Where there is no such file, or it is no trace.
    pub(crate) fn open(path: &Path, reading: Reading, whole: Whole) -> Result<Self, Failure> {
        let origin = Origin::open(path, reading.passes)?;
        if kind_of(path, &origin)? == Kind::Reduced {
            return Err(Failure::Wrong(format!(
                "{}: is the reduced form of a trace, {}: give the trace itself",
                origin.name(),
                whole.why()
            )));
        }
        Self::of(path, origin, reading, None)
    }

    /// Opens the trace at `path`, or its reduced form where that is given or stands beside it and does for these machines: what is counted on
    /// them is the same.
    ///
    /// # Errors
    /// Where there is no such file, it is no trace, or it is a reduced form that does not do.
    pub(crate) fn open_for(
        path: &Path,
        reading: Reading,
        machines: &[Machine],
    ) -> Result<Self, Failure> {
        let origin = Origin::open(path, reading.passes)?;
        if kind_of(path, &origin)? == Kind::Reduced {
            reduced::must_do(&origin, machines)?;
            return Self::of(path, origin, reading, None);
        }
        match reduced::beside(path, &origin, machines)? {
            Some(reduced) => Self::of(path, reduced, reading, Some(origin.name().to_owned())),
            None => Self::of(path, origin, reading, None),
        }
    }

    fn of(
        path: &Path,
        mut origin: Origin,
        reading: Reading,
        called: Option<String>,
    ) -> Result<Self, Failure> {
        let kind = kind_of(path, &origin)?;
        // Before the decoder, with which this shares a place in the file.
        let holds = (kind == Kind::Recording).then(|| holds(&origin)).flatten();
        let bound = Bound::new(reading.max_accesses);
        if let Some(holds) = &holds {
            bound.check(&origin, 0, holds.work)?;
        }
        let meter = Meter::default();
        let decoder = decode(kind, reading, &mut origin, &meter)?;
        Ok(Self {
            origin,
            called,
            kind,
            reading,
            bound,
            decoder,
            meter,
            ended: false,
            damage: None,
            bytes: 0,
            lost: None,
            visits: Vec::new(),
            readers: Vec::new(),
            reduced_readers: Vec::new(),
            holds,
        })
    }

    /// What it is called in messages and results.
    pub(crate) fn name(&self) -> &str {
        self.called.as_deref().unwrap_or(self.origin.name())
    }

    /// How much a pass over it has to do.
    pub(crate) fn work(&self) -> Work {
        match (&self.holds, self.origin.size()) {
            (Some(holds), _) => Work::Accesses(holds.accesses),
            (None, Some(bytes)) => Work::Bytes(bytes),
            (None, None) => Work::Unknown,
        }
    }

    /// What knows how many bytes of this pass were read.
    pub(crate) fn meter(&self) -> Meter {
        self.meter.clone()
    }

    /// The hash of its bytes; known after [`Trace::finish`].
    pub(crate) fn hash(&self) -> Option<String> {
        match &self.decoder {
            Decoder::Reduced(reader) => Some(reader.header().trace.clone()),
            _ => self.meter.hash(),
        }
    }

    /// The name of its format, as `broadleaf list formats` has it.
    pub(crate) const fn format(&self) -> &'static str {
        match self.kind {
            Kind::Recording | Kind::Reduced => "broadleaf",
            Kind::Lackey => "lackey",
        }
    }

    /// What a recording says about itself.
    pub(crate) fn header(&self) -> Option<&Header> {
        match &self.decoder {
            Decoder::Recording(reader) => Some(reader.header()),
            Decoder::Lackey(_) | Decoder::Reduced(_) | Decoder::Away => None,
        }
    }

    /// Whether the trace was written to its end; known at the end of a pass. A text has no mark at its end.
    pub(crate) fn is_complete(&self) -> Option<bool> {
        match &self.decoder {
            Decoder::Recording(reader) => Some(reader.complete()),
            Decoder::Lackey(_) | Decoder::Reduced(_) | Decoder::Away => None,
        }
    }

    /// What was not read and why, with `keep_going`; known after [`Trace::finish`].
    pub(crate) fn damage(&self) -> Option<String> {
        let damage = self.damage.as_ref()?;
        Some(match damage {
            Damage::CutShort { .. } => format!("{damage}, and all of that was read"),
            Damage::Recording(_) if self.lost == Some(0) => format!(
                "{damage}; no access was lost, because that is the index or stands behind it"
            ),
            Damage::Recording(_) | Damage::Lackey(_) => format!(
                "{damage}; it was read up to there, and {} of its {} bytes, with {}, were lost",
                grouped(self.bytes.saturating_sub(damage.offset())),
                grouped(self.bytes),
                match self.lost {
                    Some(lost) => format!("{} accesses", grouped(lost)),
                    None => "an unknown number of accesses".to_owned(),
                }
            ),
        })
    }

    /// What a reader of results has to know about how much of the trace was read.
    pub(crate) fn note(&self) -> Option<String> {
        self.damage().map(|damage| format!("the trace {damage}"))
    }

    /// Reads what is left behind the last item, of which nothing is needed but the hash, and looks whether the trace was
    /// whole. To be called after a pass.
    ///
    /// # Errors
    /// Where that cannot be read, or the recording was cut short and nobody asked to keep going.
    pub(crate) fn finish(&mut self) -> Result<(), ReadError> {
        if self.meter.hash().is_none() {
            let rest = match &mut self.decoder {
                Decoder::Recording(reader) => io::copy(reader.get_mut(), &mut io::sink()),
                Decoder::Lackey(reader) => io::copy(reader.get_mut(), &mut io::sink()),
                Decoder::Reduced(reader) => io::copy(reader.get_mut(), &mut io::sink()),
                Decoder::Away => Ok(0),
            };
            rest.map_err(|error| ReadError::Io {
                name: self.origin.name().to_owned(),
                error,
            })?;
            self.meter.end_pass();
            self.bytes = self.meter.bytes();
        }
        if let Decoder::Reduced(reader) = &self.decoder {
            let whole = reader.finish();
            whole.map_err(|error| ReadError::reduced(self.origin.name(), error))?;
        }
        if let Decoder::Recording(reader) = &self.decoder {
            let read = reader.totals().accesses();
            if let Some(damage) = &self.damage {
                // A reader that met the index has met all that stands before.
                self.lost = if reader.complete() || self.index_begins_at(damage.offset()) {
                    Some(0)
                } else {
                    let all = self.holds.filter(|holds| holds.is_all);
                    all.map(|holds| holds.accesses.saturating_sub(read))
                };
            } else if !reader.complete() {
                let damage = Damage::CutShort { size: self.bytes };
                if !self.reading.keep_going {
                    let name = self.origin.name().to_owned();
                    return Err(ReadError::Damaged { name, damage });
                }
                self.damage = Some(damage);
            }
        }
        Ok(())
    }

    fn index_begins_at(&self, offset: u64) -> bool {
        let file = self.origin.file();
        file.is_some_and(|file| TraceIndex::begins_at(file, offset).unwrap_or(false))
    }
}

impl Trace {
    /// The unit in which visits name places.
    pub(crate) fn grain(&self) -> Grain {
        self.header().map_or(Grain::Page, |header| header.grain)
    }

    /// The next piece of the trace, or `None` at its end.
    ///
    /// # Errors
    /// Where it is damaged or cannot be read.
    pub(crate) fn next(&mut self) -> Result<Option<Item<'_>>, ReadError> {
        if self.damage.is_some() {
            return Ok(None);
        }
        let (found, stop) = match &mut self.decoder {
            Decoder::Recording(reader) => {
                let so_far = work(&reader.totals());
                self.bound.check(&self.origin, self.meter.bytes(), so_far)?;
                match reader.next_item() {
                    Ok(item) => (item, None),
                    Err(error) => (None, Some(error.into())),
                }
            }
            Decoder::Lackey(reader) => part::some_lines(reader, &mut self.visits),
            // A reduced form is only read in parts.
            Decoder::Reduced(_) | Decoder::Away => (None, None),
        };
        match stop {
            None => {}
            Some(Stop::Damage(damage)) if self.reading.keep_going => self.damage = Some(damage),
            Some(stop) => return Err(ReadError::behind_head(self.origin.name(), stop)),
        }
        Ok(found)
    }
}

impl broadleaf_engine::Source for Trace {
    type Error = ReadError;
    type Part = TracePart;

    fn grain(&self) -> Grain {
        Self::grain(self)
    }

    fn holds_children(&self) -> bool {
        self.header().is_some_and(|header| header.options.children)
    }

    fn rewind(&mut self) -> Result<(), ReadError> {
        // What was not read to its end cannot be said to be whole or not.
        if std::mem::take(&mut self.ended) {
            self.finish()?;
        }
        self.meter.restart();
        self.bound = Bound::new(self.reading.max_accesses);
        self.damage = None;
        self.decoder = decode(self.kind, self.reading, &mut self.origin, &self.meter)?;
        Ok(())
    }

    fn next_part(&mut self) -> Result<Option<TracePart>, ReadError> {
        if self.damage.is_some() {
            return Ok(None);
        }
        let name = self.origin.name();
        let reader = match &mut self.decoder {
            Decoder::Recording(reader) => reader,
            Decoder::Away => return Ok(None),
            Decoder::Reduced(reader) => {
                let part = reader.next_part();
                let part = part.map_err(|error| ReadError::reduced(self.origin.name(), error))?;
                self.ended = part.is_none();
                return Ok(part.map(|part| {
                    let mut reader = self.reduced_readers.pop().unwrap_or_default();
                    reader.begin(part);
                    TracePart::reduced(reader, self.origin.name())
                }));
            }
            // A text is one part.
            Decoder::Lackey(_) if self.ended => return Ok(None),
            text @ Decoder::Lackey(_) => {
                return Ok(match std::mem::replace(text, Decoder::Away) {
                    Decoder::Lackey(text) => Some(TracePart::lackey(text, name, self.reading)),
                    _ => None,
                });
            }
        };
        match reader.next_part() {
            Ok(Some(part)) => {
                let (totals, bytes) = (part.info().totals, self.meter.bytes());
                self.bound.hand_out(&self.origin, bytes, &totals)?;
                let (grain, fetches) = (reader.header().grain, self.reading.fetches);
                let idle = self.readers.pop();
                let mut reader = idle.unwrap_or_else(|| PartReader::new(grain, fetches));
                reader.begin(part);
                Ok(Some(TracePart::recording(reader, name, self.reading)))
            }
            Ok(None) => {
                self.ended = true;
                Ok(None)
            }
            Err(error) => match error.into() {
                Stop::Damage(damage) if self.reading.keep_going => {
                    self.ended = true;
                    self.damage = Some(damage);
                    Ok(None)
                }
                stop => Err(ReadError::behind_head(name, stop)),
            },
        }
    }

    fn close(&mut self, part: TracePart) -> Result<ControlFlow<()>, ReadError> {
        let damage = match part.take_back() {
            part::Back::Recording(mut part, damage) => {
                if let (Decoder::Recording(reader), Some(closed)) =
                    (&mut self.decoder, part.close())
                {
                    reader.close(closed);
                }
                self.readers.push(*part);
                damage
            }
            part::Back::Reduced(part) => {
                if let Decoder::Reduced(reader) = &mut self.decoder {
                    reader.close(&part);
                }
                self.reduced_readers.push(*part);
                None
            }
            part::Back::Lackey(text, damage) => {
                self.decoder = Decoder::Lackey(*text);
                self.ended = true;
                damage
            }
        };
        if damage.is_none() {
            return Ok(ControlFlow::Continue(()));
        }
        // What was found behind it counts for nothing.
        self.ended = true;
        self.damage = damage;
        Ok(ControlFlow::Break(()))
    }
}

/// What a recording's index says, or the heads of its chunks where it has none; `None` where neither can be read.
fn holds(origin: &Origin) -> Option<Holds> {
    let index = TraceIndex::read(BufReader::new(origin.file()?)).ok()?;
    Some(Holds {
        accesses: index.totals().accesses(),
        work: work(&index.totals()),
        is_all: index.complete,
    })
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
                // Behind damage a recording may be whole again, but its mappings are no longer known.
                keep_going: false,
                fetches: reading.fetches,
            };
            let reader = TraceReader::with_options(bytes, options)
                .map_err(|error| ReadError::head(origin.name(), error))?;
            Decoder::Recording(Box::new(reader))
        }
        Kind::Lackey => Decoder::Lackey(lackey::Reader::new(bytes, Grain::Page)),
        Kind::Reduced => {
            let reader = ReducedReader::new(bytes)
                .map_err(|error| ReadError::reduced(origin.name(), error))?;
            Decoder::Reduced(Box::new(reader))
        }
    })
}

/// The kind of a file, by its first bytes; the ending `.lackey` marks Lackey text. `None` if the
/// file is no trace.
fn kind(path: &Path, start: &[u8]) -> Option<Kind> {
    let magic = &MAGIC[..MAGIC.len().min(start.len())];
    if start.starts_with(magic) {
        return Some(Kind::Recording);
    }
    if start.starts_with(&REDUCED_MAGIC) {
        return Some(Kind::Reduced);
    }
    let is_named_so = path.extension().is_some_and(|ending| ending == "lackey");
    (is_named_so || lackey::looks_like_lackey(start)).then_some(Kind::Lackey)
}

/// The kind of an open file.
fn kind_of(path: &Path, origin: &Origin) -> Result<Kind, Failure> {
    let found = kind(path, origin.start());
    found.ok_or_else(|| Failure::Wrong(origin::not_a_trace(origin.name(), origin.start())))
}
