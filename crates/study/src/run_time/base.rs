//! The base pages that a policy is held against.
//!
//! Entries of some TLBs hold several base pages whose frames lie side by side, each at its place in
//! an aligned group. A reservation gives base pages such frames. Frames that are allocated one by
//! one, at faults, seldom lie so. A policy that allocates at faults is held against base pages with
//! such frames: otherwise its frames would count as a loss by its superpages.

use broadleaf_machine::Machine;
use broadleaf_metrics::CellResult;
use broadleaf_policy::{GivenPolicy, Placement, Policy};
use broadleaf_report::BASELINE;

use crate::names;

/// Base pages alone, in frames that Linux allocates at faults.
pub(crate) const BASE_AT_FAULTS: &str = "linux(enabled=never)";

/// Returns [`BASE_AT_FAULTS`] if one of these policies is held against it on one of these machines.
pub(crate) fn base_at_faults(
    policies: &[Box<dyn Policy>],
    machines: &[Machine],
) -> Option<&'static str> {
    let matters = machines.iter().any(|machine| machine.design.wants_tables());
    let any = policies.iter().any(|policy| allocates_at_faults(&**policy));
    (matters && any).then_some(BASE_AT_FAULTS)
}

/// Returns the base pages that `result` is held against: those of `references` on its machine.
/// `given` holds the policies that were given as values.
pub(crate) fn base_of<'r>(
    result: &CellResult,
    references: &'r [CellResult],
    given: &[GivenPolicy],
) -> Option<&'r CellResult> {
    let of = |policy: &str| {
        let mut all = references.iter();
        all.find(|other| other.policy == policy && other.machine == result.machine)
    };
    // An expression from a file has no name that can be parsed, and takes reserved frames.
    let policy = names::again(&result.policy, given).ok();
    let at_faults = policy.is_some_and(|policy| allocates_at_faults(&*policy));
    let own = at_faults.then(|| of(BASE_AT_FAULTS)).flatten();
    own.or_else(|| of(BASELINE))
}

fn allocates_at_faults(policy: &dyn Policy) -> bool {
    policy.needs().placement == Placement::AtFault
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_zen5(policy: &str) -> CellResult {
        CellResult {
            policy: policy.to_owned(),
            machine: "zen5".to_owned(),
            ..CellResult::default()
        }
    }

    #[test]
    fn a_policy_is_held_against_base_pages_with_frames_like_its_own() {
        let references = [BASELINE, BASE_AT_FAULTS].map(on_zen5);
        let base = |policy: &str, references: &[CellResult]| {
            let base = base_of(&on_zen5(policy), references, &[]);
            base.map(|base| base.policy.clone())
        };
        for (policy, wanted) in [
            ("linux", BASE_AT_FAULTS),
            ("thp-always", BASELINE),
            ("pop-64", BASELINE),
            ("no policy of the catalogue", BASELINE),
        ] {
            let found = base(policy, &references);
            assert_eq!(found.as_deref(), Some(wanted), "{policy}");
        }
        // Where the frames do not matter, there is one kind of base pages.
        let found = base("linux", &references[..1]);
        assert_eq!(found.as_deref(), Some(BASELINE));
    }

    #[test]
    fn frames_matter_where_entries_hold_several_pages() {
        let machine = |name: &str| [broadleaf_machine::machine(name).unwrap()];
        let policies = |name: &str| [broadleaf_policy::parse(name).unwrap()];
        let base = |policy, name| base_at_faults(&policies(policy), &machine(name));
        assert_eq!(base("linux", "zen5"), Some(BASE_AT_FAULTS));
        assert_eq!(base("linux", "skylake"), None);
        assert_eq!(base("pop-64", "zen5"), None);
    }
}
