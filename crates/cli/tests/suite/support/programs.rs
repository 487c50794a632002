//! Programs that exist only as recordings, with mappings of different heat.

use broadleaf_oracle::random::Rng;
use broadleaf_trace::{
    Advice, Backing, Encoder, Event, Grain, Header, Mapping, Range, RecordedProgram, Visit,
};
use broadleaf_units::{Rights, VirtAddr};

pub(crate) const MIB: u64 = 1 << 20;

/// A range of addresses.
pub(crate) fn range(start: u64, len: u64) -> Range {
    Range {
        start: VirtAddr(start),
        len,
    }
}

/// A mapping that can be stored to.
pub(crate) fn map(start: u64, len: u64, backing: Backing) -> Event {
    Event::Map(Mapping {
        range: range(start, len),
        protection: Rights::READ_WRITE,
        shared: backing == Backing::SharedMemory,
        backing,
    })
}

/// A process begins.
pub(crate) fn started(pid: u32, command: &str) -> Event {
    Event::SpaceStart {
        pid,
        parent: 1,
        command: vec![command.to_owned()],
    }
}

/// A store to each of these pages of 4 KiB, by their addresses.
pub(crate) fn stores(addresses: impl IntoIterator<Item = u64>) -> Vec<Visit> {
    let visit = |address: u64| Visit {
        unit: address >> 12,
        stores: 1,
        ..Visit::default()
    };
    addresses.into_iter().map(visit).collect()
}

/// What a trace is made of, in order.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    Event(Event),
    Visits(Vec<Visit>),
}

/// A recording of these parts.
pub(crate) fn recording(parts: &[Part]) -> Vec<u8> {
    recording_of(Vec::new(), "", parts)
}

/// A recording of these parts, by a command whose program is the file at `path`.
pub(crate) fn recording_of(command: Vec<String>, path: &str, parts: &[Part]) -> Vec<u8> {
    let mut header = Header::new(Grain::Page);
    header.options.events = true;
    header.command = command;
    header.program = (!path.is_empty()).then(|| RecordedProgram {
        path: path.to_owned(),
        ..RecordedProgram::default()
    });
    let mut encoder = Encoder::new(Vec::new(), &header).expect("a head");
    for part in parts {
        match part {
            Part::Event(event) => encoder.event(event).expect("an event"),
            Part::Visits(visits) => encoder.visits(visits).expect("visits"),
        }
    }
    encoder.finish().expect("a trace")
}

/// In which order pages of a mapping are referenced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Walk {
    /// Any page, all equally often.
    Random,
    /// One after the other, and from the start again.
    Sequential,
}

/// A mapping of a program, and how it is used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Area {
    pub(crate) backing: Backing,
    pub(crate) start: u64,
    pub(crate) len: u64,
    /// How many of its pages are used, from the first.
    pub(crate) used: u64,
    pub(crate) walk: Walk,
    /// Of how many references one goes here, relative to the other mappings.
    pub(crate) weight: u64,
}

/// Maps all areas, advises superpages for a range if there is one, and goes through the areas.
pub(crate) fn program(areas: &[Area], references: u64, advised: Option<Range>) -> Vec<u8> {
    recording(&program_parts(areas, references, advised))
}

/// The parts of [`program`].
pub(crate) fn program_parts(areas: &[Area], references: u64, advised: Option<Range>) -> Vec<Part> {
    let mut parts = vec![Part::Event(started(41, "/bin/heat"))];
    for area in areas {
        parts.push(Part::Event(match area.backing {
            Backing::Heap => Event::Brk(range(area.start, area.len)),
            backing => map(area.start, area.len, backing),
        }));
    }
    if let Some(range) = advised {
        parts.push(Part::Event(Event::Advise(range, Advice::HugePage)));
    }
    let mut rng = Rng::new(7);
    let all: u64 = areas.iter().map(|area| area.weight).sum();
    let mut next = vec![0; areas.len()];
    let addresses = (0..references).map(|_| {
        let mut drawn = rng.below(all);
        let mut number = 0;
        while drawn >= areas[number].weight {
            drawn -= areas[number].weight;
            number += 1;
        }
        let area = areas[number];
        let page = match area.walk {
            Walk::Random => rng.below(area.used),
            Walk::Sequential => {
                next[number] += 1;
                (next[number] - 1) % area.used
            }
        };
        area.start + (page << 12)
    });
    let addresses: Vec<u64> = addresses.collect();
    parts.push(Part::Visits(stores(addresses)));
    parts
}

/// Eight areas of different heat: hot and cold, random and in sequence, used in whole and in part.
pub(crate) fn areas() -> Vec<Area> {
    use Walk::{Random, Sequential};
    let base = 0x10_0000_0000;
    let area = |number: u64, backing, mib: u64, used, walk, weight| Area {
        backing,
        start: base + number * 64 * MIB,
        len: mib * MIB,
        used,
        walk,
        weight,
    };
    vec![
        area(0, Backing::Anonymous, 2, 512, Random, 300),
        area(1, Backing::Anonymous, 2, 256, Random, 180),
        area(2, Backing::Anonymous, 2, 512, Sequential, 90),
        area(3, Backing::Anonymous, 2, 512, Random, 4),
        area(4, Backing::Anonymous, 4, 1024, Random, 800),
        area(5, Backing::Heap, 2, 512, Random, 140),
        area(6, Backing::Anonymous, 6, 1536, Sequential, 40),
        area(7, Backing::SharedMemory, 2, 400, Random, 20),
    ]
}
