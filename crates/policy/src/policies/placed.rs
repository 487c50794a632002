//! `random-frames` and `reserve-SIZE`: base pages, with and without proper placement.

use crate::parameter::GivenParameters;
use crate::written::write_sizes;
use crate::{Needs, Parameter, Placement, Point, Policy, PolicyEntry, Verdict, View};
use alloc::boxed::Box;
use alloc::string::String;
use broadleaf_units::SizeSet;

pub(crate) const RANDOM: PolicyEntry = PolicyEntry {
    name: "random-frames",
    syntax: "random-frames(...)",
    summary: "use base pages in frames that are chosen at random",
    explanation: "Each base page gets a free frame chosen at random, as in a system that has run \
                  for long and places pages anywhere. Nothing is promoted. Pages are properly \
                  placed by chance alone, so partial-subblock entries hold one page each.",
    source: "Talluri 1995, chapter 6 (no support by the operating system)",
    parameters: &[Parameter::number(
        "seed",
        "",
        (0, u32::MAX as u64),
        1,
        "The seed of the random choice.",
    )],
    examples: &["random-frames"],
    by_default: false,
    build: |given| Box::new(RandomFrames { given }),
};

pub(crate) const RESERVE: PolicyEntry = PolicyEntry {
    name: "reserve",
    syntax: "reserve-SIZE",
    summary: "use base pages, and reserve neighbouring frames for the pages of each block",
    explanation: "The first fault in a block reserves an aligned block of frames for all its \
                  pages, so that each page is properly placed. If no frame is free, the oldest \
                  reservation gives up one frame, and keeps the others. If no block is free, a \
                  page gets any frame. Nothing is promoted: this is the support that \
                  partial-subblock TLBs need.",
    source: "Talluri 1995, section 6.6 (page reservation)",
    parameters: &[Parameter::sizes(
        "size",
        SizeSet::These(1 << 16),
        "The size of a block, of those that the machine has.",
    )],
    examples: &["reserve-64k"],
    by_default: false,
    build: |given| Box::new(Reserve { given }),
};

struct RandomFrames {
    given: GivenParameters,
}

impl Policy for RandomFrames {
    fn name(&self) -> String {
        self.given.name()
    }

    fn needs(&self) -> Needs {
        Needs {
            placement: Placement::AtFault,
            sizes: SizeSet::These(0),
            random_frames: Some(self.given.number("seed")),
            ..Needs::default()
        }
    }

    fn decide(&self, _: Point, _: &View) -> Verdict {
        Verdict::Pass
    }
}

struct Reserve {
    given: GivenParameters,
}

/// The requirements of policies that reserve blocks of one size, as in Talluri's system.
pub(super) fn reserving(sizes: SizeSet) -> Needs {
    Needs {
        sizes,
        preempts_oldest: true,
        ..Needs::default()
    }
}

impl Policy for Reserve {
    fn name(&self) -> String {
        let sizes = self.given.sizes("size");
        match sizes.is_one() {
            true => alloc::format!("{}-{}", RESERVE.name, write_sizes(sizes)),
            false => self.given.name(),
        }
    }

    fn needs(&self) -> Needs {
        reserving(self.given.sizes("size"))
    }

    fn decide(&self, _: Point, _: &View) -> Verdict {
        Verdict::Pass
    }
}

#[cfg(test)]
mod tests {
    use crate::policies::testing::decide;
    use crate::{Point, Verdict, View};

    #[test]
    fn nothing_is_promoted() {
        let full = View {
            populated: 512,
            reservation_age: Some(1),
            ..View::BLANK
        };
        for policy in ["random-frames", "reserve-64k"] {
            for point in Point::ALL {
                assert_eq!(decide(policy, *point, full), Verdict::Pass, "{policy}");
            }
        }
    }
}
