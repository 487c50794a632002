//! First levels that serve loads, stores or fetches: each receives the pages of its own misses.

use crate::common::{load, loads, map, store};
use broadleaf_accel::run;
use broadleaf_machine::Machine;
use broadleaf_model::{Items, Plan, SlowLookups, Step, StepListener, StepsWanted};
use broadleaf_trace::{Backing, Grain, Visit};
use std::ops::ControlFlow;

/// A machine with one level. `structures` lists the kind of reference and the number of entries of
/// each TLB, which has one set.
fn machine(rule: &str, structures: &[(&str, usize)]) -> Machine {
    let structures = structures.iter().map(|(kind, entries)| {
        format!(
            "[[tlb]]\nname = \"{kind}\"\nlevel = 1\nentries = {entries}\nways = {entries}\n\
             serves = [\"{kind}\"]\nreplacement = \"{rule}\"\nindex = {{ 4k = \"none\" }}\n"
        )
    });
    let text = format!(
        "name = \"kinds\"\nsummary = \"one level\"\n{}[walk-cycles]\n4k = 30\n",
        structures.collect::<String>()
    );
    Machine::from_toml(&text).expect("a machine")
}

/// A visit that fetches `instructions` instructions of a page.
fn fetch(page: u64, instructions: u32) -> Visit {
    Visit {
        unit: page,
        instructions,
        fetch: true,
        ..Visit::default()
    }
}

/// A listener that hears nothing.
struct Deaf;

impl StepListener for Deaf {
    fn step(&mut self, _step: &Step, _slow: SlowLookups) {}
}

/// A visit of a page: loads, then stores, then loads.
fn mixed(page: u64, [before, stores, after]: [u32; 3]) -> Visit {
    Visit {
        unit: page,
        loads: before + after,
        loads_before_store: before,
        stores,
        ..Visit::default()
    }
}

/// The misses of each machine, which observe one memory.
fn misses(visits: &[Visit], machines: Vec<Machine>) -> Vec<u64> {
    misses_heard(visits, machines, None)
}

/// The misses of each machine. A listener hears the steps, if some are wanted.
fn misses_heard(visits: &[Visit], machines: Vec<Machine>, wanted: Option<StepsWanted>) -> Vec<u64> {
    let mut items = Items::new(Grain::Page);
    items.event(map(0, 512, Backing::Anonymous));
    items.visits(visits.iter().copied());
    let policy = broadleaf_policy::parse("4k").expect("a policy");
    let plan = Plan::new(vec![policy], machines).expect("a plan");
    let plan = match wanted {
        Some(wanted) => plan.with_listeners(wanted, |_, _| Some(Box::new(Deaf))),
        None => plan,
    };
    let mut go_on = |_| ControlFlow::Continue(());
    let outcome = run(&mut items, &plan, &mut go_on).expect("a replay");
    let results = outcome.results.iter();
    results.map(|result| result.l1_misses).collect()
}

#[test]
fn a_walk_fills_the_structure_of_its_kind() {
    let rounds = (0..30).flat_map(|step| {
        let page = step % 3;
        [load(page), store(100 + page), fetch(200 + page, 5)]
    });
    let rounds: Vec<Visit> = rounds.collect();
    let apart = |entries| {
        let kinds = ["loads", "stores", "fetches"].map(|kind| (kind, entries));
        machine("lru", &kinds)
    };
    // Three pages fit three entries of each kind, and not two.
    assert_eq!(misses(&rounds, vec![apart(3), apart(2)]), [9, 90]);
}

#[test]
fn each_instruction_is_a_use_of_its_page() {
    let both = || machine("lfu", &[("loads", 2), ("stores", 2), ("fetches", 2)]);
    let code = [fetch(0, 10), fetch(1, 1), fetch(2, 1), fetch(0, 1)];
    assert_eq!(misses(&code, vec![both()]), [3]);
    // The instructions between two loads are no uses of data.
    let data = [loads(0, 2), load(1), fetch(9, 10), load(2), load(0)];
    let data_alone = || machine("lfu", &[("loads", 2), ("stores", 2)]);
    let machines = || vec![both(), data_alone()];
    assert_eq!(misses(&data, machines()), [4, 3]);
    let reversed: Vec<Machine> = machines().into_iter().rev().collect();
    assert_eq!(misses(&data, reversed), [3, 4]);
}

#[test]
fn uses_depend_on_no_other_machine() {
    // Page 0 has eight uses, and page 1 has nine: page 0 makes room for page 2.
    let stored = mixed(0, [0, 1, 3]);
    let visits = [stored, stored, loads(1, 9), load(2), load(0)];
    let one_for_all = || {
        let text = "name = \"one\"\nsummary = \"one structure\"\n[[tlb]]\nname = \"all\"\n\
                    level = 1\nentries = 2\nways = 2\nreplacement = \"lfu\"\n\
                    index = { 4k = \"none\" }\n[walk-cycles]\n4k = 30\n";
        Machine::from_toml(text).expect("a machine")
    };
    let apart = machine("lru", &[("loads", 2), ("stores", 2)]);
    assert_eq!(misses(&visits, vec![one_for_all()]), [4]);
    assert_eq!(misses(&visits, vec![one_for_all(), apart])[0], 4);
}

#[test]
fn listeners_change_no_use() {
    let mut state = 1_u64;
    let mut draw = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % below
    };
    let visits: Vec<Visit> = (0..4000)
        .map(|_| {
            let counts = [draw(4), draw(4), draw(4)].map(|count| count as u32);
            mixed(
                draw(6),
                [counts[0] + 1, counts[1], counts[2] * counts[1].min(1)],
            )
        })
        .chain((0..400).map(|step| mixed(step % 6, [0, 1, (step % 5) as u32])))
        .collect();
    for rule in ["lfu", "srrip"] {
        let machines = || vec![machine(rule, &[("loads", 3), ("stores", 3)])];
        let unheard = misses(&visits, machines());
        for wanted in [StepsWanted::EachVisit, StepsWanted::EachAccess] {
            assert_eq!(
                misses_heard(&visits, machines(), Some(wanted)),
                unheard,
                "{rule}"
            );
        }
    }
}

/// Machines that observe one memory count as each does alone, whichever comes first. Repeated uses
/// belong to the lookup before them, even if that lookup changed nothing (SRRIP).
#[test]
fn repeated_uses_count_on_each_machine_as_on_one_alone() {
    let shared = |rule: &str, ways: usize| {
        let text = format!(
            "name = \"{rule}-{ways}\"\nsummary = \"one level\"\n[[tlb]]\nname = \"all\"\n\
             level = 1\nentries = {ways}\nways = {ways}\nreplacement = \"{rule}\"\n\
             index = {{ 4k = \"none\" }}\n[walk-cycles]\n4k = 30\n"
        );
        Machine::from_toml(&text).expect("a machine")
    };
    let known = [(1, 1), (1, 1), (2, 1), (1, 5), (3, 1), (1, 1)];
    let known = known.map(|(page, count)| mixed(page, [count, 0, 0]));
    assert_eq!(misses(&known, vec![shared("srrip", 2)]), [3]);
    let mut state = 29_u64;
    let mut draw = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % below
    };
    let random: Vec<Visit> = (0..6000)
        .map(|_| mixed(draw(6) >> draw(2), [1 + draw(5) as u32, draw(3) as u32, 0]))
        .collect();
    for visits in [&known[..], &random] {
        for (one, other) in [("srrip", "lru"), ("srrip", "lfu"), ("fifo", "srrip")] {
            let machines = [shared(one, 2), shared(other, 3)];
            let alone: Vec<u64> = (machines.iter())
                .flat_map(|machine| misses(visits, vec![machine.clone()]))
                .collect();
            assert_eq!(misses(visits, machines.to_vec()), alone, "{one} {other}");
            let [first, second] = machines;
            let turned = misses(visits, vec![second, first]);
            assert_eq!(turned, [alone[1], alone[0]], "{other} {one}");
        }
    }
}
