//! Tests of reservations against a naive list, with a `bool` for each page, that is scanned for
//! every answer.

mod naive;
mod world;

use super::*;
use proptest::prelude::*;
use world::ReservationWorld;

fn sizes() -> impl Strategy<Value = PageSizes> {
    prop::sample::select(vec![
        &[0, 1, 2, 3][..],
        &[0, 2, 4],
        &[0, 3, 6],
        &[0, 5],
        &[0],
    ])
    .prop_map(|orders| PageSizes::new(orders).unwrap())
}

proptest! {
    #[test]
    fn as_a_sorted_scan_answers(
        sizes in sizes(),
        steps in prop::collection::vec(any::<(u8, u32, u64)>(), 1..150),
    ) {
        let mut world = ReservationWorld::new(sizes);
        for step in steps {
            world.step(step);
        }
    }
}

/// Runs `BROADLEAF_OPERATIONS` operations on reservations that grow old.
#[test]
fn many_operations() {
    #[expect(
        clippy::disallowed_methods,
        reason = "how much a test does is the tester's to say"
    )]
    let asked = std::env::var("BROADLEAF_OPERATIONS");
    let operations: u64 = asked
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(5000);
    let mut world = ReservationWorld::new(PageSizes::new(&[0, 2, 4, 7]).unwrap());
    let mut state = 1u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 8
    };
    for _ in 0..operations {
        world.step((random() as u8, random() as u32, random()));
    }
    assert!(
        world.seen.iter().all(|times| *times > operations / 50),
        "{:?}",
        world.seen
    );
}

/// The Alpha's sizes in pages of 8 KiB: 64 KiB are 8 pages, 512 KiB 64, 4 MiB 512. Navarro 2002
/// wants 64 KiB: the list of that size is asked first, then that of 512 KiB.
#[test]
fn shortage_of_one_size() {
    let mut all = Reservations::new(PageSizes::new(&[0, 3, 6, 9]).unwrap());
    // Populated in their first page: the largest of them may lose 512 KiB, the next 64 KiB.
    let large = all.make(("heap", 0), 512, 3);
    assert!(all.populate(large, 0) && !all.populate(large, 0));
    let old = all.make(("file", 0), 64, 2);
    all.populate(old, 0);
    let new = all.make(("file", 64), 128, 2);
    all.populate(new, 0);
    let small = all.make(("text", 0), 0, 1);
    all.populate(small, 0);
    let lists = |all: &Reservations<_>| [0, 1, 2, 3].map(|level| all.count_on(level));
    assert_eq!(lists(&all), [1, 2, 1, 0]);
    assert_eq!(all.reserved_unpopulated(), 511 + 63 + 63 + 7);
    assert_eq!(all.victim_at_least(1), Some(old));
    // An allocation from it saves it. A page that it gives back does not cost it its place.
    all.populate(old, 63);
    all.depopulate(old, 63);
    assert_eq!(all.victim_at_least(1), Some(new));
    let broken = all.break_up(new, 1);
    assert_eq!(
        broken.free,
        [136, 144, 152, 160, 168, 176, 184].map(|frame| (frame, 3))
    );
    let [part] = broken.reserved[..] else {
        panic!("{broken:?}")
    };
    assert_eq!(
        (all.get(part).key(), all.get(part).first_frame()),
        (("file", 64), 128)
    );
    assert!(broken.left.is_empty());
    // It is on the list below now, by its own age: before that of the text, which was allocated
    // from later.
    assert!(all.on(0).eq([part, small]));
    // No 64 KiB are left but in the list above, whose reservation falls into 512 KiB and, since 64
    // KiB are wanted, these.
    let broken = all.dissolve(old);
    let free: u64 = broken.free.iter().map(|(_, order)| 1u64 << order).sum();
    assert_eq!((free, broken.reserved.len(), broken.left.len()), (63, 0, 1));
    assert_eq!(all.victim_at_least(1), Some(large));
    let mut milder = all.clone();
    let broken = all.break_up(large, 1);
    let orders: Vec<u8> = broken.free.iter().map(|(_, order)| *order).collect();
    assert_eq!(orders, [[3; 7], [6; 7]].concat());
    assert_eq!(lists(&all), [3, 0, 0, 0]);
    // Broken for what its list says, it keeps a piece of 512 KiB that is on the list of 64 KiB.
    let broken = milder.break_up(large, 2);
    assert_eq!(broken.free.len(), 7);
    assert_eq!(lists(&milder), [2, 1, 0, 0]);
    milder.check();
    all.check();
}

/// A broken full reservation is no longer tracked, and one without a large enough free piece is
/// left alone.
#[test]
fn nothing_to_give_up() {
    let mut all = Reservations::new(PageSizes::new(&[0, 1, 2]).unwrap());
    let id = all.make((0, 4), 8, 2);
    for page in [0, 2, 3] {
        all.populate(id, page);
    }
    let broken = all.break_up(id, 1);
    assert_eq!(
        (&broken.free[..], &broken.reserved[..]),
        (&[][..], &[id][..])
    );
    assert_eq!(all.around((0, 7)), Some(id));
    assert_eq!(
        (all.around((0, 8)), all.around((1, 5)), all.around((0, 3))),
        (None, None, None)
    );
    all.populate(id, 1);
    assert_eq!((all.len(), all.victim_at_least(0)), (1, None));
    let broken = all.break_up(id, 1);
    let whole = BrokenPart {
        key: (0, 4),
        first_frame: 8,
        level: 2,
    };
    assert_eq!(broken.left, [whole]);
    assert!(all.is_empty() && all.reserved_unpopulated() == 0);
    all.check();
}

/// An allocation in a reservation moves it behind the others, unless reservations keep their turns
/// (Talluri 1995, section 6.6: the oldest reservation gives up its frames first).
#[test]
fn reservations_that_keep_their_turns_give_way_in_the_order_in_which_they_were_made() {
    let order = |keeps_turns: bool| {
        let mut all = Reservations::new(PageSizes::new(&[0, 2, 4]).unwrap());
        if keeps_turns {
            all.keep_turns();
        }
        // The lists differ: each has its largest free piece at another level.
        let made = [("old", 0, 2), ("middle", 16, 1), ("new", 32, 2)];
        let ids = made.map(|(name, frame, level)| {
            let id = all.make((name, 0), frame, level);
            assert!(all.populate(id, 0));
            id
        });
        assert_eq!(all.first_turn(), Some(ids[0]));
        assert!(all.populate(ids[0], 1) && all.populate(ids[1], 1));
        let mut order = Vec::new();
        while let Some(id) = all.first_turn() {
            order.push(made[ids.iter().position(|one| *one == id).unwrap()].0);
            while all.give_up_frame(id).is_some() {}
        }
        order
    };
    assert_eq!(order(true), ["old", "middle", "new"]);
    assert_eq!(order(false), ["new", "old", "middle"]);
}
