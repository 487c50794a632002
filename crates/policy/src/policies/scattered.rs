//! `scattered`: superpages of 2 MiB in frames of their owner's colours.

use super::coloured::{BY, ORDER, SHARES, WAY, colour_rule};
use crate::parameter::GivenParameters;
use crate::{ColourRule, Needs, Placement, Point, Policy, PolicyEntry, Refusal, Verdict, View};
use alloc::boxed::Box;
use alloc::string::String;
use broadleaf_units::{PageSize, SizeSet};

pub(crate) const ENTRY: PolicyEntry = PolicyEntry {
    name: "scattered",
    syntax: "scattered(...)",
    summary: "use superpages that lie in their owner's share of several physical superpages",
    explanation: "The first reference to a block of 2 MiB brings in all of it as one superpage, as \
                  with fixed-2m. Its frames are the owner's share of the colour regions of \
                  consecutive physical superpages, so it has the cache sets of its owner alone. \
                  With half of the regions it lies in two physical superpages, with an eighth in \
                  eight. If no consecutive physical superpages have these regions free, the block \
                  stays in base pages, in frames of the owner's colours as with coloured. The \
                  machine needs a TLB with organisation = \"scattered\" and the same regions: \
                  bits 17 to 15 for way=256k and eight regions. With way=2m, regions are \
                  contiguous: runs of frames. The baseline is fixed-2m, whose superpages have all \
                  colours.",
    source: "Chen 2014, section III (Scattered Superpage)",
    parameters: &[SHARES, BY, WAY, ORDER],
    examples: &[
        "scattered",
        "scattered(shares=1/4+1/2+1/8+1/8)",
        "scattered(way=2m)",
    ],
    by_default: false,
    build: |given| Box::new(Scattered { given }),
};

struct Scattered {
    given: GivenParameters,
}

impl Policy for Scattered {
    fn name(&self) -> String {
        self.given.name()
    }

    fn needs(&self) -> Needs {
        Needs {
            placement: Placement::AtFault,
            sizes: SizeSet::These(PageSize::SIZE_2M.bytes()),
            colours: Some(ColourRule {
                scatters: true,
                ..colour_rule(&self.given)
            }),
            ..Needs::default()
        }
    }

    fn decide(&self, point: Point, view: &View) -> Verdict {
        match point {
            Point::Fault if view.promoted => Verdict::Pass,
            Point::Fault => match view.coverage.refusal() {
                Some(reason) => Verdict::Stay(reason),
                None => Verdict::promote_if(view.was_empty(), Refusal::AlreadyPopulated),
            },
            _ => Verdict::Pass,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::policies::testing::decide;
    use crate::{Point, Refusal, Verdict, View, parse};

    #[test]
    fn the_first_page_of_a_block_brings_all_of_it() {
        let at_fault = |populated| {
            let view = View {
                populated,
                ..View::BLANK
            };
            decide("scattered", Point::Fault, view)
        };
        assert_eq!(at_fault(1), Verdict::Promote);
        assert_eq!(at_fault(2), Verdict::Stay(Refusal::AlreadyPopulated));
    }

    #[test]
    fn superpages_are_scattered_by_the_rule_of_base_pages() {
        let rule = |name: &str| parse(name).unwrap().needs().colours.unwrap();
        let (coloured, scattered) = (rule("coloured(by=core)"), rule("scattered(by=core)"));
        assert!(scattered.scatters && !coloured.scatters);
        assert_eq!(
            (scattered.owner, scattered.way),
            (coloured.owner, coloured.way)
        );
        assert!(parse("scattered").unwrap().needs().sizes.holds(21));
    }
}
