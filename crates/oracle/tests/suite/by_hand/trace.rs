//! A trace written reference by reference.

use std::collections::BTreeMap;

use broadleaf_oracle::{OracleCounts, OracleMachine, OwnedItem, PolicySpec, Recording, replay};
use broadleaf_trace::{Backing, Event, Grain, Mapping, Range, Visit};
use broadleaf_units::{Rights, VirtAddr};

pub(crate) const READ_WRITE: Rights = Rights::READ_WRITE;
pub(crate) const READ: Rights = Rights {
    read: true,
    write: false,
    execute: false,
};
/// The first page of the block that most traces here use.
pub(crate) const B: u64 = 512 * 1000;

pub(crate) fn pages(start: u64, count: u64) -> Range {
    Range {
        start: VirtAddr(start * 4096),
        len: count * 4096,
    }
}

#[derive(Default)]
pub(crate) struct HandTrace(pub(crate) Vec<OwnedItem>);

impl HandTrace {
    pub(crate) fn event(mut self, event: Event) -> Self {
        self.0.push(OwnedItem::Event(event));
        self
    }

    pub(crate) fn map(self, start: u64, count: u64, protection: Rights, backing: Backing) -> Self {
        let shared = backing == Backing::SharedMemory;
        self.event(Event::Map(Mapping {
            range: pages(start, count),
            protection,
            shared,
            backing,
        }))
    }

    pub(crate) fn anonymous(self, start: u64, count: u64) -> Self {
        self.map(start, count, READ_WRITE, Backing::Anonymous)
    }

    pub(crate) fn visit(mut self, visit: Visit) -> Self {
        self.0.push(OwnedItem::Visits(vec![visit]));
        self
    }

    pub(crate) fn load(self, page: u64) -> Self {
        self.visit(Visit {
            unit: page,
            loads: 1,
            loads_before_store: 1,
            ..Visit::default()
        })
    }

    pub(crate) fn store(self, page: u64) -> Self {
        self.visit(Visit {
            unit: page,
            stores: 1,
            ..Visit::default()
        })
    }

    pub(crate) fn loads(self, from: u64, count: u64) -> Self {
        (from..from + count).fold(self, Self::load)
    }

    pub(crate) fn stores(self, from: u64, count: u64) -> Self {
        (from..from + count).fold(self, Self::store)
    }

    pub(crate) fn counts(&self, policy: PolicySpec) -> OracleCounts {
        replay(
            &Recording {
                grain: Grain::Page,
                items: self.0.clone(),
            },
            policy,
            OracleMachine::Skylake,
        )
    }
}

pub(crate) fn refusals<const N: usize>(
    list: [(&'static str, u64); N],
) -> BTreeMap<&'static str, u64> {
    list.into()
}
