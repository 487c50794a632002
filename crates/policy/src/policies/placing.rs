//! `place`: base pages, each at its place in an aligned block of frames, with the alternatives of
//! partial-subblock placement.

use super::objects::{OBJECTS, READ_AROUND, VICTIMS, with_objects};
use super::placed::reserving;
use crate::parameter::GivenParameters;
use crate::{
    Copies, Effort, Needs, Parameter, Point, Policy, PolicyEntry, StoreToShared, Verdict, View,
};
use alloc::boxed::Box;
use alloc::string::String;
use broadleaf_units::SizeSet;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry {
    name: "place",
    syntax: "place(...)",
    summary: "use base pages, properly placed, as partial-subblock TLBs need them",
    explanation: "Pages get frames as under `reserve-64k`, and nothing is promoted. The parameters \
                  are the other mechanisms that help a partial-subblock TLB: a gather moves pages \
                  that lie apart to their places and leaves them base pages, odd sizes reserve \
                  blocks that a mapping covers in part, and copies of shared pages are placed \
                  beside each other. Only variable-size free lists and careful placement are \
                  required, so a kernel with one page size has all of it.",
    source: "Talluri 1995, sections 2.7.2 and 6.2 to 6.4 (partial-subblock TLBs)",
    parameters: &[
        Parameter::sizes(
            "size",
            SizeSet::These(1 << 16),
            "The size of a block, of those that the machine has.",
        ),
        Parameter::number(
            "gather",
            "percent",
            (0, 100),
            0,
            "The share of a block in memory from which its pages are copied to their places, if \
             they lie apart; 0 never copies.",
        ),
        Parameter::word(
            "odd",
            &["no", "yes"],
            "no",
            "Whether a block that a mapping covers in part gets a reservation, of which the other \
             frames are freed at once.",
        ),
        Parameter::word(
            "store",
            &["page", "placed"],
            "page",
            "Where a store copies a page that others map too: to any frame, or to a block that is \
             reserved for the copies.",
        ),
        Parameter::word(
            "files",
            &["local", "network"],
            "local",
            "Where the files of the trace lie: a trace does not say so.",
        ),
        OBJECTS,
        READ_AROUND,
        VICTIMS,
    ],
    examples: &["place", "place(gather=50,odd=yes)"],
    by_default: false,
    build: |given| Box::new(PlacingPolicy { given }),
};

struct PlacingPolicy {
    given: GivenParameters,
}

impl Policy for PlacingPolicy {
    fn name(&self) -> String {
        self.given.name()
    }

    fn needs(&self) -> Needs {
        let repairs = self.given.number("gather") > 0;
        let needs = Needs {
            repairs,
            gathers: repairs,
            copies: match repairs {
                true => Copies::Scattered,
                false => Copies::Never,
            },
            odd_sizes: self.given.word("odd") == "yes",
            store_to_shared: match self.given.word("store") {
                "placed" => StoreToShared::Placed,
                _ => StoreToShared::Page,
            },
            ..reserving(self.given.sizes("size"))
        };
        with_objects(&self.given, needs, self.given.word("files") == "network")
    }

    fn decide(&self, point: Point, view: &View) -> Verdict {
        let share = self.given.number("gather");
        let gathers = share > 0
            && point == Point::Fault
            && !view.promoted
            && view.has_percent(share)
            && view.coverage.refusal().is_none();
        if gathers {
            Verdict::Promote
        } else {
            Verdict::Pass
        }
    }

    fn effort(&self, _: Point, _: &View) -> Effort {
        Effort::Later
    }
}

#[cfg(test)]
mod tests {
    use crate::policies::testing::decide;
    use crate::{Coverage, Point, Verdict, View};

    #[test]
    fn blocks_are_gathered_from_their_share_on_and_stay_base_pages() {
        let half = View {
            populated: 8,
            pages: 16,
            ..View::BLANK
        };
        let edge = View {
            coverage: Coverage::NotCovered,
            ..half
        };
        assert_eq!(decide("place", Point::Fault, half), Verdict::Pass);
        let at = |view| decide("place(gather=50)", Point::Fault, view);
        assert_eq!(at(half), Verdict::Promote);
        assert_eq!(at(edge), Verdict::Pass);
        let policy = crate::parse("place(gather=50)").expect("a policy");
        assert!(policy.needs().repairs);
    }
}
