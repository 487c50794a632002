//! `asap`: a superpage as soon as all of it, or a part of it, was referenced.

use crate::parameter::GivenParameters;
use crate::{
    Copies, Needs, Parameter, Placement, Point, Policy, PolicyEntry, Refusal, Verdict, View,
};
use alloc::boxed::Box;
use alloc::string::String;
use broadleaf_units::SizeSet;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry {
    name: "asap",
    syntax: "asap(...)",
    summary: "promote a piece, by copying, as soon as every base page of it was referenced",
    explanation: "The fault that brings in the last page of a piece copies the piece together, \
                  into the largest piece with all pages in memory. The policy ignores TLB misses: \
                  memory that is used once is copied as memory that is used for ever. Memory that \
                  fills from one end to the other is copied again at each size. With a smaller \
                  part, a promotion fills pages that the program did not ask for.",
    source: "Romer 1995, section 7.4 (ASAP)",
    parameters: &[
        Parameter::sizes(
            "sizes",
            SizeSet::All,
            "The superpage sizes in use, of those that the machine has.",
        ),
        Parameter::number(
            "part",
            "percent",
            (1, 100),
            100,
            "The part of a piece that must have been referenced.",
        ),
    ],
    examples: &["asap", "asap(sizes=64k)"],
    by_default: false,
    build: |given| {
        Box::new(Asap {
            sizes: given.sizes("sizes"),
            part: given.number("part"),
            given,
        })
    },
};

/// The sizes and the part of [`HALF`].
const OF_HALF: (SizeSet, u64) = (SizeSet::These(1 << 16), 50);

pub(crate) const HALF: PolicyEntry = PolicyEntry {
    name: "asap-4-64",
    syntax: "asap-4-64",
    summary: "promote 64 KiB, by copying, as soon as half of its base pages were referenced",
    explanation: "The policy is asap with 64 KiB as the only superpage size, and promotes at half \
                  of a piece. The promotion fills the other half with pages that the program did \
                  not ask for. It is asap(sizes=64k,part=50), under the name in its source.",
    source: "Romer 1995, section 7.4 (ASAP-4-64)",
    parameters: &[],
    examples: &["asap-4-64"],
    by_default: false,
    build: |given| {
        let (sizes, part) = OF_HALF;
        Box::new(Asap { sizes, part, given })
    },
};

struct Asap {
    given: GivenParameters,
    sizes: SizeSet,
    part: u64,
}

impl Policy for Asap {
    fn name(&self) -> String {
        if (self.sizes, self.part) == OF_HALF {
            return String::from(HALF.name);
        }
        self.given.name()
    }

    fn needs(&self) -> Needs {
        Needs {
            placement: Placement::AtFault,
            copies: Copies::Always,
            sizes: self.sizes,
            ..Needs::default()
        }
    }

    fn decide(&self, point: Point, view: &View) -> Verdict {
        if point != Point::Fault || view.promoted {
            return Verdict::Pass;
        }
        if let Some(reason) = view.coverage.refusal() {
            return Verdict::Stay(reason);
        }
        Verdict::promote_if(view.has_percent(self.part), Refusal::TooFewResident)
    }
}

#[cfg(test)]
mod tests {
    use crate::policies::testing::decide;
    use crate::{Point, Refusal, Verdict, View};

    #[test]
    fn all_pages_or_the_given_part() {
        for (name, least) in [("asap", 16), ("asap-4-64", 8)] {
            let with = |populated| {
                let view = View {
                    populated,
                    pages: 16,
                    ..View::BLANK
                };
                decide(name, Point::Fault, view)
            };
            assert_eq!(with(least), Verdict::Promote, "{name}");
            let few = Verdict::Stay(Refusal::TooFewResident);
            assert_eq!(with(least - 1), few, "{name}");
        }
    }
}
