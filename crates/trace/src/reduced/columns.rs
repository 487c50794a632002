//! Kept visits as columns. Each column is compressed separately.
//!
//! A chunk lists its pages in the order of their first visit, and visits name pages by number, so
//! that repeated behaviour gives equal bytes. Most times and counts are small and take one byte;
//! larger numbers are escapes.

use super::{KeptVisit, Manner, Sums};
use crate::chunk::MOST_CHUNK_BYTES;
use crate::compress::{Packer, Unpacker};
use crate::error::{Bad, Section};
use crate::event::Event;
use crate::event_bytes;
use crate::varint::{self, Cursor};
use broadleaf_units::SpaceId;

/// The byte that refers to a number among the escapes.
const ESCAPE: u8 = u8::MAX;
/// The largest page number, because addresses have 64 bits.
const MOST_PAGE: u64 = u64::MAX >> 12;
const COLUMNS: usize = 8;

pub(super) const VISITS: u64 = 0;
pub(super) const EVENT: u64 = 1;
const SWITCH: u64 = 2;

/// The columns of a chunk.
#[derive(Clone, Debug, Default)]
pub(super) struct ReducedColumns {
    /// The items of the chunk, in order.
    pub(super) script: Vec<u8>,
    /// The chunk's pages, each as its distance from the page before.
    pub(super) pages: Vec<u8>,
    /// The low bytes of the visits' page numbers. `high` holds the other bytes.
    pub(super) low: Vec<u8>,
    pub(super) high: Vec<u8>,
    /// Accesses since the visit before.
    pub(super) times: Vec<u8>,
    /// The manners of the visits.
    pub(super) manners: Vec<u8>,
    /// The number of loads before the first store; 0 if there is no store.
    pub(super) loads: Vec<u8>,
    pub(super) escapes: Vec<u8>,
}

impl ReducedColumns {
    fn in_order(&mut self) -> [&mut Vec<u8>; COLUMNS] {
        [
            &mut self.script,
            &mut self.pages,
            &mut self.low,
            &mut self.high,
            &mut self.times,
            &mut self.manners,
            &mut self.loads,
            &mut self.escapes,
        ]
    }

    pub(super) fn clear(&mut self) {
        self.in_order().into_iter().for_each(Vec::clear);
    }

    /// Appends the packed columns to a chunk.
    pub(super) fn pack(&mut self, packer: &mut Packer, out: &mut Vec<u8>) -> std::io::Result<()> {
        for column in self.in_order() {
            let packed = packer.pack(column)?;
            let stored = if packed.len() < column.len() {
                &packed
            } else {
                &*column
            };
            varint::put(out, column.len() as u64);
            varint::put(out, stored.len() as u64);
            out.extend_from_slice(stored);
        }
        Ok(())
    }

    /// Unpacks the body of a chunk.
    pub(super) fn unpack(&mut self, body: &[u8], unpacker: &mut Unpacker) -> Result<(), Bad> {
        let bad = |reason| Bad::new(Section::Columns, reason);
        let mut from = Cursor::new(body);
        let mut all = 0u64;
        for column in self.in_order() {
            let raw = from.number().map_err(bad)?;
            let stored = from.prefixed().map_err(bad)?;
            all = all.saturating_add(raw);
            if all > MOST_CHUNK_BYTES as u64 {
                return Err(bad("they exceed the size limit of a chunk"));
            }
            unpack_column(raw, stored, unpacker, column).map_err(bad)?;
        }
        if from.is_empty() {
            Ok(())
        } else {
            Err(bad("there are bytes after the last column"))
        }
    }

    // ---- writing ----

    pub(super) fn put_visits(&mut self, count: usize, sums: &Sums) {
        for value in [
            VISITS,
            count as u64,
            sums.loads,
            sums.stores,
            sums.instructions,
            sums.data.into(),
        ] {
            varint::put(&mut self.script, value);
        }
    }

    /// Appends an event. Returns an error if a reader would refuse the event.
    pub(super) fn put_event(&mut self, event: &Event) -> Result<(), &'static str> {
        if let Event::SpaceSwitch(SpaceId(space)) = event {
            varint::put(&mut self.script, SWITCH);
            varint::put(&mut self.script, (*space).into());
            return Ok(());
        }
        let mut payload = Vec::new();
        let kind = event_bytes::put(&mut payload, event).ok_or("the format has no such event")?;
        event_bytes::parse(kind, &payload)?;
        varint::put(&mut self.script, EVENT);
        self.script.push(kind);
        varint::put(&mut self.script, payload.len() as u64);
        self.script.extend_from_slice(&payload);
        Ok(())
    }

    #[inline]
    pub(super) fn put_visit(&mut self, page: u32, since: u64, visit: &KeptVisit) {
        self.low.push(page as u8);
        self.high
            .extend_from_slice(&((page >> 8) as u16).to_le_bytes());
        put_small(since, &mut self.times, &mut self.escapes);
        self.manners.push(visit.manner.number());
        put_small(
            visit.loads_before_store.into(),
            &mut self.loads,
            &mut self.escapes,
        );
    }
}

/// Decompresses a column of `raw` bytes.
pub(super) fn unpack_column(
    raw: u64,
    stored: &[u8],
    unpacker: &mut Unpacker,
    into: &mut Vec<u8>,
) -> Result<(), &'static str> {
    if raw > MOST_CHUNK_BYTES as u64 {
        return Err("a column exceeds the size limit of a chunk");
    }
    if raw as usize == stored.len() {
        into.clear();
        into.extend_from_slice(stored);
        return Ok(());
    }
    unpacker.unpack(stored, raw as usize, into)
}

/// The maximum number of visits of a chunk, and of its pages: a bound on a reader's memory.
pub(super) const MOST_VISITS: usize = 1 << 22;
/// The maximum number of loads, of stores and of instructions of an item.
pub(super) const MOST_OF_A_PIECE: u64 = 1 << 52;

fn put_small(value: u64, column: &mut Vec<u8>, escapes: &mut Vec<u8>) {
    match u8::try_from(value) {
        Ok(small) if small < ESCAPE => column.push(small),
        _ => {
            column.push(ESCAPE);
            varint::put(escapes, value);
        }
    }
}

/// The next item of a script.
pub(super) enum ScriptItem {
    Visits(usize, Sums),
    Event(Event),
    /// An event of a later version.
    Unknown,
}

/// A decoder of a chunk's columns.
#[derive(Clone, Debug, Default)]
pub(super) struct ColumnReader {
    pub(super) columns: ReducedColumns,
    pages: Vec<u64>,
    script: usize,
    visits: usize,
    escapes: usize,
}

impl ColumnReader {
    pub(super) fn begin(&mut self, body: &[u8], unpacker: &mut Unpacker) -> Result<(), Bad> {
        self.columns.unpack(body, unpacker)?;
        (self.script, self.visits, self.escapes) = (0, 0, 0);
        let bad = |reason| Bad::new(Section::Columns, reason);
        self.pages.clear();
        let mut at = 0;
        let mut page = 0u64;
        while at < self.columns.pages.len() {
            let zigzag = varint::take(&self.columns.pages, &mut at).map_err(bad)?;
            page = page.wrapping_add((zigzag >> 1) ^ (zigzag & 1).wrapping_neg());
            if page > MOST_PAGE {
                return Err(bad("a page lies past the last address"));
            }
            if self.pages.len() == MOST_VISITS {
                return Err(bad("there are more pages than a chunk may have"));
            }
            self.pages.push(page);
        }
        let visits = self.columns.low.len();
        if visits > MOST_VISITS {
            return Err(bad("there are more visits than a chunk may have"));
        }
        let columns = &self.columns;
        let lengths = [
            columns.high.len() / 2,
            columns.times.len(),
            columns.manners.len(),
            columns.loads.len(),
        ];
        if !columns.high.len().is_multiple_of(2) || lengths != [visits; 4] {
            return Err(bad("the columns differ in length"));
        }
        Ok(())
    }

    /// Decodes the next item; `None` at the end.
    pub(super) fn step(&mut self) -> Result<Option<ScriptItem>, &'static str> {
        let mut from = Cursor::new(&self.columns.script[self.script..]);
        if from.is_empty() {
            let all =
                self.visits == self.columns.low.len() && self.escapes == self.columns.escapes.len();
            return if all {
                Ok(None)
            } else {
                Err("there are bytes that no item uses")
            };
        }
        let step = match from.number()? {
            VISITS => {
                let count = from.number()?;
                let sums = Sums {
                    loads: from.number()?,
                    stores: from.number()?,
                    instructions: from.number()?,
                    data: match from.number()? {
                        0 if count == 0 => false,
                        1 => true,
                        _ => return Err("the data flag of an item is invalid"),
                    },
                };
                let most = sums.loads.max(sums.stores).max(sums.instructions);
                if most > MOST_OF_A_PIECE {
                    return Err("an item's totals exceed the limit");
                }
                let left = (self.columns.low.len() - self.visits) as u64;
                if count > left {
                    return Err("an item has more visits than the columns");
                }
                ScriptItem::Visits(count as usize, sums)
            }
            EVENT => {
                let kind = from.byte()?;
                let payload = from.prefixed()?;
                match event_bytes::parse(kind, payload)? {
                    Some(event) => ScriptItem::Event(event),
                    None => ScriptItem::Unknown,
                }
            }
            SWITCH => ScriptItem::Event(Event::SpaceSwitch(SpaceId(from.number32()?))),
            _ => return Err("an item has an unknown kind"),
        };
        self.script += from.position();
        Ok(Some(step))
    }

    /// Decodes `count` visits, which the columns have.
    pub(super) fn visits(
        &mut self,
        count: usize,
        accesses: u64,
        into: &mut Vec<KeptVisit>,
    ) -> Result<(), &'static str> {
        let which = self.visits..self.visits + count;
        self.visits += count;
        let columns = &self.columns;
        let mut escapes = Escapes {
            bytes: &columns.escapes,
            at: self.escapes,
            wrong: false,
        };
        let (high, _) = columns.high[2 * which.start..2 * which.end].as_chunks::<2>();
        let pages = columns.low[which.clone()].iter().zip(high);
        let times = columns.times[which.clone()].iter();
        let manners = columns.manners[which.clone()].iter();
        let rest = times.zip(manners).zip(&columns.loads[which]);
        let (mut time, mut over) = (0u64, false);
        let (mut possible, mut known) = (true, true);
        into.clear();
        // One check after the loop covers all faults.
        into.extend(
            pages
                .zip(rest)
                .map(|((low, high), ((since, manner), loads))| {
                    let number = usize::from(*low) | usize::from(u16::from_le_bytes(*high)) << 8;
                    let page = self.pages.get(number);
                    known &= page.is_some();
                    let since = escapes.number(*since);
                    time = time.wrapping_add(since);
                    over |= time < since;
                    let manner = Manner(*manner);
                    possible &= manner.is_possible();
                    let loads = escapes.number(*loads);
                    possible &= loads <= u64::from(u32::MAX);
                    KeptVisit {
                        page: page.copied().unwrap_or_default(),
                        time,
                        loads_before_store: loads as u32,
                        manner,
                    }
                }),
        );
        self.escapes = escapes.at;
        if escapes.wrong {
            return Err("a number is cut short or too long");
        }
        if !known {
            return Err("a visit names an unknown page");
        }
        if !possible {
            return Err("a visit has an unknown manner");
        }
        if over || time > accesses {
            return Err("a visit comes after the item's last access");
        }
        Ok(())
    }
}

/// A decoder of numbers that exceed a byte.
struct Escapes<'a> {
    bytes: &'a [u8],
    at: usize,
    wrong: bool,
}

impl Escapes<'_> {
    #[inline]
    fn number(&mut self, small: u8) -> u64 {
        if small == ESCAPE {
            return self.large();
        }
        small.into()
    }

    #[cold]
    fn large(&mut self) -> u64 {
        let number = varint::take(self.bytes, &mut self.at);
        self.wrong |= number.is_err();
        number.unwrap_or_default()
    }
}
