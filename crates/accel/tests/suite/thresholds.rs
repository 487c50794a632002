//! Each policy one page, one store or one access before it promotes, and at the moment it does.

use crate::common::*;
use broadleaf_model::Items;
use broadleaf_trace::{Advice, Backing, Event, Grain, Visit};
use broadleaf_units::FileId;

/// A trace without mappings: one block for each list of visits.
fn lackey(visits: impl IntoIterator<Item = Visit>) -> Items {
    let mut items = Items::new(Grain::Page);
    items.visits(visits);
    items
}

#[test]
fn populations() {
    for threshold in [1, 64, 128, 256, 461, 509, 512] {
        let policy = format!("pop-{threshold}");
        let below = result(&lackey((0..threshold - 1).map(load)), &policy);
        assert_eq!((below.promotions, below.resident_pages), (0, threshold - 1));
        assert_eq!(refused(&below, "too_few_resident"), threshold - 1);
        let reached = result(&lackey((0..threshold).map(load)), &policy);
        assert_eq!((reached.promotions, reached.resident_pages), (1, 512));
        assert_eq!(reached.extra_zeroed_pages, 512 - threshold);
        assert_eq!((reached.page_faults, reached.faults_saved), (threshold, 0));
        let all = result(&lackey((0..512).map(load)), &policy);
        assert_eq!(
            (all.extra_zeroed_pages, all.faults_saved),
            (0, (512 - threshold) as i64)
        );
    }
}

#[test]
fn dirty_pages() {
    for threshold in [1, 64, 512] {
        let policy = format!("dirty-{threshold}");
        let trace = |stores| lackey((0..512).map(load).chain((0..stores).map(store)));
        let below = result(&trace(threshold - 1), &policy);
        assert_eq!((below.promotions, below.false_dirty_pages), (0, 0));
        assert_eq!(refused(&below, "too_few_dirty"), 512 + threshold - 1);
        let reached = result(&trace(threshold), &policy);
        assert_eq!(
            (reached.promotions, reached.false_dirty_pages),
            (1, 512 - threshold)
        );
    }
}

#[test]
fn ages() {
    // Reserved at time 0, so due before the access with time 1000, the 1001st.
    for (accesses, promotions) in [(1000, 0), (1001, 1)] {
        let counted = result(&lackey([loads(0, accesses)]), "life-1000");
        assert_eq!(counted.promotions, promotions, "{accesses} in one visit");
        let counted = result(&lackey((0..accesses).map(|_| load(0))), "life-1000");
        assert_eq!(counted.promotions, promotions, "{accesses} in as many");
    }
}

#[test]
fn an_age_is_counted_from_the_reservation_and_asked_between_accesses_of_one_visit() {
    // Reserved at time 500: the visit's access with time 1500 is its 1000th, after a fault
    // elsewhere at time 501.
    let trace = |count| lackey([loads(9999, 500), load(0), loads(9999, count)]);
    assert_eq!(
        result(&trace(500), "life-1e3").promotions,
        1,
        "the first block alone"
    );
    assert_eq!(
        result(&trace(999), "life-1e3").promotions,
        1,
        "a time short of it"
    );
    assert_eq!(result(&trace(1000), "life-1e3").promotions, 2);
}

#[test]
fn full_blocks() {
    let trace = |pages, stores| lackey((0..pages).map(load).chain((0..stores).map(store)));
    let count = |pages, stores| {
        let counted = result(&trace(pages, stores), "freebsd");
        (counted.promotions, counted.demotions)
    };
    assert_eq!(count(511, 0), (0, 0));
    assert_eq!(count(512, 0), (1, 0));
    assert_eq!(count(512, 1), (1, 1));
    assert_eq!(count(512, 511), (1, 1));
    assert_eq!(count(512, 512), (2, 1));
    // All stored to from the start: the last store completes both counts, and is one decision
    // point.
    let dirty = result(&lackey((0..512).map(store)), "freebsd");
    assert_eq!((dirty.promotions, dirty.demotions), (1, 0));
    assert_eq!(refused(&dirty, "mixed_dirty"), 0);
    assert_eq!(refused(&dirty, "too_few_resident"), 511);
}

/// A store that faults makes its page resident and dirty at once (spec model 9).
#[test]
fn a_store_that_faults_is_one_decision_point() {
    let edge = || lackey((0..511).map(load).chain([store(511)]));
    let counted = result(&edge(), "freebsd");
    assert_eq!((counted.promotions, counted.demotions), (0, 0));
    assert_eq!(refused(&counted, "mixed_dirty"), 1);
    assert_eq!(result(&edge(), "foresight").promotions, 0);
    for (policy, reason, refusals) in [
        ("pop-512", "too_few_resident", 511),
        ("dirty-512", "too_few_dirty", 511),
        ("life-1e6", "too_young", 512),
    ] {
        let counted = result(&lackey((0..512).map(store)), policy);
        assert_eq!(refused(&counted, reason), refusals, "{policy}");
    }
    // A load and then a store are two accesses, and two decision points.
    let both = (0..512).flat_map(|page| [load(page), store(page)]);
    assert_eq!(
        refused(&result(&lackey(both), "dirty-512"), "too_few_dirty"),
        1023
    );
}

/// A file's partial last page counts as a whole page (spec model 3).
#[test]
fn a_file_is_as_long_as_its_pages() {
    for (bytes, promotions) in [
        (2 << 20, 1),
        ((2 << 20) - 1, 1),
        ((2 << 20) - 4095, 1),
        ((2 << 20) - 4096, 0),
    ] {
        let mut items = Items::new(Grain::Page);
        items.event(Event::File {
            id: FileId(1),
            size: bytes,
            path: "/file".to_string(),
        });
        items.event(map(0, 512, backed_by(1))).visits([load(0)]);
        let counted = result(&items, "greedy");
        assert_eq!(counted.promotions, promotions, "{bytes}");
        assert_eq!(
            refused(&counted, "no_reservation"),
            1 - promotions,
            "{bytes}"
        );
    }
}

#[test]
fn a_clean_superpage_that_cannot_be_written_stays() {
    let mut items = Items::new(Grain::Page);
    items
        .event(map(0, 512, Backing::Anonymous))
        .visits((0..512).map(load));
    items
        .event(Event::Protect(range(0, 512), READ))
        .visits([store(7)]);
    let counted = result(&items, "freebsd");
    assert_eq!((counted.promotions, counted.demotions), (1, 0));
}

#[test]
fn foresight_knows_what_freebsd_will_do() {
    // Block 0 fills up, block 1 does not.
    let items = lackey((0..512).map(load).chain([load(512)]));
    let counted = result(&items, "foresight");
    assert_eq!(
        (
            counted.promotions,
            counted.page_faults,
            counted.faults_saved
        ),
        (1, 2, 511)
    );
    assert_eq!(refused(&counted, "not_foreseen"), 1);
    assert_eq!(
        (counted.extra_zeroed_pages, counted.resident_pages),
        (0, 513)
    );
}

#[test]
fn thp_takes_empty_anonymous_blocks_and_refuses_others_by_name() {
    let cases: [(&str, Vec<Event>); 5] = [
        ("file_backed", vec![file(0, 512), map(0, 512, backed_by(0))]),
        ("shared_memory", vec![map(0, 512, Backing::SharedMemory)]),
        (
            "advised_against",
            vec![
                map(0, 512, Backing::Anonymous),
                Event::Advise(range(511, 1), Advice::NoHugePage),
            ],
        ),
        ("not_covered", vec![map(0, 511, Backing::Anonymous)]),
        (
            "mixed_protection",
            vec![
                map(0, 512, Backing::Anonymous),
                Event::Protect(range(500, 12), READ),
            ],
        ),
    ];
    for (reason, events) in cases {
        let mut items = Items::new(Grain::Page);
        for event in events {
            items.event(event);
        }
        items.visits([load(3)]);
        let counted = result(&items, "thp-always");
        assert_eq!(
            (counted.promotions, refused(&counted, reason)),
            (0, 1),
            "{reason}"
        );
        assert_eq!(counted.refusals.len(), 1, "{reason}");
    }
    // The first page came while the block was too small; it grows, and the second finds a neighbour
    // there already.
    let mut items = Items::new(Grain::Page);
    items
        .event(map(0, 511, Backing::Anonymous))
        .visits([load(3)]);
    items
        .event(map(511, 1, Backing::Anonymous))
        .visits([load(4)]);
    assert_eq!(
        refused(&result(&items, "thp-always"), "already_populated"),
        1
    );
    let mut items = Items::new(Grain::Page);
    items
        .event(map(0, 512, Backing::Anonymous))
        .visits([load(3)]);
    assert_eq!(result(&items, "thp-always").promotions, 1);
}

#[test]
fn no_policy_promotes_a_block_that_is_not_covered() {
    let names: Vec<&str> = broadleaf_policy::catalogue()
        .iter()
        .filter(|entry| entry.by_default)
        .flat_map(|entry| entry.examples)
        .copied()
        .collect();
    let mut items = Items::new(Grain::Page);
    // A heap that may grow into its block, so that there is a reservation; and a block in two
    // mappings.
    items.event(map(0, 511, Backing::Heap));
    items
        .event(map(1024, 256, Backing::Anonymous))
        .event(map(1280, 256, Backing::SharedMemory));
    items
        .visits((0..511).chain(1024..1536).map(store))
        .visits([loads(2, 2_000_000_000)]);
    for result in replay(&items, &names).results {
        assert_eq!(result.promotions, 0, "{}", result.policy);
        assert_eq!(
            result.resident_pages, result.touched_pages,
            "{}",
            result.policy
        );
        if ["pop-64", "greedy", "life-1e6", "dirty-64"].contains(&result.policy.as_str()) {
            assert!(refused(&result, "not_covered") > 0, "{}", result.policy);
            assert_eq!(refused(&result, "no_reservation"), 512, "{}", result.policy);
        }
    }
}
