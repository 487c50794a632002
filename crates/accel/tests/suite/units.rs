//! Units of the model's configuration: extents that a kernel allocates and a TLB lacks, machines of
//! one page size, and the time scale of daemons.

use crate::common::*;
use broadleaf_accel::run;
use broadleaf_machine::Machine;
use broadleaf_model::{Items, MemoryLimits, Outcome, Plan, PlanError};
use broadleaf_policy::NOMINAL_RATE;
use broadleaf_trace::{Advice, Backing, Event, Grain};
use broadleaf_units::PageSize;
use std::ops::ControlFlow;

fn within(items: &Items, policies: &[&str], machine: &str, limits: MemoryLimits) -> Outcome {
    let parse = |name: &&str| broadleaf_policy::parse(name).expect("a policy");
    let machine = broadleaf_machine::machine(machine).expect("a machine");
    let policies = policies.iter().map(parse).collect();
    let plan = Plan::within(policies, vec![machine], limits).expect("a plan");
    run(
        &mut items.clone(),
        &plan,
        &mut |_| ControlFlow::Continue(()),
    )
    .expect("a replay")
}

/// Stores to each page of 1 MiB, which is too small for a page of 2 MiB, several times.
fn one_mib() -> Items {
    let mut items = Items::new(Grain::Page);
    items.event(map(0, 256, Backing::Anonymous));
    for _ in 0..8 {
        items.visits((0..256).map(store));
    }
    items
}

const UNITS: &str = "linux(sizes=64k+2m)";

/// Multi-size THP on x86-64: a fault maps 16 pages, and the TLB holds each page separately.
#[test]
fn a_kernel_allocates_extents_that_the_tlb_does_not_know() {
    let outcome = within(
        &one_mib(),
        &["linux", UNITS],
        "skylake",
        MemoryLimits::none(),
    );
    let [pages, units] = &outcome.results[..] else {
        panic!("two results");
    };
    assert_eq!((pages.page_faults, units.page_faults), (256, 16));
    let sizes = |memory: &Option<broadleaf_metrics::MemoryResult>| {
        memory.as_ref().expect("memory").page_sizes.clone()
    };
    assert_eq!(sizes(&units.memory)[&(64 << 10)], 16);
    assert_eq!(units.walks, pages.walks);
    assert_eq!(units.walks.of(PageSize::SIZE_4K), units.l2_misses);
    assert_eq!(units.walk_cycles, 35 * units.l2_misses);
    assert!(units.l1_misses >= 256);
    assert_eq!(units.l1_misses, pages.l1_misses);
}

/// A machine whose TLB has such pages has their translations too.
#[test]
fn a_tlb_that_has_such_pages_holds_them() {
    let outcome = within(&one_mib(), &[UNITS], "neoverse-n1", MemoryLimits::none());
    let result = &outcome.results[0];
    let size = PageSize::from_shift(16).expect("a size");
    assert_eq!((result.page_faults, result.walks.of(size)), (16, 16));
    assert_eq!(result.l2_misses, 16);
}

/// Extents that lose a part are broken, and the rest still translates.
#[test]
fn an_extent_that_loses_a_page_goes_on_as_pages() {
    let mut items = one_mib();
    items.event(Event::Advise(range(3, 1), Advice::DontNeed));
    items.visits((0..256).map(load));
    let outcome = within(&items, &[UNITS], "skylake", MemoryLimits::none());
    let result = &outcome.results[0];
    assert_eq!((result.demotions, result.page_faults), (1, 17));
    assert_eq!(result.walks.of(PageSize::SIZE_4K), result.l2_misses);
}

/// Policies that promote for the TLB have none of the sizes that it lacks.
#[test]
fn other_policies_have_the_machine_s_sizes() {
    let outcome = within(
        &one_mib(),
        &["two-stage(sizes=64k+2m)"],
        "skylake",
        MemoryLimits::none(),
    );
    let result = &outcome.results[0];
    assert_eq!((result.page_faults, result.promotions), (256, 0));
}

fn base_pages_only() -> Machine {
    let text = r#"
name = "base"
summary = "4 KiB pages alone"
explanation = "A test."
source = "none"

[[tlb]]
name = "l1"
level = 1
entries = 4
ways = 2
replacement = "lru"
index = { 4k = "va[12]" }

[[tlb]]
name = "l2"
level = 2
entries = 16
ways = 4
replacement = "lru"
index = { 4k = "va[13:12]" }

[walk-cycles]
4k = 30
"#;
    Machine::from_toml(text).expect("a machine")
}

#[test]
fn a_machine_may_have_base_pages_alone() {
    let plan = |policy: &str| {
        let policies = vec![broadleaf_policy::parse(policy).expect("a policy")];
        Plan::new(policies, vec![base_pages_only()])
    };
    let mut items = Items::new(Grain::Page);
    for round in 0..50_u64 {
        items.visits((0..30).map(|page| load(page * (1 + round % 7) % 40)));
        items.visits((0..6).map(|page| store(page + round)));
    }
    let replayed = |plan: Plan| {
        let mut go_on = |_| ControlFlow::Continue(());
        let outcome = run(&mut items.clone(), &plan, &mut go_on).expect("a replay");
        outcome.results[0].clone()
    };
    let quick = replayed(plan("4k").expect("a plan"));
    let slow = plan("4k").expect("a plan").limited_to(MemoryLimits::none());
    let slow = replayed(slow.expect("a plan"));
    assert!(quick.l2_misses > 100 && quick.l1_misses > quick.l2_misses);
    assert_eq!(quick.walk_cycles, 30 * quick.l2_misses);
    assert_eq!(
        (quick.l1_misses, quick.l2_misses, quick.page_faults),
        (slow.l1_misses, slow.l2_misses, slow.page_faults)
    );
    let refused = plan("freebsd").err().expect("freebsd makes superpages");
    let expected = PlanError::NoSuperpages {
        policy: "freebsd".to_owned(),
        machine: "base".to_owned(),
        size: "2m".to_owned(),
    };
    assert_eq!(refused, expected);
    assert!(refused.to_string().contains("freebsd makes 2m pages"));
}

/// Memory that fills page by page, and a daemon that would promote it.
fn filled() -> Items {
    let mut items = Items::new(Grain::Page);
    items.event(map(0, 1024, Backing::Anonymous));
    items.visits((0..1024).map(store));
    for _ in 0..40 {
        items.visits((0..1024).map(store));
    }
    items
}

#[test]
fn a_daemon_that_has_no_turn_is_named_and_the_rate_gives_it_some() {
    let outcome = within(
        &filled(),
        &["ingens", "4k"],
        "skylake",
        MemoryLimits::none(),
    );
    let named = |outcome: &Outcome| -> Vec<String> {
        let notes = outcome.notes.iter().map(|note| &note.text);
        let named = notes.filter(|note| note.contains("its daemon did not run"));
        named.cloned().collect()
    };
    assert_eq!(
        named(&outcome),
        [
            "policy ingens: its daemon did not run: the trace of 41,984 accesses is shorter than \
             the daemon's period of 100,000,000 accesses. \
             That is 0.1 s at 1,000,000,000 accesses per second; --rate sets the program's rate"
        ]
    );
    assert_eq!(outcome.results[0].promotions, 0);
    // A tenth of a second of a program that makes 1e5 accesses in a second.
    let limits = MemoryLimits {
        rate: NOMINAL_RATE / 10_000,
        ..MemoryLimits::none()
    };
    let outcome = within(&filled(), &["ingens", "4k"], "skylake", limits);
    assert_eq!(named(&outcome), [""; 0]);
    assert_eq!(outcome.results[0].promotions, 2);
}

/// A period in seconds is the same time at any rate.
#[test]
fn periods_may_be_given_in_seconds() {
    for (written, name) in [
        ("ingens(scan_period=0s)", None),
        ("ingens(scan_period=10s)", Some("ingens(scan_period=1e10)")),
        ("ingens(scan_period=20ms)", Some("ingens(scan_period=2e7)")),
        ("ingens(scan_period=100ms)", Some("ingens")),
        ("linux(scan_period=10s)", Some("linux")),
        ("ingens(scan_period=7)", Some("ingens(scan_period=7)")),
        ("ingens(scan_period=10m)", None),
    ] {
        let parsed = broadleaf_policy::parse(written).ok();
        assert_eq!(
            parsed.map(|policy| policy.name()).as_deref(),
            name,
            "{written}"
        );
    }
}

/// A store that faults is one decision point for policies of frames too (spec model 9).
#[test]
fn a_store_that_faults_is_one_question_of_frames() {
    let mut edge = Items::new(Grain::Page);
    edge.visits((0..511).map(load)).visits([store(511)]);
    for policy in ["freebsd14", "navarro(sizes=2m)"] {
        let outcome = within(&edge, &[policy], "skylake", MemoryLimits::none());
        let result = &outcome.results[0];
        assert_eq!((result.promotions, result.demotions), (0, 0), "{policy}");
        assert_eq!(refused(result, "mixed_dirty"), 1, "{policy}");
    }
    let mut stores = Items::new(Grain::Page);
    stores.visits((0..512).map(store));
    for policy in [
        "promote(frames=any) if dirty == 512",
        "promote(copies=on) if dirty == 512",
    ] {
        let outcome = within(&stores, &[policy], "skylake", MemoryLimits::none());
        let result = &outcome.results[0];
        assert_eq!(result.promotions, 1, "{policy}");
        assert_eq!(result.refusals.values().sum::<u64>(), 511, "{policy}");
    }
}
