//! Superpages that enter the TLB in pieces, against the oracle.

use super::rules::{engine, oracle, with_rule};
use super::{cases, differences, for_each_seed, policies, print};
use crate::common::items_of;
use broadleaf_accel::run;
use broadleaf_machine::Machine;
use broadleaf_metrics::CellResult;
use broadleaf_model::Plan;
use broadleaf_oracle::random::{Rng, Script, shrink, thin};
use broadleaf_oracle::{OracleMachine, Recording, RuleSpec, RuledMachine, alone};
use broadleaf_tlb::{REPLACEMENTS, ReplacementChoice};
use std::ops::ControlFlow;

/// Skylake in a guest whose host maps base pages. The key `fractured` is left out if `fractured` is
/// empty.
fn guest(fractured: &str) -> Machine {
    let text = format!(
        "name = \"guest\"\nsummary = \"Skylake, whose host maps base pages\"\n{fractured}\n\
         [[tlb]]\nname = \"dtlb\"\nlevel = 1\nentries = 64\nways = 4\nreplacement = \"lru\"\n\
         index = {{ 4k = \"va[15:12]\" }}\n\
         [[tlb]]\nname = \"stlb\"\nlevel = 2\nentries = 1536\nways = 12\nreplacement = \"lru\"\n\
         index = {{ 4k = \"va[18:12] ^ va[25:19]\" }}\n[walk-cycles]\n4k = 35\n2m = 21\n"
    );
    Machine::from_toml(&text).expect("a machine")
}

const FRACTURED: &str = "fractured = [\"2m\"]";

#[test]
fn every_rule_counts_as_the_oracles() {
    for_each_seed(cases(1000), |seed| {
        let script = Script::from_seed(seed + 7_000_000);
        let recording = alone(script.recording());
        let policies = policies(&mut Rng::new(seed));
        // Exact LRU has the filters, so it has every other turn.
        let rule = REPLACEMENTS[seed as usize / 2 % REPLACEMENTS.len()];
        let choice = match seed % 2 {
            0 => ReplacementChoice::from(broadleaf_tlb::Replacement::lru().entry()),
            _ => ReplacementChoice::from(rule),
        };
        let value = choice.values().first().and_then(|value| value.number());
        let slow = RuledMachine {
            machine: OracleMachine::SkylakeFractured,
            rule: RuleSpec::named(choice.entry().described.name, value).expect("a rule"),
        };
        let machine = with_rule(guest(FRACTURED), &choice);
        for policy in policies {
            let differs = |recording: &Recording| {
                let recording = alone(recording.clone());
                engine(&recording, policy, &machine) != oracle(&recording, policy, slow)
            };
            if differs(&recording) {
                let small = alone(thin(&shrink(&script, differs).recording(), differs));
                let left = engine(&small, policy, &machine);
                let right = oracle(&small, policy, slow);
                let found = differences(&left, &right);
                panic!(
                    "seed {seed}, {policy}, {choice}:\n{found}{}",
                    print::print(&small)
                );
            }
        }
    });
}

/// Machines that look at one memory count as each does alone, whether pages fracture or not.
#[test]
fn guests_beside_other_machines_count_as_alone() {
    let skylake = || broadleaf_machine::machine("skylake").expect("a machine");
    let other = || Machine {
        name: "other".to_owned(),
        ..with_rule(guest(FRACTURED), &ReplacementChoice::from(REPLACEMENTS[1]))
    };
    for_each_seed(cases(200), |seed| {
        let script = Script::from_seed(seed + 8_000_000);
        let recording = alone(script.recording());
        let specs = policies(&mut Rng::new(seed));
        let replayed = |machines: Vec<Machine>| {
            let parse = |policy: &_| broadleaf_policy::parse(&format!("{policy}"));
            let named = specs.iter().map(parse).collect::<Result<_, _>>();
            let plan = Plan::new(named.expect("policies"), machines).expect("a plan");
            let mut items = items_of(&recording);
            let mut go_on = |_| ControlFlow::Continue(());
            let outcome = run(&mut items, &plan, &mut go_on).expect("a replay");
            // Frames are modelled beside a guest alone.
            let counts = outcome.results.into_iter().map(|result| CellResult {
                memory: None,
                ..result
            });
            counts.collect::<Vec<_>>()
        };
        let together = replayed(vec![skylake(), guest(FRACTURED), other()]);
        for machine in [skylake(), guest(FRACTURED), other()] {
            let of: Vec<_> = together
                .iter()
                .filter(|one| one.machine == machine.name)
                .collect();
            let alone = replayed(vec![machine]);
            assert_eq!(of, alone.iter().collect::<Vec<_>>(), "seed {seed}");
        }
    });
}

/// Without the key, memory has base pages alone, and no superpage makes a walk shorter.
#[test]
fn superpages_make_walks_shorter_and_spare_none() {
    let count = |machine: Machine, policy: &str| {
        let mut rng = Rng::new(3);
        let pages: Vec<u64> = (0..40_000).map(|_| rng.below(20 * 512)).collect();
        let mut items = broadleaf_model::Items::new(broadleaf_trace::Grain::Page);
        items.event(crate::common::map(
            0,
            20 * 512,
            broadleaf_trace::Backing::Anonymous,
        ));
        items.visits(pages.into_iter().map(crate::common::load));
        let policies = vec![broadleaf_policy::parse(policy).expect("a policy")];
        let plan = Plan::new(policies, vec![machine])?;
        let mut go_on = |_| ControlFlow::Continue(());
        let outcome = run(&mut items, &plan, &mut go_on).expect("a replay");
        Ok::<_, broadleaf_model::PlanError>(outcome.results.into_iter().next().expect("one"))
    };
    let base = count(guest(FRACTURED), "4k").expect("a plan");
    let huge = count(guest(FRACTURED), "greedy").expect("a plan");
    assert_eq!(
        (base.l1_misses, base.l2_misses),
        (huge.l1_misses, huge.l2_misses)
    );
    assert_eq!(base.walk_cycles, base.l2_misses * 35);
    assert_eq!(huge.walk_cycles, huge.l2_misses * 21);
    assert_eq!(huge.promotions, 20);
    assert!(count(guest(""), "4k").expect("a plan").walk_cycles == base.walk_cycles);
    assert!(
        count(guest(""), "greedy").is_err(),
        "the TLB holds no superpages"
    );
    for reckons in ["approx-online", "offline"] {
        let refused = count(guest(FRACTURED), reckons)
            .expect_err("a refusal")
            .to_string();
        assert!(
            refused.contains("enter that of the machine guest in pieces"),
            "{refused}"
        );
    }
}
