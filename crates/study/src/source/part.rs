//! Parts of traces, which several threads can read.

use std::sync::Arc;

use broadleaf_import::LackeyReader;
use broadleaf_model::SourcePiece;
use broadleaf_trace::reduced::ReducedPartReader;
use broadleaf_trace::{Item, PartReader, Visit};

use super::damage::{Damage, PassStop};
use super::measured::MeasuredReader;
use super::origin::OriginBytes;
use super::shared_part::SharedPart;
use super::{ReadError, TraceReading};

type LackeyText = LackeyReader<MeasuredReader<OriginBytes>>;

enum TracePartReader {
    Recording(Box<PartReader>),
    Lackey(Box<LackeyText>, Vec<Visit>),
    Reduced(Box<ReducedPartReader>),
    /// A decoded part, and the number of its next piece.
    Shared(Arc<SharedPart>, usize),
}

/// A part of a trace: a chunk of a recording, or a whole text.
pub struct TracePart {
    reader: TracePartReader,
    /// The name of the trace.
    name: String,
    keep_going: bool,
    /// The damage at which reading stopped, with `keep_going`.
    damage: Option<Damage>,
}

/// A finished part: its reader, and its damage.
pub(super) enum Back {
    Recording(Box<PartReader>, Option<Damage>),
    Lackey(Box<LackeyText>, Option<Damage>),
    Reduced(Box<ReducedPartReader>),
    /// Other replays read the part too.
    Shared,
}

impl TracePart {
    pub(super) fn recording(reader: PartReader, name: &str, reading: TraceReading) -> Self {
        Self::new(TracePartReader::Recording(Box::new(reader)), name, reading)
    }

    pub(super) fn lackey(text: LackeyText, name: &str, reading: TraceReading) -> Self {
        Self::new(
            TracePartReader::Lackey(Box::new(text), Vec::new()),
            name,
            reading,
        )
    }

    /// A part of the reduced form. The form can be made again, so damage is always an error.
    pub(super) fn reduced(reader: ReducedPartReader, name: &str) -> Self {
        Self::new(
            TracePartReader::Reduced(Box::new(reader)),
            name,
            TraceReading::default(),
        )
    }

    pub(super) fn shared(part: Arc<SharedPart>, name: &str) -> Self {
        Self::new(
            TracePartReader::Shared(part, 0),
            name,
            TraceReading::default(),
        )
    }

    fn new(reader: TracePartReader, name: &str, reading: TraceReading) -> Self {
        Self {
            reader,
            name: name.to_owned(),
            keep_going: reading.keep_going,
            damage: None,
        }
    }

    pub(super) fn take_back(self) -> Back {
        match self.reader {
            TracePartReader::Recording(reader) => Back::Recording(reader, self.damage),
            TracePartReader::Lackey(text, _) => Back::Lackey(text, self.damage),
            TracePartReader::Reduced(reader) => Back::Reduced(reader),
            TracePartReader::Shared(..) => Back::Shared,
        }
    }
}

impl TracePart {
    /// Passes the rest of the part over. A part of a recording is not decoded.
    pub(super) fn pass_over(&mut self) -> Result<(), ReadError> {
        if let TracePartReader::Recording(reader) = &mut self.reader {
            reader.pass_over();
            return Ok(());
        }
        while broadleaf_model::SourcePart::next(self)?.is_some() {}
        Ok(())
    }
}

impl broadleaf_model::SourcePart for TracePart {
    type Error = ReadError;

    fn next(&mut self) -> Result<Option<SourcePiece<'_>>, ReadError> {
        if self.damage.is_some() {
            return Ok(None);
        }
        let (found, stop) = match &mut self.reader {
            TracePartReader::Recording(reader) => match reader.next_part_item() {
                Ok(item) => (item.map(SourcePiece::from), None),
                Err(error) => (None, Some(error.into())),
            },
            TracePartReader::Lackey(text, visits) => {
                let (lines, stop) = some_lines(text, visits);
                (lines.map(SourcePiece::from), stop)
            }
            TracePartReader::Reduced(reader) => {
                let item = reader.next_item();
                let item = item.map_err(|error| ReadError::reduced(&self.name, error))?;
                return Ok(item.map(SourcePiece::from));
            }
            TracePartReader::Shared(part, next) => {
                *next += 1;
                return Ok(part.piece(*next - 1));
            }
        };
        match stop {
            None => {}
            Some(PassStop::Damage(damage)) if self.keep_going => self.damage = Some(damage),
            Some(stop) => return Err(ReadError::after_head(&self.name, stop)),
        }
        Ok(found)
    }
}

/// Reads the visits of some more lines of a text. Also returns the reason if no line follows,
/// except at the end.
pub fn some_lines<'v>(
    text: &mut LackeyText,
    visits: &'v mut Vec<Visit>,
) -> (Option<Item<'v>>, Option<PassStop>) {
    visits.clear();
    let (more, stop) = match text.read(visits) {
        Ok(more) => (more, None),
        Err(error) => (!visits.is_empty(), Some(error.into())),
    };
    (more.then_some(Item::Visits(visits)), stop)
}
