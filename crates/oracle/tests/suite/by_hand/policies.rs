//! The promotions of policies, and the reasons of refusals.

use broadleaf_oracle::{OracleCounts, OracleMachine, Pace, PolicySpec, Recording, replay_items};
use broadleaf_trace::{Advice, Backing, Event, Grain, Lead, Visit};
use broadleaf_units::FileId;

use crate::by_hand::trace::{B, HandTrace, READ, READ_WRITE, pages, refusals};

#[test]
fn three_accesses_without_map_events() {
    // A fault each for the first two; the store finds its page.
    let trace = HandTrace::default().load(B).load(B + 1).store(B);
    let base = OracleCounts {
        accesses: 3,
        loads: 2,
        stores: 1,
        l1_misses: 2,
        l2_misses: 2,
        walks_4k: 2,
        walk_cycles: 70,
        page_faults: 2,
        touched_pages: 2,
        touched_pages_anonymous: 2,
        resident_pages: 2,
        peak_resident_pages: 2,
        regions: 1,
        regions_anonymous: 1,
        ..OracleCounts::default()
    };
    assert_eq!(trace.counts(PolicySpec::FourK), base);
    // Promoted before its first translation: one walk, of a superpage.
    let greedy = OracleCounts {
        l1_misses: 1,
        l2_misses: 1,
        walks_4k: 0,
        walks_2m: 1,
        walk_cycles: 21,
        page_faults: 1,
        promotions: 1,
        extra_zeroed_pages: 510,
        false_dirty_pages: 511,
        false_dirty_pages_anonymous: 511,
        clean_pages_in_superpages: 511,
        clean_pages_in_superpages_anonymous: 511,
        resident_pages: 512,
        peak_resident_pages: 512,
        ..base.clone()
    };
    assert_eq!(trace.counts(PolicySpec::Greedy), greedy);
    assert_eq!(trace.counts(PolicySpec::ThpAlways), greedy);
    // Promoted at the second fault: the base-page entry of the first page stays and serves the
    // store.
    let pop = OracleCounts {
        l1_misses: 2,
        l2_misses: 2,
        walks_4k: 1,
        walks_2m: 1,
        walk_cycles: 56,
        page_faults: 2,
        refusals: refusals([("too_few_resident", 1)]),
        ..greedy.clone()
    };
    assert_eq!(trace.counts(PolicySpec::Pop(2)), pop);
    // Asked at two faults and one first store.
    let dirty = OracleCounts {
        refusals: refusals([("too_few_dirty", 3)]),
        ..base.clone()
    };
    assert_eq!(trace.counts(PolicySpec::Dirty(2)), dirty);
    // Promoted by the first store, between the fault and the translation of no other page.
    let dirty = OracleCounts {
        promotions: 1,
        refusals: refusals([("too_few_dirty", 2)]),
        extra_zeroed_pages: 510,
        false_dirty_pages: 511,
        false_dirty_pages_anonymous: 511,
        clean_pages_in_superpages: 511,
        clean_pages_in_superpages_anonymous: 511,
        resident_pages: 512,
        peak_resident_pages: 512,
        ..base
    };
    assert_eq!(trace.counts(PolicySpec::Dirty(1)), dirty);
}

#[test]
fn life_counts_accesses_and_a_straddling_one_once() {
    // Times 0, 1, 2, 3; the reservation of the first block is made at 0, that of the second at 1 by
    // the upper half.
    let trace = |accesses: u64| {
        let upper = Visit {
            unit: B + 512,
            lead: Lead::Load,
            ..Visit::default()
        };
        (2..accesses).fold(
            HandTrace::default().load(B).load(B + 511).visit(upper),
            |trace, _| trace.load(B),
        )
    };
    let life = |accesses: u64| trace(accesses).counts(PolicySpec::Life(3));
    assert_eq!((life(3).accesses, life(3).promotions), (3, 0));
    assert_eq!((life(4).promotions, life(5).promotions), (1, 2));
    let counts = life(5);
    assert_eq!(counts.refusals, refusals([("too_young", 3)]));
    assert_eq!(
        (counts.touched_pages, counts.regions, counts.page_faults),
        (3, 2, 3)
    );
    assert_eq!(
        (counts.l1_misses, counts.walks_4k),
        (3, 3),
        "old base-page entries still serve"
    );
    assert_eq!(counts.resident_pages, 1024);
    // A long visit is promoted in the middle of.
    let long = HandTrace::default().visit(Visit {
        unit: B,
        loads: 1001,
        loads_before_store: 1001,
        ..Visit::default()
    });
    assert_eq!(long.counts(PolicySpec::Life(1000)).promotions, 1);
    assert_eq!(long.counts(PolicySpec::Life(1001)).promotions, 0);
}

#[test]
fn life_is_answered_with_promote_again_after_a_refusal() {
    // The protection of one page differs when the time comes, and no more at the next fault.
    let trace = HandTrace::default()
        .anonymous(B, 512)
        .load(B)
        .event(Event::Protect(pages(B, 1), READ))
        .load(B)
        .load(B)
        .event(Event::Protect(pages(B, 1), READ_WRITE))
        .load(B)
        .load(B + 1);
    let counts = trace.counts(PolicySpec::Life(2));
    assert_eq!(
        counts.refusals,
        refusals([("mixed_protection", 1), ("too_young", 1)])
    );
    assert_eq!(counts.promotions, 1);
}

#[test]
fn freebsd_promotes_clean_demotes_at_a_store_and_promotes_dirty() {
    let trace = HandTrace::default()
        .loads(B, 512)
        .store(B + 9)
        .stores(B, 512);
    let counts = trace.counts(PolicySpec::FreeBsd);
    assert_eq!((counts.promotions, counts.demotions), (2, 1));
    assert_eq!(
        counts.refusals,
        refusals([("too_few_resident", 511), ("mixed_dirty", 511)])
    );
    assert_eq!(
        (counts.false_dirty_pages, counts.extra_zeroed_pages),
        (0, 0)
    );
    // The full block with one early store waits for stores to all other pages.
    let trace = HandTrace::default().store(B).loads(B + 1, 511);
    let counts = trace.counts(PolicySpec::FreeBsd);
    assert_eq!(
        counts.refusals,
        refusals([("too_few_resident", 511), ("mixed_dirty", 1)])
    );
    // A last page that faults at a store is dirty at the only question.
    let counts = (HandTrace::default().loads(B, 511).store(B + 511)).counts(PolicySpec::FreeBsd);
    assert_eq!((counts.promotions, counts.demotions), (0, 0));
    assert_eq!(
        counts.refusals,
        refusals([("too_few_resident", 511), ("mixed_dirty", 1)])
    );
    // In a read-only mapping, a store (by a debugger, for example) finds an unprotected superpage.
    let trace = HandTrace::default()
        .map(B, 512, READ, Backing::Anonymous)
        .loads(B, 512)
        .store(B);
    let counts = trace.counts(PolicySpec::FreeBsd);
    assert_eq!(
        (
            counts.promotions,
            counts.demotions,
            counts.false_dirty_pages
        ),
        (1, 0, 511)
    );
}

#[test]
fn foresight_promotes_at_once_what_freebsd_promotes_at_some_time() {
    let trace = HandTrace::default().loads(B, 512).loads(B + 512, 511);
    let counts = trace.counts(PolicySpec::Foresight);
    assert_eq!((counts.promotions, counts.page_faults), (1, 512));
    assert_eq!(counts.refusals, refusals([("not_foreseen", 511)]));
}

/// Zhu 2018, tables 6.2 and 6.3 (`seeds` 10.4): derby's five file-backed reservations.
#[test]
fn derby() {
    let populations = [1, 103, 174, 457, 501];
    let file = Backing::File {
        file: FileId(0),
        offset: 0,
    };
    let mut trace = HandTrace::default()
        .event(Event::File {
            id: FileId(0),
            size: 5 * 512 * 4096,
            path: "derby".into(),
        })
        .map(B, 5 * 512, READ_WRITE, file);
    for (block, population) in (0u64..).zip(populations) {
        let first = B + block * 512;
        trace = if population == 174 {
            trace.stores(first, 174)
        } else {
            trace.loads(first, population)
        };
    }
    let figures = |policy| {
        let counts = trace.counts(policy);
        (
            counts.extra_disk_read_pages,
            counts.false_dirty_pages,
            counts.extra_zeroed_pages,
        )
    };
    // The thesis counts all pages of a superpage without a store too.
    let clean = |policy| {
        let counts = trace.counts(policy);
        assert_eq!(counts.regions_file, 5);
        assert_eq!(counts.clean_pages_in_superpages_anonymous, 0);
        counts.clean_pages_in_superpages_file
    };
    assert_eq!(clean(PolicySpec::Greedy), 4 * 512 + 338);
    assert_eq!(clean(PolicySpec::Pop(256)), 2 * 512);
    let all: u64 = populations.iter().map(|population| 512 - population).sum();
    assert_eq!(figures(PolicySpec::Greedy), (all, 338, 0));
    assert_eq!(figures(PolicySpec::Pop(64)), (all - 511, 338, 0));
    assert_eq!(figures(PolicySpec::Pop(128)), (338 + 55 + 11, 338, 0));
    assert_eq!(figures(PolicySpec::Pop(256)), (55 + 11, 0, 0));
    assert_eq!(figures(PolicySpec::Pop(461)), (11, 0, 0));
    assert_eq!(figures(PolicySpec::Pop(509)), (0, 0, 0));
    assert_eq!(figures(PolicySpec::Dirty(64)), (338, 338, 0));
    assert_eq!(figures(PolicySpec::Dirty(128)), (338, 338, 0));
    assert_eq!(figures(PolicySpec::Dirty(256)), (0, 0, 0));
    assert_eq!(figures(PolicySpec::FreeBsd), (0, 0, 0));
    assert_eq!(
        trace.counts(PolicySpec::ThpAlways).refusals,
        refusals([("file_backed", 1236)])
    );
}

#[test]
fn thp_gives_reasons() {
    let advised = |advice| Event::Advise(pages(B + 5, 1), advice);
    let anonymous = || {
        HandTrace::default()
            .anonymous(B, 512)
            .event(advised(Advice::NoHugePage))
    };
    let refused = anonymous().load(B).counts(PolicySpec::ThpAlways);
    assert_eq!(refused.refusals, refusals([("advised_against", 1)]));
    let cleared = anonymous()
        .event(advised(Advice::HugePage))
        .load(B)
        .counts(PolicySpec::ThpAlways);
    assert_eq!((cleared.promotions, cleared.refusals.len()), (1, 0));
    let remapped = anonymous()
        .anonymous(B, 512)
        .load(B)
        .counts(PolicySpec::ThpAlways);
    assert_eq!(remapped.promotions, 1);
    let late = anonymous()
        .load(B)
        .event(advised(Advice::HugePage))
        .load(B + 1)
        .counts(PolicySpec::ThpAlways);
    assert_eq!(
        late.refusals,
        refusals([("advised_against", 1), ("already_populated", 1)])
    );
    let shared = HandTrace::default()
        .map(B, 100, READ, Backing::SharedMemory)
        .load(B)
        .counts(PolicySpec::ThpAlways);
    assert_eq!(shared.refusals, refusals([("shared_memory", 1)]));
    let mixed = HandTrace::default()
        .anonymous(B, 100)
        .map(B + 100, 412, READ, Backing::Anonymous)
        .load(B);
    assert_eq!(
        mixed.counts(PolicySpec::ThpAlways).refusals,
        refusals([("mixed_protection", 1)])
    );
    let unmapped = HandTrace::default()
        .anonymous(0, 1)
        .load(B)
        .counts(PolicySpec::ThpAlways);
    assert_eq!(unmapped.refusals, refusals([("not_covered", 1)]));
}

#[test]
fn leaping_over_equal_references_changes_nothing() {
    let mut trace = HandTrace::default();
    for i in 0..60u64 {
        let visit = Visit {
            unit: B + i * 37 % 1600,
            loads: 3 + (i * 7 % 50) as u32,
            stores: (i % 4) as u32 * 5,
            loads_before_store: if i % 4 == 0 {
                3 + (i * 7 % 50) as u32
            } else {
                2
            },
            ..Visit::default()
        };
        trace = trace.visit(visit);
    }
    let recording = Recording {
        grain: Grain::Page,
        items: trace.0,
    };
    for policy in PolicySpec::ALL
        .into_iter()
        .chain((1..1500).step_by(83).map(PolicySpec::Life))
    {
        let at = |pace| {
            replay_items(
                recording.grain,
                recording.items(),
                policy,
                OracleMachine::Skylake,
                pace,
            )
        };
        assert_eq!(at(Pace::Leap), at(Pace::EveryAccess), "{policy}");
    }
}
