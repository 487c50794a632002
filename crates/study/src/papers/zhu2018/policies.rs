//! The policies of table 5.1, and others that the tables need.

/// A policy.
pub(super) struct ZhuPolicy {
    /// The thesis's name.
    pub(super) name: &'static str,
    /// The name here.
    pub(super) policy: &'static str,
}

const fn policy(name: &'static str, policy: &'static str) -> ZhuPolicy {
    ZhuPolicy { name, policy }
}

/// The eighteen policies, in the order of table 5.1.
pub(super) const POLICIES: [ZhuPolicy; 18] = [
    policy("4K-user", "4k"),
    policy("FreeBSD", "freebsd"),
    policy("foresight", "foresight"),
    policy("greedy", "greedy"),
    policy("pop-64", "pop-64"),
    policy("pop-128", "pop-128"),
    policy("pop-256", "pop-256"),
    policy("pop-461", "pop-461"),
    policy("pop-509", "pop-509"),
    policy("dirty-64", "dirty-64"),
    policy("dirty-128", "dirty-128"),
    policy("dirty-256", "dirty-256"),
    policy("dirty-461", "dirty-461"),
    policy("dirty-509", "dirty-509"),
    policy("life-1e6", "life-1e6"),
    policy("life-1e7", "life-1e7"),
    policy("life-1e8", "life-1e8"),
    policy("life-1e9", "life-1e9"),
];

/// The policy without superpages.
pub(super) const BASE: &str = "4k";
/// The policy to which the thesis normalises.
pub(super) const FREEBSD: &str = "freebsd";
/// The policy that promotes each reservation at its first touch, once for each reservation.
pub(super) const GREEDY: &str = "greedy";
/// The policy that the thesis advises for anonymous memory.
pub(super) const POP_64: &str = "pop-64";
/// `greedy` for files alone. Its promotions are the touched reservations of files.
pub(super) const FILES: &str = "promote if kind == file";
/// The combinations of section 6.3.1.
pub(super) const ADVICE: [&str; 2] = ["advice", "advice(counted=dirty)"];

/// All policies to replay.
pub(super) fn replayed() -> impl Iterator<Item = &'static str> {
    let of_thesis = POLICIES.iter().map(|one| one.policy);
    of_thesis.chain([FILES]).chain(ADVICE)
}

/// The policies of the figures of chapter 6, which leave out 4K-user.
pub(super) fn compared() -> impl Iterator<Item = &'static ZhuPolicy> {
    POLICIES.iter().filter(|one| one.policy != BASE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_policies_and_none_comes_twice() {
        let all: Vec<&str> = replayed().collect();
        for (number, name) in all.iter().enumerate() {
            let policy = crate::names::policy(name).unwrap();
            assert_eq!(policy.name(), *name);
            assert!(!all[..number].contains(name));
        }
        assert_eq!(compared().count(), 17);
    }
}
