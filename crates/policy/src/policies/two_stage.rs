//! `two-stage`: small superpages when they are full, the large one from a threshold.

use crate::parameter::Given;
use crate::{Entry, Needs, Parameter, Point, Policy, Refusal, Sizes, Verdict, View};
use alloc::boxed::Box;
use alloc::string::String;

pub(crate) const ENTRY: Entry = Entry {
    name: "two-stage",
    syntax: "two-stage(...)",
    summary: "promote small superpages when they are full and the large one from a threshold, as Zhu proposes for Arm",
    explanation: "Arm has page sizes between 4 KiB and 2 MiB: sixteen page table entries side by side that are marked as contiguous are one of 64 KiB, and some processors take four by themselves for one of 16 KiB. \
                  A piece of a smaller size becomes a superpage when it is full, which fills nothing; a block of the largest size \
                  when 64 of its pages are populated, as under pop-64, since programs have either few pages in a block or many. The source says no more than \
                  that the first stage be conservative and the second aggressive: that the first waits for all pages is what FreeBSD does, and its threshold is an \
                  option; what is dirty does not matter.",
    source: "Zhu 2018, section 7.2 (future work: two-stage promotion on Arm); the sizes: Arm Architecture Reference Manual, contiguous bit; FreeBSD, sys/arm64/arm64/pmap.c (pmap_promote_l3c)",
    parameters: &[
        Parameter::sizes(
            "sizes",
            Sizes::These(1 << 16 | 1 << 21),
            "Which superpages there are, of those that the machine has; the largest is the second stage, for all that of 2 MiB and more.",
        ),
        Parameter::number(
            "first",
            "percent",
            (1, 100),
            100,
            "How much of a smaller piece has to be populated.",
        ),
        Parameter::number(
            "second",
            "base pages",
            (1, 512),
            64,
            "How many base pages of a block of the largest size have to be populated.",
        ),
    ],
    examples: &["two-stage", "two-stage(sizes=16k+2m)"],
    by_default: false,
    build: |given| {
        Box::new(TwoStage {
            large: match given.sizes("sizes") {
                Sizes::These(0) | Sizes::All | Sizes::Block => 1 << 21,
                Sizes::These(shifts) => 1 << shifts.ilog2(),
            },
            first: given.number("first"),
            second: given.number("second"),
            given,
        })
    },
};

struct TwoStage {
    given: Given,
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
            // A block has many pages before any piece of it is full, where they are scattered.
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
    use crate::{Point, Refusal, Sizes, Verdict, View};

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
            // One size is the second stage, and asks for no more pages than it has.
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
        assert_eq!(two_stage.sizes, Sizes::These(1 << 16 | 1 << 21));
        assert!(two_stage.every_size && two_stage.needs_frames());
    }
}
