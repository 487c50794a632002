//! Counts of what governors did. They keep the counts of processes that have ended.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use broadleaf_governor::{Governor, Linux};

/// The counts of one governor, or of several. They only grow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GovernorCounts {
    pub(super) promotions: u64,
    pub(super) demotions: u64,
    pub(super) broken_by_programs: u64,
    /// Refused blocks, by the name of the reason.
    pub(super) refusals: BTreeMap<&'static str, u64>,
    pub(super) looking: Duration,
    pub(super) acting: Duration,
}

impl GovernorCounts {
    /// The counts of a governor since it began.
    pub(super) fn of(governor: &Governor<Linux>) -> Self {
        let tally = governor.ward().tally();
        let spent = governor.spent();
        let refusals = tally.refusals.iter();
        Self {
            promotions: tally.promotions,
            demotions: tally.demotions,
            broken_by_programs: tally.broken_by_programs,
            refusals: refusals
                .map(|(reason, blocks)| (reason.name(), blocks))
                .collect(),
            looking: spent.looking,
            acting: spent.acting,
        }
    }

    /// Adds the difference between `before` and `now`.
    fn add_since(&mut self, now: &Self, before: &Self) {
        self.promotions += now.promotions.saturating_sub(before.promotions);
        self.demotions += now.demotions.saturating_sub(before.demotions);
        self.broken_by_programs +=
            (now.broken_by_programs).saturating_sub(before.broken_by_programs);
        for (reason, blocks) in &now.refusals {
            let counted = before.refusals.get(reason).copied().unwrap_or(0);
            *self.refusals.entry(reason).or_default() += blocks.saturating_sub(counted);
        }
        self.looking += now.looking.saturating_sub(before.looking);
        self.acting += now.acting.saturating_sub(before.acting);
    }
}

/// The most names of programs in [`ProgramTotals`]. Each name is kept, and a process may rename
/// itself without end.
const MOST_NAMES: usize = 256;
/// The name for all further programs.
const OTHER: &str = "other";

/// Counts by program and policy, of live processes and of processes that have ended.
#[derive(Debug, Default)]
pub(super) struct ProgramTotals(BTreeMap<(String, String), GovernorCounts>);

impl ProgramTotals {
    /// Adds what a process counted between `before` and `now`.
    pub(super) fn note(
        &mut self,
        command: &str,
        policy: &str,
        now: &GovernorCounts,
        before: &GovernorCounts,
    ) {
        let command = if self.has_room_for(command) {
            command
        } else {
            OTHER
        };
        let key = (command.to_owned(), policy.to_owned());
        self.0.entry(key).or_default().add_since(now, before);
    }

    fn has_room_for(&self, command: &str) -> bool {
        let names = || self.0.keys().map(|(name, _)| name.as_str());
        if names().any(|name| name == command) {
            return true;
        }
        let kept: BTreeSet<&str> = names().filter(|name| *name != OTHER).collect();
        kept.len() < MOST_NAMES
    }

    /// Program, policy and counts, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str, &GovernorCounts)> {
        let all = self.0.iter();
        all.map(|((command, policy), counts)| (command.as_str(), policy.as_str(), counts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beyond_the_most_are_counted_as_other() {
        let one = GovernorCounts {
            promotions: 1,
            ..GovernorCounts::default()
        };
        let mut totals = ProgramTotals::default();
        for policy in ["pop-64", "always"] {
            for at in 0..1000 {
                totals.note(
                    &format!("p{at:03}"),
                    policy,
                    &one,
                    &GovernorCounts::default(),
                );
            }
        }
        let all: Vec<_> = totals.iter().collect();
        assert_eq!(all.len(), 2 * (MOST_NAMES + 1));
        let others = all.iter().filter(|(command, ..)| *command == OTHER);
        let others: Vec<_> = others
            .map(|(_, policy, counts)| (*policy, counts.promotions))
            .collect();
        assert_eq!(others, [("always", 744), ("pop-64", 744)]);
        let promotions: u64 = all.iter().map(|(.., counts)| counts.promotions).sum();
        assert_eq!(promotions, 2000, "nothing is lost");
    }

    #[test]
    fn totals_never_go_backwards_and_count_nothing_twice() {
        let counts = |promotions, refused| GovernorCounts {
            promotions,
            refusals: [("busy", refused)].into(),
            looking: Duration::from_millis(promotions),
            ..GovernorCounts::default()
        };
        let mut totals = ProgramTotals::default();
        // One process, seen twice, that becomes another program; and a second one that begins anew.
        totals.note("a", "pop-64", &counts(3, 1), &GovernorCounts::default());
        totals.note("a", "pop-64", &counts(5, 1), &counts(3, 1));
        totals.note("b", "pop-64", &counts(9, 4), &counts(5, 1));
        totals.note("a", "pop-64", &counts(2, 2), &GovernorCounts::default());
        let all: Vec<_> = totals.iter().collect();
        assert_eq!(
            all,
            [
                ("a", "pop-64", &counts(7, 3)),
                ("b", "pop-64", &counts(4, 3))
            ]
        );
    }
}
