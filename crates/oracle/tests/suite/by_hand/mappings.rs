//! Mappings that appear, change and disappear.

use broadleaf_oracle::PolicySpec;
use broadleaf_trace::{Advice, Backing, Event};
use broadleaf_units::{FileId, SpaceId};

use crate::by_hand::trace::{B, HandTrace, READ, READ_WRITE, pages, refusals};

#[test]
fn unmapping_part_demotes_and_unmapping_all_does_not() {
    let superpage = || {
        HandTrace::default()
            .anonymous(B, 1024)
            .load(B)
            .load(B + 700)
    };
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
    // Untouched: 99 pages that left, and 411 and 510 at the end.
    assert_eq!(counts.extra_zeroed_pages, 99 + 411 + 510);
    // Walks: the two superpages, then page 200 alone. Page 600 is in the other superpage's entry.
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

    // Advice removes the pages and keeps the mapping: a new reservation, promoted again.
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
    let superpage = || HandTrace::default().anonymous(B, 512).load(B);
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
    let pieces = HandTrace::default()
        .anonymous(B, 100)
        .anonymous(B + 100, 412)
        .load(B);
    let pieces = pieces
        .event(Event::Protect(pages(B, 512), READ))
        .counts(PolicySpec::Greedy);
    assert_eq!((pieces.promotions, pieces.demotions), (1, 0));
    // Split before the fault: no one mapping covers the block, so it has no reservation; joined
    // again, it has one.
    let split = HandTrace::default()
        .anonymous(B, 512)
        .event(Event::Protect(pages(B, 1), READ));
    let joined = HandTrace(split.0.clone())
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
    let promoted = |trace: HandTrace| trace.load(B + 9).counts(PolicySpec::Greedy).promotions;
    let file = |id, offset| Backing::File {
        file: FileId(id),
        offset,
    };
    let with_file = |size| {
        HandTrace::default().event(Event::File {
            id: FileId(3),
            size,
            path: String::new(),
        })
    };
    let block = 512 * 4096;
    assert_eq!(promoted(HandTrace::default().anonymous(B, 511)), 0);
    assert_eq!(
        promoted(
            HandTrace::default()
                .anonymous(B, 300)
                .anonymous(B + 300, 212)
        ),
        1
    );
    assert_eq!(
        promoted(HandTrace::default().map(B, 512, READ_WRITE, Backing::Kernel)),
        0
    );
    assert_eq!(
        promoted(HandTrace::default().map(B, 512, READ_WRITE, Backing::SharedMemory)),
        1
    );
    assert_eq!(promoted(with_file(block).map(B, 512, READ, file(3, 0))), 1);
    // Files are measured in pages, and the last page may be filled in part.
    for (size, promotions) in [(block - 1, 1), (block - 4095, 1), (block - 4096, 0)] {
        let trace = with_file(size).map(B, 512, READ, file(3, 0));
        assert_eq!(promoted(trace), promotions, "{size} bytes");
    }
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
        promoted(HandTrace::default().anonymous(B, 100).map(
            B + 100,
            412,
            READ,
            Backing::Anonymous
        )),
        0
    );
}

#[test]
fn heaps_and_stacks_are_reserved_before_they_have_grown() {
    // 300 pages of heap: the block reaches 212 past its end. Then 600, and the block is covered.
    let heap = |pages_now| Event::Brk(pages(B, pages_now));
    let small = HandTrace::default()
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
    let tiny = HandTrace::default()
        .map(B, 255, READ_WRITE, Backing::Heap)
        .load(B);
    assert_eq!(
        tiny.counts(PolicySpec::Greedy).refusals,
        refusals([("no_reservation", 1)])
    );
    let stack = HandTrace::default()
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
fn a_moved_superpage_stays_one_where_it_may() {
    let to = B + 512 * 7;
    let moved = |from: u64, count: u64, at: u64| {
        HandTrace::default()
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
        HandTrace::default()
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
fn a_space_ends_at_the_next_visit() {
    let ended = || {
        HandTrace::default()
            .load(B)
            .event(Event::SpaceSwitch(SpaceId(1)))
            .load(B)
            .event(Event::SpaceEnd { status: None })
            .event(Event::SpaceSwitch(SpaceId(0)))
    };
    let at_end = ended().counts(PolicySpec::Greedy);
    assert_eq!(
        (
            at_end.resident_pages,
            at_end.peak_resident_pages,
            at_end.walks_2m
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
