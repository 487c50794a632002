//! Recordings and a watch for tests of several modules.

use std::collections::BTreeMap;
use std::sync::Mutex;

use broadleaf_trace::{Backing, Encoder, Event, Grain, Header, Mapping, Range, Visit};
use broadleaf_units::{Rights, VirtAddr};

use crate::watch::{Task, Unwatched, Watch, Work};

/// The first address of a recording's mapping, a multiple of 2 MiB.
pub(crate) const START: u64 = 0x1000_0000;

pub(crate) fn header() -> Header {
    let mut header = Header::new(Grain::Page);
    header.options.events = true;
    header
}

pub(crate) fn started(command: &str) -> Event {
    Event::SpaceStart {
        pid: 41,
        parent: 1,
        command: vec![command.to_owned()],
    }
}

pub(crate) fn range(start: u64, pages: u64) -> Range {
    Range {
        start: VirtAddr(start),
        len: pages << 12,
    }
}

pub(crate) fn mapped(range: Range) -> Event {
    Event::Map(Mapping {
        range,
        protection: Rights::READ_WRITE,
        shared: false,
        backing: Backing::Anonymous,
    })
}

/// A recording of `command`, which stores to these pages of one mapping.
pub(crate) fn recording(command: &str, pages: impl Iterator<Item = u64>) -> Vec<u8> {
    recording_under(&header(), command, pages)
}

/// A recording with this header.
pub(crate) fn recording_under(
    header: &Header,
    command: &str,
    pages: impl Iterator<Item = u64>,
) -> Vec<u8> {
    let visit = |page: u64| Visit {
        unit: (START >> 12) + page,
        stores: 1,
        ..Visit::default()
    };
    let visits: Vec<Visit> = pages.map(visit).collect();
    let last = visits.iter().map(|visit| visit.unit).max();
    let mapping = range(START, last.map_or(1, |last| last - (START >> 12) + 1));
    let mut encoder = Encoder::new(Vec::new(), header).expect("a head");
    encoder.event(&started(command)).expect("an event");
    encoder.event(&mapped(mapping)).expect("an event");
    encoder.visits(&visits).expect("visits");
    encoder.finish().expect("a trace")
}

/// Notes the tasks that begin.
#[derive(Debug, Default)]
pub(crate) struct NotingWatch {
    begun: Mutex<Vec<String>>,
}

impl NotingWatch {
    /// The tasks so far.
    pub(crate) fn begun(&self) -> Vec<String> {
        self.begun.lock().expect("a list").clone()
    }
}

impl Watch for NotingWatch {
    fn begin(&self, doing: &str, work: Work) -> Box<dyn Task> {
        let mut begun = self.begun.lock().expect("a list");
        begun.push(doing.to_owned());
        drop(begun);
        Unwatched.begin(doing, work)
    }
}

/// How often each trace was asked for a part to decode, by name.
static DECODED: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());

/// A trace of this name is asked for a part to decode.
pub(crate) fn note_decoding(name: &str) {
    let mut all = DECODED.lock().expect("counts");
    *all.entry(name.to_owned()).or_default() += 1;
}

/// How often traces of this name were asked for parts to decode.
pub(crate) fn decodings(name: &str) -> u64 {
    let all = DECODED.lock().expect("counts");
    all.get(name).copied().unwrap_or_default()
}
