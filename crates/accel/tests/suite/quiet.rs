//! Visits that change nothing in TLBs with used bits, and with rules that ignore hits, are left
//! out.

use crate::filtered::{limits, random, replayed};
use broadleaf_machine::Machine;
use broadleaf_model::{MemoryLimits, Plan};
use broadleaf_policy::Policy;

/// Rules that know quiet lookups.
const RULES: [&str; 9] = [
    "gods",
    "clock",
    "bit-plru",
    "bit-plru-random",
    "fifo",
    "random",
    "round-robin",
    "not-last-used",
    "srrip",
];
/// Policies that promote at faults, at an age, with daemons that clear reference bits, and from
/// reservations.
const POLICIES: [&str; 7] = [
    "4k",
    "greedy",
    "life-700",
    "linux",
    "hawkeye",
    "navarro",
    "freebsd14",
];

/// A machine with a rule at both levels: sets of each size at the first level, or one set of both.
fn machine(rule: &str, is_one_set: bool) -> Machine {
    let table = |name: &str, level: u32, sets: u32, index: &str| {
        format!(
            "[[tlb]]\nname = \"{name}\"\nlevel = {level}\nentries = {}\nways = 4\n\
             replacement = \"{rule}\"\nindex = {{ {index} }}\n",
            4 * sets
        )
    };
    let first = match is_one_set {
        true => table("first", 1, 1, "4k = \"none\", 2m = \"none\""),
        false => {
            table("small", 1, 4, "4k = \"va[13:12]\"") + &table("large", 1, 2, "2m = \"va[21]\"")
        }
    };
    let second = table("second", 2, 4, "4k = \"va[13:12]\", 2m = \"va[22:21]\"");
    let text = format!(
        "name = \"{rule}\"\nsummary = \"{rule}\"\n{first}{second}\
         [walk-cycles]\n4k = 30\n2m = 20\n"
    );
    Machine::from_toml(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn plan(machine: Machine, limits: &MemoryLimits) -> Plan {
    let policy = |name: &&str| -> Box<dyn Policy> { broadleaf_policy::parse(name).unwrap() };
    let policies = POLICIES.iter().map(policy).collect();
    let plan = Plan::within(policies, vec![machine], limits.clone());
    plan.expect("a plan").with_interim_results(vec![700, 701])
}

/// Fails if a visit is left out after memory unsettled its page, after the set of its page lost
/// used bits, or when a daemon is due.
#[test]
fn quiet_visits_change_no_figure() {
    let (mut promotions, mut swapped, mut turns) = (0, 0, 0);
    for (seed, rule) in (0..).zip(RULES) {
        let source = random(seed);
        for (number, limits) in limits().iter().enumerate() {
            let of_rule = || plan(machine(rule, number % 2 == 1), limits);
            let quiet = replayed(&source, &of_rule());
            let all = replayed(&source, &of_rule().with_all_visits());
            assert_eq!(quiet.trace, all.trace);
            let found = quiet.results.iter().chain(&quiet.interim[0]);
            for (one, other) in found.zip(all.results.iter().chain(&all.interim[0])) {
                assert_eq!(one, other, "{} with {rule}, limits {number}", one.policy);
                let memory = one.memory.as_ref().expect("memory is modelled");
                promotions += one.promotions;
                swapped += memory.swapped_out_pages;
                turns += u32::from(memory.daemon_cycles > 0);
            }
        }
    }
    assert!(
        promotions > 0 && swapped > 0 && turns > 0,
        "{promotions} {swapped} {turns}"
    );
}
