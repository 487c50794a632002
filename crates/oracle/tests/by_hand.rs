//! The oracle against counts that were worked out by hand.

use std::collections::BTreeMap;

use broadleaf_oracle::{
    Counts, Machine, OwnedItem, Pace, PolicySpec, Recording, replay, replay_items,
};
use broadleaf_trace::{Advice, Backing, Event, Grain, Lead, Mapping, Protection, Range, Visit};
use broadleaf_units::{FileId, SpaceId, VirtAddr};

const READ_WRITE: Protection = Protection {
    read: true,
    write: true,
    execute: false,
};
const READ: Protection = Protection {
    read: true,
    write: false,
    execute: false,
};
/// The first page of the block that most traces here use.
const B: u64 = 512 * 1000;

fn pages(start: u64, count: u64) -> Range {
    Range {
        start: VirtAddr(start * 4096),
        len: count * 4096,
    }
}

#[derive(Default)]
struct Trace(Vec<OwnedItem>);

impl Trace {
    fn event(mut self, event: Event) -> Self {
        self.0.push(OwnedItem::Event(event));
        self
    }

    fn map(self, start: u64, count: u64, protection: Protection, backing: Backing) -> Self {
        let shared = backing == Backing::SharedMemory;
        self.event(Event::Map(Mapping {
            range: pages(start, count),
            protection,
            shared,
            backing,
        }))
    }

    fn anonymous(self, start: u64, count: u64) -> Self {
        self.map(start, count, READ_WRITE, Backing::Anonymous)
    }

    fn visit(mut self, visit: Visit) -> Self {
        self.0.push(OwnedItem::Visits(vec![visit]));
        self
    }

    fn load(self, page: u64) -> Self {
        self.visit(Visit {
            unit: page,
            loads: 1,
            loads_before_store: 1,
            ..Visit::default()
        })
    }

    fn store(self, page: u64) -> Self {
        self.visit(Visit {
            unit: page,
            stores: 1,
            ..Visit::default()
        })
    }

    fn loads(self, from: u64, count: u64) -> Self {
        (from..from + count).fold(self, Self::load)
    }

    fn stores(self, from: u64, count: u64) -> Self {
        (from..from + count).fold(self, Self::store)
    }

    fn counts(&self, policy: PolicySpec) -> Counts {
        replay(
            &Recording {
                grain: Grain::Page,
                items: self.0.clone(),
            },
            policy,
            Machine::Skylake,
        )
    }
}

fn refusals<const N: usize>(list: [(&'static str, u64); N]) -> BTreeMap<&'static str, u64> {
    list.into()
}

#[test]
fn three_accesses_without_map_events() {
    // A fault each for the first two; the store finds its page.
    let trace = Trace::default().load(B).load(B + 1).store(B);
    let base = Counts {
        accesses: 3,
        loads: 2,
        stores: 1,
        l1_misses: 2,
        l2_misses: 2,
        walks_4k: 2,
        walk_cycles: 70,
        page_faults: 2,
        touched_pages: 2,
        resident_pages: 2,
        peak_resident_pages: 2,
        regions: 1,
        ..Counts::default()
    };
    assert_eq!(trace.counts(PolicySpec::FourK), base);
    // Promoted before its first translation: one walk, of a superpage.
    let greedy = Counts {
        l1_misses: 1,
        l2_misses: 1,
        walks_4k: 0,
        walks_2m: 1,
        walk_cycles: 21,
        page_faults: 1,
        promotions: 1,
        extra_zeroed_pages: 510,
        false_dirty_pages: 511,
        resident_pages: 512,
        peak_resident_pages: 512,
        ..base.clone()
    };
    assert_eq!(trace.counts(PolicySpec::Greedy), greedy);
    assert_eq!(trace.counts(PolicySpec::ThpAlways), greedy);
    // Promoted at the second fault: the base-page entry of the first page stays and serves the store.
    let pop = Counts {
        l1_misses: 2,
        l2_misses: 2,
        walks_4k: 1,
        walks_2m: 1,
        walk_cycles: 56,
        page_faults: 2,
        refusals: refusals([("too_few_populated", 1)]),
        ..greedy.clone()
    };
    assert_eq!(trace.counts(PolicySpec::Pop(2)), pop);
    // Asked at two faults and one first store.
    let dirty = Counts {
        refusals: refusals([("too_few_dirty", 3)]),
        ..base.clone()
    };
    assert_eq!(trace.counts(PolicySpec::Dirty(2)), dirty);
    // Promoted by the first store, between the fault and the translation of no other page.
    let dirty = Counts {
        promotions: 1,
        refusals: refusals([("too_few_dirty", 2)]),
        extra_zeroed_pages: 510,
        false_dirty_pages: 511,
        resident_pages: 512,
        peak_resident_pages: 512,
        ..base
    };
    assert_eq!(trace.counts(PolicySpec::Dirty(1)), dirty);
}

#[test]
fn life_counts_accesses_and_a_straddling_one_once() {
    // Times 0, 1, 2, 3; the reservation of the first block is made at 0, that of the second at 1 by the upper half.
    let trace = |accesses: u64| {
        let upper = Visit {
            unit: B + 512,
            lead: Lead::Load,
            ..Visit::default()
        };
        (2..accesses).fold(
            Trace::default().load(B).load(B + 511).visit(upper),
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
    let long = Trace::default().visit(Visit {
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
    let trace = Trace::default()
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
    let trace = Trace::default().loads(B, 512).store(B + 9).stores(B, 512);
    let counts = trace.counts(PolicySpec::FreeBsd);
    assert_eq!((counts.promotions, counts.demotions), (2, 1));
    assert_eq!(
        counts.refusals,
        refusals([("too_few_populated", 511), ("mixed_dirty", 511)])
    );
    assert_eq!(
        (counts.false_dirty_pages, counts.extra_zeroed_pages),
        (0, 0)
    );
    // The full block of which one page was stored to first waits for all the others.
    let trace = Trace::default().store(B).loads(B + 1, 511);
    let counts = trace.counts(PolicySpec::FreeBsd);
    assert_eq!(
        counts.refusals,
        refusals([("too_few_populated", 512), ("mixed_dirty", 1)])
    );
    // In a mapping that is read only, a store (a debugger's, say) finds a superpage that is not protected.
    let trace = Trace::default()
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
    let trace = Trace::default().loads(B, 512).loads(B + 512, 511);
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
    let mut trace = Trace::default()
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
fn unmapping_part_demotes_and_unmapping_all_does_not() {
    let superpage = || Trace::default().anonymous(B, 1024).load(B).load(B + 700);
    let part = superpage()
        .event(Event::Unmap(pages(B, 100)))
        .load(B + 600)
        .load(B + 200);
    let counts = part.counts(PolicySpec::Greedy);
    assert_eq!(
        (counts.promotions, counts.demotions, counts.page_faults),
        (2, 1, 2)
    );
    assert_eq!(
        (counts.resident_pages, counts.peak_resident_pages),
        (412 + 512, 1024)
    );
    // 99 that went untouched, and what stands untouched: 411 and 510.
    assert_eq!(counts.extra_zeroed_pages, 99 + 411 + 510);
    // Walks: the two superpages, then page 200 alone. Page 600 is still in the other superpage's entry.
    assert_eq!((counts.walks_2m, counts.walks_4k), (2, 1));

    let all = superpage().event(Event::Unmap(pages(B - 10, 522))).load(B);
    let counts = all.counts(PolicySpec::Greedy);
    assert_eq!(
        (counts.promotions, counts.demotions, counts.page_faults),
        (2, 0, 3)
    );
    assert_eq!(counts.refusals, refusals([("no_reservation", 1)]));
    assert_eq!(
        (counts.resident_pages, counts.extra_zeroed_pages),
        (513, 511 + 511)
    );

    // Advice loses the pages and keeps the mapping: a new reservation, promoted again.
    for advice in [Advice::DontNeed, Advice::Remove] {
        let counts = superpage()
            .event(Event::Advise(pages(B, 512), advice))
            .load(B)
            .counts(PolicySpec::Greedy);
        assert_eq!(
            (
                counts.promotions,
                counts.demotions,
                counts.extra_zeroed_pages
            ),
            (3, 0, 511 * 3)
        );
    }
    let counts = superpage()
        .event(Event::Advise(pages(B, 512), Advice::Free))
        .load(B)
        .counts(PolicySpec::Greedy);
    assert_eq!(counts.promotions, 2);
}

#[test]
fn protection_splits_mappings_and_takes_translations() {
    let superpage = || Trace::default().anonymous(B, 512).load(B);
    let whole = superpage()
        .event(Event::Protect(pages(B, 512), READ))
        .load(B)
        .counts(PolicySpec::Greedy);
    assert_eq!((whole.demotions, whole.walks_2m, whole.walks_4k), (0, 2, 0));
    let part = superpage()
        .event(Event::Protect(pages(B, 1), READ))
        .load(B)
        .load(B + 1)
        .counts(PolicySpec::Greedy);
    assert_eq!((part.demotions, part.walks_2m, part.walks_4k), (1, 1, 2));
    assert_eq!(part.resident_pages, 512);
    let same = superpage()
        .event(Event::Protect(pages(B, 1), READ_WRITE))
        .load(B)
        .counts(PolicySpec::Greedy);
    assert_eq!((same.demotions, same.walks_2m, same.walks_4k), (0, 1, 0));
    // Split before the fault: no one mapping covers the block, so it has no reservation; joined again, it has one.
    let split = Trace::default()
        .anonymous(B, 512)
        .event(Event::Protect(pages(B, 1), READ));
    let joined = Trace(split.0.clone())
        .event(Event::Protect(pages(B, 1), READ_WRITE))
        .load(B);
    assert_eq!(
        split.load(B).counts(PolicySpec::Greedy).refusals,
        refusals([("no_reservation", 1)])
    );
    assert_eq!(joined.counts(PolicySpec::Greedy).promotions, 1);
}

#[test]
fn which_blocks_are_covered() {
    let promoted = |trace: Trace| trace.load(B + 9).counts(PolicySpec::Greedy).promotions;
    let file = |id, offset| Backing::File {
        file: FileId(id),
        offset,
    };
    let with_file = |size| {
        Trace::default().event(Event::File {
            id: FileId(3),
            size,
            path: String::new(),
        })
    };
    let block = 512 * 4096;
    assert_eq!(promoted(Trace::default().anonymous(B, 511)), 0);
    assert_eq!(
        promoted(Trace::default().anonymous(B, 300).anonymous(B + 300, 212)),
        1
    );
    assert_eq!(
        promoted(Trace::default().map(B, 512, READ_WRITE, Backing::Kernel)),
        0
    );
    assert_eq!(
        promoted(Trace::default().map(B, 512, READ_WRITE, Backing::SharedMemory)),
        1
    );
    assert_eq!(promoted(with_file(block).map(B, 512, READ, file(3, 0))), 1);
    assert_eq!(
        promoted(with_file(block - 1).map(B, 512, READ, file(3, 0))),
        0
    );
    assert_eq!(
        promoted(with_file(3 * block).map(B, 512, READ, file(3, 2 * block))),
        1
    );
    assert_eq!(
        promoted(with_file(9 * block).map(B, 512, READ, file(3, 4096))),
        0
    );
    let pieces = |offset| {
        with_file(9 * block)
            .map(B, 4, READ, file(3, block))
            .map(B + 4, 508, READ, file(3, offset))
    };
    assert_eq!(promoted(pieces(block + 4 * 4096)), 1);
    assert_eq!(promoted(pieces(block + 5 * 4096)), 0);
    assert_eq!(
        promoted(
            Trace::default()
                .anonymous(B, 100)
                .map(B + 100, 412, READ, Backing::Anonymous)
        ),
        0
    );
}

#[test]
fn heaps_and_stacks_are_reserved_before_they_have_grown() {
    // 300 pages of heap: the block reaches 212 past its end. Then 600, and the block is covered.
    let heap = |pages_now| Event::Brk(pages(B, pages_now));
    let small = Trace::default()
        .map(B, 300, READ_WRITE, Backing::Heap)
        .event(heap(300))
        .load(B)
        .load(B + 1);
    assert_eq!(
        small.counts(PolicySpec::Greedy).refusals,
        refusals([("not_covered", 2)])
    );
    let grown = small
        .event(heap(600))
        .load(B + 2)
        .event(heap(100))
        .load(B + 3);
    let counts = grown.counts(PolicySpec::Greedy);
    assert_eq!(
        (counts.promotions, counts.demotions, counts.resident_pages),
        (1, 1, 100)
    );
    // 255 pages are fewer than the 257 that the block reaches past them.
    let tiny = Trace::default()
        .map(B, 255, READ_WRITE, Backing::Heap)
        .load(B);
    assert_eq!(
        tiny.counts(PolicySpec::Greedy).refusals,
        refusals([("no_reservation", 1)])
    );
    let stack = Trace::default()
        .map(B + 200, 312, READ_WRITE, Backing::Stack)
        .load(B + 511);
    assert_eq!(
        stack.counts(PolicySpec::ThpAlways).refusals,
        refusals([("not_covered", 1)])
    );
    let stack = stack.event(Event::StackGrow(pages(B, 512))).load(B + 510);
    assert_eq!(
        stack.counts(PolicySpec::ThpAlways).refusals,
        refusals([("not_covered", 1), ("already_populated", 1)])
    );
    assert_eq!(stack.counts(PolicySpec::Pop(2)).promotions, 1);
}

#[test]
fn thp_says_why_not() {
    let advised = |advice| Event::Advise(pages(B + 5, 1), advice);
    let anonymous = || {
        Trace::default()
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
    let shared = Trace::default()
        .map(B, 100, READ, Backing::SharedMemory)
        .load(B)
        .counts(PolicySpec::ThpAlways);
    assert_eq!(shared.refusals, refusals([("shared_memory", 1)]));
    let mixed = Trace::default()
        .anonymous(B, 100)
        .map(B + 100, 412, READ, Backing::Anonymous)
        .load(B);
    assert_eq!(
        mixed.counts(PolicySpec::ThpAlways).refusals,
        refusals([("mixed_protection", 1)])
    );
    let unmapped = Trace::default()
        .anonymous(0, 1)
        .load(B)
        .counts(PolicySpec::ThpAlways);
    assert_eq!(unmapped.refusals, refusals([("not_covered", 1)]));
}

#[test]
fn a_moved_superpage_stays_one_where_it_may() {
    let to = B + 512 * 7;
    let moved = |from: u64, count: u64, at: u64| {
        Trace::default()
            .anonymous(B, 512)
            .load(B)
            .event(Event::Remap {
                from: pages(from, count),
                to: pages(at, count),
            })
            .store(at)
            .load(at + 1)
            .counts(PolicySpec::Greedy)
    };
    let whole = moved(B, 512, to);
    assert_eq!(
        (whole.promotions, whole.demotions, whole.page_faults),
        (1, 0, 1)
    );
    assert_eq!(
        (whole.walks_2m, whole.walks_4k, whole.false_dirty_pages),
        (2, 0, 511)
    );
    assert_eq!(
        (whole.touched_pages, whole.regions, whole.extra_zeroed_pages),
        (3, 2, 510)
    );
    let shifted = moved(B, 512, to + 1);
    assert_eq!(
        (shifted.demotions, shifted.resident_pages, shifted.walks_4k),
        (1, 512, 2)
    );
    assert_eq!((shifted.false_dirty_pages, shifted.refusals.len()), (0, 0));
    let part = moved(B, 511, to);
    assert_eq!(
        (part.demotions, part.resident_pages, part.extra_zeroed_pages),
        (1, 512, 510)
    );
    // In place: the tail goes, or the mapping becomes longer.
    let in_place = |count: u64| {
        Trace::default()
            .anonymous(B, 512)
            .load(B)
            .event(Event::Remap {
                from: pages(B, 512),
                to: pages(B, count),
            })
            .load(B + 600)
            .counts(PolicySpec::Greedy)
    };
    let shrunk = in_place(500);
    assert_eq!(
        (
            shrunk.demotions,
            shrunk.resident_pages,
            shrunk.extra_zeroed_pages
        ),
        (1, 501, 511)
    );
    assert_eq!(
        (in_place(1024).promotions, in_place(1024).demotions),
        (2, 0)
    );
}

#[test]
fn a_space_ends_when_the_next_visit_is_met() {
    let ended = || {
        Trace::default()
            .load(B)
            .event(Event::SpaceSwitch(SpaceId(1)))
            .load(B)
            .event(Event::SpaceEnd { status: None })
            .event(Event::SpaceSwitch(SpaceId(0)))
    };
    let standing = ended().counts(PolicySpec::Greedy);
    assert_eq!(
        (
            standing.resident_pages,
            standing.peak_resident_pages,
            standing.walks_2m
        ),
        (1024, 1024, 2)
    );
    let gone = ended().load(B).counts(PolicySpec::Greedy);
    assert_eq!(
        (gone.resident_pages, gone.peak_resident_pages, gone.walks_2m),
        (512, 1024, 2)
    );
    assert_eq!((gone.extra_zeroed_pages, gone.demotions), (1022, 0));
}

#[test]
fn leaping_over_equal_references_changes_nothing() {
    let mut trace = Trace::default();
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
                Machine::Skylake,
                pace,
            )
        };
        assert_eq!(at(Pace::Leap), at(Pace::EveryAccess), "{policy}");
    }
}
