//! Streams as traces, and the policies that run online on them.

use broadleaf_oracle::offline::{Layout, LayoutPiece, ReferenceStream, misses};
use broadleaf_oracle::random::{Rng, loops, near};
use broadleaf_oracle::{OwnedItem, Recording, RomerMachine, RomerPolicy, replay_romer};
use broadleaf_trace::{Advice, Event, Grain, Mapping, Range, Visit};
use broadleaf_units::{SpaceId, VirtAddr};

use super::pages;

/// The misses of the other model, with its own TLB, with pages of this order from the first touch
/// on.
fn missed(recording: &Recording, entries: usize, order: u32) -> u64 {
    let sizes: &[u64] = if order == 0 { &[1] } else { &[1, 1 << order] };
    let of = RomerMachine::of_paper(entries, sizes);
    replay_romer(recording, &RomerPolicy::Fixed(1 << order), &of).misses
}

/// Pages of one size from the first touch on are superpages from the beginning.
#[test]
fn fixed_misses_as_often_as_a_layout_of_all_pieces() {
    for seed in 0..100 {
        let mut rng = Rng::new(seed);
        let (entries, order) = (2 + rng.below(6) as usize, 1 + rng.below(3) as u32);
        let stream = loops(&mut rng, 3, 24, 300);
        let mut layout = Layout::default();
        for &(space, page) in &stream.0 {
            layout = layout.with(LayoutPiece::around(space, page, order));
        }
        let recording = stream.recording(order);
        let expected = misses(&stream, entries, &layout);
        assert_eq!(missed(&recording, entries, order), expected, "seed {seed}");
        // The mapping ends here, so no mapping spans a piece of this order.
        let base = misses(&stream, entries, &Layout::default());
        assert_eq!(missed(&recording, entries, 20), base, "seed {seed}");
    }
}

#[test]
fn a_stream_comes_back_from_its_recording() {
    for seed in 0..50 {
        let mut rng = Rng::new(seed);
        let stream = loops(&mut rng, 4, 30, 200);
        assert_eq!(ReferenceStream::of(&stream.recording(5)), Some(stream));
    }
    assert_eq!(
        ReferenceStream::of(&ReferenceStream::default().recording(5)),
        Some(ReferenceStream::default())
    );
}

/// Random traces without removed pages have as many misses as their streams.
#[test]
fn recordings_miss_as_their_streams_do() {
    let (mut taken, mut refused) = (0, 0);
    for seed in 0..300 {
        let recording = near(seed, 20);
        if let Some(stream) = ReferenceStream::of(&recording) {
            let expected = misses(&stream, 5, &Layout::default());
            assert_eq!(missed(&recording, 5, 0), expected, "seed {seed}");
            taken += 1;
        } else {
            refused += 1;
        }
    }
    assert!(taken > 60 && refused > 60, "{taken}, {refused}");
}

#[test]
fn a_recording_that_takes_something_away_is_refused() {
    let here = Range {
        start: VirtAddr(0x5000),
        len: 0x2000,
    };
    let OwnedItem::Event(Event::Map(mapping)) = pages(&[0]).recording(0).items[1] else {
        panic!("no mapping")
    };
    let map = |range| Event::Map(Mapping { range, ..mapping });
    let elsewhere = Range {
        start: VirtAddr(0x7000),
        ..here
    };
    let after = |event: &Event, more: &[u64]| {
        let mut recording = pages(&[5, 6]).recording(0);
        recording.items.push(OwnedItem::Event(event.clone()));
        recording
            .items
            .extend(pages(more).recording(0).items.into_iter().skip(2));
        ReferenceStream::of(&recording)
    };
    for event in [
        map(here),
        Event::Unmap(here),
        Event::Protect(here, mapping.protection),
        Event::Remap {
            from: here,
            to: elsewhere,
        },
        Event::Advise(here, Advice::DontNeed),
        Event::Brk(here),
        Event::SpaceEnd { status: None },
    ] {
        assert_eq!(after(&event, &[6]), None, "{event:?}");
        assert_eq!(after(&event, &[]), Some(pages(&[5, 6])), "{event:?}");
    }
    for event in [
        map(elsewhere),
        Event::Advise(here, Advice::HugePage),
        Event::SpaceSwitch(SpaceId(0)),
    ] {
        assert_eq!(after(&event, &[6]), Some(pages(&[5, 6, 6])), "{event:?}");
    }
}

/// Fetches are not data, and lines lie in pages.
#[test]
fn a_stream_has_the_pages_of_data() {
    let load = |unit| Visit {
        unit,
        loads: 3,
        loads_before_store: 3,
        ..Visit::default()
    };
    let fetch = Visit {
        unit: 700,
        instructions: 9,
        fetch: true,
        ..Visit::default()
    };
    let recording = Recording {
        grain: Grain::Line,
        items: vec![OwnedItem::Visits(vec![
            load(63),
            fetch,
            load(64),
            load(128),
        ])],
    };
    assert_eq!(ReferenceStream::of(&recording), Some(pages(&[0, 1, 2])));
}
