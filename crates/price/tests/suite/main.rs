//! Tests of prices. The printed tables of Talluri 1995 are compared by the paper's experiments, in
//! `crates/study/src/papers/talluri1995`.

mod area;
mod delay;
mod execution;
mod kinds;
mod surrogate;

use broadleaf_price::{EntryKind, EntryReach, TlbPlan};

/// A fully associative structure for pages of 4 KiB.
fn single(entries: u32) -> TlbPlan {
    let bits = EntryKind::single_page_size().talluri(EntryReach::PAGE);
    TlbPlan::fully_associative(entries, bits)
}

/// The same with four ways.
fn single_four_way(entries: u32) -> TlbPlan {
    TlbPlan::set_associative(entries, 4, single(entries).bits)
}

/// A fully associative structure of entries of a kind and a reach.
fn of(kind: &EntryKind, reach: EntryReach, entries: u32) -> TlbPlan {
    TlbPlan::fully_associative(entries, kind.talluri(reach))
}
