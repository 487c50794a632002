//! The accelerators, what each does, and the plans that each covers.
//!
//! An accelerator returns the counts of the model, faster. Any accelerator may be deleted, and
//! every result stays. The planner uses each accelerator that covers a plan; [`explain`] reports
//! the choice.

use crate::covers::{WhyNot, covers, no_listeners};
use crate::translation::TeamTranslation;
use broadleaf_filter::Recency;
use broadleaf_model::Plan;
use broadleaf_policy::Foresight;
use broadleaf_tlb::Design;

/// An accelerator.
pub struct Accelerator {
    /// Its name.
    pub name: &'static str,
    /// The effect of the accelerator, as a phrase.
    pub does: &'static str,
    /// The assumptions behind the accelerator's counts, as a phrase.
    pub relies_on: &'static str,
    /// Returns the reason why it does not serve a plan, if there is one.
    pub covers: fn(&Plan) -> Result<(), WhyNot>,
}

/// An accelerator, and the reason why the planner left it out, if the planner did.
pub struct AcceleratorChoice {
    /// The accelerator.
    pub accelerator: &'static Accelerator,
    /// The reason. `None` if the accelerator serves the plan.
    pub why_not: Option<WhyNot>,
}

/// The name of the accelerator that reads a reduced form.
pub const REDUCED_FORM: &str = "reduced form";

/// All accelerators, those of the quick path first.
pub static ACCELERATORS: &[Accelerator] = &[
    Accelerator {
        name: "blocks",
        does: "keeps blocks of 2 MiB without frames",
        relies_on: "pages of 4 KiB and 2 MiB, and memory that never runs short",
        covers,
    },
    Accelerator {
        name: "groups",
        does: "looks a page up once for all policies whose TLBs hold the same",
        relies_on: "blocks",
        covers: |plan| {
            covers(plan)?;
            enough(plan.policies().len(), "one policy has a TLB of its own")
        },
    },
    Accelerator {
        name: "families",
        does: "looks the first level of the TLB up once for all machines that have an equal one",
        relies_on: "blocks, and second levels that change a first level only by a page's size",
        covers: |plan| {
            covers(plan)?;
            enough(plan.machines().len(), "there is one machine")?;
            match TeamTranslation::any_share(plan.machines()) {
                true => Ok(()),
                false => Err(WhyNot::NotAsked("the first levels of all machines differ")),
            }
        },
    },
    Accelerator {
        name: "lanes",
        does: "looks a page up in several TLBs by one instruction",
        relies_on: "blocks, and sets with exact LRU replacement",
        covers: |plan| {
            covers(plan)?;
            enough(plan.policies().len(), "one policy has a TLB of its own")
        },
    },
    Accelerator {
        name: "segments",
        does: "looks pages up in several segments at once, from guesses that it repairs",
        relies_on: "blocks, and sets with exact LRU replacement",
        covers: |plan| {
            covers(plan)?;
            match plan.threads() {
                threads if threads < plan.segment_rules().least_threads => Err(WhyNot::NotAsked(
                    "fewer than three threads make all lookups in order",
                )),
                _ if plan.curves() => Err(WhyNot::NotAsked("curves follow all visits in order")),
                _ => Ok(()),
            }
        },
    },
    Accelerator {
        name: "curves",
        does: "counts the misses of all geometries from LRU stack distances",
        relies_on: "blocks, and exact LRU replacement",
        covers: |plan| {
            covers(plan)?;
            match plan.curves() {
                true => Ok(()),
                false => Err(WhyNot::NotAsked("the plan asks for no curves")),
            }
        },
    },
    Accelerator {
        name: REDUCED_FORM,
        does: "reads the visits that an earlier filter kept, instead of the trace",
        relies_on: "blocks, and the filter's fingerprint of the machines",
        covers: |plan| {
            covers(plan)?;
            match plan.curves() {
                true => Err(WhyNot::NotAsked("curves need all visits")),
                false => Ok(()),
            }
        },
    },
    Accelerator {
        name: "filter",
        does: "leaves out visits that change no memory and no TLB",
        relies_on: "first levels whose sets keep the translations used last, or that are one set",
        covers: filters,
    },
    Accelerator {
        name: "words",
        does: "skips words without making their visits, if the trace is recoded",
        relies_on: "the filter, and first levels that hold each page size in sets of its own",
        covers: |plan| {
            filters(plan)?;
            match filter_groups(plan)
                .into_iter()
                .any(|group| Recency::new(group).keeps_places())
            {
                true => Ok(()),
                false => Err(WhyNot::NotAsked(
                    "a first-level set is direct-mapped, holds several page sizes, or is the only one",
                )),
            }
        },
    },
    Accelerator {
        name: "shared worlds",
        does: "simulates a memory once for all machines of equal page sizes with one filter",
        relies_on: "policies that are not notified of misses",
        covers: |plan| {
            not_all_notified(plan)?;
            enough(plan.machines().len(), "there is one machine")?;
            enough(most_together(plan), "each machine has a filter of its own")
        },
    },
    Accelerator {
        name: "fixed walks",
        does: "counts walks without a page table",
        relies_on: "walks whose cost depends on the page size alone",
        covers: |plan| {
            let mut machines = plan.machines().iter();
            match machines.find(|machine| !machine.has_fixed_walk_costs()) {
                Some(machine) => Err(WhyNot::Walks {
                    machine: machine.name.clone(),
                }),
                None => Ok(()),
            }
        },
    },
];

/// Returns an error if no world of the plan may leave visits out.
fn filters(plan: &Plan) -> Result<(), WhyNot> {
    let mut machines = plan.machines().iter();
    if let Some(machine) = machines.clone().find(|machine| machine.caches.is_some()) {
        let machine = machine.name.clone();
        return Err(WhyNot::Caches { machine });
    }
    if filter_groups(plan).is_empty() {
        let unknown = machines.find(|machine| !machine.design.is_sets_by_last_use());
        let machine = unknown.map_or_else(String::new, |machine| machine.name.clone());
        return Err(WhyNot::Hits { machine });
    }
    no_listeners(plan)?;
    if plan.restarts_instructions() {
        return Err(WhyNot::Restarts);
    }
    if plan.curves() && covers(plan).is_err() {
        return Err(WhyNot::Curves);
    }
    not_all_notified(plan)?;
    let mut policies = plan.policies().iter();
    if policies.any(|policy| matches!(policy.needs().foresight, Foresight::Cheapest(_))) {
        let why = "a policy chooses by the numbers of all references";
        return Err(WhyNot::NotAsked(why));
    }
    match plan.limits() {
        Some(limits) if limits.code => {
            Err(WhyNot::NotAsked("pages of instructions need all fetches"))
        }
        _ => Ok(()),
    }
}

/// The designs that have a filter each. The quick path has one filter, which knows sets with LRU
/// replacement.
fn filter_groups(plan: &Plan) -> Vec<Vec<&Design>> {
    match covers(plan) {
        Ok(()) => vec![
            plan.machines()
                .iter()
                .map(|machine| &machine.design)
                .collect(),
        ],
        Err(_) => plan.filter_groups(),
    }
}

/// The most machines with one filter, or without any.
fn most_together(plan: &Plan) -> usize {
    let all = plan.machines().len();
    if filters(plan).is_err() {
        return all;
    }
    let groups: Vec<usize> = filter_groups(plan).iter().map(Vec::len).collect();
    let without = all - groups.iter().sum::<usize>();
    groups.into_iter().max().unwrap_or(0).max(without)
}

/// Returns an error if every policy is notified of misses. Such a policy has a world of its own for
/// each machine, and charges count each lookup.
fn not_all_notified(plan: &Plan) -> Result<(), WhyNot> {
    let mut policies = plan.policies().iter();
    match policies.find(|policy| !policy.needs().charges.any()) {
        Some(_) => Ok(()),
        None => Err(WhyNot::Notified {
            policy: plan
                .policies()
                .first()
                .map_or(String::new(), |policy| policy.name()),
        }),
    }
}

/// Returns an error if there is one of something that an accelerator shares.
fn enough(count: usize, why: &'static str) -> Result<(), WhyNot> {
    match count {
        0 | 1 => Err(WhyNot::NotAsked(why)),
        _ => Ok(()),
    }
}

/// The planner's choice: each accelerator, and the reason if it does not serve the plan.
pub fn explain(plan: &Plan) -> Vec<AcceleratorChoice> {
    let choice = |accelerator: &'static Accelerator| AcceleratorChoice {
        accelerator,
        why_not: (accelerator.covers)(plan).err(),
    };
    ACCELERATORS.iter().map(choice).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_machine::Machine;
    use broadleaf_model::{MemoryLimits, StepsWanted};

    fn plan(policies: &[&str], machines: &[&str]) -> Plan {
        let policy = |name: &&str| broadleaf_policy::parse(name).expect("a policy");
        let machine = |name: &&str| broadleaf_machine::machine(name).expect("a machine");
        let policies = policies.iter().map(policy).collect();
        Plan::new(policies, machines.iter().map(machine).collect()).expect("a plan")
    }

    fn chosen(plan: &Plan) -> Vec<&'static str> {
        let choices = explain(plan).into_iter();
        let chosen = choices.filter(|choice| choice.why_not.is_none());
        chosen.map(|choice| choice.accelerator.name).collect()
    }

    #[test]
    fn the_quick_path_serves_policies_without_frames() {
        let two = plan(&["4k", "pop-64"], &["skylake"]);
        let quick = [
            "blocks",
            "groups",
            "lanes",
            "reduced form",
            "filter",
            "words",
            "fixed walks",
        ];
        assert_eq!(chosen(&two), quick);
        let one = plan(&["4k"], &["skylake"]);
        assert_eq!(
            chosen(&one),
            ["blocks", "reduced form", "filter", "words", "fixed walks"]
        );
        assert!(chosen(&plan(&["4k"], &["skylake"]).with_curves()).contains(&"curves"));
    }

    #[test]
    fn machines_with_one_first_level_are_a_family() {
        let of = |machines: Vec<Machine>| {
            let policy = broadleaf_policy::parse("4k").expect("a policy");
            Plan::new(vec![policy], machines).expect("a plan")
        };
        let machine = |name: &str| broadleaf_machine::machine(name).expect("a machine");
        let alike = Machine {
            name: "alike".to_owned(),
            ..machine("skylake")
        };
        let is_chosen = |machines: Vec<Machine>| chosen(&of(machines)).contains(&"families");
        assert!(is_chosen(vec![machine("skylake"), alike]));
        assert!(!is_chosen(vec![machine("skylake")]));
        assert!(!is_chosen(vec![
            machine("skylake"),
            machine("skylake-va23")
        ]));
    }

    #[test]
    fn frames_leave_the_filter_and_the_shared_worlds() {
        let frames = plan(&["navarro", "4k"], &["skylake", "skylake-va23"]);
        assert_eq!(
            chosen(&frames),
            ["filter", "words", "shared worlds", "fixed walks"]
        );
        let limited = plan(&["4k"], &["skylake"]).limited_to(MemoryLimits::none());
        assert_eq!(
            chosen(&limited.expect("a memory")),
            ["filter", "words", "fixed walks"]
        );
        let numbered = plan(&["offline"], &["skylake"]);
        assert_eq!(chosen(&numbered), ["fixed walks"]);
        let apart = plan(&["4k"], &["skylake", "zen4"]);
        assert!(chosen(&apart).contains(&"filter"));
        assert!(!chosen(&apart).contains(&"shared worlds"));
        let together = plan(&["4k"], &["zen4", "neoverse-n1", "skylake"]);
        assert!(chosen(&together).contains(&"shared worlds"));
        let mixed = plan(&["4k"], &["skylake-unified-64"]);
        assert!(!chosen(&mixed).contains(&"words"));
        let notified = plan(&["approx-online"], &["skylake", "skylake-va23"]);
        assert_eq!(chosen(&notified), ["fixed walks"]);
    }

    #[test]
    fn caches_leave_no_accelerator_that_leaves_visits_out() {
        let cached = plan(&["4k", "pop-64"], &["chen2014-1core", "skylake"]);
        assert_eq!(chosen(&cached), ["shared worlds"]);
        let why = |name: &str| {
            let choices = explain(&cached).into_iter();
            let mut of_name = choices.filter(|choice| choice.accelerator.name == name);
            of_name
                .find_map(|choice| choice.why_not)
                .map(|why| why.to_string())
        };
        let words = "chen2014-1core has caches, which every visit to a line may change";
        for name in ["blocks", "lanes", "reduced form", "filter", "words"] {
            assert_eq!(why(name).as_deref(), Some(words), "{name}");
        }
    }

    #[test]
    fn listeners_leave_no_accelerator_that_leaves_visits_out() {
        for (wanted, words) in [
            (
                StepsWanted::EachVisit,
                "a listener asks for a step for each visit",
            ),
            (
                StepsWanted::EachAccess,
                "a listener asks for a step for each access",
            ),
        ] {
            let two = plan(&["4k", "pop-64"], &["skylake", "skylake-va23"]);
            let two = two.with_listeners(wanted, |_, _| None);
            assert_eq!(chosen(&two), ["shared worlds", "fixed walks"]);
            for choice in explain(&two) {
                if let Some(why_not) = choice.why_not {
                    assert_eq!(why_not.to_string(), words, "{}", choice.accelerator.name);
                }
            }
        }
    }

    #[test]
    fn every_reason_is_a_phrase() {
        for accelerator in ACCELERATORS {
            for text in [accelerator.does, accelerator.relies_on] {
                assert!(!text.is_empty() && !text.ends_with('.'), "{text}");
            }
        }
    }
}
