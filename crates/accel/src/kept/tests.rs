//! Kept parts: their order, their bounds and their forms.

use super::*;
use broadleaf_filter::{Fed, Sifted};
use broadleaf_trace::Event;
use broadleaf_trace::reduced::{KeptVisit as Visit, Manner, Sums};
use broadleaf_units::SpaceId;

fn visits(page: u64, count: u64) -> Fed {
    let visit = |time| Visit {
        page: page + time,
        time,
        loads_before_store: 0,
        manner: Manner::LOAD,
    };
    let sums = Sums {
        loads: count,
        data: true,
        ..Sums::default()
    };
    let sifted = Sifted {
        kept: (0..count).map(visit).collect(),
        ..Sifted::default()
    };
    Fed::Visits(sifted, sums)
}

fn part(keeper: &mut Keeper, page: u64, count: u64) -> Option<Vec<KeptStretch>> {
    keeper.add_as(&Fed::Event(Event::SpaceSwitch(SpaceId(page as u32))), false);
    keeper.add_as(&visits(page, count), false);
    keeper.end_part();
    keeper.take_part()
}

/// The pages of a source's visits, in order.
fn pages(source: &mut KeptSource<'_>) -> Vec<u64> {
    let mut pages = Vec::new();
    while let Some(mut part) = source.next_part().expect("no damage") {
        while let Some(piece) = part.next().expect("no damage") {
            match piece {
                SourcePiece::Reduced(visits, _) => {
                    pages.extend(visits.iter().map(|visit| visit.page))
                }
                piece => assert!(matches!(piece, SourcePiece::Event(Event::SpaceSwitch(_)))),
            }
        }
        let end = source.close(part).expect("no damage");
        assert!(end.is_continue());
    }
    pages
}

/// Parts that several keepers kept come in the order in which they were put together, and once
/// more after going back.
#[test]
fn parts_come_in_their_order() {
    come_in_their_order(|_, _| false);
}

/// Parts come in their order if some visits, or all, are kept unpacked.
#[test]
fn plain_visits_come_in_their_order() {
    come_in_their_order(|_, _| true);
    come_in_their_order(|number, piece| (number + piece) % 3 == 0);
}

fn come_in_their_order(plain: impl Fn(u64, u64) -> bool) {
    let mut keepers = [Keeper::new(1 << 20, false), Keeper::new(1 << 20, false)];
    let mut kept = Kept::new(1 << 24);
    let mut expected = Vec::new();
    for number in 0..9u64 {
        // Some fill several chunks, and some have no visits.
        let pieces = [1, 0, 4][number as usize % 3];
        let keeper = &mut keepers[number as usize % 2];
        for piece in 0..pieces {
            let first = (number << 20) + (piece << 14);
            keeper.add_as(&visits(first, 1 << 14), plain(number, piece));
            expected.extend(first..first + (1 << 14));
        }
        kept = kept
            .with(part(keeper, number << 20, 0))
            .expect("little enough");
    }
    let mut source = kept.source();
    let mut parts = 0;
    while source.next_part().expect("no damage").is_some() {
        parts += 1;
    }
    assert!(parts > 9, "{parts} parts");
    source.rewind().expect("no damage");
    assert!(pages(&mut source) == expected);
    source.rewind().expect("no damage");
    assert!(pages(&mut source) == expected);
}

#[test]
fn no_more_is_kept_than_may_be() {
    let one = part(&mut Keeper::new(1 << 20, false), 1, 10).expect("little enough");
    let length = one.iter().map(KeptStretch::bytes).sum();
    let most = 2 * length + 1;
    let mut keeper = Keeper::new(length, false);
    let kept = Kept::new(most).with(part(&mut keeper, 1, 10));
    let kept = kept.and_then(|kept| kept.with(part(&mut keeper, 1, 10)));
    let kept = kept.expect("little enough");
    assert_eq!(kept.left(), 1);
    assert!(kept.with(part(&mut keeper, 1, 10)).is_none());
    // A keeper that had too much keeps nothing more.
    assert!(part(&mut keeper, 1, 30_000).is_none());
    assert!(part(&mut keeper, 1, 1).is_none());
}

/// A keeper of few visits gives up a part if the filter leaves all its visits.
#[test]
fn many_visits_are_not_worth_keeping() {
    for (only_few, rounds, is_kept) in [(false, 40, true), (true, 40, false), (true, 2, true)] {
        for plain in [false, true] {
            let mut keeper = Keeper::new(1 << 24, only_few);
            for round in 0..rounds {
                keeper.add_as(&visits(round << 14, 1 << 14), plain);
            }
            let kept = part(&mut keeper, 1, 0);
            assert_eq!(kept.is_some(), is_kept, "{only_few} {rounds} {plain}");
        }
    }
}

/// A short part can be kept for later replays, and a long one of random visits cannot.
#[test]
fn few_visits_are_packed() {
    for (rounds, is_packed) in [(2, true), (40, false)] {
        let kept = Kept::new(1 << 24);
        let mut keeper = kept.keeper();
        (0..rounds).for_each(|round| keeper.add(&visits(round << 14, 1 << 14), true));
        keeper.end_part();
        let kept = kept.with(keeper.take_part()).expect("little enough");
        assert_eq!(kept.into_parts().is_some(), is_packed, "{rounds} rounds");
    }
}

/// A short part of random visits is not packed if no later replay reads it.
#[test]
fn visits_that_are_only_read_soon_stay_unpacked() {
    let kept = Kept::new(1 << 24).only_read_soon(true);
    let mut keeper = kept.keeper();
    keeper.add(&visits(0, 1 << 14), true);
    keeper.end_part();
    let part = keeper.take_part().expect("little enough");
    assert!(matches!(part[..], [KeptStretch::Plain(_)]));
}

#[test]
fn no_more_plain_visits_are_kept_than_may_be() {
    let kept = |most| {
        let mut keeper = Keeper::new(most, false);
        for page in 0..8 {
            keeper.add_as(&visits(page << 14, 1 << 14), true);
        }
        keeper.end_part();
        keeper.take_part()
    };
    let part = kept(1 << 24).expect("little enough");
    let bytes = part.iter().map(KeptStretch::bytes).sum();
    assert!(bytes < (9 * 8) << 14, "{bytes} bytes");
    assert!(kept(bytes).is_some());
    assert!(kept(bytes - 1).is_none());
}
