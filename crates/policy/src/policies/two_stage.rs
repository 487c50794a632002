//! `two-stage`: small superpages when they are full, the large one from a threshold.

use crate::parameter::GivenParameters;
use crate::{Needs, Parameter, Point, Policy, PolicyEntry, Refusal, Verdict, View};
use alloc::boxed::Box;
use alloc::string::String;
use broadleaf_units::SizeSet;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry {
    name: "two-stage",
    syntax: "two-stage(...)",
    summary: "promote small superpages when they are full and the large one from a threshold, as \
              Zhu proposes for Arm",
    explanation: "Arm has page sizes between 4 KiB and 2 MiB: sixteen adjacent page table entries \
                  with the contiguous bit are one of 64 KiB, and some processors combine four by \
                  themselves into one of 16 KiB. A piece of a smaller size becomes a superpage \
                  when it is full, which fills nothing. A block of the largest size becomes one \
                  when 64 of its pages are populated, as under pop-64, since programs have either \
                  few pages in a block or many. The source only requires a conservative first \
                  stage and an aggressive second stage. The first waits for all pages, as FreeBSD \
                  does, and its threshold is an option; dirty pages do not matter.",
    source: "Zhu 2018, section 7.2 (future work: two-stage promotion on Arm); the sizes: Arm \
             Architecture Reference Manual, contiguous bit; FreeBSD, sys/arm64/arm64/pmap.c \
             (pmap_promote_l3c)",
    parameters: &[
        Parameter::sizes(
            "sizes",
            SizeSet::These(1 << 16 | 1 << 21),
            "The superpage sizes in use, of those that the machine has. The largest is the second \
             stage; for all, each size of 2 MiB and more.",
        ),
        Parameter::number(
            "first",
            "percent",
            (1, 100),
            100,
            "The part of a smaller piece that must be populated.",
        ),
        Parameter::number(
            "second",
            "base pages",
            (1, 512),
            64,
            "The number of populated base pages that a promotion of a block of the largest size \
             requires.",
        ),
    ],
    examples: &["two-stage", "two-stage(sizes=16k+2m)"],
    by_default: false,
    build: |given| {
        Box::new(TwoStage {
            large: match given.sizes("sizes") {
                SizeSet::These(0) | SizeSet::All | SizeSet::Block => 1 << 21,
                SizeSet::These(shifts) => 1 << shifts.ilog2(),
            },
            first: given.number("first"),
            second: given.number("second"),
            given,
        })
    },
};

struct TwoStage {
    given: GivenParameters,
    /// The size of the second stage, in bytes.
    large: u64,
    first: u64,
    second: u64,
}

impl Policy for TwoStage {
    fn name(&self) -> String {
        self.given.name()
    }

    fn needs(&self) -> Needs {
        Needs {
            sizes: self.given.sizes("sizes"),
            // Scattered pages populate a block before any of its pieces is full.
            every_size: true,
            ..Needs::default()
        }
    }

    fn decide(&self, point: Point, view: &View) -> Verdict {
        if !matches!(point, Point::Fault | Point::FirstStore) {
            return Verdict::Pass;
        }
        if let Err(verdict) = view.reservation_to_decide_on(point) {
            return verdict;
        }
        let (populated, pages) = (u64::from(view.populated), u64::from(view.pages));
        let reached = if view.bytes() >= self.large {
            populated >= self.second.min(pages)
        } else {
            populated * 100 >= self.first * pages
        };
        Verdict::promote_if(reached, Refusal::TooFewResident)
    }
}

#[cfg(test)]
mod tests {
    use crate::policies::testing::{RESERVED, decide, needs};
    use crate::{Point, Refusal, Verdict, View};
    use broadleaf_units::SizeSet;

    #[test]
    fn each_stage_has_its_threshold() {
        for (name, pages, below) in [
            ("two-stage", 16, 15),
            ("two-stage", 512, 63),
            ("two-stage(sizes=16k+2m)", 4, 3),
            ("two-stage(sizes=16k+2m)", 512, 63),
            ("two-stage(first=50)", 16, 7),
            ("two-stage(second=512)", 512, 511),
            ("two-stage(sizes=all)", 256, 255),
            ("two-stage(sizes=all)", 1024, 63),
            // A single size is the second stage, and needs no more pages than it has.
            ("two-stage(sizes=64k)", 16, 15),
            ("two-stage(sizes=64k,second=2)", 16, 1),
        ] {
            let with = |populated| View {
                populated,
                pages,
                ..RESERVED
            };
            for point in [Point::Fault, Point::FirstStore] {
                assert_eq!(
                    decide(name, point, with(below)),
                    Verdict::Stay(Refusal::TooFewResident),
                    "{name} {pages}"
                );
                assert_eq!(
                    decide(name, point, with(below + 1)),
                    Verdict::Promote,
                    "{name} {pages}"
                );
            }
        }
    }

    #[test]
    fn needs_a_reservation_and_every_size() {
        let elsewhere = View {
            populated: 512,
            reservation_age: None,
            ..RESERVED
        };
        assert_eq!(
            decide("two-stage", Point::Fault, elsewhere),
            Verdict::Stay(Refusal::NoReservation)
        );
        let two_stage = needs("two-stage");
        assert_eq!(two_stage.sizes, SizeSet::These(1 << 16 | 1 << 21));
        assert!(two_stage.every_size && two_stage.needs_frames());
    }
}
