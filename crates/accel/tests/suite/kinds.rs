//! First levels that serve loads, stores or fetches: each receives the pages of its own misses.

use crate::common::{load, loads, map, store};
use broadleaf_accel::run;
use broadleaf_machine::Machine;
use broadleaf_model::{Items, Plan};
use broadleaf_trace::{Backing, Grain, Visit};
use std::ops::ControlFlow;

/// A machine with one level: structures of so many entries in one set.
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

/// A visit that fetches so many instructions of a page.
fn fetch(page: u64, instructions: u32) -> Visit {
    Visit {
        unit: page,
        instructions,
        fetch: true,
        ..Visit::default()
    }
}

/// The misses of each machine, which observe one memory.
fn misses(visits: &[Visit], machines: Vec<Machine>) -> Vec<u64> {
    let mut items = Items::new(Grain::Page);
    items.event(map(0, 512, Backing::Anonymous));
    items.visits(visits.iter().copied());
    let policy = broadleaf_policy::parse("4k").expect("a policy");
    let plan = Plan::new(vec![policy], machines).expect("a plan");
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
