//! `advice`: Zhu's advice for the two kinds of memory.

use super::filled::stored_to;
use crate::parameter::GivenParameters;
use crate::{Parameter, Point, Policy, PolicyEntry, Refusal, Verdict, View};
use alloc::boxed::Box;
use alloc::string::String;
use broadleaf_units::BackingKind;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry {
    name: "advice",
    syntax: "advice(...)",
    summary: "promote anonymous reservations early, and files' late and write-protected, as Zhu \
              advises",
    explanation: "Filling anonymous memory needlessly costs a zeroed page, so a low threshold \
                  pays: as pop-64 or dirty-64. A filled file page is read from disk, and a clean \
                  page that counts as dirty is written back. Therefore a file's block becomes a \
                  superpage while it is clean and half populated, and is write-protected. The \
                  first store breaks it, and it comes back when half of it is dirty. Shared memory \
                  counts as anonymous. A file's block with a store before its promotion waits for \
                  the dirty half too.",
    source: "Zhu 2018, section 6.3.1 (combination of policies in real OS implementation)",
    parameters: &[
        Parameter::number(
            "anonymous",
            "base pages",
            (1, 512),
            64,
            "The number of base pages of anonymous memory that a promotion requires.",
        ),
        Parameter::word(
            "counted",
            &["populated", "dirty"],
            "populated",
            "The pages that count: populated pages, as for pop-N, or dirty pages, as for dirty-N.",
        ),
        Parameter::number(
            "file",
            "base pages",
            (1, 512),
            256,
            "The number of populated base pages that a promotion of a clean file's block requires.",
        ),
        Parameter::number(
            "file_dirty",
            "base pages",
            (1, 512),
            256,
            "The number of dirty base pages that a promotion of a file's block with a store \
             requires.",
        ),
    ],
    examples: &["advice", "advice(counted=dirty)"],
    by_default: false,
    build: |given| {
        Box::new(AdvicePolicy {
            anonymous: given.small("anonymous"),
            dirty: given.word("counted") == "dirty",
            file: given.small("file"),
            file_dirty: given.small("file_dirty"),
            given,
        })
    },
};

struct AdvicePolicy {
    given: GivenParameters,
    anonymous: u32,
    /// True if `anonymous` counts dirty pages.
    dirty: bool,
    file: u32,
    file_dirty: u32,
}

impl Policy for AdvicePolicy {
    fn name(&self) -> String {
        self.given.name()
    }

    fn decide(&self, point: Point, view: &View) -> Verdict {
        let file = view.backing == BackingKind::File;
        if point == Point::StoreToCleanSuperpage {
            return if file { stored_to(view) } else { Verdict::Pass };
        }
        if !matches!(point, Point::Fault | Point::FirstStore) {
            return Verdict::Pass;
        }
        if let Err(verdict) = view.reservation_to_decide_on(point) {
            return verdict;
        }
        let (by_dirty, threshold) = match (file, view.dirty) {
            (false, _) => (self.dirty, self.anonymous),
            (true, 0) => (false, self.file),
            (true, _) => (true, self.file_dirty),
        };
        if by_dirty {
            Verdict::promote_if(view.dirty >= threshold, Refusal::TooFewDirty)
        } else {
            Verdict::promote_if(view.populated >= threshold, Refusal::TooFewResident)
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::policies::testing::{RESERVED, decide, needs};
    use crate::{Point, Refusal, Verdict, View};
    use broadleaf_units::BackingKind;

    const FEW: Verdict = Verdict::Stay(Refusal::TooFewResident);
    const CLEAN: Verdict = Verdict::Stay(Refusal::TooFewDirty);

    fn on(backing: BackingKind, populated: u32, dirty: u32) -> View {
        View {
            backing,
            populated,
            dirty,
            ..RESERVED
        }
    }

    #[test]
    fn anonymous_and_shared_memory_are_promoted_early() {
        for backing in [BackingKind::Anonymous, BackingKind::SharedMemory] {
            for (name, populated, dirty, verdict) in [
                ("advice", 63, 63, FEW),
                ("advice", 64, 0, Verdict::Promote),
                ("advice(counted=dirty)", 512, 63, CLEAN),
                ("advice(counted=dirty)", 64, 64, Verdict::Promote),
                ("advice(anonymous=2)", 1, 0, FEW),
                ("advice(anonymous=2)", 2, 0, Verdict::Promote),
            ] {
                for point in [Point::Fault, Point::FirstStore] {
                    let view = on(backing, populated, dirty);
                    assert_eq!(decide(name, point, view), verdict, "{name} {populated}");
                }
            }
        }
    }

    #[test]
    fn files_are_promoted_late_and_stay_clean() {
        for (name, populated, dirty, verdict) in [
            ("advice", 255, 0, FEW),
            ("advice", 256, 0, Verdict::Promote),
            ("advice", 512, 1, CLEAN),
            ("advice", 512, 255, CLEAN),
            ("advice", 512, 256, Verdict::Promote),
            ("advice(file=9,file_dirty=8)", 9, 0, Verdict::Promote),
            ("advice(file=9,file_dirty=8)", 9, 7, CLEAN),
            ("advice(file=9,file_dirty=8)", 9, 8, Verdict::Promote),
            ("advice(counted=dirty)", 256, 0, Verdict::Promote),
        ] {
            let view = on(BackingKind::File, populated, dirty);
            assert_eq!(
                decide(name, Point::Fault, view),
                verdict,
                "{name} {populated}"
            );
        }
        let superpage = View {
            promoted: true,
            ..on(BackingKind::File, 512, 0)
        };
        let store = Point::StoreToCleanSuperpage;
        assert_eq!(decide("advice", store, superpage), Verdict::Demote);
        for kept in [
            View {
                writable: false,
                ..superpage
            },
            View {
                backing: BackingKind::Anonymous,
                ..superpage
            },
        ] {
            assert_eq!(decide("advice", store, kept), Verdict::Pass);
        }
    }

    #[test]
    fn needs_a_reservation_and_no_frames() {
        let elsewhere = View {
            reservation_age: None,
            ..on(BackingKind::Anonymous, 64, 0)
        };
        assert_eq!(
            decide("advice", Point::Fault, elsewhere),
            Verdict::Stay(Refusal::NoReservation)
        );
        assert!(!needs("advice").needs_frames());
    }
}
