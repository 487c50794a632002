//! `thp-always`: a superpage at the first fault, as Linux does with transparent huge pages set to
//! `always`.

use crate::{Beyond, Needs, Point, Policy, PolicyEntry, Refusal, Verdict, View};
use alloc::boxed::Box;
use alloc::string::String;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry {
    name: "thp-always",
    syntax: "thp-always",
    summary: "promote empty anonymous blocks at their first fault, as Linux THP \"always\" does",
    explanation: "A fault in an anonymous block that one mapping covers and that holds no other \
                  page makes it a superpage at once. Files, shared memory and memory that the \
                  program advised against stay in base pages. A block with base pages keeps them: \
                  the daemon that would collapse them later is not part of the policy.",
    source: "Linux, mm/huge_memory.c (do_huge_pmd_anonymous_page) and \
             Documentation/admin-guide/mm/transhuge.rst",
    parameters: &[],
    examples: &["thp-always"],
    by_default: true,
    build: |_| Box::new(ThpAlways),
};

struct ThpAlways;

impl Policy for ThpAlways {
    fn name(&self) -> String {
        String::from(ENTRY.name)
    }

    fn needs(&self) -> Needs {
        Needs {
            beyond_looking: Some(Beyond::FirstFaults),
            ..Needs::default()
        }
    }

    fn decide(&self, point: Point, view: &View) -> Verdict {
        if point != Point::Fault || view.promoted {
            return Verdict::Pass;
        }
        match view.refusal_by_kind() {
            Some(refusal) => Verdict::Stay(refusal),
            None => Verdict::promote_if(view.populated == 1, Refusal::AlreadyPopulated),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::policies::testing::{RESERVED, decide};
    use crate::{Coverage, Point, Refusal, Verdict, View};
    use broadleaf_units::BackingKind;

    const FIRST: View = View {
        populated: 1,
        ..RESERVED
    };

    #[test]
    fn promotes_empty_anonymous_blocks_with_or_without_a_reservation() {
        assert_eq!(decide("thp-always", Point::Fault, FIRST), Verdict::Promote);
        let unreserved = View {
            reservation_age: None,
            ..FIRST
        };
        assert_eq!(
            decide("thp-always", Point::Fault, unreserved),
            Verdict::Promote
        );
    }

    #[test]
    fn refuses_in_the_documented_order() {
        let mut view = View {
            populated: 2,
            coverage: Coverage::NotCovered,
            backing: BackingKind::File,
            advised_against: true,
            ..RESERVED
        };
        let mut expect = |refusal: Refusal, cure: fn(&mut View)| {
            assert_eq!(
                decide("thp-always", Point::Fault, view),
                Verdict::Stay(refusal)
            );
            cure(&mut view);
        };
        expect(Refusal::FileBacked, |view| {
            view.backing = BackingKind::SharedMemory
        });
        expect(Refusal::SharedMemory, |view| {
            view.backing = BackingKind::Anonymous
        });
        expect(Refusal::AdvisedAgainst, |view| view.advised_against = false);
        expect(Refusal::NotCovered, |view| {
            view.coverage = Coverage::MixedProtection
        });
        expect(Refusal::MixedProtection, |view| {
            view.coverage = Coverage::Covered
        });
        expect(Refusal::AlreadyPopulated, |view| view.populated = 1);
        assert_eq!(decide("thp-always", Point::Fault, view), Verdict::Promote);
    }

    #[test]
    fn is_asked_only_at_faults() {
        for point in [Point::FirstStore, Point::Due, Point::StoreToCleanSuperpage] {
            assert_eq!(decide("thp-always", point, FIRST), Verdict::Pass);
        }
    }
}
