//! Machines with other replacement rules than LRU against the oracle, on whole traces with maps,
//! unmaps, protections, promotions and demotions.

use super::figures::{CountsByName, differences, figures_of_oracle};
use super::replays::of_machine;
use super::{cases, for_each_seed, machine_of, policies, print::print};
use crate::common::items_of;
use broadleaf_machine::Machine;
use broadleaf_model::{MemoryLimits, Plan};
use broadleaf_oracle::random::{Rng, Script, shrink, thin};
use broadleaf_oracle::{Pace, PolicySpec, Recording, RuleSpec, RuledMachine, alone, replay_items};
use broadleaf_tlb::{Design, REPLACEMENTS, ReplacementChoice};

/// A built-in machine with the rule in each structure whose ways can have it.
fn ruled(machine: &str, choice: &ReplacementChoice) -> Machine {
    let machine = broadleaf_machine::machine(machine).expect("a machine");
    with_rule(machine, choice)
}

/// A machine with the rule in each structure whose ways can have it.
pub(super) fn with_rule(mut machine: Machine, choice: &ReplacementChoice) -> Machine {
    let mut structures = machine.design.structures().to_vec();
    for structure in &mut structures {
        if (choice.entry().refuses)(structure.ways).is_none() {
            structure.replacement = choice.clone();
        }
    }
    machine.design = Design::new(structures).expect("a design");
    machine
}

pub(super) fn engine(recording: &Recording, policy: PolicySpec, machine: &Machine) -> CountsByName {
    let length = recording.items.len();
    let mut items = items_of(recording).in_parts_of(1 + length % 7);
    let limited = |plan: Plan| plan.limited_to(MemoryLimits::none()).expect("a memory");
    let found = of_machine(&mut items, length, &[policy], machine.clone(), limited);
    comparable(found.into_iter().next().expect("one result"))
}

/// The counts without that of faults under `4k`, which depends on no TLB.
fn comparable(mut counts: CountsByName) -> CountsByName {
    counts.retain(|name, _| name != "faults_saved");
    counts
}

pub(super) fn oracle(
    recording: &Recording,
    policy: PolicySpec,
    machine: RuledMachine,
) -> CountsByName {
    let items = recording.items();
    let counts = replay_items(recording.grain, items, policy, machine, Pace::Leap);
    let base = counts.page_faults;
    comparable(figures_of_oracle(counts, base))
}

#[test]
fn every_rule_counts_as_the_oracles() {
    for_each_seed(cases(1000), |seed| {
        // The oracle has no frames, and the model has: no two pages share one.
        let recording = alone(Script::from_seed(seed).recording());
        let of = machine_of(seed);
        let policies = policies(&mut Rng::new(seed));
        for (number, rule) in REPLACEMENTS.iter().enumerate() {
            let choice = ReplacementChoice::from(*rule);
            let value = choice.values().first().and_then(|value| value.number());
            let rule = RuleSpec::named(rule.described.name, value).expect("a rule");
            let policy = policies[(seed as usize / 4 + number) % policies.len()];
            let (machine, slow) = (
                ruled(&of.to_string(), &choice),
                RuledMachine { machine: of, rule },
            );
            let differs = |recording: &Recording| {
                let recording = alone(recording.clone());
                engine(&recording, policy, &machine) != oracle(&recording, policy, slow)
            };
            if differs(&recording) {
                let script = Script::from_seed(seed);
                let small = alone(thin(&shrink(&script, differs).recording(), differs));
                let (left, right) = (
                    engine(&small, policy, &machine),
                    oracle(&small, policy, slow),
                );
                panic!(
                    "seed {seed}, {policy}, {choice} on {of}:\n{}{}",
                    differences(&left, &right),
                    print(&small)
                );
            }
        }
    });
}
