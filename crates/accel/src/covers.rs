//! The plans that the quick path serves.
//!
//! The quick path keeps 4 KiB pages and 2 MiB superpages without frames, in memory that never runs
//! short. Its filter and its lanes rely on exact LRU replacement in every TLB.

use broadleaf_machine::Machine;
use broadleaf_model::{Plan, StepsWanted};
use broadleaf_policy::Policy;
use broadleaf_units::PageSize;

/// The reason why an accelerator does not serve a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WhyNot {
    /// A policy allocates frames.
    #[error("{policy} allocates frames")]
    Frames {
        /// The name of the policy.
        policy: String,
    },
    /// A machine translates no pages of a size that the accelerator relies on.
    #[error("{machine} has no TLB for {size} pages")]
    PageSize {
        /// The name of the machine.
        machine: String,
        /// The missing size.
        size: String,
    },
    /// A TLB has an organisation or a replacement rule that the accelerator does not know.
    #[error("{machine} has a TLB that is not plain sets with exact LRU replacement")]
    Design {
        /// The name of the machine.
        machine: String,
    },
    /// A lookup that hits a TLB may change more than the order of last use, or the machines' TLBs
    /// have no order in common that the filter knows.
    #[error("a hit in the TLBs of {machine} may change more than an order that the filter knows")]
    Hits {
        /// The name of the machine.
        machine: String,
    },
    /// Superpages enter a machine's TLB in pieces, and a walk to a piece has a cost of its own.
    #[error("the pages of {size} of {machine} are fractured")]
    Fractured {
        /// The name of the machine.
        machine: String,
        /// The size of such pages.
        size: String,
    },
    /// A machine's page table or caches make the cost of a walk depend on more than the page size.
    #[error(
        "the page table or the caches of {machine} give walks costs that depend on more than the \
         page size"
    )]
    Walks {
        /// The name of the machine.
        machine: String,
    },
    /// A machine has caches: each visit to a line may change what they hold.
    #[error("{machine} has caches, which every visit to a line may change")]
    Caches {
        /// The name of the machine.
        machine: String,
    },
    /// A policy is notified of TLB misses.
    #[error("{policy} is notified of misses")]
    Notified {
        /// The name of the policy.
        policy: String,
    },
    /// The plan has no use for the accelerator, for the reason given.
    #[error("{0}")]
    NotAsked(&'static str),
    /// A listener follows the steps, and an accelerator leaves visits out or replays them together.
    #[error("a listener asks for {steps}")]
    Steps {
        /// The steps that the listener asks for.
        steps: &'static str,
    },
    /// Curves of the model look every visit up. The quick path, which this plan does not take,
    /// passes to its curves the pages that its filter leaves out.
    #[error("curves of the model need all visits")]
    Curves,
    /// Instructions begin again after a miss, so lookups depend on those before them.
    #[error("instructions begin again after a miss")]
    Restarts,
    /// The trace holds a whole system, whose page tables give sizes of pages.
    #[error("the trace holds a whole system, with the page tables of its kernel")]
    System,
    /// Memory is modelled down to the frame.
    #[error("memory is modelled down to the frame")]
    Memory,
}

/// Returns the reason why the quick path does not serve a plan, if there is one.
///
/// # Errors
/// The plan limits memory, has listeners or restarts instructions, a policy allocates frames, or a
/// machine lacks a page size. Curves of a plan that the quick path serves are its own
/// ([`WhyNot::Curves`] is for the others).
pub fn covers(plan: &Plan) -> Result<(), WhyNot> {
    no_listeners(plan)?;
    if plan.restarts_instructions() {
        return Err(WhyNot::Restarts);
    }
    match plan.limits() {
        Some(_) => Err(WhyNot::Memory),
        None => covers_all(plan.policies(), plan.machines()),
    }
}

/// Returns an error if a listener follows the steps of the plan.
pub(crate) fn no_listeners(plan: &Plan) -> Result<(), WhyNot> {
    let steps = match plan.steps_wanted() {
        None => return Ok(()),
        Some(StepsWanted::EachVisit) => "a step for each visit",
        Some(StepsWanted::EachChange) => "a step for each visit that changes something",
        Some(StepsWanted::EachAccess) => "a step for each access",
    };
    Err(WhyNot::Steps { steps })
}

/// Returns the reason why the quick path does not serve these policies on these machines in memory
/// that never runs short, if there is one.
///
/// # Errors
/// A policy allocates frames, or a machine lacks a page size.
pub fn covers_all(policies: &[Box<dyn Policy>], machines: &[Machine]) -> Result<(), WhyNot> {
    let allocates = policies.iter().find(|policy| policy.needs().needs_frames());
    if let Some(policy) = allocates {
        let policy = policy.name();
        return Err(WhyNot::Frames { policy });
    }
    for machine in machines {
        let name = || machine.name.clone();
        if machine.caches.is_some() {
            return Err(WhyNot::Caches { machine: name() });
        }
        if !machine.design.is_sets_with_lru() {
            return Err(WhyNot::Design { machine: name() });
        }
        if !machine.has_fixed_walk_costs() {
            return Err(WhyNot::Walks { machine: name() });
        }
        let promotes = policies.iter().any(|policy| policy.promotes());
        if let Some(size) = machine.fractured.first().filter(|_| promotes) {
            return Err(WhyNot::Fractured {
                machine: name(),
                size: size.short_name().to_string(),
            });
        }
        let sizes = machine.design.sizes();
        // A plan for a machine of 4 KiB pages alone has no policy that makes superpages.
        let wanted: &[PageSize] = match sizes.len() > 1 {
            true => &[PageSize::SIZE_4K, PageSize::SIZE_2M],
            false => &[PageSize::SIZE_4K],
        };
        if let Some(missing) = wanted.iter().find(|size| !sizes.contains(size)) {
            return Err(WhyNot::PageSize {
                machine: name(),
                size: missing.short_name().to_string(),
            });
        }
    }
    Ok(())
}

/// The names of the built-in machines that the quick path covers.
#[cfg(test)]
pub(crate) fn machines_covered() -> impl Iterator<Item = &'static str> {
    broadleaf_machine::machine_names().filter(|name| {
        let machine = broadleaf_machine::machine(name).expect("a machine");
        covers_all(&[], &[machine]).is_ok()
    })
}
