//! The requirements and the decisions of expressions.

use super::super::Expression;
use crate::policies::testing::RESERVED;
use crate::{Coverage, Point, Policy, Refusal, Verdict, View};
use broadleaf_units::BackingKind;

pub(super) fn policy(text: &str) -> Expression {
    Expression::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

pub(super) fn of(truth: &str) -> Expression {
    policy(&["promote if ", truth].concat())
}

fn holds(truth: &str, view: View) -> bool {
    match of(truth).decide(Point::Fault, &view) {
        Verdict::Promote => true,
        Verdict::Stay(_) => false,
        verdict => panic!("{verdict:?}"),
    }
}

/// A view in which all numbers differ.
const VIEW: View = View {
    populated: 100,
    dirty: 40,
    pages: 512,
    reservation_age: Some(1000),
    referenced: 7,
    swapped: 8,
    shared: 9,
    zero: 60,
    place: 3,
    misses: 300,
    prefetch_charge: 200,
    capacity_charge: 11,
    miss_cycles: 35,
    copy_cycles: 90_000,
    ..RESERVED
};

#[test]
fn each_name_is_its_field() {
    for (name, is) in [
        ("populated", 100),
        ("dirty", 40),
        ("pages", 512),
        ("size", 2 << 20),
        ("place", 3),
        ("age", 1000),
        ("swapped", 8),
        ("shared", 9),
        ("zero", 60),
        ("misses", 300),
        ("prefetch", 200),
        ("capacity", 11),
        ("miss_cycles", 35),
        ("copy_cycles", 90_000),
    ] {
        assert!(holds(&alloc::format!("{name} == {is}"), VIEW), "{name}");
        assert!(!holds(&alloc::format!("{name} != {is}"), VIEW), "{name}");
    }
    let referenced = policy("promote(scan=5) if referenced == 7");
    assert_eq!(referenced.decide(Point::Scan, &VIEW), Verdict::Promote);
    type Set = fn(&mut View, bool);
    let flags: [(&str, Set); 5] = [
        ("writable", |view, is| view.writable = is),
        ("advised", |view, is| view.advised_for = is),
        ("advised_against", |view, is| view.advised_against = is),
        ("extent_free", |view, is| view.extent_free = is),
        ("memory_short", |view, is| view.memory_short = is),
    ];
    for (name, set) in flags {
        for is in [false, true] {
            let mut view = View {
                writable: !is,
                extent_free: !is,
                ..VIEW
            };
            set(&mut view, is);
            assert_eq!(holds(name, view), is, "{name}");
        }
    }
    assert!(holds("not promoted", VIEW));
    for (word, backing) in [
        ("anonymous", BackingKind::Anonymous),
        ("file", BackingKind::File),
        ("shared", BackingKind::SharedMemory),
    ] {
        for (kind, _) in [("anonymous", 0), ("file", 0), ("shared", 0)] {
            let view = View { backing, ..VIEW };
            assert_eq!(holds(&alloc::format!("kind == {kind}"), view), kind == word);
            assert_eq!(holds(&alloc::format!("kind != {kind}"), view), kind != word);
        }
    }
}

#[test]
fn arithmetic_and_precedence() {
    for (truth, is) in [
        ("populated + dirty * 2 == 180", true),
        ("(populated + dirty) * 2 == 280", true),
        ("populated - dirty - 10 == 50", true),
        ("populated - (dirty - 10) == 70", true),
        ("populated / 2 / 2 == 25", true),
        ("-populated + 200 == 100", true),
        ("populated >= 64 and dirty >= 64 or age >= 1000", true),
        ("populated >= 64 or dirty >= 64 and age >= 1001", true),
        ("(populated >= 64 or dirty >= 64) and age >= 1001", false),
        ("not populated >= 64 or dirty >= 64", false),
        ("not (populated >= 64 and dirty >= 64)", true),
        ("not populated < 64 and not dirty >= 64", true),
        ("populated >= 19.5%", true),
        ("populated >= 19.6%", false),
        ("misses * miss_cycles > 0.1 * copy_cycles", true),
        ("misses * 35 > 0.125 * copy_cycles", false),
        ("populated < 100 or populated > 100", false),
        ("populated <= 100 and populated >= 100", true),
    ] {
        assert_eq!(holds(truth, VIEW), is, "{truth}");
    }
}

#[test]
fn no_comparison_holds_without_a_value() {
    let empty = View {
        zero: 0,
        swapped: 0,
        misses: 0,
        ..VIEW
    };
    for quotient in [
        "populated / zero",
        "zero / zero",
        "-(populated / zero)",
        "1 + populated / zero",
        "0 * (populated / zero)",
    ] {
        for comparison in ["<", "<=", ">", ">=", "==", "!="] {
            let truth = alloc::format!("{quotient} {comparison} 1");
            assert!(!holds(&truth, empty), "{truth}");
            assert!(holds(&alloc::format!("not {truth}"), empty), "{truth}");
        }
    }
    // A block without a reservation has no age.
    let copies = policy("promote(copies=on) if age >= 0 or age < 0");
    let elsewhere = View {
        reservation_age: None,
        ..VIEW
    };
    assert_eq!(
        copies.decide(Point::Fault, &elsewhere),
        Verdict::Stay(Refusal::Expression)
    );
    assert_eq!(copies.decide(Point::Fault, &VIEW), Verdict::Promote);
    // Nothing wraps around.
    let old = View {
        reservation_age: Some(u64::MAX),
        misses: u64::MAX,
        ..VIEW
    };
    assert!(holds(
        "misses * misses * misses > misses and dirty * misses > dirty",
        old
    ));
}

#[test]
fn the_failed_comparison_gives_the_reason() {
    for (truth, reason) in [
        ("populated >= 101", Refusal::TooFewResident),
        ("101 <= populated", Refusal::TooFewResident),
        ("populated == pages", Refusal::TooFewResident),
        ("pages == populated", Refusal::TooFewResident),
        ("dirty > 40", Refusal::TooFewDirty),
        ("40 < dirty", Refusal::TooFewDirty),
        ("age >= 1001", Refusal::TooYoung),
        ("swapped < 8", Refusal::TooManySwapped),
        ("8 > swapped", Refusal::TooManySwapped),
        ("shared <= 8", Refusal::TooManyShared),
        ("advised", Refusal::NotAdvised),
        ("not writable", Refusal::Expression),
        ("kind == file", Refusal::Expression),
        ("populated == 99", Refusal::Expression),
        ("populated < 100", Refusal::Expression),
        ("populated / pages > 0.5", Refusal::Expression),
        ("not populated < 101", Refusal::Expression),
        ("misses > 300", Refusal::Expression),
        ("populated >= 100 and dirty >= 41", Refusal::TooFewDirty),
        ("populated >= 101 and dirty >= 41", Refusal::TooFewResident),
        ("populated >= 101 or dirty >= 41", Refusal::Expression),
        (
            "populated >= 101 or populated >= 102",
            Refusal::TooFewResident,
        ),
    ] {
        assert_eq!(
            of(truth).decide(Point::Fault, &VIEW),
            Verdict::Stay(reason),
            "{truth}"
        );
    }
    let scan = policy("promote(scan=5) if referenced > 7");
    assert_eq!(
        scan.decide(Point::Scan, &VIEW),
        Verdict::Stay(Refusal::RarelyReferenced)
    );
    let other = View {
        backing: BackingKind::File,
        advised_against: true,
        extent_free: false,
        ..VIEW
    };
    for (truth, reason) in [
        ("kind == anonymous", Refusal::FileBacked),
        ("kind != file", Refusal::FileBacked),
        ("not advised_against", Refusal::AdvisedAgainst),
        ("extent_free", Refusal::NoExtent),
    ] {
        assert_eq!(
            of(truth).decide(Point::Fault, &other),
            Verdict::Stay(reason),
            "{truth}"
        );
    }
    let shared = View {
        backing: BackingKind::SharedMemory,
        ..VIEW
    };
    assert_eq!(
        of("kind == file").decide(Point::Fault, &shared),
        Verdict::Stay(Refusal::SharedMemory)
    );
}

#[test]
fn reservations_are_promoted_and_other_blocks_with_copies() {
    let elsewhere = View {
        reservation_age: None,
        ..VIEW
    };
    let uncovered = View {
        coverage: Coverage::NotCovered,
        ..elsewhere
    };
    let superpage = View {
        promoted: true,
        ..VIEW
    };
    let plain = of("populated >= 64");
    let copies = policy("promote(copies=on) if populated >= 64");
    for (policy, view, point, verdict) in [
        (&plain, VIEW, Point::FirstStore, Verdict::Promote),
        (
            &plain,
            elsewhere,
            Point::Fault,
            Verdict::Stay(Refusal::NoReservation),
        ),
        (&plain, elsewhere, Point::FirstStore, Verdict::Pass),
        (&plain, superpage, Point::Fault, Verdict::Pass),
        (&copies, elsewhere, Point::Fault, Verdict::Promote),
        (
            &copies,
            uncovered,
            Point::Fault,
            Verdict::Stay(Refusal::NotCovered),
        ),
        (&copies, superpage, Point::Fault, Verdict::Pass),
    ] {
        assert_eq!(
            policy.decide(point, &view),
            verdict,
            "{} {point:?}",
            policy.name()
        );
    }
}

#[test]
fn superpages_are_demoted_if_the_expression_holds() {
    let clean = View {
        populated: 512,
        dirty: 0,
        promoted: true,
        ..VIEW
    };
    let fixed = View {
        writable: false,
        ..clean
    };
    let freebsd = policy("promote if populated == pages; demote if writable");
    for (policy, view, point, verdict) in [
        (
            &freebsd,
            clean,
            Point::StoreToCleanSuperpage,
            Verdict::Demote,
        ),
        (&freebsd, fixed, Point::StoreToCleanSuperpage, Verdict::Pass),
        (&freebsd, clean, Point::Short, Verdict::Pass),
        (
            &of("populated == pages"),
            clean,
            Point::StoreToCleanSuperpage,
            Verdict::Pass,
        ),
    ] {
        assert_eq!(policy.decide(point, &view), verdict, "{point:?}");
    }
    let rarely = policy("promote if populated >= 64; demote if referenced < 8");
    assert_eq!(rarely.decide(Point::Short, &clean), Verdict::Demote);
    let often = View {
        referenced: 8,
        ..clean
    };
    assert_eq!(rarely.decide(Point::Short, &often), Verdict::Pass);
}
