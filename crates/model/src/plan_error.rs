//! Plans that cannot be carried out.

use broadleaf_machine::Machine;
use broadleaf_policy::{Foresight, ParseError, Policy};
use broadleaf_tlb::RuleNeed;
use broadleaf_units::PageSize;

/// The reason why a plan cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The plan has no policy or no machine.
    #[error("nothing to compare: at least one policy and one machine are needed")]
    Empty,
    /// A machine has base pages only, and a policy makes superpages.
    #[error(
        "policy {policy} makes {size} pages, and the machine {machine} has none: leave the policy \
         out, or choose a machine with {size} pages"
    )]
    NoSuperpages {
        /// The policy's name.
        policy: String,
        /// The machine's name.
        machine: String,
        /// The page size that the policy makes.
        size: String,
    },
    /// A machine cannot have the memory that the limits describe.
    #[error("{machine}: {reason}")]
    Memory {
        /// The machine's name.
        machine: String,
        /// The reason.
        reason: String,
    },
    /// Machines that should observe one memory have other base pages.
    #[error("{machine} and {other} have different base pages, so they cannot look at one memory")]
    BasePages {
        /// A machine's name.
        machine: String,
        /// The name of the other machine.
        other: String,
    },
    /// A policy is notified of TLB misses, and a replacement rule needs the next use of each
    /// translation. The promotions that the policy makes at misses change the next uses.
    #[error(
        "policy {policy} decides at TLB misses, and replacement {rule} of the machine {machine} \
         knows the next use of each translation, which those decisions change: leave the policy \
         out, or choose another rule"
    )]
    Future {
        /// The policy's name.
        policy: String,
        /// The machine's name.
        machine: String,
        /// The rule's name.
        rule: &'static str,
    },
    /// A policy scatters superpages, and a structure of a machine does not translate them, or has
    /// other colour regions.
    #[error(
        "policy {policy} scatters superpages over {count} colour regions whose number is in the \
         address bits from {low_bit} on, and {structure} of the machine {machine} does not \
         translate these: write organisation = \"scattered\", regions = \"{count}\" and \
         region-bit = {low_bit} in its table, or leave the policy out"
    )]
    Scattering {
        /// The policy's name.
        policy: String,
        /// The machine's name.
        machine: String,
        /// The name of the structure.
        structure: String,
        /// The number of regions.
        count: u64,
        /// The lowest address bit of a region's number.
        low_bit: u8,
    },
    /// A policy reckons with superpages that take one entry of the TLB, and a machine's enter it in
    /// pieces.
    #[error(
        "policy {policy} reckons with pages of {size} in one entry of the TLB. They enter that of \
         the machine {machine} in pieces: leave the policy out, or choose another machine"
    )]
    Fractured {
        /// The policy's name.
        policy: String,
        /// The machine's name.
        machine: String,
        /// The size of such pages.
        size: String,
    },
    /// A policy scatters superpages, and a machine has a synonym table.
    #[error(
        "policy {policy} scatters superpages, and the synonym table of the machine {machine} lists \
         frames that follow one another: leave out the policy, or synonyms in its description"
    )]
    ScatteredSynonyms {
        /// The policy's name.
        policy: String,
        /// The machine's name.
        machine: String,
    },
    /// A policy or a machine cannot be replayed with instructions that begin again.
    #[error(
        "{0} reckons with the order of lookups, which instructions that begin again change: leave \
         it out"
    )]
    Restarts(String),
    /// A policy foresees a policy that does not exist.
    #[error(transparent)]
    Foreseen(#[from] ParseError),
}

/// Returns an error if a machine has 4 KiB pages alone and a policy makes superpages.
pub(crate) fn check_superpages(
    machine: &Machine,
    policies: &[Box<dyn Policy>],
) -> Result<(), PlanError> {
    if machine.page_sizes() != [PageSize::SIZE_4K] {
        return Ok(());
    }
    match policies.iter().find(|policy| policy.promotes()) {
        Some(policy) => Err(PlanError::NoSuperpages {
            policy: policy.name(),
            machine: machine.name.clone(),
            size: PageSize::SIZE_2M.short_name().to_string(),
        }),
        None => Ok(()),
    }
}

/// Returns an error if a policy reckons with what a machine's TLBs do not have.
pub(crate) fn check_machine(
    machine: &Machine,
    policies: &[Box<dyn Policy>],
) -> Result<(), PlanError> {
    check_future(machine, policies)?;
    check_scattering(machine, policies)?;
    check_fractured(machine, policies)
}

/// Returns an error if a replacement rule knows the future and a policy decides at TLB misses.
fn check_future(machine: &Machine, policies: &[Box<dyn Policy>]) -> Result<(), PlanError> {
    let rules = machine.design.structures().iter();
    let mut rules = rules.map(|structure| structure.replacement.entry());
    let Some(rule) = rules.find(|rule| rule.needs.contains(&RuleNeed::Future)) else {
        return Ok(());
    };
    let mut policies = policies.iter().map(Box::as_ref);
    match policies.find(|policy| policy.needs().decides_by_misses()) {
        Some(policy) => Err(PlanError::Future {
            policy: policy.name(),
            machine: machine.name.clone(),
            rule: rule.described.name,
        }),
        None => Ok(()),
    }
}

/// Returns an error if superpages enter the machine's TLB in pieces, and a policy scatters them,
/// decides at misses or chooses superpages by the misses that they spare.
fn check_fractured(machine: &Machine, policies: &[Box<dyn Policy>]) -> Result<(), PlanError> {
    let Some(size) = machine.fractured.first() else {
        return Ok(());
    };
    let reckons = |policy: &&dyn Policy| {
        let needs = policy.needs();
        let scatters = needs.colours.is_some_and(|rule| rule.scatters);
        let chooses = matches!(needs.foresight, Foresight::Cheapest(_));
        scatters || chooses || needs.decides_by_misses()
    };
    match policies.iter().map(Box::as_ref).find(reckons) {
        Some(policy) => Err(PlanError::Fractured {
            policy: policy.name(),
            machine: machine.name.clone(),
            size: size.short_name().to_string(),
        }),
        None => Ok(()),
    }
}

/// Returns an error if a policy scatters superpages and a structure for pages of 2 MiB does not
/// translate them.
fn check_scattering(machine: &Machine, policies: &[Box<dyn Policy>]) -> Result<(), PlanError> {
    for policy in policies {
        let Some(rule) = policy.needs().colours.filter(|rule| rule.scatters) else {
            continue;
        };
        let Ok((regions, _)) = rule.shares.divide(PageSize::SIZE_2M, rule.way) else {
            continue;
        };
        if machine.synonyms.is_some() {
            return Err(PlanError::ScatteredSynonyms {
                policy: policy.name(),
                machine: machine.name.clone(),
            });
        }
        let mut structures = machine.design.structures().iter();
        let other = structures.find(|structure| {
            let holds = structure.index(PageSize::SIZE_2M).is_some();
            holds && structure.colour_regions() != Some(regions)
        });
        if let Some(structure) = other {
            return Err(PlanError::Scattering {
                policy: policy.name(),
                machine: machine.name.clone(),
                structure: structure.name.clone(),
                count: regions.count(),
                low_bit: regions.bits().0,
            });
        }
    }
    Ok(())
}

/// Returns an error if machines differ in their base pages.
pub(crate) fn check_base_pages(machines: &[Machine]) -> Result<(), PlanError> {
    let base = |machine: &Machine| machine.design.sizes().first().copied();
    if let [first, others @ ..] = machines
        && let Some(other) = others.iter().find(|other| base(other) != base(first))
    {
        return Err(PlanError::BasePages {
            machine: first.name.clone(),
            other: other.name.clone(),
        });
    }
    Ok(())
}
