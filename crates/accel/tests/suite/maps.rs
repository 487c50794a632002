//! Maps of memory over time: they change no count, and add up to the results.

use crate::filtered::{Chunks, random, replayed};
use broadleaf_machine::machine;
use broadleaf_metrics::CellResult;
use broadleaf_model::map::{MapRecorder, RecordedMap, RecordedMaps};
use broadleaf_model::{Decided, MemoryLimits, Plan, StepListener, StepsWanted};
use broadleaf_policy::Policy;
use std::collections::BTreeMap;
use std::sync::Arc;

const POLICIES: [&str; 8] = [
    "4k",
    "greedy",
    "life-700",
    "linux",
    "navarro",
    "freebsd14",
    "approx-online",
    "pop-64",
];
const MACHINE: &str = "skylake";
const BINS: u32 = 16;

fn plan(limits: MemoryLimits) -> Plan {
    let policies = POLICIES.iter().map(|name| broadleaf_policy::parse(name));
    let policies: Vec<Box<dyn Policy>> = policies.collect::<Result<_, _>>().expect("policies");
    Plan::within(policies, vec![machine(MACHINE).expect("a machine")], limits).expect("a plan")
}

/// The results of a trace, and its maps by policy.
fn mapped(
    trace: &Chunks,
    limits: MemoryLimits,
    wanted: StepsWanted,
    accesses: u64,
) -> (Vec<CellResult>, BTreeMap<String, RecordedMap>) {
    let maps = RecordedMaps::default();
    let sink = Arc::clone(&maps);
    let plan = plan(limits).with_listeners(wanted, move |policy, machine| {
        let recorder = MapRecorder::new(policy, machine, accesses, BINS, Arc::clone(&sink));
        Some(Box::new(recorder) as Box<dyn StepListener>)
    });
    let results = replayed(trace, &plan).results;
    let maps = maps.lock().expect("no panic");
    let by_policy = maps.iter();
    let by_policy = by_policy.map(|((policy, _), map)| (policy.clone(), map.clone()));
    (results, by_policy.collect())
}

/// The sums of a map are the counts of the result.
fn check_sums(map: &RecordedMap, result: &CellResult, case: &str) {
    let blocks = || map.mappings.iter().flat_map(|mapping| &mapping.blocks);
    let cycles: u64 = blocks().map(|block| block.all_walk_cycles()).sum();
    assert_eq!(cycles, result.walk_cycles, "walk cycles, {case}");
    let walks: u64 = blocks().map(|block| block.walks).sum();
    assert_eq!(walks, result.l2_misses, "walks, {case}");
    for block in blocks() {
        let of_pages: u64 = block.of_pages.iter().map(|(_, cycles)| cycles).sum();
        assert_eq!(of_pages, block.all_walk_cycles(), "cycles of pages, {case}");
        assert!(
            block.walk_cycles.is_sorted_by_key(|(bin, _)| *bin),
            "{case}"
        );
        assert!(block.states.is_sorted_by_key(|state| state.bin), "{case}");
        assert!(block.states.iter().all(|state| {
            state.bin < map.bins && state.promoted.max(state.wasted) <= state.populated
        }));
    }
    let last = |of: fn(&broadleaf_model::map::BlockState) -> u32| -> u64 {
        blocks()
            .filter_map(|block| block.states.last())
            .map(|state| u64::from(of(state)))
            .sum()
    };
    assert_eq!(
        last(|state| state.populated),
        result.resident_pages,
        "{case}"
    );
    let wasted = last(|state| state.wasted);
    let memory = result.memory.as_ref().expect("memory");
    let sample = memory.over_time.last().expect("a sample");
    assert_eq!(wasted, sample.bloat_pages, "wasted pages, {case}");
    assert_eq!(
        last(|state| state.promoted),
        sample.superpage_pages,
        "{case}"
    );
    let mut decided: BTreeMap<Decided, u64> = BTreeMap::new();
    for (_, history) in &map.histories {
        let listed: u64 = history.decisions.iter().map(|one| one.count).sum();
        let all: u64 = history.counts.values().sum();
        assert_eq!(listed + history.left_out, all, "{case}");
        for (what, count) in &history.counts {
            *decided.entry(*what).or_default() += count;
        }
    }
    let count = |what: Decided| decided.get(&what).copied().unwrap_or(0);
    assert_eq!(count(Decided::Promoted), result.promotions, "{case}");
    assert_eq!(count(Decided::Demoted), result.demotions, "{case}");
    for reason in broadleaf_policy::Refusal::ALL {
        let expected = result.refusals.get(reason.name()).copied().unwrap_or(0);
        assert_eq!(
            count(Decided::Refused(*reason)),
            expected,
            "{reason:?}, {case}"
        );
    }
}

#[test]
fn maps_change_no_count_and_add_up_to_the_results() {
    for seed in 0..4 {
        let trace = random(seed);
        for limits in [MemoryLimits::none(), MemoryLimits::new(12 << 20)] {
            let outcome = replayed(&trace, &plan(limits.clone()));
            let accesses = outcome.trace.accesses;
            let map = |wanted| mapped(&trace, limits.clone(), wanted, accesses);
            let (results, filtered) = map(StepsWanted::EachChange);
            let (_, whole) = map(StepsWanted::EachVisit);
            assert_eq!(filtered.len(), POLICIES.len());
            for (plain, result) in outcome.results.iter().zip(&results) {
                let case = format!("seed {seed}, {}, {} bytes", result.policy, limits.memory);
                // Listeners make no other difference than the times of samples.
                let counts = |result: &CellResult| CellResult {
                    memory: None,
                    ..result.clone()
                };
                assert_eq!(counts(plain), counts(result), "{case}");
                check_sums(&filtered[&result.policy], result, &case);
                assert_eq!(filtered[&result.policy], whole[&result.policy], "{case}");
            }
        }
    }
}
