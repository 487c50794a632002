//! A policy's view of a live block, and the check that a policy needs nothing more.

use crate::seen::{BlockSeen, LiveBacking, LiveMapping, PAGE_BYTES, PAGES};
use broadleaf_policy::{Beyond, Coverage, Needs, Policy, Refusal, View};
use broadleaf_units::BackingKind;

/// The base-two logarithm of [`crate::BLOCK_BYTES`].
const BLOCK_SHIFT: u8 = 21;

/// The reason for which a policy cannot decide on live processes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the policy {policy} {}", .beyond.sentence())]
pub struct OutOfReach {
    /// The name of the policy.
    pub policy: String,
    /// The knowledge that the policy needs and a governor lacks.
    pub beyond: Beyond,
}

/// Checks that a policy can decide by what a governor can observe.
///
/// # Errors
/// Returns the policy's need that a governor cannot observe.
pub fn can_decide(policy: &dyn Policy) -> Result<(), OutOfReach> {
    match policy.needs().out_of_reach(BLOCK_SHIFT) {
        None => Ok(()),
        Some(beyond) => Err(OutOfReach {
            policy: policy.name(),
            beyond,
        }),
    }
}

/// Checks that a governor which also observes the use of pages can observe all that a policy needs.
///
/// # Errors
/// Returns the policy's need that a governor cannot observe.
pub fn can_decide_by_use(policy: &dyn Policy) -> Result<(), OutOfReach> {
    if !weighs_use(policy) {
        return can_decide(policy);
    }
    let needs = Needs {
        beyond_looking: None,
        ..policy.needs()
    };
    match needs.out_of_reach(BLOCK_SHIFT) {
        None => Ok(()),
        Some(beyond) => Err(OutOfReach {
            policy: policy.name(),
            beyond,
        }),
    }
}

/// Returns true if a policy depends on which pages were used recently.
pub fn weighs_use(policy: &dyn Policy) -> bool {
    policy.needs().beyond_looking == Some(Beyond::References)
}

/// Returns the reason for which no policy is asked about the blocks of a mapping.
pub(crate) fn refusal_of(mapping: &LiveMapping) -> Option<Refusal> {
    match mapping.backing {
        LiveBacking::Anonymous => None,
        LiveBacking::Shmem if !mapping.congruent => Some(Refusal::Incongruent),
        LiveBacking::Shmem => None,
        LiveBacking::File => Some(Refusal::FileBacked),
        LiveBacking::Other => Some(Refusal::NotCollapsible),
    }
}

/// Returns a block as a policy sees it.
///
/// Every candidate block counts as reserved, because the kernel finds the frames at the promotion.
/// The ages are unknown and 0; [`can_decide`] refuses policies that need ages. A resident page of
/// anonymous memory counts as dirty, unless it is the kernel's page of zeroes.
pub(crate) fn view(
    mapping: &LiveMapping,
    seen: &BlockSeen,
    extent_free: bool,
    memory_short: bool,
) -> View {
    let all = |count: u16| if seen.huge { PAGES } else { u32::from(count) };
    View {
        populated: all(seen.present),
        dirty: all(seen.present),
        pages: PAGES,
        base_bytes: PAGE_BYTES,
        place: (seen.block % 4) as u8,
        reservation_age: Some(0),
        promoted: seen.huge,
        coverage: Coverage::Covered,
        backing: match mapping.backing {
            LiveBacking::Anonymous => BackingKind::Anonymous,
            LiveBacking::Shmem => BackingKind::SharedMemory,
            LiveBacking::File | LiveBacking::Other => BackingKind::File,
        },
        writable: mapping.writable,
        swapped: seen.swapped.into(),
        zero: seen.zero.into(),
        extent_free,
        memory_short,
        ..View::BLANK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_policies_that_look_can_decide() {
        let can = |name: &str| can_decide(broadleaf_policy::parse(name).unwrap().as_ref());
        for name in [
            "4k",
            "greedy",
            "pop-64",
            "dirty-128",
            "freebsd",
            "asap",
            "fixed-2m",
            "navarro",
            "freebsd14",
            "advice",
            "two-stage",
            "promote if populated >= 64 and kind == anonymous",
            "promote if place < 2",
            "promote if populated - zero > 9; demote if memory_short",
        ] {
            assert_eq!(can(name), Ok(()), "{name}");
        }
        for (name, beyond) in [
            ("promote(scan=1e6) if referenced > 9", Beyond::References),
            ("foresight", Beyond::Future),
            ("offline", Beyond::Future),
            ("life-1e6", Beyond::Ages),
            ("online", Beyond::Misses),
            ("approx-online", Beyond::Misses),
            ("linux", Beyond::References),
            ("ingens", Beyond::References),
            ("hawkeye", Beyond::References),
            ("thp-always", Beyond::FirstFaults),
            ("fixed-64k", Beyond::Size),
            ("asap-4-64", Beyond::Size),
            ("coloured", Beyond::Colours),
            ("scattered", Beyond::Colours),
            ("guest", Beyond::Recording),
            ("promote if advised", Beyond::Advice),
            ("promote if age > 1e6", Beyond::Ages),
            ("promote if misses > 9", Beyond::Misses),
        ] {
            assert_eq!(can(name).map_err(|no| no.beyond), Err(beyond), "{name}");
            let policy = broadleaf_policy::parse(name).unwrap();
            let by_use = can_decide_by_use(policy.as_ref()).map_err(|no| no.beyond);
            match beyond {
                Beyond::References => assert_eq!(by_use, Ok(()), "{name}"),
                _ => assert_eq!(by_use, Err(beyond), "{name}"),
            }
        }
    }
}
