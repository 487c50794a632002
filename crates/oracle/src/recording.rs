//! A trace held in memory.

use std::collections::BTreeSet;

use broadleaf_trace::{Event, Grain, Item, Visit};
use broadleaf_units::SpaceId;

/// One piece of a trace that owns what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnedItem {
    /// References, in order.
    Visits(Vec<Visit>),
    /// Something that takes effect before the next visit.
    Event(Event),
}

/// A whole trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// The unit in which its visits name places.
    pub grain: Grain,
    /// Its pieces, in order.
    pub items: Vec<OwnedItem>,
}

impl Recording {
    /// The pieces as the trace crate hands them out.
    pub fn items(&self) -> impl Iterator<Item = Item<'_>> + Clone {
        self.items.iter().map(|item| match item {
            OwnedItem::Visits(visits) => Item::Visits(visits),
            OwnedItem::Event(event) => Item::Event(event),
        })
    }
}

/// What has to be known of a trace before it is replayed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Foreknowledge {
    /// The address spaces that have at least one event that makes a mapping (spec model 4).
    pub spaces_with_maps: BTreeSet<SpaceId>,
    /// The blocks, by address space and number, that `freebsd` promotes at some time. Only `foresight` needs them.
    pub promoted_by_freebsd: BTreeSet<(SpaceId, u64)>,
}

/// Finds out which spaces have map events, in a pass over the trace.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// A trace begins in space 0.
    running: SpaceId,
    found: BTreeSet<SpaceId>,
}

impl Survey {
    /// Takes the next item in.
    pub fn item(&mut self, item: &Item<'_>) {
        match item {
            Item::Event(Event::SpaceSwitch(space)) => self.running = *space,
            Item::Event(Event::Map(_) | Event::Brk(_) | Event::StackGrow(_)) => {
                self.found.insert(self.running);
            }
            _ => {}
        }
    }

    /// What is known at the trace's end; nothing of `freebsd` yet.
    pub fn finish(self) -> Foreknowledge {
        Foreknowledge {
            spaces_with_maps: self.found,
            promoted_by_freebsd: BTreeSet::new(),
        }
    }
}
