//! Free extents in the numbers of `/proc/buddyinfo`.

use crate::frames::grouped::check;
use crate::frames::naive::NaiveBuddy;
use broadleaf_memory::frames::{Buddy, Buddyinfo, BuddyinfoError, Frame, Start, StartError};
use proptest::prelude::*;
use std::collections::BTreeSet;

const TEXT: &str = "\
Node 0, zone      DMA      0      0      0      0      0      0      0      0      1      1      3 
Node 0, zone    DMA32    564    529    491    398    292    143     79     28     17     25    712 
Node 0, zone   Normal   4753  10974   8365   5548   7734   9763   7346   4909   2686   1008   2054 

Node 1, zone   Normal      1      2      3      4      5      6      7      8      9     10     11 
";

fn start(free: Vec<u64>, seed: u64) -> Start {
    let movable = 0.5;
    Start::Recorded {
        free,
        movable,
        seed,
    }
}

fn counts(buddy: &Buddy) -> Vec<u64> {
    (0..=buddy.most_order())
        .map(|order| buddy.free_extents(order))
        .collect()
}

#[test]
fn a_recording_comes_out() {
    let recorded = Buddyinfo::parse(TEXT).expect("four zones");
    let normal = recorded.free(Some(0), Some("Normal")).expect("a zone");
    assert_eq!(normal[1], 10974);
    let both = recorded.free(None, Some("Normal")).expect("two zones");
    assert_eq!(both[1], 10976);
    let all = recorded.free(None, None).expect("all zones");
    assert_eq!((all[0], all[10]), (5318, 2780));
    // 64 GiB, and a rest.
    let layout = start(all.clone(), 7).lay_out((1 << 24) + 77, 10);
    let layout = layout.expect("it fits");
    assert_eq!(counts(&layout.buddy), all);
    let (occupied, movable) = check(&layout);
    assert!(movable.abs_diff(occupied / 2) <= 1024);
    let other = start(all, 8).lay_out((1 << 24) + 77, 10);
    assert_ne!(layout.occupied, other.expect("it fits").occupied);
}

#[test]
fn wrong_texts_are_refused_with_their_lines() {
    let refused = |text: &str| Buddyinfo::parse(text).expect_err("it is wrong");
    assert_eq!(refused("\n\n"), BuddyinfoError::Empty);
    assert_eq!(
        refused("Node 0, zone DMA"),
        BuddyinfoError::NoZone { line: 1 }
    );
    let line = 2;
    for text in [
        "Zone 0, zone DMA 1",
        "Node 0 zone DMA 1",
        "Node x, zone DMA 1",
    ] {
        let text = format!("Node 0, zone DMA 1\n{text}\n");
        assert_eq!(refused(&text), BuddyinfoError::NoZone { line });
    }
    let text = "-1".to_string();
    let number = BuddyinfoError::NotANumber { line, text };
    assert_eq!(refused("\nNode 0, zone DMA 1 -1"), number);
    assert_eq!(
        number.to_string(),
        "line 2: \"-1\" is not a number of free extents"
    );
    let text = format!("Node 0, zone DMA{}", " 1".repeat(32));
    let (line, orders) = (1, 32);
    assert_eq!(refused(&text), BuddyinfoError::Orders { line, orders });
    let recorded = Buddyinfo::parse(TEXT).expect("four zones");
    let error = recorded
        .free(Some(1), Some("DMA"))
        .expect_err("no such zone");
    assert!(error.to_string().ends_with("node 0 Normal, node 1 Normal"));
}

/// The numbers of free extents that a pool can have are those that some set of free frames has: all
/// sets are tried.
#[test]
fn what_fits_is_laid_out_and_nothing_else() {
    for (frames, most_order) in [
        (8u64, 3u8),
        (8, 2),
        (8, 1),
        (8, 0),
        (11, 2),
        (7, 3),
        (10, 4),
        (5, 2),
        (0, 2),
    ] {
        let numbers = |naive: &NaiveBuddy| -> Vec<u64> {
            let extents = naive.extents();
            let of = |order| extents.iter().filter(|it| it.1 == order).count() as u64;
            (0..=most_order).map(of).collect()
        };
        let sets = (0..1u64 << frames).map(|set| {
            let mut naive = NaiveBuddy::new(frames, most_order);
            naive.free.retain(|frame| set >> frame & 1 == 1);
            numbers(&naive)
        });
        let possible: BTreeSet<Vec<u64>> = sets.collect();
        let mut asked = vec![0u64; usize::from(most_order) + 1];
        let mut fitted = 0;
        'each: loop {
            for seed in 0..3 {
                let layout = start(asked.clone(), seed).lay_out(frames, most_order);
                assert_eq!(
                    layout.is_ok(),
                    possible.contains(&asked),
                    "{asked:?} of {frames}"
                );
                if let Ok(layout) = layout {
                    assert_eq!(counts(&layout.buddy), asked);
                    check(&layout);
                    fitted += u64::from(seed == 0);
                }
            }
            // Counts up, each number from 0 to one more than could ever be.
            for (order, number) in asked.iter_mut().enumerate() {
                *number += 1;
                if *number <= (frames >> order) + 1 {
                    continue 'each;
                }
                *number = 0;
            }
            break;
        }
        assert_eq!(fitted, possible.len() as u64);
    }
}

/// Each set of free frames that has the numbers comes from some seed.
#[test]
fn any_place_may_be_drawn() {
    let (frames, most_order, asked) = (11u64, 3u8, [2, 1, 0, 0]);
    let of = |buddy: &Buddy| -> Vec<_> { buddy.iter().collect() };
    let sets = (0..1u64 << frames).map(|set| {
        let mut buddy = Buddy::occupied(frames, most_order);
        for frame in (0..frames).filter(|frame| set >> frame & 1 == 1) {
            buddy.free(Frame(frame), 0).expect("it is not free yet");
        }
        buddy
    });
    let with_numbers = sets.filter(|buddy| counts(buddy) == asked);
    let possible: BTreeSet<_> = with_numbers.map(|buddy| of(&buddy)).collect();
    let layouts = (0..3000).map(|seed| start(asked.to_vec(), seed).lay_out(frames, most_order));
    let drawn: BTreeSet<_> = layouts.map(|it| of(&it.expect("it fits").buddy)).collect();
    assert_eq!(drawn, possible);
}

#[test]
fn what_does_not_fit_says_what_would() {
    let refused = |free| start(free, 1).lay_out(16, 2).map(|_| ());
    // Three of the four extents of order 2 are free: the fourth has room for one pair.
    let room = StartError::Room {
        order: 1,
        free: 2,
        room: 1,
        frames: 16,
    };
    assert_eq!(refused(vec![0, 2, 3]), Err(room));
    let order = StartError::Order {
        order: 4,
        free: 1,
        greatest: 2,
    };
    assert_eq!(refused(vec![0, 0, 0, 0, 1]), Err(order));
    assert_eq!(refused(vec![0, 0, 0, 0, 0, 0]), Ok(()));
    assert!(refused(vec![u64::MAX; 3]).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Any pool that was fragmented somehow can be laid out again from its counts, elsewhere.
    #[test]
    fn counts_by_order_come_out(
        frames in 0u64..5000,
        most_order in 0u8..=11,
        occupied in 0.0..=1.0f64,
        larger in 0u8..4,
        seed: u64,
    ) {
        let fragmented = Start::Grouped { occupied, fragmentation: None, movable: 0.0, seed };
        let larger = larger.min(most_order);
        let fragmented = fragmented.lay_out_in(frames, most_order, larger).expect("a layout");
        let free = counts(&fragmented.buddy);
        let layout = start(free.clone(), !seed).lay_out(frames, most_order).expect("it fits");
        prop_assert_eq!(counts(&layout.buddy), free);
        check(&layout);
    }
}
