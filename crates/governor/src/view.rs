//! What a policy is shown of a live block, and which policies that is enough for.

use crate::seen::{Behind, BlockSeen, Mapping, PAGE_BYTES, PAGES};
use broadleaf_policy::{BackingKind, Beyond, Coverage, Policy, Refusal, View};

/// Two to this is [`crate::BLOCK_BYTES`].
const BLOCK_SHIFT: u8 = 21;

/// Why a policy cannot decide on live processes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the policy {policy} {}", .beyond.sentence())]
pub struct OutOfReach {
    /// Its name.
    pub policy: String,
    /// What it goes by.
    pub beyond: Beyond,
}

/// Whether what can be seen of live processes is enough for a policy.
///
/// # Errors
/// What it goes by that cannot be seen.
pub fn can_decide(policy: &dyn Policy) -> Result<(), OutOfReach> {
    match policy.needs().out_of_reach(BLOCK_SHIFT) {
        None => Ok(()),
        Some(beyond) => Err(OutOfReach {
            policy: policy.name(),
            beyond,
        }),
    }
}

/// Why no policy is asked about blocks of a mapping.
pub(crate) fn refusal_of(mapping: &Mapping) -> Option<Refusal> {
    match mapping.behind {
        Behind::Anonymous => None,
        Behind::Shmem if !mapping.congruent => Some(Refusal::Incongruent),
        Behind::Shmem => None,
        Behind::File => Some(Refusal::FileBacked),
        Behind::Other => Some(Refusal::NotCollapsible),
    }
}

/// A block as a policy sees it.
///
/// Every block that could be a superpage stands as reserved: the kernel finds the frames when it is promoted. Ages are not known and 0; a policy that
/// goes by them is refused before ([`can_decide`]). Pages of anonymous memory that are resident and not the kernel's zeroes were stored to.
pub(crate) fn view(
    mapping: &Mapping,
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
        reservation_age: Some(0),
        promoted: seen.huge,
        coverage: Coverage::Covered,
        backing: match mapping.behind {
            Behind::Anonymous => BackingKind::Anonymous,
            Behind::Shmem => BackingKind::SharedMemory,
            Behind::File | Behind::Other => BackingKind::File,
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
            "promote if populated - zero > 9; demote if memory_short",
        ] {
            assert_eq!(can(name), Ok(()), "{name}");
        }
        for (name, beyond) in [
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
            ("promote if advised", Beyond::Advice),
            ("promote if age > 1e6", Beyond::Ages),
            ("promote if misses > 9", Beyond::Misses),
        ] {
            assert_eq!(can(name).map_err(|no| no.beyond), Err(beyond), "{name}");
        }
    }
}
