//! Curves of policies and machines that only the model replays, in closed form.

use crate::common::{BLOCK, load, loads, map, range, store};
use broadleaf_accel::{covers, explain, run};
use broadleaf_machine::Machine;
use broadleaf_metrics::CellResult;
use broadleaf_model::{Items, MemoryLimits, Plan};
use broadleaf_trace::{Advice, Backing, Event, Grain};
use broadleaf_units::ThreadId;
use std::ops::ControlFlow;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

fn machine(name: &str) -> Machine {
    broadleaf_machine::machine(name).expect("a machine")
}

fn plan(policies: &[&str], machines: Vec<Machine>) -> Plan {
    let parse = |name: &&str| broadleaf_policy::parse(name).expect("a policy");
    let policies = policies.iter().map(parse).collect();
    Plan::new(policies, machines).expect("a plan")
}

fn replayed(items: &Items, plan: &Plan) -> Vec<CellResult> {
    let mut go_on = |_| ControlFlow::Continue(());
    let outcome = run(&mut items.clone(), plan, &mut go_on);
    outcome.expect("a replay").results
}

/// The misses of a fully associative TLB with entries of that size.
fn misses(result: &CellResult, size: u64, entries: u64) -> Option<u64> {
    let mut points = result.curve.iter().flatten();
    let point =
        points.find(|point| (point.page_size, point.sets, point.ways) == (size, 1, entries));
    point.map(|point| point.misses)
}

/// `rounds` rounds through all pages of `blocks` blocks of 2 MiB of anonymous memory.
fn rounds(blocks: u64, rounds: u64) -> Items {
    let mut items = Items::new(Grain::Page);
    items.event(map(0, blocks * 512, Backing::Anonymous));
    for _ in 0..rounds {
        items.visits((0..blocks * 512).map(store));
    }
    items
}

/// The last page of a block completes its superpage. So the first round misses on each other base
/// page of a block, and once on its superpage. Later rounds go through the superpages alone.
#[test]
fn navarro_misses_as_its_superpages_come_about() {
    let (blocks, later) = (6, 4);
    let plan = plan(&["navarro"], vec![machine("skylake")]).with_curves();
    assert!(covers(&plan).is_err());
    let result = &replayed(&rounds(blocks, 1 + later), &plan)[0];
    assert_eq!(result.promotions, blocks);
    for entries in [1, 16, 4096] {
        assert_eq!(misses(result, 4 * KIB, entries), Some(blocks * 511));
    }
    let few = blocks + later * blocks;
    for (entries, expected) in [(1, few), (5, few), (6, blocks), (64, blocks)] {
        assert_eq!(
            misses(result, 2 * MIB, entries),
            Some(expected),
            "{entries}"
        );
    }
}

/// On a machine with more sizes, each piece that fills is a page of the next size.
#[test]
fn every_page_size_has_a_curve_of_its_own() {
    let plan = plan(&["navarro"], vec![machine("alpha21264")]).with_curves();
    let mut items = Items::new(Grain::Page);
    items.event(map(0, 1024, Backing::Anonymous));
    for _ in 0..3 {
        items.visits((0..1024).map(store));
    }
    let result = &replayed(&items, &plan)[0];
    // Base pages have 8 KiB. The last page of 64 KiB completes the piece, those of larger pieces
    // complete them.
    let counts: Vec<_> = [8 * KIB, 64 * KIB, 512 * KIB, 4 * MIB]
        .map(|size| misses(result, size, 64).expect("a curve"))
        .to_vec();
    assert_eq!(counts, [64 * 7, 8 * 7, 7, 1]);
    assert_eq!(
        misses(result, 4 * KIB, 64),
        None,
        "the machine has no such pages"
    );
}

/// The frames of a page and the entries of a TLB's organisation matter to no curve.
#[test]
fn organisations_and_caches_have_the_curves_of_plain_tlbs() {
    let items = rounds(5, 3);
    let curve = |machine: Machine| {
        let plan = plan(&["4k", "greedy", "pop-64"], vec![machine]).with_curves();
        let results = replayed(&items, &plan).into_iter();
        let curves: Vec<_> = results.map(|result| result.curve.expect("one")).collect();
        (covers(&plan).is_ok(), curves)
    };
    let (is_quick, plain) = curve(machine("skylake"));
    assert!(is_quick);
    for name in ["zen4", "skylake-plru"] {
        let (is_quick, curves) = curve(machine(name));
        assert!(!is_quick, "{name}");
        let common = |curves: &[Vec<_>]| -> Vec<Vec<_>> {
            let small = |curve: &Vec<broadleaf_metrics::CurvePoint>| {
                let points = curve.iter().copied();
                points.filter(|one| one.page_size <= 2 * MIB).collect()
            };
            curves.iter().map(small).collect()
        };
        assert_eq!(common(&curves), common(&plain), "{name}");
    }
}

/// Machines that observe one memory have the curves that each has alone.
#[test]
fn machines_beside_each_other_have_their_own_curves() {
    let items = rounds(4, 3);
    let names = ["skylake", "zen4", "alpha21264", "skylake-plru"];
    let curves = |names: &[&str]| -> Vec<_> {
        let machines = names.iter().map(|name| machine(name)).collect();
        let results = replayed(&items, &plan(&["navarro"], machines).with_curves());
        let of = results.into_iter();
        of.map(|result| (result.machine, result.curve.expect("one")))
            .collect()
    };
    let together = curves(&names);
    let alone: Vec<_> = names.iter().flat_map(|name| curves(&[name])).collect();
    assert_eq!(together, alone);
    assert_ne!(alone[0].1, alone[2].1, "other page sizes");
}

/// Skylake in a guest whose host maps base pages, under TLBs that hold base pages alone.
fn guest() -> Machine {
    let text = "name = \"guest\"\nsummary = \"a guest\"\nfractured = [\"2m\"]\n[[tlb]]\n\
                name = \"dtlb\"\nlevel = 1\nentries = 64\nways = 4\nreplacement = \"lru\"\n\
                index = { 4k = \"va[15:12]\" }\n[walk-cycles]\n4k = 35\n2m = 21\n";
    Machine::from_toml(text).expect("a machine")
}

/// Superpages enter the TLB in pieces, so they spare no misses.
#[test]
fn pieces_of_fractured_pages_are_looked_up() {
    let items = rounds(3, 4);
    let plan = plan(&["greedy", "4k"], vec![guest()]).with_curves();
    let results = replayed(&items, &plan);
    assert_eq!((results[0].promotions, results[1].promotions), (3, 0));
    for result in &results {
        for (entries, expected) in [(1024, 4 * 3 * 512), (2048, 3 * 512)] {
            let name = &result.policy;
            assert_eq!(misses(result, 4 * KIB, entries), Some(expected), "{name}");
            assert_eq!(misses(result, 2 * MIB, entries), None, "{name}");
        }
    }
}

/// Memory that is limited loses pages, and their entries.
#[test]
fn pages_that_leave_memory_miss_in_every_tlb() {
    let pages = 64;
    let mut items = Items::new(Grain::Page);
    items.event(map(0, pages, Backing::Anonymous));
    for _ in 0..5 {
        items.visits((0..pages).map(store));
    }
    let misses_in = |limits: MemoryLimits| {
        let policies = vec![broadleaf_policy::base_pages()];
        let plan = Plan::within(policies, vec![machine("skylake")], limits);
        let result = replayed(&items, &plan.expect("a plan").with_curves()).remove(0);
        let swapped = result.memory.as_ref().expect("memory").swapped_out_pages;
        (misses(&result, 4 * KIB, 4096).expect("a curve"), swapped)
    };
    assert_eq!(misses_in(MemoryLimits::none()), (pages, 0));
    let (misses, swapped) = misses_in(MemoryLimits::new(48 << 12));
    assert!(
        swapped > 0 && misses > pages,
        "{misses} misses, {swapped} swapped out"
    );
}

/// No miss of an earlier trace counts, though all of its pages miss.
#[test]
fn the_misses_of_an_earlier_trace_do_not_count() {
    let items = rounds(2, 2);
    let plan = plan(&["4k"], vec![machine("skylake")]);
    let plan = plan
        .limited_to(MemoryLimits::none())
        .expect("a memory")
        .with_curves();
    let mut go_on = |_| ControlFlow::Continue(());
    let (mut earlier, mut last) = ([rounds(5, 3)], items.clone());
    let outcome = broadleaf_accel::run_after(&mut earlier, &mut last, &plan, &mut go_on);
    let after = outcome.expect("a replay").results.remove(0);
    let alone = replayed(&items, &plan).remove(0);
    // The processes differ, so the pages of one are not those of the other.
    assert_eq!(misses(&after, 4 * KIB, 4096), misses(&alone, 4 * KIB, 4096));
    assert_eq!(misses(&alone, 4 * KIB, 4096), Some(1024));
}

/// A policy that is notified of misses promotes a page at a miss: the reference was a lookup of a
/// base page, and those that follow are of the superpage.
#[test]
fn promotions_at_misses_count_from_the_next_reference() {
    let mut items = Items::new(Grain::Page);
    items.event(map(0, 512, Backing::Anonymous));
    for _ in 0..400 {
        items.visits((0..256).map(load));
    }
    let plan = plan(&["asap", "approx-online"], vec![machine("romer1995")]).with_curves();
    for result in replayed(&items, &plan) {
        assert!(result.promotions > 0, "{}", result.policy);
        let points = result.curve.as_ref().expect("a curve").iter();
        let larger = points.filter(|point| point.page_size > 4 * KIB && point.ways == 1);
        assert!(
            larger.map(|point| point.misses).sum::<u64>() > 0,
            "{}",
            result.policy
        );
        let base = misses(&result, 4 * KIB, 512).expect("a curve");
        // Each page was first looked up as a base page, or promoted with its neighbour before.
        assert!((1..=256).contains(&base), "{}: {base}", result.policy);
    }
}

/// Two threads on cores of their own, with 64 pages each. One TLB for both would have too few
/// entries.
#[test]
fn threads_on_other_cores_have_entries_of_their_own() {
    let mut items = Items::new(Grain::Line);
    items.event(map(0, 128, Backing::Anonymous));
    for _ in 0..6 {
        for thread in 0..2u32 {
            items.event(Event::ThreadSwitch(ThreadId(1 + thread)));
            let first = u64::from(thread) * 64;
            items.visits((first..first + 64).map(|page| load(page * 64)));
        }
    }
    let of = |name: &str| {
        let plan = plan(&["4k"], vec![machine(name)]).with_curves();
        let result = replayed(&items, &plan).remove(0);
        misses(&result, 4 * KIB, 64).expect("a curve")
    };
    assert_eq!(of("chen2014-4core"), 128);
    assert_eq!(of("chen2014-1core"), 6 * 128);
}

/// khugepaged falls due several times within one visit of a million loads, in memory that is too
/// small. The curve is that of the loads, be they one visit or `pieces`. No other figure depends on
/// whether curves are counted.
#[test]
fn daemons_within_a_long_visit_count_alike() {
    const PERIOD: u32 = 100_000;
    const LOADS: u32 = 1_000_000;
    let results = |pieces: u32, with_curves: bool| {
        let mut items = Items::new(Grain::Page);
        let small = 8 * BLOCK;
        for (first, pages) in [(0, 4 * BLOCK), (small, 64)] {
            items.event(map(first, pages, Backing::Anonymous));
            items.visits((first..first + pages).map(store));
        }
        items.event(Event::Advise(range(0, 4 * BLOCK), Advice::HugePage));
        items.visits((small..small + 64).map(load));
        items.visits((0..pieces).map(|_| loads(3 * BLOCK + 7, LOADS / pieces)));
        items.visits((small..small + 64).chain(0..BLOCK).map(load));
        // More than memory has.
        let large = 16 * BLOCK;
        items.event(map(large, 4 * BLOCK, Backing::Anonymous));
        items.visits((large..large + 4 * BLOCK).map(store));
        items.visits((0..BLOCK).map(load));
        let name = format!("linux(enabled=madvise,scan_period={PERIOD},pages_to_scan={BLOCK})");
        let policies = vec![broadleaf_policy::parse(&name).expect("a policy")];
        let machines = vec![machine("skylake"), machine("skylake-plru")];
        let limits = MemoryLimits::new((6 * BLOCK) << 12);
        let plan = Plan::within(policies, machines, limits).expect("a plan");
        let plan = match with_curves {
            true => plan.with_curves(),
            false => plan,
        };
        replayed(&items, &plan)
    };
    let without_curves = |results: &[CellResult]| -> Vec<CellResult> {
        let plain = |result: &CellResult| CellResult {
            curve: None,
            ..result.clone()
        };
        results.iter().map(plain).collect()
    };
    let [uncut, cut] = [1, 100].map(|pieces| results(pieces, true));
    let promotions: Vec<u64> = uncut.iter().map(|result| result.promotions).collect();
    assert!(promotions.iter().all(|all| *all > 0), "{promotions:?}");
    let memory = uncut[0].memory.as_ref().expect("memory");
    assert!(memory.swapped_out_pages > 0);
    for (one, other) in uncut.iter().zip(&cut) {
        assert_eq!(one.curve, other.curve, "{}", one.machine);
        assert!(one.curve.is_some());
    }
    assert_eq!(without_curves(&uncut), results(1, false));
    assert_eq!(without_curves(&cut), results(100, false));
}

#[test]
fn the_planner_says_that_the_model_counts_the_curves() {
    let why = |plan: &Plan, name: &str| {
        let mut choices = explain(plan).into_iter();
        let choice = choices.find(|choice| choice.accelerator.name == name);
        choice
            .expect("an accelerator")
            .why_not
            .map(|why| why.to_string())
    };
    let frames = plan(&["navarro"], vec![machine("skylake")]).with_curves();
    assert_eq!(
        why(&frames, "curves").as_deref(),
        Some("navarro allocates frames")
    );
    let all = Some("curves of the model need all visits");
    assert_eq!(why(&frames, "filter").as_deref(), all);
    let quick = plan(&["greedy"], vec![machine("skylake")]).with_curves();
    assert_eq!((why(&quick, "curves"), why(&quick, "filter")), (None, None));
}
