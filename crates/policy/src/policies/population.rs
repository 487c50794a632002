//! `pop-N` and `greedy`: promote when enough base pages are populated.

use crate::{Entry, Kind, Parameter, Point, Policy, Refusal, Verdict, View};
use alloc::boxed::Box;
use alloc::string::String;

pub(crate) const ENTRY: Entry = Entry {
    name: "pop",
    syntax: "pop-N",
    summary: "promote when N base pages of a reservation are populated",
    explanation: "A block becomes a superpage when N of its 512 base pages are resident, whether they were read or \
                  written. The rest is filled in at that moment: zeroed, or read from the file. A small N saves page faults \
                  and TLB misses early and wastes memory on blocks that stay sparse; pop-64 keeps most of what greedy gains \
                  for a fifth of what it wastes, by Zhu's measurements.",
    source: "Zhu 2018, chapter 5 (pop-x); tables 6.2 and 6.5",
    parameters: &[Parameter {
        name: "n",
        kind: Kind::Number {
            unit: "base pages",
            least: 1,
            most: 512,
        },
        default: None,
        meaning: "How many base pages have to be populated.",
    }],
    examples: &["pop-64", "pop-128", "pop-256", "pop-461", "pop-509"],
    by_default: true,
    build: |given| {
        Box::new(Population {
            threshold: given.number("n"),
            greedy: false,
        })
    },
};

pub(crate) const GREEDY: Entry = Entry {
    name: "greedy",
    syntax: "greedy",
    summary: "promote a reservation when its first base page is populated",
    explanation: "A block becomes a superpage at the first touch of any of its pages, if it is reserved; the same as pop-1. \
                  It saves the most page faults and TLB misses of all and holds the most memory that nobody asked for.",
    source: "Zhu 2018, chapter 5 (greedy)",
    parameters: &[],
    examples: &["greedy"],
    by_default: true,
    build: |_| {
        Box::new(Population {
            threshold: 1,
            greedy: true,
        })
    },
};

struct Population {
    threshold: u64,
    /// Whether it was asked for by that name.
    greedy: bool,
}

impl Policy for Population {
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
