//! Replacement rules in whole replays: OPT, which knows the future, and the notes on rules.

use crate::common::{load, map, range};
use broadleaf_accel::{run, run_after};
use broadleaf_machine::Machine;
use broadleaf_model::{Items, Outcome, Plan, PlanError};
use broadleaf_oracle::belady;
use broadleaf_oracle::random::{Rng, loops};
use broadleaf_tlb::REPLACEMENTS;
use broadleaf_trace::{Advice, Backing, Event, Grain};
use std::ops::ControlFlow;

const WAYS: usize = 8;

/// A machine with one set of base pages.
fn one_set(rule: &str, keys: &str) -> Machine {
    let text = format!(
        "name = \"{rule}\"\nsummary = \"one set\"\n[[tlb]]\nname = \"dtlb\"\nlevel = 1\n\
         entries = {WAYS}\nways = {WAYS}\nreplacement = \"{rule}\"\n{keys}\n\
         index = {{ 4k = \"none\" }}\n[walk-cycles]\n4k = 30\n"
    );
    Machine::from_toml(&text).expect("a machine")
}

/// A machine with a first level of both sizes and, if asked for, a second.
fn both_sizes(levels: usize) -> Machine {
    let level = |level| {
        format!(
            "[[tlb]]\nname = \"level-{level}\"\nlevel = {level}\nentries = 8\nways = 8\n\
             replacement = \"opt\"\nindex = {{ 4k = \"none\", 2m = \"none\" }}\n"
        )
    };
    let levels: Vec<String> = (1..=levels).map(level).collect();
    let text = format!(
        "name = \"opt\"\nsummary = \"both sizes\"\n{}[walk-cycles]\n4k = 30\n2m = 20\n",
        levels.concat()
    );
    Machine::from_toml(&text).expect("a machine")
}

fn policies(names: &[&str]) -> Vec<Box<dyn broadleaf_policy::Policy>> {
    let parse = |name: &&str| broadleaf_policy::parse(name).expect("a policy");
    names.iter().map(parse).collect()
}

fn replayed(items: &Items, names: &[&str], machines: Vec<Machine>) -> Outcome {
    let plan = Plan::new(policies(names), machines).expect("a plan");
    let plan = plan.on_threads(2);
    let mut go_on = |_| ControlFlow::Continue(());
    run(&mut items.clone(), &plan, &mut go_on).expect("a replay")
}

fn string(seed: u64) -> Vec<u64> {
    let references = loops(&mut Rng::new(seed), 1, 30, 4000).0;
    references.into_iter().map(|(_, page)| page).collect()
}

fn items(pages: &[u64]) -> Items {
    let mut items = Items::new(Grain::Page);
    items.event(map(0, 512, Backing::Anonymous));
    items.visits(pages.iter().map(|page| load(*page)));
    items
}

fn misses(missed: &[bool]) -> u64 {
    missed.iter().filter(|missed| **missed).count() as u64
}

/// The rules that sets of eight ways can have.
fn rules() -> Vec<&'static str> {
    let rules = REPLACEMENTS.iter();
    let rules = rules.filter(|rule| (rule.refuses)(WAYS).is_none());
    rules.map(|rule| rule.described.name).collect()
}

#[test]
fn opt_knows_the_future_of_a_replay_and_nothing_beats_it() {
    for seed in 0..20 {
        let string = string(seed);
        let least = misses(&belady(&string, WAYS));
        // Each machine comes first once, and observes the others' memory once.
        for turn in 0..2 {
            let mut machines: Vec<Machine> = rules().iter().map(|rule| one_set(rule, "")).collect();
            if turn == 1 {
                machines.reverse();
            }
            let outcome = replayed(&items(&string), &["4k"], machines);
            for result in &outcome.results {
                let name = &result.machine;
                assert!(
                    result.l1_misses >= least,
                    "{name}: {}, {least}",
                    result.l1_misses
                );
                assert!(
                    name != "opt" || result.l1_misses == least,
                    "{}",
                    result.l1_misses
                );
                assert_eq!(result.accesses, 4000);
            }
            let bound = "replacement opt is a bound";
            assert!(
                outcome
                    .notes
                    .iter()
                    .any(|note| note.text.starts_with(bound))
            );
        }
    }
}

#[test]
fn opt_knows_the_future_after_earlier_traces() {
    let (before, after) = (string(1), string(2));
    // An earlier trace is of another process.
    let both: Vec<u64> = (before.iter().map(|page| page + 1000))
        .chain(after.iter().copied())
        .collect();
    let least = misses(&belady(&both, WAYS)[before.len()..]);
    let plan = Plan::new(policies(&["4k"]), vec![one_set("opt", "")]).expect("a plan");
    let (mut earlier, mut last) = ([items(&before)], items(&after));
    let mut go_on = |_| ControlFlow::Continue(());
    let outcome = run_after(&mut earlier, &mut last, &plan, &mut go_on).expect("a replay");
    assert_eq!(outcome.results[0].l1_misses, least);
}

#[test]
fn the_next_uses_of_all_machines_are_bounded() {
    // Each lookup is of another page than the one before.
    let string: Vec<u64> = (0..2000).map(|at| at % 7).collect();
    let replay = |machines: usize, policies_of: &[&str]| {
        let machine = |number: usize| Machine {
            name: format!("opt-{number}"),
            ..both_sizes(1)
        };
        let machines = (0..machines).map(machine).collect();
        let plan = Plan::new(policies(policies_of), machines).expect("a plan");
        let plan = plan.keeping_next_uses(4096);
        run(&mut items(&string), &plan, &mut |_| {
            ControlFlow::Continue(())
        })
    };
    assert_eq!(replay(2, &["4k"]).expect("room for 4,000").results.len(), 2);
    let error = replay(3, &["4k"])
        .expect_err("no room for 6,000")
        .to_string();
    assert!(
        error.contains("next uses of 4096 lookups at most, for all machines"),
        "{error}"
    );
    assert!(replay(2, &["4k", "greedy"]).is_err());
}

#[test]
fn opt_is_called_a_heuristic_where_it_is_none() {
    let heuristic = |items: &Items, policy: &str, machine: Machine| {
        let outcome = replayed(items, &[policy], vec![machine]);
        let mut notes = outcome.notes.into_iter().map(|note| note.text);
        let note = notes.find(|note| note.contains("opt is a"));
        note.unwrap_or_default()
    };
    let plain = items(&string(3));
    let found = heuristic(&plain, "4k", both_sizes(1));
    assert_eq!(
        found,
        "replacement opt is a bound: no rule has fewer misses in such a TLB (4k on opt)"
    );
    let found = heuristic(&plain, "4k", both_sizes(2));
    assert!(
        found.ends_with("no bound, since the TLB has two levels (4k on opt)"),
        "{found}"
    );
    let mut dropped = plain.clone();
    dropped.event(Event::Advise(range(3, 4), Advice::DontNeed));
    dropped.visits((0..20).map(load));
    let found = heuristic(&dropped, "4k", one_set("opt", ""));
    assert!(
        found.contains("since translations were invalidated: the program unmapped"),
        "{found}"
    );
    let mut promoted = Items::new(Grain::Page);
    promoted.event(map(0, 1024, Backing::Anonymous));
    promoted.visits((0..1024).chain(0..40).map(load));
    let found = heuristic(&promoted, "pop-64", both_sizes(1));
    assert!(
        found.ends_with("since there are pages of several sizes (pop-64 on opt)"),
        "{found}"
    );
}

#[test]
fn policies_and_machines_with_one_answer_share_a_note() {
    let notes = |policies: &[&str], names: &[&str]| {
        let named = |name: &&str| Machine {
            name: (*name).to_owned(),
            ..both_sizes(1)
        };
        let machines = names.iter().map(named).collect();
        let notes = replayed(&items(&string(3)), policies, machines).notes;
        let notes = notes.into_iter().map(|note| note.text);
        notes.filter(|note| note.contains("opt is a"))
    };
    // No block fills, so freebsd promotes none.
    let together: Vec<String> = notes(&["4k", "freebsd"], &["a", "b", "c", "d"]).collect();
    let bound = "replacement opt is a bound: no rule has fewer misses in such a TLB";
    assert_eq!(
        together,
        [format!("{bound} (4k, freebsd on a, b, c and 1 more)")]
    );
    let apart: Vec<String> = notes(&["4k", "pop-8"], &["a", "b"]).collect();
    assert_eq!(apart[0], format!("{bound} (4k on a, b)"));
    assert!(apart[1].ends_with("(pop-8 on a, b)"), "{apart:?}");
    assert_eq!(apart.len(), 2);
}

#[test]
fn opt_is_no_bound_beside_other_structures_and_with_copies_of_pages() {
    let table = |name: &str, sets: usize, keys: &str, index: &str| {
        format!(
            "[[tlb]]\nname = \"{name}\"\nlevel = 1\nentries = {}\nways = 4\n\
             replacement = \"opt\"\n{keys}index = {{ {index} }}\n",
            4 * sets
        )
    };
    let none = "4k = \"none\"";
    let one = |keys: &str| table("one", 1, keys, none);
    let turns = "alternates = true\n";
    let replicated = "4k = \"va[12]\", 2m = \"va[12]\"";
    for (tables, reason) in [
        (
            one("") + &table("two", 1, "fills = \"prefetches\"\n", none),
            "several structures",
        ),
        (
            one(turns) + &table("two", 1, turns, none),
            "several structures",
        ),
        (
            one("") + &table("code", 1, "serves = [\"fetches\"]\n", none),
            "several structures",
        ),
        (
            table("one", 2, "replicate = true\n", replicated),
            "a page several entries",
        ),
        (
            one("serves = [\"fetches\", \"loads\", \"stores\"]\n"),
            "data and instructions share",
        ),
    ] {
        let text =
            format!("name = \"opt\"\nsummary = \"opt\"\n{tables}[walk-cycles]\n4k = 30\n2m = 20\n");
        let machine = Machine::from_toml(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let outcome = replayed(&items(&string(3)), &["4k"], vec![machine]);
        let mut notes = outcome.notes.iter();
        let note = notes.find(|note| note.text.contains("opt is a heuristic"));
        assert!(
            note.is_some_and(|note| note.text.contains(reason)),
            "{text}{:?}",
            outcome.notes
        );
    }
}

#[test]
fn opt_is_refused_with_a_policy_that_receives_misses() {
    let plan = |policy: &str| Plan::new(policies(&[policy]), vec![both_sizes(1)]);
    for policy in ["approx-online", "online", "offline"] {
        let expected = PlanError::Future {
            policy: policy.to_owned(),
            machine: "opt".to_owned(),
            rule: "opt",
        };
        assert_eq!(plan(policy).err(), Some(expected));
    }
    for policy in ["4k", "pop-64", "ingens"] {
        assert_eq!(plan(policy).err(), None);
    }
}

#[test]
fn results_name_the_parameters_of_rules() {
    let items = items(&string(4));
    let outcome = |seed: u64| {
        let machine = one_set("random", &format!("seed = {seed}"));
        replayed(&items, &["4k"], vec![machine])
    };
    let mut seen = std::collections::BTreeSet::new();
    for seed in [1, 2, 3] {
        let [one, other] = [outcome(seed), outcome(seed)];
        assert_eq!(one.results, other.results);
        let wanted = format!("random: dtlb has the replacement rule random(seed={seed})");
        let mut notes = one.notes.iter();
        assert!(notes.any(|note| note.text == wanted), "{:?}", one.notes);
        seen.insert(one.results[0].l1_misses);
    }
    assert!(seen.len() > 1);
    let outcome = replayed(&items, &["4k"], vec![one_set("lru", "")]);
    assert!(
        outcome
            .notes
            .iter()
            .all(|note| !note.text.contains("replacement"))
    );
}
