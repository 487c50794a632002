//! `freebsd`: promote full blocks that are clean throughout or dirty throughout.

use super::filled::{filled, stored_to};
use crate::{Point, Policy, PolicyEntry, Verdict, View};
use alloc::boxed::Box;
use alloc::string::String;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry {
    name: "freebsd",
    syntax: "freebsd",
    summary: "promote full reservations that are all clean or all dirty, as FreeBSD does",
    explanation: "A block becomes a superpage when all of its base pages are populated and either \
                  none or all of them are dirty. A clean superpage in writable memory is \
                  write-protected: its first store breaks it, and it comes back when every page is \
                  dirty. The policy never fills pages and never counts clean pages as modified, \
                  and its superpages come late.",
    source: "Navarro 2002; Zhu 2018, section 2.4 and chapter 5 (FreeBSD)",
    parameters: &[],
    examples: &["freebsd"],
    by_default: true,
    build: |_| Box::new(FreeBsd),
};

struct FreeBsd;

impl Policy for FreeBsd {
    fn name(&self) -> String {
        String::from(ENTRY.name)
    }

    fn decide(&self, point: Point, view: &View) -> Verdict {
        match point {
            Point::StoreToCleanSuperpage => stored_to(view),
            _ => filled(point, view, true),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::policies::testing::{RESERVED, decide};
    use crate::{Point, Refusal, Verdict, View};

    #[test]
    fn promotes_full_blocks_that_agree() {
        for (populated, dirty, verdict) in [
            (511, 0, Verdict::Stay(Refusal::TooFewResident)),
            (511, 511, Verdict::Stay(Refusal::TooFewResident)),
            (512, 0, Verdict::Promote),
            (512, 1, Verdict::Stay(Refusal::MixedDirty)),
            (512, 511, Verdict::Stay(Refusal::MixedDirty)),
            (512, 512, Verdict::Promote),
        ] {
            let view = View {
                populated,
                dirty,
                ..RESERVED
            };
            assert_eq!(
                decide("freebsd", Point::Fault, view),
                verdict,
                "{populated} {dirty}"
            );
            assert_eq!(
                decide("freebsd", Point::FirstStore, view),
                verdict,
                "{populated} {dirty}"
            );
        }
    }

    #[test]
    fn the_first_store_breaks_a_clean_superpage_that_is_writable() {
        let clean = View {
            populated: 512,
            promoted: true,
            ..RESERVED
        };
        assert_eq!(
            decide("freebsd", Point::StoreToCleanSuperpage, clean),
            Verdict::Demote
        );
        let read_only = View {
            writable: false,
            ..clean
        };
        assert_eq!(
            decide("freebsd", Point::StoreToCleanSuperpage, read_only),
            Verdict::Pass
        );
    }
}
