//! The base pages that a policy is held against, between two measured ends.
//!
//! Entries of some TLBs hold several base pages whose frames lie side by side, each at its place in
//! an aligned group. A reservation gives base pages such frames. Frames that are allocated one by
//! one, at faults, seldom lie so. The measured run with base pages is the end of both kinds. So a
//! policy that allocates at faults has its share of the walks of base pages that do so too.
//! Otherwise its frames would count as a loss by its superpages.

use broadleaf_machine::Machine;
use broadleaf_metrics::CellResult;
use broadleaf_policy::{GivenPolicy, Placement, Policy};
use broadleaf_report::BASELINE;
use broadleaf_tlb::SystemSupport;

use super::is_of_today;
use crate::names;

/// Base pages alone, in frames that Linux allocates at faults.
pub(crate) const BASE_AT_FAULTS: &str = "linux(enabled=never)";

/// Returns [`BASE_AT_FAULTS`] if one of these policies is held against it on one of these machines.
pub(crate) fn base_at_faults(
    policies: &[Box<dyn Policy>],
    machines: &[Machine],
) -> Option<&'static str> {
    let any = policies.iter().any(|policy| allocates_at_faults(&**policy));
    (any && machines.iter().any(frames_matter)).then_some(BASE_AT_FAULTS)
}

/// Returns true if run times on a machine depend on whether the frames of base pages lie side by
/// side.
pub(crate) fn frames_matter(machine: &Machine) -> bool {
    let shares = [SystemSupport::COALESCED, SystemSupport::PARTIAL_SUBBLOCK];
    let mut support = machine.design.support().into_iter();
    is_of_today(machine) && support.any(|support| shares.contains(&support))
}

/// Returns the base pages that `result` is held against on its machine: those of `references`.
/// `given` holds the policies that were given as values.
pub(super) fn base_of<'r>(
    result: &CellResult,
    machine: &Machine,
    references: &'r [CellResult],
    given: &[GivenPolicy],
) -> Option<&'r CellResult> {
    let of = |policy: &str| {
        let mut all = references.iter();
        all.find(|other| other.policy == policy && other.machine == result.machine)
    };
    // The name of an expression from a file is no text of an expression: its frames are not known.
    let policy = names::again(&result.policy, given).ok();
    let at_faults = policy.is_some_and(|policy| allocates_at_faults(&*policy));
    let own = (at_faults && frames_matter(machine)).then(|| of(BASE_AT_FAULTS));
    own.flatten().or_else(|| of(BASELINE))
}

fn allocates_at_faults(policy: &dyn Policy) -> bool {
    policy.needs().placement == Placement::AtFault
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(machine: &str, policy: &str) -> CellResult {
        CellResult {
            policy: policy.to_owned(),
            machine: machine.to_owned(),
            ..CellResult::default()
        }
    }

    #[test]
    fn a_policy_is_held_against_base_pages_with_frames_like_its_own() {
        let base = |machine: &str, policy: &str, bases: &[&str]| {
            let references: Vec<CellResult> = bases.iter().map(|base| on(machine, base)).collect();
            let described = broadleaf_machine::machine(machine).unwrap();
            let base = base_of(&on(machine, policy), &described, &references, &[]);
            base.map(|base| base.policy.clone())
        };
        let both = [BASELINE, BASE_AT_FAULTS];
        for (machine, policy, wanted) in [
            ("zen5", "linux", BASE_AT_FAULTS),
            ("zen5", "ingens", BASE_AT_FAULTS),
            ("zen5", "thp-always", BASELINE),
            ("zen5", "pop-64", BASELINE),
            ("zen5", "no policy of the catalogue", BASELINE),
            // Where the frames do not matter, another machine of the comparison changes nothing.
            ("skylake", "linux", BASELINE),
        ] {
            let found = base(machine, policy, &both);
            assert_eq!(found.as_deref(), Some(wanted), "{policy} on {machine}");
        }
        let found = base("zen5", "linux", &both[..1]);
        assert_eq!(found.as_deref(), Some(BASELINE));
    }

    #[test]
    fn frames_matter_where_entries_hold_several_pages_whose_frames_lie_side_by_side() {
        let machine = |name: &str| [broadleaf_machine::machine(name).unwrap()];
        let policies = |name: &str| [broadleaf_policy::parse(name).unwrap()];
        let base = |policy, name| base_at_faults(&policies(policy), &machine(name));
        assert_eq!(base("linux", "zen5"), Some(BASE_AT_FAULTS));
        assert_eq!(base("linux", "skylake"), None);
        assert_eq!(base("pop-64", "zen5"), None);
        // Each page of an entry has a frame of its own.
        assert_eq!(base("linux", "r4000"), None);
    }
}
