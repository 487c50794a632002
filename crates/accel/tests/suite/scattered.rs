//! Chen's four schemes in a replay: the translation of scattered superpages and its cost.

use crate::common::*;
use broadleaf_accel::run_after;
use broadleaf_machine::{Machine, machine, machine_text};
use broadleaf_metrics::CellResult;
use broadleaf_model::{Error, Items, MemoryLimits, Plan, PlanError};
use broadleaf_trace::{Backing, Event, Grain};
use broadleaf_units::CoreId;
use std::convert::Infallible;
use std::ops::ControlFlow;

/// Chen 2014, section V, in the order of the text.
const SCHEMES: [&str; 4] = ["fixed-4k", "coloured", "fixed-2m", "scattered"];

/// The superpages that the trace refers to.
const BLOCKS: u64 = 40;

/// Visits of several accesses to the blocks in turn, and an unmapped page that breaks a superpage.
fn trace() -> Items {
    let mut items = Items::new(Grain::Page);
    items.event(map(0, BLOCKS * BLOCK, Backing::Anonymous));
    for round in 0..6 {
        items.visits((0..BLOCKS).map(|block| loads(block * BLOCK + round * 3, 5)));
        items.visits((0..BLOCKS).map(|block| store(block * BLOCK + round)));
    }
    items.event(Event::Unmap(range(3 * BLOCK + 100, 1)));
    items.visits((0..BLOCKS).map(|block| load(block * BLOCK + 200)));
    items
}

fn plan(policies: &[&str], machine: Machine) -> Result<Plan, PlanError> {
    let policies = policies
        .iter()
        .map(|name| broadleaf_policy::parse(name).expect("a policy"));
    Plan::within(
        policies.collect(),
        vec![machine],
        MemoryLimits::new(1 << 30),
    )
}

fn replayed(items: &Items, plan: &Plan) -> Result<Vec<CellResult>, Error<Infallible>> {
    let mut items = items.clone();
    let outcome = run_after(
        &mut [],
        &mut items,
        plan,
        &mut |_| ControlFlow::Continue(()),
    );
    outcome.map(|outcome| outcome.results)
}

fn results(items: &Items, policies: &[&str], machine: Machine) -> Vec<CellResult> {
    let plan = plan(policies, machine).expect("a plan");
    replayed(items, &plan).expect("a replay")
}

#[test]
fn four_schemes_differ_in_colours_and_sizes_alone() {
    let items = trace();
    let all = results(
        &items,
        &SCHEMES,
        machine("chen2014-scattered").expect("a machine"),
    );
    let [original, coloured, superpage, scattered] = &all[..] else {
        panic!("a result for each scheme");
    };
    assert_eq!(original.l2_misses, coloured.l2_misses);
    assert_eq!(original.page_faults, coloured.page_faults);
    assert_eq!(superpage.l2_misses, scattered.l2_misses);
    assert_eq!(superpage.promotions, scattered.promotions);
    assert!(superpage.l2_misses < original.l2_misses);
    let memory = |of: &CellResult| of.memory.clone().expect("memory");
    assert_eq!(memory(coloured).other_colour_pages, Some(0));
    assert_eq!(memory(original).other_colour_pages, None);
    assert_eq!(memory(scattered).scattered_superpages, Some(BLOCKS));
    assert_eq!(memory(superpage).scattered_superpages, None);
    // A quarter of the regions of each physical superpage is used.
    let beside = memory(scattered).frames_beside_scattered.expect("a count");
    assert!(beside > 2 * BLOCKS * BLOCK, "{beside}");
}

/// Every access to a scattered superpage takes a cycle with a configuration in each entry. The
/// broken superpage is base pages after the unmap.
#[test]
fn the_addition_costs_a_cycle_for_each_access() {
    let items = trace();
    let cycles = |policy: &str, name: &str| {
        let result = results(&items, &[policy], machine(name).expect("a machine")).remove(0);
        let tlb = result.tlb.expect("counts of a TLB");
        (tlb.scatter_cycles, tlb.configuration_bits, result.accesses)
    };
    let accesses = BLOCKS * (6 * 6 + 1);
    let all = (Some(accesses - 1), Some(160), accesses);
    assert_eq!(cycles("scattered", "chen2014-scattered"), all);
    let none = (Some(0), Some(40), accesses);
    assert_eq!(cycles("scattered", "chen2014-scattered-sets"), none);
    // Ordinary superpages need no addition.
    let ordinary = (Some(0), Some(160), accesses);
    assert_eq!(cycles("fixed-2m", "chen2014-scattered"), ordinary);
    assert_eq!(
        cycles("scattered(shares=1+1+1+1)", "chen2014-scattered"),
        all
    );
}

/// Walks through a page table fill the configuration from the table's entries.
#[test]
fn walks_fill_the_configuration_from_the_page_table() {
    let items = trace();
    for name in ["chen2014-scattered", "chen2014-scattered-sets"] {
        let of = |walks: bool| {
            let plan = plan(&["scattered"], machine(name).expect("a machine")).expect("a plan");
            let plan = if walks { plan.walking_tables() } else { plan };
            replayed(&items, &plan).expect("a replay").remove(0)
        };
        let (plain, walked) = (of(false), of(true));
        assert_eq!(plain.l2_misses, walked.l2_misses);
        let cycles = |of: &CellResult| of.tlb.as_ref().and_then(|tlb| tlb.scatter_cycles);
        assert_eq!(cycles(&plain), cycles(&walked));
    }
}

/// Owners of two shares in one set: with a configuration for each set, they drop each other.
#[test]
fn regions_with_other_shares_miss_in_a_set_of_one_configuration() {
    let mut items = Items::new(Grain::Page);
    items.event(map(0, 16 * BLOCK, Backing::Anonymous));
    // Blocks 0 and 8 have one set of eight. Owners are blocks, so their shares differ.
    for _ in 0..10 {
        items.visits([0, 8 * BLOCK].map(load));
    }
    let misses = |name: &str| {
        let machine = machine(name).expect("a machine");
        results(&items, &["scattered(by=region)"], machine)[0].l2_misses
    };
    assert_eq!(misses("chen2014-scattered"), 2);
    assert_eq!(misses("chen2014-scattered-sets"), 20);
}

#[test]
fn machines_that_cannot_translate_them_are_refused() {
    let refused = |policy: &str, machine: Machine| match plan(&[policy], machine) {
        Ok(_) => panic!("{policy} was not refused"),
        Err(error) => error.to_string(),
    };
    let plain = refused("scattered", machine("chen2014").expect("a machine"));
    assert!(
        plain.contains("organisation = \"scattered\"") && plain.contains("dtlb-2m"),
        "{plain}"
    );
    let scattered = || machine("chen2014-scattered").expect("a machine");
    let contiguous = refused("scattered(way=2m)", scattered());
    assert!(contiguous.contains("region-bit = 18"), "{contiguous}");
    let sixteen = refused("scattered(shares=1/16)", scattered());
    assert!(sixteen.contains("regions = \"16\""), "{sixteen}");
    // The other reading is another value of the machine.
    let text = machine_text("chen2014-scattered").expect("a text");
    let text = text.replace("region-bit = 15", "region-bit = 18");
    let other = Machine::from_toml(&text).expect("a machine");
    let items = trace();
    let found = results(&items, &["scattered(way=2m)"], other).remove(0);
    let memory = found.memory.expect("memory");
    assert_eq!(memory.scattered_superpages, Some(BLOCKS));
}

#[test]
fn colours_by_core_need_a_trace_with_cores() {
    let skylake = || machine("skylake").expect("a machine");
    let by_core = || plan(&["coloured(by=core)"], skylake()).expect("a plan");
    let error = replayed(&trace(), &by_core()).expect_err("no cores");
    assert!(error.to_string().contains("by=process"), "{error}");
    let mut items = Items::new(Grain::Page);
    items.event(map(0, 4 * BLOCK, Backing::Anonymous));
    for core in [0, 1, 0] {
        items.event(Event::CoreSwitch(CoreId(core)));
        items.visits((0..300).map(|page| store(u64::from(core) * BLOCK + page)));
    }
    let frames = by_core().with_frames();
    let outcome = run_after(&mut [], &mut items, &frames, &mut |_| {
        ControlFlow::Continue(())
    });
    let found = outcome.expect("a replay");
    // Each core has a quarter of 64 colours.
    for (at, frame) in &found.frames[0] {
        assert_eq!(frame % 64 / 16, at.page / BLOCK, "{at:?}");
    }
    assert_eq!(found.frames[0].len(), 600);
}
