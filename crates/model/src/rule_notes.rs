//! Notes on replacement rules: their parameters, and the meaning of a rule that knows the future.

use crate::Plan;
use crate::mmu::Mmu;
use crate::worlds::Worlds;
use broadleaf_machine::Machine;
use broadleaf_tlb::{Fills, Organisation, ReferenceKind, RuleNeed, Structure};

/// The policies and the machines that a note names.
const SHOWN: usize = 3;

/// Notes on the rules of a plan's machines; `best` is the index of each pair's run. Policies and
/// machines with the same answer share a note.
pub(crate) fn rule_notes(worlds: &Worlds<'_>, best: &[usize], plan: &Plan) -> Vec<String> {
    let parameters = plan.machines().iter().flat_map(parameters);
    let mut by_machine: Vec<(Option<&str>, &str, Vec<String>)> = Vec::new();
    for ((policy, machine), run) in plan.pairs().zip(best) {
        if !machine.design.needs(RuleNeed::Future) {
            continue;
        }
        let reason = heuristic_since(worlds.run(*run).1);
        let mut known = by_machine.iter_mut();
        match known.find(|(of, on, _)| (*of, *on) == (reason, &machine.name)) {
            Some((.., policies)) => policies.push(policy.name()),
            None => by_machine.push((reason, &machine.name, vec![policy.name()])),
        }
    }
    let mut alike: Vec<(Option<&str>, Vec<&str>, Vec<String>)> = Vec::new();
    for (reason, machine, policies) in by_machine {
        let mut known = alike.iter_mut();
        match known.find(|(of, _, under)| (*of, under) == (reason, &policies)) {
            Some((_, machines, _)) => machines.push(machine),
            None => alike.push((reason, vec![machine], policies)),
        }
    }
    let futures = alike.into_iter().map(|(reason, machines, policies)| {
        let meaning = match reason {
            None => "a bound: no rule has fewer misses in such a TLB".to_owned(),
            Some(reason) => format!("a heuristic and no bound, since {reason}"),
        };
        format!(
            "replacement opt is {meaning} ({} on {})",
            some_of(&policies),
            some_of(&machines)
        )
    });
    parameters.chain(futures).collect()
}

/// The first names, and the number of the others.
fn some_of<S: std::borrow::Borrow<str>>(names: &[S]) -> String {
    match names.get(SHOWN..) {
        Some(more) if !more.is_empty() => {
            format!("{} and {} more", names[..SHOWN].join(", "), more.len())
        }
        _ => names.join(", "),
    }
}

/// A note for each structure whose rule has parameters.
fn parameters(machine: &Machine) -> impl Iterator<Item = String> {
    let structures = machine.design.structures().iter();
    let with = structures.filter(|structure| !structure.replacement.values().is_empty());
    with.map(|structure| {
        let (name, rule) = (&structure.name, &structure.replacement);
        format!("{}: {name} has the replacement rule {rule}", machine.name)
    })
}

/// The reason why next uses do not give the fewest misses, if there is one.
fn heuristic_since(mmu: &Mmu<'_>) -> Option<&'static str> {
    let structures = mmu.machine.design.structures();
    let has_rule = |of: &Structure| of.replacement.entry().needs.contains(&RuleNeed::Future);
    let [one] = structures else {
        let has = |level: usize| structures.iter().any(|of| of.level == level);
        let reasons = [
            (has(3), "the TLB has a third level"),
            (has(2), "the TLB has two levels"),
            (
                !structures.iter().all(has_rule),
                "some structures have other rules",
            ),
        ];
        let reason = reasons.into_iter().find(|(holds, _)| *holds);
        return Some(reason.map_or("the TLB has several structures", |(_, reason)| reason));
    };
    let serves_data =
        [ReferenceKind::Load, ReferenceKind::Store].map(|kind| one.role.serves.has(kind));
    let sizes = mmu.walks.iter().filter(|walks| **walks > 0).count();
    if one.level != 1 || one.role.fills != Fills::Walks {
        Some("walks alone do not fill the first level")
    } else if !Organisation::is_plain_sets(&one.organisation) {
        Some("an entry can hold several pages, or a page several entries")
    } else if one.role.serves.has(ReferenceKind::Fetch) && serves_data.contains(&true) {
        Some("data and instructions share the TLB")
    } else if sizes > 1 {
        Some("there are pages of several sizes")
    } else if mmu.invalidated {
        Some(
            "translations were invalidated: the program unmapped or protected pages, or the \
             policy gave pages another mapping",
        )
    } else {
        None
    }
}
