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

/// The address spaces that have at least one event that makes a mapping (rule 4 of decision 0001). A trace begins in space 0.
pub(crate) fn spaces_with_maps<'a>(items: impl Iterator<Item = Item<'a>>) -> BTreeSet<SpaceId> {
    let mut running = SpaceId(0);
    let mut found = BTreeSet::new();
    for item in items {
        match item {
            Item::Event(Event::SpaceSwitch(space)) => running = *space,
            Item::Event(Event::Map(_) | Event::Brk(_) | Event::StackGrow(_)) => {
                found.insert(running);
            }
            _ => {}
        }
    }
    found
}
