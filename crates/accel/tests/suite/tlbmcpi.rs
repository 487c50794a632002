//! The part of promotions that counts as copying (spec charges 19), under any policy, and the total
//! for each instruction.

use crate::common::{load, map};
use broadleaf_accel::run;
use broadleaf_metrics::{CellResult, MemoryResult, Tlbmcpi};
use broadleaf_model::{Items, MemoryLimits, Plan};
use broadleaf_trace::{Backing, Grain, Visit};
use std::ops::ControlFlow;

/// 64 pages, one after the other, so often that superpages are worth their price.
fn round_and_round(instructions: u32) -> Items {
    let mut items = Items::new(Grain::Page);
    items.event(map(1024, 64, Backing::Anonymous));
    for _ in 0..400 {
        items.visits((1024..1088).map(|page| Visit {
            instructions,
            ..load(page)
        }));
    }
    items
}

fn result(items: &Items, policy: &str, machine: &str, limits: MemoryLimits) -> CellResult {
    let policy = broadleaf_policy::parse(policy).expect("a policy");
    let machine = broadleaf_machine::machine(machine).expect("a machine");
    let plan = Plan::within(vec![policy], vec![machine], limits).expect("a plan");
    let mut items = items.clone();
    let outcome = run(&mut items, &plan, &mut |_| ControlFlow::Continue(())).expect("a replay");
    outcome.results[0].clone()
}

fn memory(result: &CellResult) -> &MemoryResult {
    result.memory.as_ref().expect("memory down to the frame")
}

#[test]
fn promotions_count_where_they_copy_or_have_the_price_of_that() {
    let items = round_and_round(3);
    for (policy, counts) in [
        ("fixed-64k", false),
        ("asap", true),
        ("asap-4-64", true),
        ("approx-online", true),
        ("approx-online(by=reserving)", false),
        ("online", true),
        ("online(by=reserving)", false),
        // Large from the first fault, and paid for as if all of it were copied; or not.
        ("offline", true),
        ("offline(cycles=all)", false),
    ] {
        let result = result(&items, policy, "romer1995", MemoryLimits::none());
        let memory = memory(&result);
        let promoted = memory.promotion_cycles;
        assert!(result.promotions > 0 && promoted > 0, "{policy}");
        let copied = if counts { promoted } else { 0 };
        assert_eq!(memory.copy_cycles, copied, "{policy}");
        let cycles = [result.walk_cycles, memory.bookkeeping_cycles, copied];
        let instructions = 400 * 64 * 3;
        assert_eq!(
            memory.tlbmcpi,
            Tlbmcpi::new(cycles, instructions),
            "{policy}"
        );
    }
    let base = result(&items, "4k", "romer1995", MemoryLimits::none());
    assert_eq!(memory(&base).copy_cycles, 0);
    assert!(memory(&base).tlbmcpi.is_some_and(|parts| parts.miss > 9.0));
}

#[test]
fn nothing_is_divided_by_instructions_that_nobody_counted() {
    let result = result(
        &round_and_round(0),
        "asap",
        "romer1995",
        MemoryLimits::none(),
    );
    assert!(memory(&result).copy_cycles > 0);
    assert_eq!(memory(&result).tlbmcpi, None);
}

/// Counts of a process that ends before the trace are divided by the instructions up to its end.
#[test]
fn where_memory_is_used_up_later_instructions_do_not_count() {
    let limits = MemoryLimits {
        swap: 0,
        ..MemoryLimits::new(40 << 12)
    };
    let items = round_and_round(10);
    let result = result(&items, "4k", "romer1995", limits);
    let ended = memory(&result).out_of_memory_after.expect("it ends");
    assert!((10..40).contains(&ended));
    // The visit that found no memory included.
    let instructions = (ended + 1) * 10;
    let parts = Tlbmcpi::new([result.walk_cycles, 0, 0], instructions);
    assert_eq!(memory(&result).tlbmcpi, parts);
}
