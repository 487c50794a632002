//! Walk entries in replays: how many entries of the page table a machine's walks read.

use crate::common::*;
use broadleaf_accel::run;
use broadleaf_metrics::TlbResult;
use broadleaf_model::{Items, MemoryLimits, Plan};
use broadleaf_trace::{Backing, Grain};
use std::ops::ControlFlow;

/// Replays loads of pages under a policy. Returns the walks, and the TLB's counts.
fn replayed(machine: &str, policy: &str, pages: &[u64], limits: bool) -> (u64, TlbResult) {
    let mut items = Items::new(Grain::Page);
    items.event(map(0, 1 << 14, Backing::Anonymous));
    items.visits(pages.iter().copied().map(load));
    let machine = broadleaf_machine::machine(machine).expect("a machine");
    let policy = broadleaf_policy::parse(policy).expect("a policy");
    let mut plan = Plan::new(vec![policy], vec![machine]).expect("a plan");
    if limits {
        plan = plan.limited_to(MemoryLimits::none()).expect("a memory");
        plan = plan.walking_tables();
    }
    let outcome = run(&mut items, &plan, &mut |_| ControlFlow::Continue(()));
    let result = outcome.expect("a replay").results.remove(0);
    let walks = result.l2_misses;
    (walks, result.tlb.expect("counts of a TLB"))
}

#[test]
fn walks_begin_at_the_entries_that_the_second_level_holds() {
    // Four directories of 2 MiB, each with 64 pages that no entry of two coalesces.
    let pages: Vec<u64> = (0..4)
        .flat_map(|directory| (0..64).map(move |page| directory * 512 + 8 * page))
        .collect();
    for limits in [false, true] {
        let (walks, tlb) = replayed("zen2", "4k", &pages, limits);
        // The first walk of each directory reads four levels.
        assert_eq!((walks, tlb.walk_entry_hits), (256, 252));
        assert_eq!(tlb.walk_reads, 4 * 4 + 252);
        // Without walk entries, each walk begins at the root.
        let (walks, tlb) = replayed("zen3", "4k", &pages, limits);
        assert_eq!(
            (walks, tlb.walk_entry_hits, tlb.walk_reads),
            (256, 0, 4 * 256)
        );
    }
    // This core also holds the levels above.
    let (walks, tlb) = replayed("neoverse-n1", "4k", &pages, true);
    assert_eq!((walks, tlb.walk_entry_hits), (256, 255));
    assert_eq!(tlb.walk_reads, 4 + 3 * 2 + 252);
}

#[test]
fn superpages_are_found_one_level_nearer_to_the_root() {
    let (walks, tlb) = replayed("zen2", "greedy", &[0, 512, 1024, 1536], false);
    assert_eq!((walks, tlb.walk_entry_hits, tlb.walk_reads), (4, 0, 12));
}

/// Policies that charge misses walk too.
#[test]
fn charged_walks_are_counted() {
    let (walks, tlb) = replayed("zen2", "approx-online", &[0, 8, 16, 24], true);
    assert_eq!((walks, tlb.walk_entry_hits, tlb.walk_reads), (4, 3, 7));
}
