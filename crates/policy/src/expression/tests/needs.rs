//! The requirements of expressions, and their decision points in words.

use super::decisions::{of, policy};
use crate::{Beyond, Charges, Copies, Needs, Placement, Point, Policy, PromotionOrder, Scan};
use alloc::string::String;
use broadleaf_units::SizeSet;

#[test]
fn names_in_an_expression_set_its_needs() {
    let plain = of("populated >= 64 and writable and kind == anonymous");
    assert_eq!(plain.needs(), Needs::default());
    assert!(!plain.needs().needs_frames());
    for (truth, age) in [
        ("age >= 1e6", Some(1_000_000)),
        ("age > 1e6", Some(1_000_001)),
        ("1e6 <= age", Some(1_000_000)),
        ("1e6 < age", Some(1_000_001)),
        ("age >= 2.5", Some(3)),
        ("age > 2.5", Some(3)),
        ("age == 7", Some(7)),
        ("age == 7.5", None),
        ("age != 7", Some(8)),
        ("age >= 2 * 1e3 + 1", Some(2001)),
        ("age >= 0", None),
        ("age > 0", Some(1)),
        ("age > -5", None),
        ("age < 1e6", None),
        ("age <= 1e6", None),
        ("not age < 1e6", Some(1_000_000)),
        ("not (populated > 3 or age <= 1e6)", Some(1_000_001)),
        ("not not age < 1e6", None),
        ("not age >= 1e6", None),
        ("populated / pages * 1e6 > age", None),
        ("populated / pages * 1e6 - age * 2 >= -7", None),
        ("not 2 * age >= populated / pages * 1e6", None),
        ("age * 2 >= 2e6", Some(1_000_000)),
        ("2 * age >= 2e6", Some(1_000_000)),
        ("2e6 <= age * 2", Some(1_000_000)),
        ("(age + age) / 2 >= 1e6", Some(1_000_000)),
        ("age / 4 >= 250000", Some(1_000_000)),
        ("age - 1e6 >= 0", Some(1_000_000)),
        ("0 >= 1e6 - age", Some(1_000_000)),
        ("-age <= -1e6", Some(1_000_000)),
        ("3 * age >= age + 2e6", Some(1_000_000)),
        ("age / 3 >= 333333.25", Some(1_000_000)),
        ("not age * 2 < 2e6", Some(1_000_000)),
        ("age * 2 == 7", None),
        ("age * 2 == 14", Some(7)),
        ("age * 2 != 14", Some(8)),
        ("-age >= -1e6", None),
        ("age - age >= 1", None),
        ("0 * age >= 1", None),
        (
            "age > 1e6 or populated > 3 and age >= 1000001",
            Some(1_000_001),
        ),
    ] {
        assert_eq!(
            of(truth).needs(),
            Needs {
                beyond_looking: Some(Beyond::Ages),
                asked_at_age: age,
                ..Needs::default()
            },
            "{truth}"
        );
    }
    for (truth, charges) in [
        ("misses > 1", [true, false, false]),
        ("prefetch > 1", [false, true, false]),
        (
            "misses > 1 or capacity > 1 or prefetch > 1",
            [true, true, true],
        ),
    ] {
        let [misses, prefetch, capacity] = charges;
        let charges = Charges {
            misses,
            prefetch,
            capacity,
        };
        let needs = of(truth).needs();
        assert_eq!(
            needs,
            Needs {
                charges,
                sees_frames: true,
                ..Needs::default()
            },
            "{truth}"
        );
        assert!(Point::Miss.is_asked_of(&needs) && needs.needs_frames());
    }
    for truth in [
        "swapped > 1",
        "shared > 1",
        "zero > 1",
        "miss_cycles > 1",
        "copy_cycles > 1",
        "advised",
        "extent_free",
        "memory_short",
    ] {
        assert!(of(truth).needs().needs_frames(), "{truth}");
    }
    let all =
        policy("promote(sizes=all,frames=any,scan=5) if populated >= 64; demote if memory_short")
            .needs();
    let scan = Scan {
        period: 5,
        pages: 0,
        promotions: 0,
        order: PromotionOrder::ByAddress,
    };
    let wanted = Needs {
        sizes: SizeSet::All,
        every_size: true,
        placement: Placement::AtFault,
        copies: Copies::Scattered,
        scan: Some(scan),
        asked_when_short: true,
        sees_frames: true,
        ..Needs::default()
    };
    assert_eq!(all, wanted);
}

#[test]
fn decision_points_in_words() {
    let asked = |text: &str| -> String { policy(text).asked() };
    assert_eq!(
        asked("promote if dirty > 1"),
        "at faults and at first stores to pages"
    );
    assert_eq!(
        asked("promote(scan=5) if age > 9 or misses > 1; demote if memory_short"),
        "at faults, at first stores to pages, when a reservation is 10 accesses old, of a clean \
         superpage before its first store, \
         of each block every 5 accesses, of superpages when memory is short and at TLB misses"
    );
}
