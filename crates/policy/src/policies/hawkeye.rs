//! `hawkeye`: superpages at faults from frames zeroed ahead of time, then for the most referenced
//! blocks; a shortage of memory takes back pages of zeroes.

use crate::parameter::GivenParameters;
use crate::{
    Beyond, Copies, Effort, Needs, Parameter, Placement, Point, Policy, PolicyEntry,
    PromotionOrder, Refusal, Scan, Verdict, View,
};
use alloc::boxed::Box;
use alloc::string::String;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry {
    name: "hawkeye",
    syntax: "hawkeye(...)",
    summary: "promote at first faults while extents are free, then the most referenced blocks; \
              break superpages that hold zeroes when memory is short",
    explanation: "Frames are zeroed ahead of time, so that a superpage at the first fault costs \
                  little: anonymous blocks get one while an extent is free. A daemon finds the \
                  rest by counting the referenced pages of each block. Blocks are in ten buckets \
                  by their average, fifty pages to a bucket, and the daemon promotes blocks of the \
                  highest bucket first, of any process. When memory is short, superpages with many \
                  pages of zeroes are broken, and those pages given back. A page without a store \
                  counts as zeroes; the original reads the pages, and also finds pages that hold \
                  zeroes again. The original measures references for one second of thirty, and \
                  starts to take back at 85 percent of memory. Here a round is its own \
                  measurement, and the host decides when memory is short, and asks only about \
                  superpages without references. This is the variant with references alone \
                  (HawkEye-G); the other variant weighs processes by the walk cycles that the \
                  processor counts. The number of zeroes that breaks a superpage is a setting of \
                  the original; half is this project's choice.",
    source: "Panwar, Bansal, Gopinath 2019 (ASPLOS), HawkEye: Efficient Fine-grained OS Support \
             for Huge Pages, section 3 (asynchronous page pre-zeroing, managing bloat, \
             fine-grained huge page promotion); \
             github.com/apanwariisc/HawkEye, mm/ohp.c (ohp_calc_hpage_hotness, get_next_ohp_addr)",
    parameters: &[
        Parameter::word(
            "order",
            &["coverage", "fair"],
            "coverage",
            "The order of promotions: the highest bucket of all processes first, or processes in \
             turn.",
        ),
        Parameter::period(
            "scan_period",
            1,
            30_000_000_000,
            "The time between two turns of the daemon. Accesses are those of a program that makes \
             1e9 per second; --rate gives another rate.",
        ),
        Parameter::number(
            "promotions",
            "blocks",
            (0, 1_000_000_000),
            0,
            "The maximum number of blocks that the daemon promotes in a turn; 0 is no limit.",
        ),
        Parameter::number(
            "zero",
            "base pages",
            (1, 512),
            256,
            "The number of pages of zeroes that breaks a superpage when memory is short.",
        ),
        Parameter::number(
            "zeroed_ahead",
            "frames in a million accesses",
            (0, 1_000_000),
            10,
            "The number of free frames zeroed ahead of time: the default is ten thousand in a \
             second of 1e9 accesses.",
        ),
    ],
    examples: &["hawkeye", "hawkeye(order=fair)"],
    by_default: false,
    build: |given| {
        Box::new(HawkEye {
            zero: given.small("zero"),
            given,
        })
    },
};

/// The average number of base pages that makes a bucket, and the number of buckets.
const BUCKET: u32 = 50;
const BUCKETS: u32 = 10;

struct HawkEye {
    given: GivenParameters,
    zero: u32,
}

impl Policy for HawkEye {
    fn name(&self) -> String {
        self.given.name()
    }

    fn needs(&self) -> Needs {
        Needs {
            placement: Placement::AtFault,
            copies: Copies::Scattered,
            scan: Some(Scan {
                period: self.given.number("scan_period"),
                pages: 0,
                promotions: self.given.number("promotions"),
                order: match self.given.word("order") {
                    "coverage" => PromotionOrder::ByRank,
                    _ => PromotionOrder::Fair,
                },
            }),
            asked_when_short: true,
            fault_around: 16,
            beyond_looking: Some(Beyond::References),
            zero_page: true,
            zeroed_ahead: self.given.number("zeroed_ahead"),
            ..Needs::default()
        }
    }

    fn decide(&self, point: Point, view: &View) -> Verdict {
        match (point, view.promoted) {
            (Point::Fault, false) => match view.refusal_by_kind() {
                Some(refusal) => Verdict::Stay(refusal),
                None if !view.was_empty() => Verdict::Stay(Refusal::AlreadyPopulated),
                None => Verdict::promote_if(view.extent_free, Refusal::NoExtent),
            },
            (Point::Scan, false) => match view.refusal_by_kind() {
                Some(refusal) => Verdict::Stay(refusal),
                None => {
                    Verdict::promote_if(view.referenced_on_average > 0, Refusal::RarelyReferenced)
                }
            },
            (Point::Short, true) => Verdict::demote_if(view.zero >= self.zero),
            _ => Verdict::Pass,
        }
    }

    fn effort(&self, point: Point, _: &View) -> Effort {
        match point {
            Point::Scan => Effort::Now,
            _ => Effort::None,
        }
    }

    fn rank(&self, view: &View) -> u64 {
        // The average is in sixteenths.
        (view.referenced_on_average / 16 / BUCKET)
            .min(BUCKETS - 1)
            .into()
    }
}

#[cfg(test)]
mod tests {
    use crate::policies::testing::{RESERVED, decide, needs, refuses_by_kind};
    use crate::{Effort, Point, PromotionOrder, Refusal, Verdict, View, parse};

    const FIRST: View = View {
        populated: 1,
        reservation_age: None,
        ..RESERVED
    };
    const USED: View = View {
        populated: 100,
        referenced_on_average: 1,
        ..FIRST
    };

    #[test]
    fn a_first_fault_gets_a_free_extent() {
        assert_eq!(decide("hawkeye", Point::Fault, FIRST), Verdict::Promote);
        for (view, refusal) in [
            (
                View {
                    extent_free: false,
                    ..FIRST
                },
                Refusal::NoExtent,
            ),
            (
                View {
                    populated: 2,
                    ..FIRST
                },
                Refusal::AlreadyPopulated,
            ),
            (
                View {
                    swapped: 1,
                    ..FIRST
                },
                Refusal::AlreadyPopulated,
            ),
        ] {
            assert_eq!(
                decide("hawkeye", Point::Fault, view),
                Verdict::Stay(refusal)
            );
        }
        refuses_by_kind("hawkeye", Point::Fault, FIRST);
        assert_eq!(decide("hawkeye", Point::FirstStore, FIRST), Verdict::Pass);
    }

    #[test]
    fn the_daemon_takes_referenced_blocks_by_bucket() {
        assert_eq!(decide("hawkeye", Point::Scan, USED), Verdict::Promote);
        let idle = View {
            referenced_on_average: 0,
            ..USED
        };
        assert_eq!(
            decide("hawkeye", Point::Scan, idle),
            Verdict::Stay(Refusal::RarelyReferenced)
        );
        refuses_by_kind("hawkeye", Point::Scan, USED);
        let hawkeye = parse("hawkeye").unwrap();
        let bucket = |sixteenths| {
            hawkeye.rank(&View {
                referenced_on_average: sixteenths,
                ..USED
            })
        };
        for (pages, number) in [(50, 1), (100, 2), (400, 8), (450, 9)] {
            assert_eq!(bucket(pages * 16 - 1), number - 1, "{pages}");
            assert_eq!(bucket(pages * 16), number, "{pages}");
        }
        assert_eq!(bucket(512 * 16), 9);
    }

    #[test]
    fn zeroes_are_taken_back_when_memory_is_short() {
        let superpage = |zero| View {
            populated: 512,
            promoted: true,
            zero,
            ..FIRST
        };
        for (name, threshold) in [
            ("hawkeye", 256),
            ("hawkeye(zero=1)", 1),
            ("hawkeye(zero=512)", 512),
        ] {
            assert_eq!(
                decide(name, Point::Short, superpage(threshold - 1)),
                Verdict::Pass
            );
            assert_eq!(
                decide(name, Point::Short, superpage(threshold)),
                Verdict::Demote
            );
        }
        let pages = View {
            promoted: false,
            ..superpage(512)
        };
        assert_eq!(decide("hawkeye", Point::Short, pages), Verdict::Pass);
    }

    #[test]
    fn options_reach_the_host() {
        let hawkeye = needs("hawkeye");
        let scan = hawkeye.scan.unwrap();
        assert_eq!((scan.order, scan.promotions), (PromotionOrder::ByRank, 0));
        assert_eq!(hawkeye.zeroed_ahead, 10);
        let other = needs("hawkeye(order=fair,promotions=4,zeroed_ahead=0,scan_period=7)");
        let scan = other.scan.unwrap();
        assert_eq!(
            (scan.order, scan.promotions, scan.period),
            (PromotionOrder::Fair, 4, 7)
        );
        assert_eq!(other.zeroed_ahead, 0);
        let hawkeye = parse("hawkeye").unwrap();
        assert_eq!(hawkeye.effort(Point::Fault, &FIRST), Effort::None);
        assert_eq!(hawkeye.effort(Point::Scan, &USED), Effort::Now);
    }
}
