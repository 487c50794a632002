//! `ingens`: base pages at faults, and a daemon that promotes used blocks, fairly.

use crate::parameter::GivenParameters;
use crate::{
    Beyond, Copies, Effort, Needs, Parameter, Placement, Point, Policy, PolicyEntry,
    PromotionOrder, Refusal, Scan, Verdict, View,
};
use alloc::boxed::Box;
use alloc::string::String;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry {
    name: "ingens",
    syntax: "ingens(...)",
    summary: "base pages at faults; a daemon promotes blocks that are nine tenths populated, in \
              turns over processes",
    explanation: "A fault never waits for 2 MiB to be zeroed: it gets a base page. A daemon copies \
                  blocks of anonymous memory together of which 90 percent are populated, so that \
                  little is filled needlessly. Superpages are shared out: first comes the process \
                  with the smallest part of its memory in them, and within it the block with the \
                  most recently referenced pages. If no extent is free, the compacting daemon is \
                  woken and the block waits. When memory is short, superpages without references \
                  are broken, as Linux of its day breaks superpages before swapping, so that they \
                  leave by base pages. Not modelled: Ingens accepts blocks at any utilisation \
                  while memory is little fragmented, and no policy sees fragmentation; the penalty \
                  for processes with idle superpages; and sharing of equal pages. The period of \
                  the daemon is this project's choice: it is a setting of the original.",
    source: "Kwon, Yu, Peter, Rossbach, Witchel 2016 (OSDI), Coordinated and Efficient Huge Page \
             Management with Ingens, sections 4 (design: utilisation, access frequency, fair \
             promotion) and 5; \
             github.com/ut-osa/ingens (util_threshold, scan_sleep_millisecs)",
    parameters: &[
        Parameter::number(
            "utilisation",
            "percent",
            (1, 100),
            90,
            "The part of a block that must be populated.",
        ),
        Parameter::number(
            "referenced",
            "percent",
            (0, 100),
            0,
            "The part of a block that must have been referenced, on average over the daemon's \
             rounds.",
        ),
        Parameter::period(
            "scan_period",
            1,
            100_000_000,
            "The time between two turns of the daemon, short because the original promotes soon \
             after a block has filled. Accesses are those of a program that makes 1e9 per second; \
             --rate gives another rate.",
        ),
        Parameter::word(
            "order",
            &["fair", "referenced"],
            "fair",
            "The order of promotions: processes in turn, or the most referenced blocks first.",
        ),
    ],
    examples: &["ingens"],
    by_default: false,
    build: |given| {
        Box::new(Ingens {
            utilisation: given.number("utilisation"),
            referenced: given.number("referenced"),
            given,
        })
    },
};

struct Ingens {
    given: GivenParameters,
    utilisation: u64,
    referenced: u64,
}

impl Policy for Ingens {
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
                promotions: 0,
                order: match self.given.word("order") {
                    "fair" => PromotionOrder::Fair,
                    _ => PromotionOrder::ByRank,
                },
            }),
            asked_when_short: true,
            fault_around: 16,
            beyond_looking: Some(Beyond::References),
            zero_page: true,
            ..Needs::default()
        }
    }

    fn decide(&self, point: Point, view: &View) -> Verdict {
        match point {
            Point::Scan if !view.promoted => self.scan(view),
            Point::Short => Verdict::demote_if(view.promoted && view.referenced == 0),
            _ => Verdict::Pass,
        }
    }

    fn effort(&self, _: Point, _: &View) -> Effort {
        Effort::Later
    }

    fn rank(&self, view: &View) -> u64 {
        view.referenced_on_average.into()
    }
}

impl Ingens {
    fn scan(&self, view: &View) -> Verdict {
        let pages = u64::from(view.pages);
        if let Some(refusal) = view.refusal_by_kind() {
            Verdict::Stay(refusal)
        } else if u64::from(view.populated) * 100 < self.utilisation * pages {
            Verdict::Stay(Refusal::TooFewResident)
        } else {
            // The average is in sixteenths.
            let reached =
                u64::from(view.referenced_on_average) * 100 >= self.referenced * pages * 16;
            Verdict::promote_if(reached, Refusal::RarelyReferenced)
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::policies::testing::{RESERVED, decide, needs, refuses_by_kind};
    use crate::{Copies, Effort, Placement, Point, PromotionOrder, Refusal, Verdict, View, parse};

    const FULL: View = View {
        populated: 512,
        reservation_age: None,
        ..RESERVED
    };

    #[test]
    fn the_daemon_promotes_populated_and_referenced_blocks() {
        for (name, populated, average, verdict) in [
            ("ingens", 460, 0, Verdict::Stay(Refusal::TooFewResident)),
            ("ingens", 461, 0, Verdict::Promote),
            (
                "ingens(utilisation=50)",
                255,
                0,
                Verdict::Stay(Refusal::TooFewResident),
            ),
            ("ingens(utilisation=50)", 256, 0, Verdict::Promote),
            (
                "ingens(referenced=25)",
                512,
                128 * 16 - 1,
                Verdict::Stay(Refusal::RarelyReferenced),
            ),
            ("ingens(referenced=25)", 512, 128 * 16, Verdict::Promote),
        ] {
            let view = View {
                populated,
                referenced_on_average: average,
                ..FULL
            };
            assert_eq!(
                decide(name, Point::Scan, view),
                verdict,
                "{name} {populated} {average}"
            );
            let superpage = View {
                promoted: true,
                ..view
            };
            assert_eq!(decide(name, Point::Scan, superpage), Verdict::Pass);
        }
        refuses_by_kind("ingens", Point::Scan, FULL);
    }

    #[test]
    fn faults_get_base_pages_and_idle_superpages_are_broken() {
        assert_eq!(decide("ingens", Point::Fault, FULL), Verdict::Pass);
        assert_eq!(decide("ingens", Point::FirstStore, FULL), Verdict::Pass);
        let superpage = View {
            promoted: true,
            ..FULL
        };
        assert_eq!(decide("ingens", Point::Short, superpage), Verdict::Demote);
        let used = View {
            referenced: 1,
            ..superpage
        };
        assert_eq!(decide("ingens", Point::Short, used), Verdict::Pass);
        assert_eq!(decide("ingens", Point::Short, FULL), Verdict::Pass);
    }

    #[test]
    fn the_daemon_is_fair_and_wakes_the_one_that_compacts() {
        let ingens = needs("ingens");
        assert_eq!(ingens.placement, Placement::AtFault);
        assert!(ingens.copies == Copies::Scattered && ingens.asked_when_short);
        let scan = ingens.scan.unwrap();
        assert_eq!(
            (scan.order, scan.period),
            (PromotionOrder::Fair, 100_000_000)
        );
        let scan = needs("ingens(order=referenced,scan_period=1e6)")
            .scan
            .unwrap();
        assert_eq!(
            (scan.order, scan.period),
            (PromotionOrder::ByRank, 1_000_000)
        );
        let ingens = parse("ingens").unwrap();
        assert_eq!(ingens.effort(Point::Scan, &FULL), Effort::Later);
        let hot = View {
            referenced_on_average: 7,
            ..FULL
        };
        assert!(ingens.rank(&hot) > ingens.rank(&FULL));
    }
}
