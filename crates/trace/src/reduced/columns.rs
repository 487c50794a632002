//! Kept visits as columns, each of which is packed by itself.
//!
//! Pages are numbers in the list of pages that a chunk has, in the order of their first visit, so that what programs do again and again looks the
//! same. Times and counts are mostly small: a byte each, and what is larger stands among the escapes.

use super::{Kept, Manner, Sums};
use crate::chunk::MOST_CHUNK_BYTES;
use crate::compress::{Packer, Unpacker};
use crate::error::{Bad, Section};
use crate::event::Event;
use crate::event_bytes;
use crate::varint::{self, Cursor};
use broadleaf_units::SpaceId;

/// Stands for a number among the escapes.
const ESCAPE: u8 = u8::MAX;
/// The largest page number: addresses have 64 bits.
const MOST_PAGE: u64 = u64::MAX >> 12;
const COLUMNS: usize = 8;

pub(super) const VISITS: u64 = 0;
pub(super) const EVENT: u64 = 1;
const SWITCH: u64 = 2;

/// The columns of a chunk.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    /// What there is, piece by piece.
    pub(super) script: Vec<u8>,
    /// The chunk's pages, each as its distance from the one before.
    pub(super) pages: Vec<u8>,
    /// The visits' pages: the low bytes of their numbers, and the others.
    pub(super) low: Vec<u8>,
    pub(super) high: Vec<u8>,
    /// Accesses since the visit before.
    pub(super) times: Vec<u8>,
    /// What visits begin with and do.
    pub(super) manners: Vec<u8>,
    /// How many loads come before a store; 0 where there is none.
    pub(super) loads: Vec<u8>,
    pub(super) escapes: Vec<u8>,
}

impl Columns {
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
                return Err(bad("they are larger than those of a chunk may be"));
            }
            unpack_column(raw, stored, unpacker, column).map_err(bad)?;
        }
        if from.is_empty() {
            Ok(())
        } else {
            Err(bad("something follows the last one"))
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

    /// Appends an event. `None` where a reader would refuse it.
    pub(super) fn put_event(&mut self, event: &Event) -> Result<(), &'static str> {
        if let Event::SpaceSwitch(SpaceId(space)) = event {
            varint::put(&mut self.script, SWITCH);
            varint::put(&mut self.script, (*space).into());
            return Ok(());
        }
        let mut payload = Vec::new();
        let kind = event_bytes::put(&mut payload, event).ok_or("it is no event of the format")?;
        event_bytes::parse(kind, &payload)?;
        varint::put(&mut self.script, EVENT);
        self.script.push(kind);
        varint::put(&mut self.script, payload.len() as u64);
        self.script.extend_from_slice(&payload);
        Ok(())
    }

    #[inline]
    pub(super) fn put_visit(&mut self, page: u32, since: u64, visit: &Kept) {
        self.low.push(page as u8);
        self.high
            .extend_from_slice(&((page >> 8) as u16).to_le_bytes());
        put_small(since, &mut self.times, &mut self.escapes);
        self.manners.push(visit.manner.0);
        put_small(
            visit.loads_before_store.into(),
            &mut self.loads,
            &mut self.escapes,
        );
    }
}

/// Unpacks a column of `raw` bytes.
pub(super) fn unpack_column(
    raw: u64,
    stored: &[u8],
    unpacker: &mut Unpacker,
    into: &mut Vec<u8>,
) -> Result<(), &'static str> {
    if raw > MOST_CHUNK_BYTES as u64 {
        return Err("it is larger than that of a chunk may be");
    }
    if raw as usize == stored.len() {
        into.clear();
        into.extend_from_slice(stored);
        return Ok(());
    }
    unpacker.unpack(stored, raw as usize, into)
}

/// Most visits of a chunk, and most pages that they go to: what a reader may have to keep.
pub(super) const MOST_VISITS: usize = 1 << 22;
/// Most loads, stores and instructions of a piece each.
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

/// What stands next in a script.
pub(super) enum Step {
    Visits(usize, Sums),
    Event(Event),
    /// An event of a later version.
    Unknown,
}

/// Reads the columns of a chunk.
#[derive(Clone, Debug, Default)]
pub(super) struct Reading {
    pub(super) columns: Columns,
    pages: Vec<u64>,
    script: usize,
    visits: usize,
    escapes: usize,
}

impl Reading {
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
                return Err(bad("they name more pages than a chunk may have"));
            }
            self.pages.push(page);
        }
        let visits = self.columns.low.len();
        if visits > MOST_VISITS {
            return Err(bad("they hold more visits than a chunk may have"));
        }
        let columns = &self.columns;
        let lengths = [
            columns.high.len() / 2,
            columns.times.len(),
            columns.manners.len(),
            columns.loads.len(),
        ];
        if !columns.high.len().is_multiple_of(2) || lengths != [visits; 4] {
            return Err(bad("they differ in length"));
        }
        Ok(())
    }

    /// What comes next; `None` at the end.
    pub(super) fn step(&mut self) -> Result<Option<Step>, &'static str> {
        let mut from = Cursor::new(&self.columns.script[self.script..]);
        if from.is_empty() {
            let all =
                self.visits == self.columns.low.len() && self.escapes == self.columns.escapes.len();
            return if all {
                Ok(None)
            } else {
                Err("more is there than the pieces ask for")
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
                        _ => return Err("a piece does not say whether it has data"),
                    },
                };
                let most = sums.loads.max(sums.stores).max(sums.instructions);
                if most > MOST_OF_A_PIECE {
                    return Err("a piece comes to more than it may");
                }
                let left = (self.columns.low.len() - self.visits) as u64;
                if count > left {
                    return Err("a piece has more visits than there are");
                }
                Step::Visits(count as usize, sums)
            }
            EVENT => {
                let kind = from.byte()?;
                let payload = from.prefixed()?;
                match event_bytes::parse(kind, payload)? {
                    Some(event) => Step::Event(event),
                    None => Step::Unknown,
                }
            }
            SWITCH => Step::Event(Event::SpaceSwitch(SpaceId(from.number32()?))),
            _ => return Err("a piece is of no known kind"),
        };
        self.script += from.position();
        Ok(Some(step))
    }

    /// Reads that many visits, which there are.
    pub(super) fn visits(
        &mut self,
        count: usize,
        accesses: u64,
        into: &mut Vec<Kept>,
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
        // What is wrong is looked at once, behind the loop.
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
                    Kept {
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
            return Err("a visit is to no page");
        }
        if !possible {
            return Err("a visit is of no known kind");
        }
        if over || time > accesses {
            return Err("a visit comes after the last access");
        }
        Ok(())
    }
}

/// Numbers that are too large for a byte.
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
