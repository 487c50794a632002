//! `freebsd14`: FreeBSD as it is today.

use super::filled::{filled, stored_to};
use crate::parameter::GivenParameters;
use crate::{Needs, Parameter, Point, Policy, PolicyEntry, Verdict, View};
use alloc::boxed::Box;
use alloc::string::String;
use broadleaf_units::SizeSet;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry {
    name: "freebsd14",
    syntax: "freebsd14(...)",
    summary: "promote full reservations that are all clean or all dirty, and break superpages that \
              the program frees, as FreeBSD 14 does",
    explanation: "A fault reserves 2 MiB for its object, unless the object is a file's or a shared \
                  one and ends before, or unless a page or another reservation is in the way. A \
                  map and a count record which pages of the reservation are populated. A partly \
                  populated reservation waits in a queue in the order of its last allocation, and \
                  a shortage of memory breaks the oldest. When all pages are populated and their \
                  page table entries agree in the rights and in being modified, the block becomes \
                  a superpage; their accessed bits need not agree. Clean entries are \
                  write-protected, so that the first store breaks a clean superpage. An allocator \
                  that gives memory back with MADV_FREE breaks the superpage and makes its pages \
                  clean, but they keep their frames. When the program has stored to all of them \
                  again, they are a superpage without a fault that fills a page. For this purpose \
                  the kernel takes one page of the range, once the first and now the last, out of \
                  the page table, so that the next touch of it asks again; here every first store \
                  asks, so that this step is unnecessary. A shortage of memory breaks no superpage \
                  to find the pages in use. Differences: a fault maps the resident pages in a \
                  window of eight pages, not four on either side; and a file's superpage is not \
                  mapped whole at the first touch of a process if another process populated it.",
    source: "FreeBSD 14, sys/vm/vm_reserv.c (vm_reserv_alloc_page, vm_reserv_populate, \
             vm_reserv_reclaim_inactive), sys/vm/vm_fault.c (vm_fault_prefault), \
             sys/amd64/amd64/pmap.c \
             (pmap_enter, pmap_promote_pde, pmap_advise); Zhu 2018, section 2.4, on the page that \
             the allocator leaves clean; on arm64 and 64k: sys/arm64/arm64/pmap.c \
             (pmap_promote_l3c)",
    parameters: &[
        Parameter::sizes(
            "sizes",
            SizeSet::These(1 << 21),
            "The superpage sizes in use, of those that the machine has: 64k+2m is arm64's.",
        ),
        Parameter::word(
            "freed",
            &["demote", "keep"],
            "demote",
            "The fate of a superpage with pages that the program released (MADV_FREE).",
        ),
    ],
    examples: &["freebsd14", "freebsd14(freed=keep)"],
    by_default: false,
    build: |given| Box::new(FreeBsd14 { given }),
};

struct FreeBsd14 {
    given: GivenParameters,
}

impl Policy for FreeBsd14 {
    fn name(&self) -> String {
        self.given.name()
    }

    fn needs(&self) -> Needs {
        Needs {
            files_stay: true,
            sizes: self.given.sizes("sizes"),
            asked_when_freed: self.given.word("freed") == "demote",
            fault_around: 8,
            ..Needs::default()
        }
    }

    fn decide(&self, point: Point, view: &View) -> Verdict {
        match point {
            Point::Fault | Point::FirstStore => filled(point, view, true),
            Point::StoreToCleanSuperpage => stored_to(view),
            Point::Freed => {
                Verdict::demote_if(view.promoted && self.given.word("freed") == "demote")
            }
            _ => Verdict::Pass,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::policies::testing::{RESERVED, decide, needs};
    use crate::{Point, Refusal, Verdict, View};
    use broadleaf_units::SizeSet;

    #[test]
    fn promotes_full_reservations_that_agree() {
        for pages in [16, 512] {
            for (populated, dirty, verdict) in [
                (pages - 1, pages - 1, Verdict::Stay(Refusal::TooFewResident)),
                (pages, 0, Verdict::Promote),
                (pages, 1, Verdict::Stay(Refusal::MixedDirty)),
                (pages, pages - 1, Verdict::Stay(Refusal::MixedDirty)),
                (pages, pages, Verdict::Promote),
            ] {
                let view = View {
                    populated,
                    dirty,
                    pages,
                    // Accessed bits do not matter.
                    referenced: 1,
                    ..RESERVED
                };
                for point in [Point::Fault, Point::FirstStore] {
                    assert_eq!(decide("freebsd14", point, view), verdict);
                }
            }
        }
        let elsewhere = View {
            reservation_age: None,
            ..RESERVED
        };
        assert_eq!(
            decide("freebsd14", Point::Fault, elsewhere),
            Verdict::Stay(Refusal::NoReservation)
        );
    }

    #[test]
    fn breaks_what_is_stored_to_and_what_is_freed() {
        let superpage = View {
            populated: 512,
            promoted: true,
            ..RESERVED
        };
        let store = Point::StoreToCleanSuperpage;
        assert_eq!(decide("freebsd14", store, superpage), Verdict::Demote);
        let read_only = View {
            writable: false,
            ..superpage
        };
        assert_eq!(decide("freebsd14", store, read_only), Verdict::Pass);
        let freed = Point::Freed;
        assert_eq!(decide("freebsd14", freed, superpage), Verdict::Demote);
        assert_eq!(decide("freebsd14", freed, RESERVED), Verdict::Pass);
        assert_eq!(
            decide("freebsd14(freed=keep)", freed, superpage),
            Verdict::Pass
        );
        assert!(needs("freebsd14").asked_when_freed);
        assert!(!needs("freebsd14(freed=keep)").asked_when_freed);
    }

    #[test]
    fn has_one_size_by_default() {
        assert_eq!(needs("freebsd14").sizes, SizeSet::These(1 << 21));
        assert_eq!(
            needs("freebsd14(sizes=64k+2m)").sizes,
            SizeSet::These(1 << 16 | 1 << 21)
        );
    }
}
