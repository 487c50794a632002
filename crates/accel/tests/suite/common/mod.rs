//! Helpers of the replay's tests: short ways to write traces and to replay them.
#![allow(dead_code, reason = "each test uses a part of it")]

use broadleaf_accel::run;
use broadleaf_metrics::CellResult;
use broadleaf_model::{Items, Outcome, Plan};
use broadleaf_oracle::{OwnedItem, Recording};
use broadleaf_trace::{Backing, Event, Mapping, Range, Visit};
use broadleaf_units::{FileId, Rights, VirtAddr};
use std::ops::ControlFlow;

/// Base pages in a block.
pub(crate) const BLOCK: u64 = 512;
/// Loads and stores.
pub(crate) const READ_WRITE: Rights = Rights::READ_WRITE;
/// Loads only.
pub(crate) const READ: Rights = Rights {
    read: true,
    write: false,
    execute: false,
};

/// One load of a page.
pub(crate) fn load(page: u64) -> Visit {
    loads(page, 1)
}

/// Loads of a page.
pub(crate) fn loads(page: u64, count: u32) -> Visit {
    Visit {
        unit: page,
        loads: count,
        loads_before_store: count,
        ..Visit::default()
    }
}

/// One store to a page.
pub(crate) fn store(page: u64) -> Visit {
    Visit {
        unit: page,
        stores: 1,
        ..Visit::default()
    }
}

/// `count` pages from `start` on.
pub(crate) fn range(start: u64, pages: u64) -> Range {
    Range {
        start: VirtAddr(start << 12),
        len: pages << 12,
    }
}

/// A mapping of pages from `start` on.
pub(crate) fn map(start: u64, pages: u64, backing: Backing) -> Event {
    Event::Map(Mapping {
        range: range(start, pages),
        protection: READ_WRITE,
        shared: false,
        backing,
    })
}

/// A file of that many pages.
pub(crate) fn file(id: u32, pages: u64) -> Event {
    Event::File {
        id: FileId(id),
        size: pages << 12,
        path: format!("/file/{id}"),
    }
}

/// The backing of a mapping of a file's start.
pub(crate) fn backed_by(id: u32) -> Backing {
    Backing::File {
        file: FileId(id),
        offset: 0,
    }
}

/// A replay under these policies on Skylake.
pub(crate) fn replay(items: &Items, policies: &[&str]) -> Outcome {
    let named = policies
        .iter()
        .map(|name| broadleaf_policy::parse(name).expect("a policy"));
    let machine = broadleaf_machine::machine("skylake").expect("a machine");
    let plan = Plan::new(named.collect(), vec![machine]).expect("a plan");
    run(
        &mut items.clone(),
        &plan,
        &mut |_| ControlFlow::Continue(()),
    )
    .expect("a replay")
}

/// The result of one policy on Skylake.
pub(crate) fn result(items: &Items, policy: &str) -> CellResult {
    replay(items, &[policy]).results.remove(0)
}

/// The count of a reason.
pub(crate) fn refused(result: &CellResult, reason: &str) -> u64 {
    result.refusals.get(reason).copied().unwrap_or(0)
}

/// The items of a recording, as a source.
pub(crate) fn items_of(recording: &Recording) -> Items {
    let mut items = Items::new(recording.grain);
    for item in &recording.items {
        match item {
            OwnedItem::Visits(visits) => items.visits(visits.iter().copied()),
            OwnedItem::Event(event) => items.event(event.clone()),
        };
    }
    items
}
