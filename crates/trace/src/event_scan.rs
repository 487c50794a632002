//! The demands of a chunk's events on a reader, found without decoding the chunk's visits.

use broadleaf_units::PageSize;

use crate::chunk::ChunkKind;
use crate::compress::Unpacker;
use crate::event::{Event, Range};
use crate::event_bytes::{POPULATE, SPACE_END, parse};
use crate::section::{PackedSection, split};
use crate::varint::Cursor;
use crate::{decode, phrases};

/// The demands of a chunk's events on a reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EventScan {
    /// True if an event ends the address space.
    pub(crate) ends_space: bool,
    /// The number of base pages that system calls populate. Repeated population of a page counts
    /// each time.
    pub(crate) populated: u64,
}

impl EventScan {
    /// Scans the events of a chunk of visits. Undecodable events count as none here; the reader of
    /// the chunk refuses the chunk.
    pub(crate) fn of_chunk(
        kind: ChunkKind,
        body: &[u8],
        unpacker: &mut Unpacker,
        events: &mut Vec<u8>,
    ) -> Self {
        let section = match kind {
            ChunkKind::Phrases => last_section::<{ phrases::PHRASE_SECTIONS }>(body),
            _ => last_section::<{ decode::STREAM_SECTIONS }>(body),
        };
        match section.map(|section| section.unpack(unpacker, events)) {
            Some(Ok(())) => Self::of_events(events),
            _ => Self::default(),
        }
    }

    /// Scans a section of events.
    fn of_events(bytes: &[u8]) -> Self {
        let mut scan = Self::default();
        let mut from = Cursor::new(bytes);
        let mut event = || {
            let _heads = from.number()?;
            let kind = from.byte()?;
            from.prefixed().map(|payload| (kind, payload))
        };
        while let Ok((kind, payload)) = event() {
            scan.add(kind, payload);
        }
        scan
    }

    /// Adds an event, given its kind and its payload.
    pub(crate) fn add(&mut self, kind: u8, payload: &[u8]) {
        match kind {
            SPACE_END => self.ends_space = true,
            POPULATE => {
                if let Ok(Some(Event::Populate { range, .. })) = parse(kind, payload) {
                    self.populated = self.populated.saturating_add(base_pages(range));
                }
            }
            _ => {}
        }
    }
}

/// Returns the section of events, which is the last section of a chunk of visits.
fn last_section<const SECTIONS: usize>(body: &[u8]) -> Option<PackedSection<'_>> {
    split::<SECTIONS>(body).ok()?.1.last().copied()
}

/// The number of base pages that a range reaches.
const fn base_pages(range: Range) -> u64 {
    if range.len == 0 {
        return 0;
    }
    let shift = PageSize::SIZE_4K.shift();
    let last = range.start.0.saturating_add(range.len - 1) >> shift;
    last - (range.start.0 >> shift) + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{KernelTouch, TouchOrigin};
    use crate::event_bytes::EventEncoder;
    use broadleaf_units::VirtAddr;

    fn scanned(events: &[Event]) -> EventScan {
        let mut encoder = EventEncoder::new();
        for event in events {
            encoder.push(0, event).expect("an event of the format");
        }
        EventScan::of_events(encoder.bytes())
    }

    fn populate(start: u64, len: u64) -> Event {
        Event::Populate {
            range: Range {
                start: VirtAddr(start),
                len,
            },
            touch: KernelTouch::Store,
            origin: TouchOrigin::Request,
        }
    }

    #[test]
    fn populated_pages_are_counted_each_time() {
        assert_eq!(scanned(&[]), EventScan::default());
        let most = populate(1 << 40, Event::MOST_POPULATED);
        let events = [most.clone(), most, populate(4095, 2), populate(8192, 0)];
        let scan = scanned(&events);
        assert_eq!((scan.populated, scan.ends_space), (2 * 16384 + 2, false));
    }

    #[test]
    fn events_after_the_end_of_the_space_count() {
        let events = [Event::SpaceEnd { status: None }, populate(0, 4096)];
        let scan = scanned(&events);
        assert_eq!((scan.populated, scan.ends_space), (1, true));
    }
}
