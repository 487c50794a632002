//! `navarro`: reservations, and superpages of every size that grow as they fill.

use super::filled::{filled, stored_to};
use crate::parameter::Given;
use crate::{Entry, Needs, PageDaemon, Parameter, Point, Policy, Refusal, Sizes, Verdict, View};
use alloc::boxed::Box;
use alloc::string::String;

pub(crate) const ENTRY: Entry = Entry {
    name: "navarro",
    syntax: "navarro(...)",
    summary: "promote full pieces of a reservation to every page size in turn, and keep memory contiguous",
    explanation: "Memory is reserved for the largest page that fits, and each piece of it becomes a superpage of the next size when it is full and all clean \
                  or all dirty. The first store breaks a clean superpage, size by size down to the page that it meets, so that the system knows what is dirty; its \
                  pieces come back as they are dirty throughout. When memory is short, superpages are broken as the page daemon clears their reference bits, to find out \
                  which parts of them are in use, and the page daemon takes those pages that complete an extent somebody asked for in vain. \
                  A piece becomes a superpage again, size by size, when all of its pages were referenced since. \
                  Of wired pages only those are modelled that page tables take: they stand together.",
    source: "Navarro, Iyer, Druschel, Cox 2002 (OSDI), sections 4.1 to 4.9, 5.1 (the page daemon) and 6 (the experiments that the options are for)",
    parameters: &[
        Parameter::sizes(
            "sizes",
            Sizes::All,
            "Which superpages there are, of those that the machine has.",
        ),
        Parameter::word(
            "dirty",
            &["demote", "ignore"],
            "demote",
            "Whether the first store breaks a clean superpage, and pieces have to agree in being dirty; or neither.",
        ),
        Parameter::word(
            "daemon",
            &["contiguity", "cache"],
            "contiguity",
            "Whether the page daemon works for extents that are missed, and wired pages stand together; or pages leave in the order of their last use.",
        ),
    ],
    examples: &["navarro", "navarro(dirty=ignore)", "navarro(daemon=cache)"],
    by_default: false,
    build: |given| {
        Box::new(Navarro {
            demotes: given.word("dirty") == "demote",
            given,
        })
    },
};

struct Navarro {
    given: Given,
    /// Whether being dirty matters.
    demotes: bool,
}

impl Policy for Navarro {
    fn name(&self) -> String {
        self.given.name()
    }

    fn needs(&self) -> Needs {
        Needs {
            files_stay: true,
            sizes: self.given.sizes("sizes"),
            asked_when_short: true,
            asked_when_used_again: true,
            wires_together: self.given.word("daemon") == "contiguity",
            daemon: match self.given.word("daemon") {
                "contiguity" => PageDaemon::ForContiguity,
                _ => PageDaemon::OldestFirst,
            },
            ..Needs::default()
        }
    }

    fn decide(&self, point: Point, view: &View) -> Verdict {
        match point {
            Point::Fault | Point::FirstStore => filled(point, view, self.demotes),
            Point::StoreToCleanSuperpage if self.demotes => stored_to(view),
            Point::Short => Verdict::demote_if(view.promoted),
            // What was broken to see which of its pages are used becomes one again, step by step, when they all were.
            Point::UsedAgain if !view.promoted && view.referenced < view.pages => {
                Verdict::Stay(Refusal::RarelyReferenced)
            }
            Point::UsedAgain => filled(point, view, self.demotes),
            _ => Verdict::Pass,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::policies::testing::{RESERVED, decide, needs};
    use crate::{Copies, PageDaemon, Placement, Point, Refusal, Sizes, Verdict, View};

    #[test]
    fn promotes_again_what_is_referenced_again_throughout() {
        let piece = View {
            populated: 512,
            referenced: 512,
            pages: 512,
            ..RESERVED
        };
        let again = |view| decide("navarro", Point::UsedAgain, view);
        assert_eq!(again(piece), Verdict::Promote);
        let rarely = View {
            referenced: 511,
            ..piece
        };
        assert_eq!(again(rarely), Verdict::Stay(Refusal::RarelyReferenced));
        let mixed = View { dirty: 3, ..piece };
        assert_eq!(again(mixed), Verdict::Stay(Refusal::MixedDirty));
    }

    #[test]
    fn promotes_full_pieces_of_any_size_that_agree() {
        for pages in [16, 128, 512, 1024] {
            for (populated, dirty, verdict, without) in [
                (
                    pages - 1,
                    0,
                    Verdict::Stay(Refusal::TooFewResident),
                    Verdict::Stay(Refusal::TooFewResident),
                ),
                (pages, 0, Verdict::Promote, Verdict::Promote),
                (
                    pages,
                    1,
                    Verdict::Stay(Refusal::MixedDirty),
                    Verdict::Promote,
                ),
                (
                    pages,
                    pages - 1,
                    Verdict::Stay(Refusal::MixedDirty),
                    Verdict::Promote,
                ),
                (pages, pages, Verdict::Promote, Verdict::Promote),
            ] {
                let view = View {
                    populated,
                    dirty,
                    pages,
                    ..RESERVED
                };
                for point in [Point::Fault, Point::FirstStore] {
                    assert_eq!(
                        decide("navarro", point, view),
                        verdict,
                        "{populated} {dirty}"
                    );
                    assert_eq!(decide("navarro(dirty=ignore)", point, view), without);
                }
            }
        }
        let elsewhere = View {
            populated: 512,
            reservation_age: None,
            ..RESERVED
        };
        assert_eq!(
            decide("navarro", Point::Fault, elsewhere),
            Verdict::Stay(Refusal::NoReservation)
        );
    }

    #[test]
    fn breaks_superpages_at_first_stores_and_when_memory_is_short() {
        let superpage = View {
            populated: 512,
            promoted: true,
            ..RESERVED
        };
        let store = Point::StoreToCleanSuperpage;
        assert_eq!(decide("navarro", store, superpage), Verdict::Demote);
        assert_eq!(
            decide("navarro(dirty=ignore)", store, superpage),
            Verdict::Pass
        );
        let read_only = View {
            writable: false,
            ..superpage
        };
        assert_eq!(decide("navarro", store, read_only), Verdict::Pass);
        assert_eq!(decide("navarro", Point::Short, superpage), Verdict::Demote);
        assert_eq!(decide("navarro", Point::Short, RESERVED), Verdict::Pass);
    }

    #[test]
    fn asks_for_every_size_and_for_contiguity() {
        let navarro = needs("navarro");
        assert_eq!(navarro.sizes, Sizes::All);
        assert_eq!(navarro.placement, Placement::Reserved);
        assert_eq!(navarro.daemon, PageDaemon::ForContiguity);
        assert!(navarro.asked_when_short && navarro.copies == Copies::Never);
        assert_eq!(
            needs("navarro(sizes=64k,daemon=cache)").sizes,
            Sizes::These(1 << 16)
        );
        assert_eq!(
            needs("navarro(daemon=cache)").daemon,
            PageDaemon::OldestFirst
        );
    }
}
