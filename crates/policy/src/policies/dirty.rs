//! `dirty-N`: promote when enough base pages are dirty.

use crate::{Parameter, ParameterKind, Point, Policy, PolicyEntry, Refusal, Verdict, View};
use alloc::boxed::Box;
use alloc::string::String;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry {
    name: "dirty",
    syntax: "dirty-N",
    summary: "promote when N base pages of a reservation are dirty",
    explanation: "A block becomes a superpage when the program has stored to N of its 512 base \
                  pages. Memory that is only read stays in base pages. A file mapped for reading \
                  is therefore never read ahead of need, and clean pages count as modified only in \
                  blocks that the program writes to.",
    source: "Zhu 2018, chapter 5 (dirty-x); table 6.2",
    parameters: &[Parameter {
        name: "n",
        kind: ParameterKind::Number {
            unit: "base pages",
            least: 1,
            most: 512,
        },
        default: None,
        meaning: "The number of dirty base pages that a promotion requires.",
        only_with: &[],
    }],
    examples: &[
        "dirty-64",
        "dirty-128",
        "dirty-256",
        "dirty-461",
        "dirty-509",
    ],
    by_default: true,
    build: |given| {
        Box::new(Dirty {
            threshold: given.number("n"),
        })
    },
};

struct Dirty {
    threshold: u64,
}

impl Policy for Dirty {
    fn name(&self) -> String {
        alloc::format!("dirty-{}", self.threshold)
    }

    fn decide(&self, point: Point, view: &View) -> Verdict {
        match view.reservation_to_decide_on(point) {
            Ok(_) => Verdict::promote_if(
                u64::from(view.dirty) >= self.threshold,
                Refusal::TooFewDirty,
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
            let name = alloc::format!("dirty-{threshold}");
            let with = |dirty| View {
                populated: 512,
                dirty,
                ..RESERVED
            };
            assert_eq!(
                decide(&name, Point::FirstStore, with(threshold - 1)),
                Verdict::Stay(Refusal::TooFewDirty)
            );
            assert_eq!(
                decide(&name, Point::FirstStore, with(threshold)),
                Verdict::Promote
            );
            assert_eq!(
                decide(&name, Point::Fault, with(threshold)),
                Verdict::Promote
            );
        }
    }
}
