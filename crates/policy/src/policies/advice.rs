//! `advice`: what Zhu advises for the two kinds of memory.

use super::filled::stored_to;
use crate::parameter::Given;
use crate::{BackingKind, Entry, Parameter, Point, Policy, Refusal, Verdict, View};
use alloc::boxed::Box;
use alloc::string::String;

pub(crate) const ENTRY: Entry = Entry {
    name: "advice",
    syntax: "advice(...)",
    summary: "promote anonymous reservations early, and files' late and write-protected, as Zhu advises",
    explanation: "Anonymous memory costs a zeroed page where it is filled for nothing, so that a low threshold is worth it: as pop-64 or dirty-64. What is filled of a file is read \
                  from disk, and a clean page that counts as dirty is written back: a file's block becomes a superpage while it is clean and \
                  half populated, is write-protected, breaks at its first store, and comes back when half of it is dirty. Shared memory counts as \
                  anonymous. A file's block that was stored to before it was a superpage waits for the dirty half too.",
    source: "Zhu 2018, section 6.3.1 (combination of policies in real OS implementation)",
    parameters: &[
        Parameter::number(
            "anonymous",
            "base pages",
            (1, 512),
            64,
            "How many base pages of anonymous memory have to be there.",
        ),
        Parameter::word(
            "counted",
            &["populated", "dirty"],
            "populated",
            "What has to be so many of them: populated, as for pop-N, or dirty, as for dirty-N.",
        ),
        Parameter::number(
            "file",
            "base pages",
            (1, 512),
            256,
            "How many base pages of a clean file's block have to be populated.",
        ),
        Parameter::number(
            "file_dirty",
            "base pages",
            (1, 512),
            256,
            "How many base pages of a file's block that was stored to have to be dirty.",
        ),
    ],
    examples: &["advice", "advice(counted=dirty)"],
    by_default: false,
    build: |given| {
        Box::new(Advice {
            anonymous: given.small("anonymous"),
            dirty: given.word("counted") == "dirty",
            file: given.small("file"),
            file_dirty: given.small("file_dirty"),
            given,
        })
    },
};

struct Advice {
    given: Given,
    anonymous: u32,
    /// Whether `anonymous` counts dirty pages.
    dirty: bool,
    file: u32,
    file_dirty: u32,
}

impl Policy for Advice {
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
    use crate::{BackingKind, Point, Refusal, Verdict, View};

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
