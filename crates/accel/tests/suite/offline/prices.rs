//! The price of a superpage that begins late, against the replay: pages that are resident by then
//! are copied.

use super::{MISS, all_cycles, machine, tlb_cycles};
use broadleaf_accel::run;
use broadleaf_metrics::CellResult;
use broadleaf_model::{Costs, Items, MemoryLimits, Outcome, Plan};
use broadleaf_oracle::random::Rng;
use broadleaf_trace::{Backing, Event, Grain, Mapping, Range, Visit};
use broadleaf_units::{Rights, VirtAddr};
use std::ops::ControlFlow;

/// Pages of the only superpage size.
const PAGES: u64 = 8;

/// Zeroing and copying differ, so that each shows in the price.
const COSTS: Costs = Costs {
    fault: 70,
    zero_kib: 3,
    copy_kib: 11,
    disk: 1_000_000,
    promotion: 500,
    promotion_page: 2,
    demotion: 40,
    migration: 0,
    find: 0,
    lock: 0,
    free: 0,
    invalidate: 0,
    shootdown: 0,
    extent: 0,
    digest_kib: 0,
    prefetch: 0,
    capacity: 0,
};

fn range(first: u64, pages: u64) -> Range {
    Range {
        start: VirtAddr(first << 12),
        len: pages << 12,
    }
}

fn rights(write: bool) -> Rights {
    Rights {
        read: true,
        write,
        execute: false,
    }
}

fn map(first: u64, pages: u64) -> Event {
    Event::Map(Mapping {
        range: range(first, pages),
        protection: rights(true),
        shared: false,
        backing: Backing::Anonymous,
    })
}

fn loads(pages: impl IntoIterator<Item = u64>) -> Vec<Visit> {
    let load = |page| Visit {
        unit: page,
        loads: 1,
        loads_before_store: 1,
        instructions: 1,
        ..Visit::default()
    };
    pages.into_iter().map(load).collect()
}

/// Many loads of a piece, in disorder.
fn busy(first: u64, count: u64) -> Vec<Visit> {
    let mut rng = Rng::new(first);
    loads((0..count).map(|_| first + rng.below(PAGES)))
}

fn replay(items: &mut Items, policy: &str) -> Outcome {
    let limits = MemoryLimits {
        costs: COSTS,
        ..MemoryLimits::none()
    };
    let parse = |name| broadleaf_policy::parse(name).expect("a policy");
    let policies = vec![parse("4k"), parse(policy)];
    let plan = Plan::within(policies, vec![machine(4, &[3])], limits).expect("a plan");
    let outcome = run(items, &plan.with_ranges(), &mut |_| {
        ControlFlow::Continue(())
    });
    outcome.expect("a replay")
}

/// The cost is as expected, and the price of the only range is what the replay pays beside walks.
fn assert_exact(items: impl Fn() -> Items, promotions: u64) {
    for (policy, cycles) in [
        ("offline", tlb_cycles as fn(&CellResult) -> u64),
        ("offline(cycles=all)", all_cycles),
    ] {
        let outcome = replay(&mut items(), policy);
        let [base, offline] = [0, 1].map(|at| cycles(&outcome.results[at]));
        let choice = &outcome.choices[0];
        assert_eq!(choice.pieces.len(), 1, "{policy}");
        assert_eq!(choice.pieces[0].promotions, promotions, "{policy}");
        assert_eq!((choice.cycles_without, choice.cycles), (base, offline));
        let [only] = &choice.ranges[..] else {
            panic!("{} ranges", choice.ranges.len());
        };
        // A demotion is no part of the price.
        let demotions = outcome.results[1].demotions;
        let broken = match policy {
            "offline" => 0,
            _ => i128::from(demotions * COSTS.demotion),
        };
        let paid = |at: usize| {
            let result = &outcome.results[at];
            i128::from(cycles(result) - result.walk_cycles)
        };
        assert_eq!(only.price, paid(1) - paid(0) - broken, "{policy}");
    }
}

#[test]
fn an_empty_piece_is_filled() {
    let items = || {
        let mut items = Items::new(Grain::Page);
        items.event(map(0, PAGES));
        items.visits(busy(0, 1000));
        items
    };
    assert_exact(items, 1);
    let outcome = replay(&mut items(), "offline(cycles=all)");
    let memory = outcome.results[1].memory.as_ref().expect("memory");
    let filled = PAGES * 4 * COSTS.zero_kib + COSTS.promotion + PAGES * COSTS.promotion_page;
    assert_eq!(memory.promotion_cycles, filled);
}

/// One mapping covers the piece only from the last page's fault on: that page is zeroed first, and
/// copied with the others.
#[test]
fn what_was_resident_is_copied() {
    for resident in [1, 4, PAGES - 1] {
        let items = || {
            let mut items = Items::new(Grain::Page);
            items.event(map(0, PAGES - 1));
            items.visits(loads(0..resident));
            items.event(map(PAGES - 1, 1));
            items.visits(loads([PAGES - 1]));
            items.visits(busy(0, 1000));
            items
        };
        assert_exact(items, 1);
        let outcome = replay(&mut items(), "offline(cycles=all)");
        let memory = outcome.results[1].memory.as_ref().expect("memory");
        let copied = (resident + 1) * 4 * COSTS.copy_kib;
        let filled = (PAGES - resident - 1) * 4 * COSTS.zero_kib;
        let all = copied + filled + COSTS.promotion + PAGES * COSTS.promotion_page;
        assert_eq!(memory.promotion_cycles, all);
    }
}

/// A superpage is worth less than its price where the price of copying is more than the misses
/// cost, though zeroing is not.
#[test]
fn a_piece_that_is_only_worth_zeroing_is_left_out() {
    let copying = (PAGES * 4 * COSTS.copy_kib + COSTS.promotion) / MISS;
    let zeroing = (PAGES * 4 * COSTS.zero_kib + COSTS.promotion) / MISS;
    let mut items = Items::new(Grain::Page);
    items.event(map(0, PAGES - 1));
    items.visits(loads(0..PAGES - 1));
    items.event(map(PAGES - 1, 1));
    items.visits(loads([PAGES - 1]));
    // In a TLB of four entries, each of these misses.
    items.visits(loads(
        (0..u64::midpoint(copying, zeroing)).map(|at| at % PAGES),
    ));
    let outcome = replay(&mut items, "offline(cycles=all)");
    assert!(outcome.choices[0].pieces.is_empty());
}

/// Pages that `mremap` moves are resident where they come to lie.
#[test]
fn what_was_moved_is_copied() {
    assert_exact(
        || {
            let mut items = Items::new(Grain::Page);
            items.event(map(3, 5));
            items.visits(loads(3..8));
            items.event(Event::Remap {
                from: range(3, 5),
                to: range(64, PAGES),
            });
            items.visits(loads([64 + 6]));
            items.visits(busy(64, 1000));
            items
        },
        1,
    );
}

/// The pages of a broken superpage stay together: only `cycles=tlb` copies them for the next
/// promotion.
#[test]
fn a_broken_superpage_is_together() {
    assert_exact(
        || {
            let mut items = Items::new(Grain::Page);
            items.event(map(0, PAGES));
            items.visits(busy(0, 1000));
            for write in [false, true] {
                items.event(Event::Protect(range(2, 1), rights(write)));
            }
            items.visits(busy(0, 1000));
            items
        },
        2,
    );
}

/// A page is given back and used again, and another page has taken its frame: all pages are copied.
#[test]
fn a_broken_superpage_with_a_new_page_is_copied() {
    assert_exact(
        || {
            let mut items = Items::new(Grain::Page);
            items.event(map(0, PAGES));
            items.event(map(64, 1));
            items.visits(busy(0, 1000));
            items.event(Event::Advise(
                range(2, 1),
                broadleaf_trace::Advice::DontNeed,
            ));
            items.visits(loads([64, 2]));
            items.visits(busy(0, 1000));
            items
        },
        2,
    );
}
