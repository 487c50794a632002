//! `fixed`: pages of one size wherever they fit.

use crate::parameter::GivenParameters;
use crate::written::write_sizes;
use crate::{Needs, Parameter, Placement, Point, Policy, PolicyEntry, Refusal, Verdict, View};
use alloc::boxed::Box;
use alloc::string::String;
use broadleaf_units::SizeSet;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry {
    name: "fixed",
    syntax: "fixed-SIZE",
    summary: "use one page size for everything, however little of it is needed",
    explanation: "The first reference to a piece of that size brings in all of it as one page. The \
                  ends of mappings that do not fill a piece stay in base pages. This is a system \
                  with one, larger page size: it copies nothing and decides nothing, and holds \
                  memory that is never used. With several sizes, fixed(size=16k+64k), a fault \
                  takes the largest that fits. The base page makes no superpages, nor does a size \
                  that the machine lacks: on most machines, fixed-4k is the baseline of the \
                  others.",
    source: "Romer 1995, section 7.1 (FIXED)",
    parameters: &[Parameter::sizes(
        "size",
        SizeSet::These(1 << 16),
        "The page size, of those that the machine has.",
    )],
    examples: &["fixed-64k", "fixed-2m"],
    by_default: false,
    build: |given| Box::new(Fixed { given }),
};

struct Fixed {
    given: GivenParameters,
}

impl Policy for Fixed {
    fn name(&self) -> String {
        let sizes = self.given.sizes("size");
        if sizes.is_one() {
            return alloc::format!("{}-{}", ENTRY.name, write_sizes(sizes));
        }
        self.given.name()
    }

    fn needs(&self) -> Needs {
        Needs {
            placement: Placement::AtFault,
            sizes: self.given.sizes("size"),
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
    use crate::{Coverage, Point, Refusal, Verdict, View};

    #[test]
    fn the_first_page_of_a_piece_brings_all_of_it() {
        let first = View {
            populated: 1,
            ..View::BLANK
        };
        let at_fault = |view| decide("fixed-64k", Point::Fault, view);
        assert_eq!(at_fault(first), Verdict::Promote);
        let second = View {
            populated: 2,
            ..first
        };
        assert_eq!(at_fault(second), Verdict::Stay(Refusal::AlreadyPopulated));
        let edge = View {
            coverage: Coverage::NotCovered,
            ..first
        };
        assert_eq!(at_fault(edge), Verdict::Stay(Refusal::NotCovered));
    }
}
