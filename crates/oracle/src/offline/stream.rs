//! Streams of references, and traces with these references.

use std::collections::BTreeSet;

use broadleaf_trace::{Advice, Backing, Event, Grain, Item, Mapping, Range, Visit};
use broadleaf_units::{Rights, SpaceId, VirtAddr};

use super::LayoutPiece;
use crate::mappings::pages_in;
use crate::{OwnedItem, Recording};

/// References in order: the number of the address space, and the base page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReferenceStream(pub Vec<(u32, u64)>);

impl ReferenceStream {
    /// The data references of a recording, one for each visit; the others of a visit hit the most
    /// recent page. Returns `None` if an event removes, or may remove, pages or translations before
    /// a reference, because OFFLINE has no such events.
    pub fn of(recording: &Recording) -> Option<Self> {
        let shift = 12 - recording.grain.shift();
        let mut stream = Self::default();
        let (mut running, mut taken_away) = (0, false);
        for item in recording.items() {
            match item {
                Item::Event(Event::SpaceSwitch(space)) => running = space.0,
                Item::Event(event) => taken_away |= stream.loses_by(running, event),
                Item::Visits(visits) => {
                    let data = visits.iter().filter(|visit| visit.lookups() > 0);
                    let references = data.map(|visit| (running, visit.unit >> shift));
                    let before = stream.0.len();
                    stream.0.extend(references);
                    if taken_away && stream.0.len() > before {
                        return None;
                    }
                }
            }
        }
        Some(stream)
    }

    /// Returns true if an event of this space may remove a referenced page.
    fn loses_by(&self, running: u32, event: &Event) -> bool {
        let mut used = self.0.iter().filter(|&&(space, _)| space == running);
        match event {
            Event::Map(mapping) => {
                let pages = pages_in(mapping.range);
                used.any(|(_, page)| pages.contains(page))
            }
            Event::Unmap(_)
            | Event::Protect(..)
            | Event::Remap { .. }
            | Event::Advise(_, Advice::DontNeed | Advice::Free | Advice::Remove)
            | Event::Brk(_)
            | Event::SpaceStart { .. }
            | Event::Fork { .. }
            | Event::Exec { .. }
            | Event::SpaceEnd { .. } => used.next().is_some(),
            Event::Advise(..)
            | Event::StackGrow(_)
            | Event::Populate { .. }
            | Event::File { .. }
            | Event::Misplaced { .. }
            | Event::SpaceSwitch(_)
            | Event::ThreadStart(_)
            | Event::ThreadSwitch(_)
            | Event::ThreadEnd(_)
            | Event::CoreSwitch(_)
            | Event::Site(..)
            | Event::Allocation(_)
            | Event::Window(_)
            | Event::System(_)
            | Event::Kernel(_) => false,
        }
    }

    /// A trace of these references: a load of one instruction each. Before the first reference,
    /// each address space gets one anonymous mapping that spans all referenced pieces of order
    /// `largest`. Pages must be below 2^52.
    pub fn recording(&self, largest: u32) -> Recording {
        let mut items = Vec::new();
        let spaces: BTreeSet<u32> = self.0.iter().map(|&(space, _)| space).collect();
        for &space in &spaces {
            let used = self.0.iter().filter(|&&(of, _)| of == space);
            let pieces: BTreeSet<LayoutPiece> = used
                .map(|&(_, page)| LayoutPiece::around(space, page, largest))
                .collect();
            if let (Some(first), Some(last)) = (pieces.first(), pieces.last()) {
                items.push(OwnedItem::Event(Event::SpaceSwitch(SpaceId(space))));
                items.push(OwnedItem::Event(map(first.first, last.pages().end)));
            }
        }
        for run in self.0.chunk_by(|(space, _), (next, _)| space == next) {
            items.push(OwnedItem::Event(Event::SpaceSwitch(SpaceId(run[0].0))));
            items.push(OwnedItem::Visits(
                run.iter().map(|&(_, page)| load(page)).collect(),
            ));
        }
        Recording {
            grain: Grain::Page,
            items,
        }
    }
}

fn map(first: u64, end: u64) -> Event {
    Event::Map(Mapping {
        range: Range {
            start: VirtAddr(first * 4096),
            len: (end - first) * 4096,
        },
        protection: Rights::READ_WRITE,
        shared: false,
        backing: Backing::Anonymous,
    })
}

fn load(page: u64) -> Visit {
    Visit {
        unit: page,
        loads: 1,
        loads_before_store: 1,
        instructions: 1,
        ..Visit::default()
    }
}
