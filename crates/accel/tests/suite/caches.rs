//! Machines with caches: lines of frames, walks through the caches, and cycles.

use crate::common::*;
use broadleaf_accel::run;
use broadleaf_machine::{Machine, machine};
use broadleaf_metrics::{CacheResult, CellResult};
use broadleaf_model::{Items, Outcome, Plan, StepsWanted};
use broadleaf_oracle::caches::{
    LineRuleSpec, OracleAccess, OracleCacheSpec, OracleCaches, OracleCachesSpec, OracleMovement,
};
use broadleaf_oracle::random::Rng;
use broadleaf_trace::{Backing, Grain, Visit};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// A machine with TLBs of four pages, and these caches.
pub(crate) fn small(caches: &str) -> Machine {
    let text = format!(
        "name = \"small\"\nsummary = \"small caches\"\ncaches = \"non-inclusive\"\n\
         [[tlb]]\nname = \"first\"\nlevel = 1\nentries = 4\nways = 4\nreplacement = \"lru\"\n\
         index = {{ 4k = \"none\" }}\n\
         [[tlb]]\nname = \"large\"\nlevel = 1\nentries = 4\nways = 4\nreplacement = \"lru\"\n\
         index = {{ 2m = \"none\" }}\n\
         {caches}[main-memory]\nlatency = 100\n\
         [walk-cycles]\n4k = 30\n2m = 20\n"
    );
    Machine::from_toml(&text).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) const CORE: &str = "[core]\nwidth = 4\nwindow = 128\nwalkers = 1\n";

pub(crate) fn level(level: u32, size: &str, latency: u32) -> String {
    format!(
        "[[cache]]\nname = \"L{level}\"\nlevel = {level}\nsize = \"{size}\"\nways = 4\nline = 64\n\
         latency = {latency}\nreplacement = \"lru\"\n"
    )
}

/// 4 KiB of first level, and 4 MiB of second.
pub(crate) fn two_levels(walk_level: u32) -> Machine {
    let core = format!("{CORE}walks-from-level = {walk_level}\n");
    small(&[level(1, "4K", 2), level(2, "4M", 10), core].concat())
}

/// A visit to a line.
pub(crate) fn visit(line: u64, loads: u32, stores: u32, instructions: u32) -> Visit {
    Visit {
        unit: line,
        loads,
        loads_before_store: loads,
        stores,
        instructions,
        ..Visit::default()
    }
}

/// A trace of one mapping of 4096 pages, by line.
pub(crate) fn lines(visits: impl IntoIterator<Item = Visit>) -> Items {
    let mut items = Items::new(Grain::Line);
    items.event(map(0, 4096, Backing::Anonymous));
    items.visits(visits);
    items
}

pub(crate) fn replayed(items: &Items, plan: &Plan) -> Outcome {
    let mut items = items.clone();
    let outcome = run(&mut items, plan, &mut |_| ControlFlow::Continue(()));
    outcome.unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn plan(policies: &[&str], machines: &[Machine]) -> Plan {
    let policies = policies.iter().map(|name| {
        let policy = broadleaf_policy::parse(name);
        policy.expect("a policy")
    });
    Plan::new(policies.collect(), machines.to_vec()).expect("a plan")
}

pub(crate) fn one(items: &Items, machine: Machine) -> (CellResult, CacheResult) {
    let result = replayed(items, &plan(&["4k"], &[machine]))
        .results
        .remove(0);
    let caches = result.caches.clone().expect("counts of caches");
    (result, caches)
}

pub(crate) fn random_visits(seed: u64, count: usize) -> Vec<Visit> {
    let mut rng = Rng::new(seed);
    let visits = (0..count).map(|_| {
        let line = match rng.below(4) {
            0 => rng.below(4096 * 64),
            1 => rng.below(64) * 64 + rng.below(2),
            _ => rng.below(200),
        };
        let stores = if rng.one_in(3) {
            1 + rng.below(2) as u32
        } else {
            0
        };
        let loads = rng.below(3) as u32 + u32::from(stores == 0);
        visit(line, loads, stores, 1 + rng.below(9) as u32)
    });
    visits.collect()
}

/// The first level, on the frames that memory gave, against a slow one. Walks begin at the second
/// level, so that the first has data alone.
#[test]
fn data_goes_to_the_lines_of_its_frames() {
    for seed in 0..8 {
        let visits = random_visits(seed, 3000);
        let plan = plan(&["4k"], &[two_levels(2)]).with_frames();
        let outcome = replayed(&lines(visits.clone()), &plan);
        let frames = outcome.frames[0].iter();
        let frames: BTreeMap<u64, u64> = frames.map(|(at, frame)| (at.page, *frame)).collect();
        let first = OracleCacheSpec {
            sets: 16,
            ways: 4,
            cycles: 2,
            rule: LineRuleSpec::Lru,
        };
        let mut slow = OracleCaches::new(OracleCachesSpec {
            movement: OracleMovement::NonInclusive,
            cores: 1,
            first_of_instructions: None,
            levels: vec![first],
            walk_level: 0,
            memory_cycles: 100,
            banks: (0, 0),
        });
        for visit in &visits {
            let line = frames[&(visit.unit >> 6)] * 64 + visit.unit % 64;
            for _ in 0..visit.loads {
                slow.access(0, line, OracleAccess::Load, 0);
            }
            for _ in 0..visit.stores {
                slow.access(0, line, OracleAccess::Store, 0);
            }
        }
        let expected = slow.counts().levels[0][0];
        let caches = outcome.results[0].caches.as_ref().expect("caches");
        let found = caches.levels[0];
        assert_eq!(found.hits, expected.hits, "{seed}");
        assert_eq!(found.misses, expected.misses, "{seed}");
        assert_eq!(found.written_back, expected.written, "{seed}");
        assert!(
            found.misses[0] > 500 && found.written_back > 100,
            "{found:?}"
        );
    }
}

/// Eight pages in turn miss a TLB of four entries each time. Their entries of the page table lie in
/// four lines, one for each level of the table: a walk costs four hits, once they are there. These
/// lines begin pages, and fill the first set of the first level: data has other sets.
#[test]
fn walks_read_their_lines_through_the_caches() {
    let items = lines((0..800).map(|number| visit(number % 8 * 65 + 3, 1, 0, 1)));
    let (result, caches) = one(&items, two_levels(1));
    assert_eq!(result.walks.total(), 800);
    assert_eq!(caches.levels[0].misses[1], 4);
    assert_eq!(caches.levels[0].hits[1], 4 * 800 - 4);
    assert_eq!(result.walk_cycles, 4 * 800 * 2 + 4 * (10 + 100));
    let (from_second, caches) = one(&items, two_levels(2));
    assert_eq!(from_second.walk_cycles, 4 * 800 * 10 + 4 * 100);
    assert_eq!(caches.levels[0].hits[1] + caches.levels[0].misses[1], 0);
}

/// The same walks cost more if data pushes their lines out of the caches.
#[test]
fn walks_cost_what_else_runs() {
    let small = || small(&[level(1, "4K", 2), CORE.to_owned()].concat());
    let alone = lines((0..800).map(|number| visit(number % 8 * 65 + 3, 1, 0, 1)));
    let beside = lines((0..800).flat_map(|number| {
        let page = number % 8 * 64;
        (0..64).map(move |line| visit(page + line, 1, 0, 1))
    }));
    let (alone, _) = one(&alone, small());
    let (beside, caches) = one(&beside, small());
    assert_eq!(alone.walks.total(), beside.walks.total());
    assert!(
        beside.walk_cycles > 5 * alone.walk_cycles,
        "{}",
        beside.walk_cycles
    );
    assert!(caches.levels[0].misses[1] > 800);
}

/// Superpages walk three levels and not four.
#[test]
fn larger_pages_have_cheaper_walks() {
    let items = lines((0..8000).map(|number| visit(number % 8 * 512 * 64 + number % 64, 1, 0, 1)));
    let outcome = replayed(&items, &plan(&["4k", "greedy"], &[two_levels(1)]));
    let [base, large] = [&outcome.results[0], &outcome.results[1]];
    assert!(
        large.walk_cycles < base.walk_cycles,
        "{}",
        large.walk_cycles
    );
}

#[test]
fn cycles_follow_width_window_and_misses() {
    // One line, 4000 instructions: 1000 cycles at full width, and the first walk and miss. The
    // last visit has no reference, and its page is not there.
    let visits = (0..999).map(|_| visit(0, 1, 0, 4));
    let visits = visits.chain([visit(4000 * 64, 0, 0, 4)]);
    let (_, caches) = one(&lines(visits), two_levels(1));
    let cold = 4 * (2 + 10 + 100) + (2 + 10 + 100);
    let hidden = 128 / 4;
    assert_eq!(caches.instructions, 4000);
    // The hit of the last load ends in the cycle after the last instruction began.
    assert_eq!(caches.cycles, Some(1000 + cold - hidden + 1));
    // A hit of the first level is part of full width.
    assert_eq!(caches.serial_cycles, Some(1000 + cold - 2));
}

#[test]
fn traces_of_pages_are_refused() {
    let mut items = Items::new(Grain::Page);
    items.visits([load(1)]);
    let plan = plan(&["4k"], &[two_levels(1)]);
    let refused = run(&mut items, &plan, &mut |_| ControlFlow::Continue(()));
    let message = refused.expect_err("a trace of pages").to_string();
    assert!(message.contains("--grain line"), "{message}");
}

/// Neither threads, nor other machines and policies, nor listeners change a count.
#[test]
fn results_depend_on_nothing_else() {
    let items = lines(random_visits(7, 20_000));
    let policies = ["4k", "pop-64", "navarro"];
    let machines = [two_levels(1), machine("chen2014-1core").expect("a machine")];
    let alone: Vec<CellResult> = policies
        .iter()
        .flat_map(|policy| machines.iter().map(move |machine| (policy, machine)))
        .map(|(policy, machine)| {
            let plan = plan(&[policy], std::slice::from_ref(machine));
            replayed(&items, &plan).results.remove(0)
        })
        .collect();
    let without = machine("skylake").expect("a machine");
    let three = [machines[0].clone(), machines[1].clone(), without.clone()];
    for threads in [1, 4] {
        let plan = plan(&policies, &three).on_threads(threads);
        let together = replayed(&items, &plan).results;
        let (plain, cached): (Vec<_>, Vec<_>) =
            together.into_iter().partition(|one| one.caches.is_none());
        assert_eq!(cached, alone);
        assert_eq!(plain.len(), policies.len());
        let again = replayed(&items, &plan).results;
        let again = again.into_iter().filter(|one| one.caches.is_some());
        assert_eq!(again.collect::<Vec<_>>(), alone);
    }
    for wanted in [StepsWanted::EachVisit, StepsWanted::EachAccess] {
        let plan =
            plan(&["4k"], &machines[..1]).with_listeners(wanted, |_, _| Some(Box::new(Deaf)));
        assert_eq!(replayed(&items, &plan).results, alone[..1]);
    }
}

struct Deaf;

impl broadleaf_model::StepListener for Deaf {
    fn step(&mut self, _: &broadleaf_model::Step, _: broadleaf_model::SlowLookups) {}
}

/// One core of a machine of four counts as a machine of one core does.
#[test]
fn one_core_of_four_is_one_core() {
    let items = lines(random_visits(3, 20_000));
    let [alone, of_four] = ["chen2014-1core", "chen2014-4core"].map(|name| {
        let (result, _) = one(&items, machine(name).expect("a machine"));
        CellResult {
            machine: String::new(),
            ..result
        }
    });
    assert_eq!(alone, of_four);
}

/// Instructions go through the caches too, and stall the core.
#[test]
fn fetches_read_lines() {
    let fetch = |line, instructions| Visit {
        unit: line,
        instructions,
        fetch: true,
        ..Visit::default()
    };
    let code = (0..500).flat_map(|number| [fetch(64 * 8 + 5 + number % 5, 16), visit(3, 1, 0, 0)]);
    let (_, caches) = one(&lines(code), two_levels(1));
    assert_eq!(caches.levels[0].misses[2], 5);
    assert_eq!(caches.levels[0].hits[2], 495);
    assert_eq!(caches.instructions, 500 * 16);
    assert!(caches.cycles > Some(500 * 16 / 4 + 5 * 100));
}
