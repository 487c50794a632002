//! `ingens`: base pages at faults, and a daemon that promotes what is used, fairly.

use crate::parameter::Given;
use crate::{
    Beyond, Copies, Effort, Entry, Needs, Order, Parameter, Placement, Point, Policy, Refusal,
    Scan, Verdict, View,
};
use alloc::boxed::Box;
use alloc::string::String;

pub(crate) const ENTRY: Entry = Entry {
    name: "ingens",
    syntax: "ingens(...)",
    summary: "base pages at faults; a daemon promotes blocks that are nine tenths populated, in turns over processes",
    explanation: "A fault never waits for 2 MiB to be zeroed: it gets a base page. A daemon copies blocks of anonymous memory together of which 90 percent are populated, so that little is \
                  filled for nothing. Superpages are shared out: the process comes first that has the smallest part of its memory in them, and \
                  within it the block of which the most pages were referenced of late. Where no extent is free, the daemon that compacts is woken and the \
                  block waits. Superpages that nobody references are broken when memory is short, as Linux of its day breaks what it swaps, so that they leave by base pages. \
                  Not modelled: that Ingens takes blocks at any utilisation while memory is little fragmented, since no policy sees that; the penalty for processes whose superpages lie idle; and sharing of \
                  equal pages. How often the daemon comes is this project's choice: the original's is a setting.",
    source: "Kwon, Yu, Peter, Rossbach, Witchel 2016 (OSDI), Coordinated and Efficient Huge Page Management with Ingens, sections 4 (design: utilisation, access frequency, fair promotion) and 5; \
             github.com/ut-osa/ingens (util_threshold, scan_sleep_millisecs)",
    parameters: &[
        Parameter::number(
            "utilisation",
            "percent",
            (1, 100),
            90,
            "How much of a block has to be populated.",
        ),
        Parameter::number(
            "referenced",
            "percent",
            (0, 100),
            0,
            "How much of a block has to have been referenced, on average over the daemon's rounds.",
        ),
        Parameter::period(
            "scan_period",
            1,
            100_000_000,
            "The time between two turns of the daemon, short because the original promotes soon after a block has filled. Accesses are those of a program that makes 1e9 per second; --rate gives another rate.",
        ),
        Parameter::word(
            "order",
            &["fair", "referenced"],
            "fair",
            "Whether processes take turns, or the blocks come first of which the most was referenced.",
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
    given: Given,
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
                    "fair" => Order::Fair,
                    _ => Order::ByRank,
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
    use crate::{Copies, Effort, Order, Placement, Point, Refusal, Verdict, View, parse};

    const FULL: View = View {
        populated: 512,
        reservation_age: None,
        ..RESERVED
    };

    #[test]
    fn the_daemon_promotes_what_is_populated_and_referenced() {
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
        assert_eq!((scan.order, scan.period), (Order::Fair, 100_000_000));
        let scan = needs("ingens(order=referenced,scan_period=1e6)")
            .scan
            .unwrap();
        assert_eq!((scan.order, scan.period), (Order::ByRank, 1_000_000));
        let ingens = parse("ingens").unwrap();
        assert_eq!(ingens.effort(Point::Scan, &FULL), Effort::Later);
        let hot = View {
            referenced_on_average: 7,
            ..FULL
        };
        assert!(ingens.rank(&hot) > ingens.rank(&FULL));
    }
}
