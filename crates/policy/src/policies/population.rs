//! `pop-N` and `greedy`: promote when enough base pages are populated.

use crate::{Parameter, ParameterKind, Point, Policy, PolicyEntry, Refusal, Verdict, View};
use alloc::boxed::Box;
use alloc::string::String;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry {
    name: "pop",
    syntax: "pop-N",
    summary: "promote when N base pages of a reservation are populated",
    explanation: "A block becomes a superpage when N of its 512 base pages are resident, by loads \
                  or stores. The promotion fills the other pages: it zeroes them, or reads them \
                  from the file. A small N saves page faults and TLB misses early and wastes \
                  memory on blocks that stay sparse; pop-64 keeps most of the gain of greedy for a \
                  fifth of its waste, by Zhu's measurements.",
    source: "Zhu 2018, chapter 5 (pop-x); tables 6.2 and 6.5",
    parameters: &[Parameter {
        name: "n",
        kind: ParameterKind::Number {
            unit: "base pages",
            least: 1,
            most: 512,
        },
        default: None,
        meaning: "The number of populated base pages that a promotion requires.",
        only_with: &[],
    }],
    examples: &["pop-64", "pop-128", "pop-256", "pop-461", "pop-509"],
    by_default: true,
    build: |given| {
        Box::new(PopulationPolicy {
            threshold: given.number("n"),
            greedy: false,
        })
    },
};

pub(crate) const GREEDY: PolicyEntry = PolicyEntry {
    name: "greedy",
    syntax: "greedy",
    summary: "promote a reservation when its first base page is populated",
    explanation: "A block becomes a superpage at the first touch of any of its pages, if it is \
                  reserved; the same as pop-1. The policy saves the most page faults and TLB \
                  misses of all, and holds the most memory that the program did not ask for.",
    source: "Zhu 2018, chapter 5 (greedy)",
    parameters: &[],
    examples: &["greedy"],
    by_default: true,
    build: |_| {
        Box::new(PopulationPolicy {
            threshold: 1,
            greedy: true,
        })
    },
};

struct PopulationPolicy {
    threshold: u64,
    /// True if the user chose the name `greedy`.
    greedy: bool,
}

impl Policy for PopulationPolicy {
    fn name(&self) -> String {
        if self.greedy {
            String::from(GREEDY.name)
        } else {
            alloc::format!("pop-{}", self.threshold)
        }
    }

    fn decide(&self, point: Point, view: &View) -> Verdict {
        match view.reservation_to_decide_on(point) {
            Ok(_) => Verdict::promote_if(
                u64::from(view.populated) >= self.threshold,
                Refusal::TooFewResident,
            ),
            Err(verdict) => verdict,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::policies::testing::{RESERVED, decide};
    use crate::{Point, Refusal, Verdict, View};

    #[test]
    fn promotes_at_the_threshold_and_not_below() {
        for threshold in [1, 64, 128, 256, 461, 509, 512] {
            let name = alloc::format!("pop-{threshold}");
            let with = |populated| View {
                populated,
                ..RESERVED
            };
            assert_eq!(
                decide(&name, Point::Fault, with(threshold - 1)),
                Verdict::Stay(Refusal::TooFewResident)
            );
            assert_eq!(
                decide(&name, Point::Fault, with(threshold)),
                Verdict::Promote
            );
            assert_eq!(
                decide(&name, Point::FirstStore, with(512)),
                Verdict::Promote
            );
        }
    }

    #[test]
    fn greedy_promotes_at_the_first_page() {
        assert_eq!(
            decide(
                "greedy",
                Point::Fault,
                View {
                    populated: 1,
                    ..RESERVED
                }
            ),
            Verdict::Promote
        );
    }
}
