//! Traces for a replay: a recording or a foreign trace, from a file or standard input.

mod bound;
mod content;
mod damage;
mod decoder;
mod error;
pub(crate) mod events;
mod head;
mod holds;
mod items;
mod kind;
pub mod locate;
pub mod measured;
pub mod origin;
pub(crate) mod pace;
pub mod part;
mod reading;
pub mod reduced;
mod replay;
pub(crate) mod sections;
pub(crate) mod shared;
mod shared_part;
pub(crate) mod slice;
mod stored;

pub use error::ReadError;
pub(crate) use head::header_of;
pub use reading::TraceReading;

use std::io;
use std::path::Path;

use broadleaf_trace::reduced::ReducedPartReader;
use broadleaf_trace::{Header, PartReader, Totals, TraceIndex, Visit};

use broadleaf_machine::Machine;
use broadleaf_model::foresight::ForeseenPromotions;

use crate::cache::{FoundEntry, ReducedFacts, TraceCache};
use crate::failure::Failure;
use crate::watch::Work;
use bound::AccessBound;
use damage::Damage;
use decoder::{Decoder, decode};
use holds::Holds;
use kind::{TraceKind, kind_of};
use measured::Meter;
use origin::Origin;
use shared::SharedReader;

/// The purpose that needs all visits of a trace, so that the reduced form does not suffice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    /// Work on the trace itself.
    Work,
    /// `compare --curve`.
    Curve,
    /// `compare --memory`, or policies that need frames.
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
                "and memory that is modelled down to the frame needs the whole trace, since it \
                 notices each visit"
            }
            Self::Advice => {
                "and advice needs the whole trace, since what a superpage spares depends on each \
                 visit"
            }
        }
    }
}

/// An open trace.
pub struct Trace {
    origin: Origin,
    /// The name of the trace, if its reduced form is read instead.
    called: Option<String>,
    kind: TraceKind,
    reading: TraceReading,
    bound: AccessBound,
    decoder: Decoder,
    meter: Meter,
    /// True if the trace was read to its end, or to its damage.
    ended: bool,
    /// True if the trace was read from its start more than once.
    rewound: bool,
    /// The damage at which reading stopped, with `keep_going`.
    damage: Option<Damage>,
    /// The size of the trace, and the number of accesses after the damage, if known. Both are known
    /// after [`Trace::finish`].
    bytes: u64,
    lost: Option<u64>,
    visits: Vec<Visit>,
    /// Idle readers of parts.
    readers: Vec<PartReader>,
    reduced_readers: Vec<ReducedPartReader>,
    /// The totals of a recording, from its index or the heads of its chunks.
    holds: Option<Holds>,
    /// The promotions that an earlier comparison found, from the cache.
    foreseen: ForeseenPromotions,
    /// The facts of the entry of the cache that is read instead of the trace.
    entry: Option<ReducedFacts>,
    /// Reads the parts that another trace of the same file decodes.
    shared: Option<SharedReader>,
}

impl Trace {
    /// Opens the trace at `path`, or on standard input if `path` is `-`.
    ///
    /// # Errors
    /// Returns an error if the file does not exist, or is not a trace.
    pub fn open(path: &Path, reading: TraceReading, whole: Whole) -> Result<Self, Failure> {
        let origin = Origin::open(path, reading.passes, reading.fetches)?;
        if kind_of(path, &origin)? == TraceKind::Reduced {
            return Err(Failure::Wrong(format!(
                "{}: is the reduced form of a trace, {}: give the trace itself",
                origin.name(),
                whole.why()
            )));
        }
        Self::of(path, origin, reading, None)
    }

    /// Opens the trace at `path`. Instead opens its reduced form, if that is given, is beside the
    /// trace or is in the cache, and suits these machines: the counts are equal.
    ///
    /// # Errors
    /// Returns an error if the file does not exist, is not a trace, or is an unsuitable reduced
    /// form.
    pub fn open_for(
        path: &Path,
        reading: TraceReading,
        machines: &[Machine],
        cache: Option<&TraceCache>,
    ) -> Result<Self, Failure> {
        let origin = Origin::open(path, reading.passes, reading.fetches)?;
        if kind_of(path, &origin)? == TraceKind::Reduced {
            reduced::must_do(&origin, machines)?;
            return Self::of(path, origin, reading, None);
        }
        match reduced::beside(path, &origin, machines, None)? {
            Some(reduced) => Self::of(path, reduced, reading, Some(origin.name().to_owned())),
            None => {
                let mut trace = Self::of(path, origin, reading, None)?;
                let find = |cache: &TraceCache| cache.find(&trace.origin, machines, None);
                if let Some(entry) = cache.and_then(find) {
                    trace.read_entry(entry)?;
                }
                Ok(trace)
            }
        }
    }

    /// Returns true if the user gave the reduced form of a trace in place of the trace. Models that
    /// notice each visit cannot read it.
    pub(crate) fn is_given_reduced(&self) -> bool {
        self.kind == TraceKind::Reduced && self.called.is_none()
    }

    /// Reads the parts that others decode, unless a reduced form is read.
    pub(crate) fn share(&mut self, reader: Option<SharedReader>) {
        self.shared = reader.filter(|_| !self.is_reduced());
    }

    /// Takes the promotions that an earlier comparison of the trace found, if the trace is read
    /// from an entry of the cache. A later replay may [expect](broadleaf_model::Plan::expecting)
    /// them.
    pub(crate) fn take_foreseen(&mut self) -> ForeseenPromotions {
        std::mem::take(&mut self.foreseen)
    }

    /// The facts of the entry of the cache that the trace is read from.
    pub(crate) fn entry(&self) -> Option<&ReducedFacts> {
        self.entry.as_ref()
    }

    /// Reads the trace from an entry of the cache. What was checked of the trace itself stays.
    fn read_entry(&mut self, entry: FoundEntry) -> Result<(), Failure> {
        let trace = std::mem::replace(&mut self.origin, entry.origin);
        self.foreseen = entry.foreseen;
        self.entry = Some(entry.facts);
        self.called = Some(trace.name().to_owned());
        self.kind = TraceKind::Reduced;
        self.meter.restart();
        self.decoder = decode(self.kind, self.reading, &mut self.origin, &self.meter)?;
        Ok(())
    }

    /// The hash and the number of this trace's bytes, by which the cache finds the trace's reduced
    /// form. `None` if the trace was not read whole, or was reduced already. After
    /// [`Trace::finish`].
    pub(crate) fn keepable(&self) -> Option<(String, u64)> {
        if let Some(shared) = &self.shared {
            return shared.content().keepable.filter(|_| !self.rewound);
        }
        // Another pass may have read other bytes than those that were hashed.
        let is_whole = self.damage.is_none() && !self.rewound && self.is_complete() != Some(false);
        let hash = (self.hash()).filter(|_| is_whole && self.kind != TraceKind::Reduced)?;
        Some((hash, self.bytes))
    }

    fn of(
        path: &Path,
        mut origin: Origin,
        reading: TraceReading,
        called: Option<String>,
    ) -> Result<Self, Failure> {
        let kind = kind_of(path, &origin)?;
        // This comes before the decoder, which shares the file's position.
        let holds = (kind == TraceKind::Recording)
            .then(|| Holds::of(&origin))
            .flatten();
        let bound = AccessBound::new(reading.max_accesses);
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
            rewound: false,
            damage: None,
            bytes: 0,
            lost: None,
            visits: Vec::new(),
            readers: Vec::new(),
            reduced_readers: Vec::new(),
            holds,
            foreseen: ForeseenPromotions::new(),
            entry: None,
            shared: None,
        })
    }

    /// Returns true if a reduced form of the trace is read.
    pub(crate) fn is_reduced(&self) -> bool {
        self.kind == TraceKind::Reduced
    }

    /// The name in messages and results.
    pub fn name(&self) -> &str {
        self.called.as_deref().unwrap_or(self.origin.name())
    }

    /// The amount of work of a pass.
    pub fn work(&self) -> Work {
        match (&self.holds, self.origin.size()) {
            (Some(holds), _) => Work::Accesses(holds.totals.accesses()),
            (None, Some(bytes)) => Work::Bytes(bytes),
            (None, None) => Work::Unknown,
        }
    }

    /// The totals of a recording, as far as its index or the heads of its chunks hold them.
    pub fn totals(&self) -> Option<Totals> {
        self.holds.as_ref().map(|holds| holds.totals)
    }

    /// Returns true if the index or the heads of the chunks show that a recording was cut short.
    pub fn is_cut_short(&self) -> bool {
        self.holds.as_ref().is_some_and(|holds| !holds.is_all)
    }

    /// The meter of this pass's bytes.
    pub fn meter(&self) -> Meter {
        self.meter.clone()
    }

    /// The hash of the trace's bytes; known after [`Trace::finish`].
    pub fn hash(&self) -> Option<String> {
        if let Some(shared) = &self.shared {
            return shared.content().hash;
        }
        match &self.decoder {
            Decoder::Reduced(reader) => Some(reader.header().trace.clone()),
            _ => self.meter.hash(),
        }
    }

    /// The hash of the trace's bytes, before they are read. `None` if they can be read once alone.
    pub(crate) fn hash_of_file(&self) -> Option<io::Result<String>> {
        let file = self.origin.file()?;
        Some(reduced::hash_from_start(&file))
    }

    /// The name of the format, as in `broadleaf list formats`.
    pub const fn format(&self) -> &'static str {
        match self.kind {
            TraceKind::Recording | TraceKind::Reduced => "broadleaf",
            TraceKind::Lackey => "lackey",
        }
    }

    /// The metadata of a recording.
    pub fn header(&self) -> Option<&Header> {
        match &self.decoder {
            Decoder::Recording(reader) => Some(reader.header()),
            Decoder::Lackey(_) | Decoder::Reduced(_) | Decoder::Away => None,
        }
    }

    /// Returns true if the trace was written to its end; known after a pass. A text has no end
    /// mark.
    pub fn is_complete(&self) -> Option<bool> {
        match &self.decoder {
            Decoder::Recording(reader) => Some(reader.complete()),
            Decoder::Lackey(_) | Decoder::Reduced(_) | Decoder::Away => None,
        }
    }

    /// Ends a pass: reads the bytes after the last item, which only the hash needs, and checks that
    /// the trace is whole.
    ///
    /// # Errors
    /// Returns an error if reading fails, or if the recording was cut short without `keep_going`.
    pub fn finish(&mut self) -> Result<(), ReadError> {
        if let Some(shared) = &self.shared {
            self.bytes = shared.content().bytes;
            return Ok(());
        }
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
                // A reader that read the index has read all chunks before.
                self.lost = if reader.complete() || self.index_begins_at(damage.offset()) {
                    Some(0)
                } else {
                    let all = self.holds.as_ref().filter(|holds| holds.is_all);
                    all.map(|holds| holds.totals.accesses().saturating_sub(read))
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
