//! Parts of traces, which can be read on different threads.

use broadleaf_model::SourcePiece;
use broadleaf_record::import::lackey;
use broadleaf_trace::reduced::ReducedPartReader;
use broadleaf_trace::{Item, PartReader, Visit};

use super::damage::{Damage, Stop};
use super::measured::Measured;
use super::origin::Bytes;
use super::{ReadError, Reading};

type Text = lackey::Reader<Measured<Bytes>>;

enum Reader {
    Recording(Box<PartReader>),
    Lackey(Box<Text>, Vec<Visit>),
    Reduced(Box<ReducedPartReader>),
}

/// A part of a trace: a chunk of a recording, or a text as a whole.
pub struct TracePart {
    reader: Reader,
    /// What the trace is called.
    name: String,
    keep_going: bool,
    /// Where reading stopped, with `keep_going`.
    damage: Option<Damage>,
}

/// What a part leaves: its reader, and where it was damaged.
pub(super) enum Back {
    Recording(Box<PartReader>, Option<Damage>),
    Lackey(Box<Text>, Option<Damage>),
    Reduced(Box<ReducedPartReader>),
}

impl TracePart {
    pub(super) fn recording(reader: PartReader, name: &str, reading: Reading) -> Self {
        Self::new(Reader::Recording(Box::new(reader)), name, reading)
    }

    pub(super) fn lackey(text: Text, name: &str, reading: Reading) -> Self {
        Self::new(Reader::Lackey(Box::new(text), Vec::new()), name, reading)
    }

    /// A part of the reduced form. It can be made again, so damage is never passed over.
    pub(super) fn reduced(reader: ReducedPartReader, name: &str) -> Self {
        Self::new(Reader::Reduced(Box::new(reader)), name, Reading::default())
    }

    fn new(reader: Reader, name: &str, reading: Reading) -> Self {
        Self {
            reader,
            name: name.to_owned(),
            keep_going: reading.keep_going,
            damage: None,
        }
    }

    pub(super) fn take_back(self) -> Back {
        match self.reader {
            Reader::Recording(reader) => Back::Recording(reader, self.damage),
            Reader::Lackey(text, _) => Back::Lackey(text, self.damage),
            Reader::Reduced(reader) => Back::Reduced(reader),
        }
    }
}

impl broadleaf_model::SourcePart for TracePart {
    type Error = ReadError;

    fn next(&mut self) -> Result<Option<SourcePiece<'_>>, ReadError> {
        if self.damage.is_some() {
            return Ok(None);
        }
        let (found, stop) = match &mut self.reader {
            Reader::Recording(reader) => match reader.next_part_item() {
                Ok(item) => (item.map(SourcePiece::from), None),
                Err(error) => (None, Some(error.into())),
            },
            Reader::Lackey(text, visits) => {
                let (lines, stop) = some_lines(text, visits);
                (lines.map(SourcePiece::from), stop)
            }
            Reader::Reduced(reader) => {
                let item = reader.next_item();
                let item = item.map_err(|error| ReadError::reduced(&self.name, error))?;
                return Ok(item.map(SourcePiece::from));
            }
        };
        match stop {
            None => {}
            Some(Stop::Damage(damage)) if self.keep_going => self.damage = Some(damage),
            Some(stop) => return Err(ReadError::behind_head(&self.name, stop)),
        }
        Ok(found)
    }
}

/// The visits of some more lines of a text, and why there are no more after them if that is not its end.
pub fn some_lines<'v>(
    text: &mut Text,
    visits: &'v mut Vec<Visit>,
) -> (Option<Item<'v>>, Option<Stop>) {
    visits.clear();
    let (more, stop) = match text.read(visits) {
        Ok(more) => (more, None),
        Err(error) => (!visits.is_empty(), Some(error.into())),
    };
    (more.then_some(Item::Visits(visits)), stop)
}
