//! A trace held in memory.

use std::collections::BTreeSet;

use broadleaf_trace::{Event, Grain, Item, Visit};
use broadleaf_units::SpaceId;

/// One item of a trace, with owned content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnedItem {
    /// References, in order.
    Visits(Vec<Visit>),
    /// A change that takes effect before the next visit.
    Event(Event),
}

/// A trace in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// The unit of its visits.
    pub grain: Grain,
    /// The items, in order.
    pub items: Vec<OwnedItem>,
}

impl Recording {
    /// The items in the form of the trace crate.
    pub fn items(&self) -> impl Iterator<Item = Item<'_>> + Clone {
        self.items.iter().map(|item| match item {
            OwnedItem::Visits(visits) => Item::Visits(visits),
            OwnedItem::Event(event) => Item::Event(event),
        })
    }
}

/// The knowledge of a trace that a replay needs beforehand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Foreknowledge {
    /// The address spaces that have at least one event that makes a mapping (spec model 4).
    pub spaces_with_maps: BTreeSet<SpaceId>,
    /// The blocks, by address space and number, that `freebsd` promotes at some time. Only
    /// `foresight` needs them.
    pub promoted_by_freebsd: BTreeSet<(SpaceId, u64)>,
}

/// A pass over a trace that finds the spaces with map events.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// A trace begins in space 0.
    running: SpaceId,
    found: BTreeSet<SpaceId>,
}

impl Survey {
    /// Processes the next item.
    pub fn item(&mut self, item: &Item<'_>) {
        match item {
            Item::Event(Event::SpaceSwitch(space)) => self.running = *space,
            Item::Event(Event::Map(_) | Event::Brk(_) | Event::StackGrow(_)) => {
                self.found.insert(self.running);
            }
            _ => {}
        }
    }

    /// Returns the knowledge at the trace's end, without `freebsd`'s promotions.
    pub fn finish(self) -> Foreknowledge {
        Foreknowledge {
            spaces_with_maps: self.found,
            promoted_by_freebsd: BTreeSet::new(),
        }
    }
}
