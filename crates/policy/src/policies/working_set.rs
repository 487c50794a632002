//! `working-set`: superpages where enough base pages were referenced in the last period.

use crate::parameter::GivenParameters;
use crate::{
    Beyond, Copies, Effort, Needs, Parameter, Placement, Point, Policy, PolicyEntry,
    PromotionOrder, Refusal, Scan, Verdict, View,
};
use alloc::boxed::Box;
use alloc::string::String;
use broadleaf_units::SizeSet;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry {
    name: "working-set",
    syntax: "working-set(...)",
    summary: "promote blocks of which half was referenced in a period, and demote little-used ones",
    explanation: "A fault gets a base page in any frame. A daemon looks at the reference bits of \
                  each block once in a period. It copies a block together if at least \
                  promote=50 percent of its base pages were referenced: 8 of 16. When memory is \
                  short, a superpage is broken if fewer than demote=31 percent were referenced: \
                  fewer than 5 of 16. A superpage without any reference is not broken by this \
                  rule, because replacing it is better. Hardware with one reference bit for a \
                  superpage cannot count its base pages; the model can.",
    source: "Talluri 1995, section 6.2 (working-set threshold; the example of 8 and 5 of 16); the \
             period is this project's choice",
    parameters: &[
        Parameter::sizes(
            "size",
            SizeSet::These(1 << 16),
            "The superpage size, of those that the machine has.",
        ),
        Parameter::number(
            "promote",
            "percent",
            (1, 100),
            50,
            "The share of a block that was referenced, from which it becomes a superpage.",
        ),
        Parameter::number(
            "demote",
            "percent",
            (0, 100),
            31,
            "The share below which a referenced superpage is broken.",
        ),
        Parameter::word(
            "demotes",
            &["when-short", "always"],
            "when-short",
            "When superpages are broken: when memory is short, or in each turn of the daemon too.",
        ),
        Parameter::period(
            "scan_period",
            1,
            10_000_000,
            "The time between two turns of the daemon: the window of the working set. Accesses \
             are those of a program that makes 1e9 per second; --rate gives another rate.",
        ),
    ],
    examples: &["working-set", "working-set(promote=75)"],
    by_default: false,
    build: |given| Box::new(WorkingSet { given }),
};

struct WorkingSet {
    given: GivenParameters,
}

impl WorkingSet {
    /// Returns true if at least the share of this parameter was referenced.
    fn uses(&self, view: &View, share: &str) -> bool {
        u64::from(view.referenced) * 100 >= self.given.number(share) * u64::from(view.pages)
    }

    /// Returns true if a superpage is used, but too little. An unused one is better replaced.
    fn is_idle(&self, view: &View) -> bool {
        view.referenced > 0 && !self.uses(view, "demote")
    }
}

impl Policy for WorkingSet {
    fn name(&self) -> String {
        self.given.name()
    }

    fn needs(&self) -> Needs {
        Needs {
            placement: Placement::AtFault,
            copies: Copies::Scattered,
            gathers: true,
            sizes: self.given.sizes("size"),
            scan: Some(Scan {
                period: self.given.number("scan_period"),
                pages: 0,
                promotions: 0,
                order: PromotionOrder::ByAddress,
            }),
            asked_when_short: true,
            beyond_looking: Some(Beyond::References),
            ..Needs::default()
        }
    }

    fn decide(&self, point: Point, view: &View) -> Verdict {
        match point {
            Point::Scan if !view.promoted => match view.coverage.refusal() {
                Some(reason) => Verdict::Stay(reason),
                None => Verdict::promote_if(self.uses(view, "promote"), Refusal::RarelyReferenced),
            },
            Point::Short => Verdict::demote_if(view.promoted && self.is_idle(view)),
            Point::Scan if self.given.word("demotes") == "always" => {
                Verdict::demote_if(self.is_idle(view))
            }
            _ => Verdict::Pass,
        }
    }

    fn effort(&self, _: Point, _: &View) -> Effort {
        Effort::Later
    }
}

#[cfg(test)]
mod tests {
    use crate::policies::testing::decide;
    use crate::{Coverage, Point, Refusal, Verdict, View};

    fn view(referenced: u32, promoted: bool) -> View {
        View {
            populated: 16,
            pages: 16,
            referenced,
            promoted,
            ..View::BLANK
        }
    }

    #[test]
    fn eight_of_sixteen_promote_and_fewer_than_five_demote() {
        let scan = |referenced| decide("working-set", Point::Scan, view(referenced, false));
        assert_eq!(scan(7), Verdict::Stay(Refusal::RarelyReferenced));
        assert_eq!(scan(8), Verdict::Promote);
        let short = |referenced| decide("working-set", Point::Short, view(referenced, true));
        assert_eq!(short(4), Verdict::Demote);
        assert_eq!(short(5), Verdict::Pass);
        assert_eq!(short(0), Verdict::Pass, "replacing it is better");
        let turn = |policy, referenced| decide(policy, Point::Scan, view(referenced, true));
        assert_eq!(turn("working-set", 4), Verdict::Pass);
        assert_eq!(turn("working-set(demotes=always)", 4), Verdict::Demote);
        assert_eq!(turn("working-set(demotes=always)", 5), Verdict::Pass);
    }

    #[test]
    fn uncovered_blocks_stay() {
        let edge = View {
            coverage: Coverage::NotCovered,
            ..view(16, false)
        };
        let verdict = decide("working-set", Point::Scan, edge);
        assert_eq!(verdict, Verdict::Stay(Refusal::NotCovered));
    }
}
