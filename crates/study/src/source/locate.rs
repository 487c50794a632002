//! The position of an event that turned out to be invalid during the replay.

use std::path::Path;

use broadleaf_trace::{Item, VisitEnds};

use super::origin::PassCount;
use super::{Decoder, Trace, TraceReading, Whole};

impl Trace {
    /// The position up to which the trace was read, in the unit that a user needs to find it.
    pub fn place(&self) -> String {
        match &self.decoder {
            Decoder::Recording(reader) => {
                format!("in the chunk that ends at byte {}", reader.bytes_read())
            }
            Decoder::Lackey(reader) => format!("in the first {} lines", reader.counts().lines),
            Decoder::Reduced(_) | Decoder::Away => "in the trace".to_owned(),
        }
    }
}

/// The position of a trace's first visit to a base page, found by reading the trace again. `None`
/// if the position cannot be found.
pub fn visit_of(name: &str, page: u64) -> Option<String> {
    let path = Path::new(name);
    if !path.is_file() {
        return None;
    }
    let reading = TraceReading {
        ends: VisitEnds::Units,
        passes: PassCount::One,
        keep_going: true,
        fetches: false,
        // The first reading met the bound, or this page before the bound.
        max_accesses: None,
    };
    let mut trace = Trace::open(path, reading, Whole::Work).ok()?;
    let shift = 12 - trace.grain().shift();
    loop {
        let is_there = match trace.next_item().ok()?? {
            Item::Visits(visits) => visits.iter().any(|visit| visit.unit >> shift == page),
            Item::Event(_) => false,
        };
        if is_there {
            return Some(trace.place());
        }
    }
}
