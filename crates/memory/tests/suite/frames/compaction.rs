//! Plans of compaction, held against a search of everything.

use broadleaf_memory::frames::{Buddy, Choice, Frame, FrameState, plan};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FrameUse {
    InBuddy,
    Is(FrameState),
}

fn held() -> impl Strategy<Value = FrameUse> {
    prop_oneof![
        4 => Just(FrameUse::InBuddy),
        4 => Just(FrameUse::Is(FrameState::Movable)),
        1 => Just(FrameUse::Is(FrameState::Free)),
        1 => Just(FrameUse::Is(FrameState::Unmovable)),
    ]
}

fn buddy_of(memory: &[FrameUse], most_order: u8) -> Buddy {
    let mut buddy = Buddy::occupied(memory.len() as u64, most_order);
    for (held, frame) in memory.iter().zip(0..) {
        if *held == FrameUse::InBuddy {
            buddy.free(Frame(frame), 0).expect("it is not free yet");
        }
    }
    buddy
}

fn state(memory: &[FrameUse], frame: Frame) -> FrameState {
    match memory[frame.0 as usize] {
        FrameUse::InBuddy => panic!("{frame:?} is free and was asked about"),
        FrameUse::Is(state) => state,
    }
}

/// The movable frames of an extent that can be freed.
fn movable(memory: &[FrameUse], number: u64, order: u8) -> Option<Vec<Frame>> {
    let frames = number << order..(number + 1) << order;
    let is = |frame: &u64, held| memory[*frame as usize] == held;
    if frames
        .clone()
        .any(|it| is(&it, FrameUse::Is(FrameState::Unmovable)))
    {
        return None;
    }
    let moves: Vec<u64> = frames
        .clone()
        .filter(|it| is(it, FrameUse::Is(FrameState::Movable)))
        .collect();
    let all = 0..memory.len() as u64;
    let targets = all.filter(|it| !frames.contains(it) && is(it, FrameUse::InBuddy));
    (targets.count() >= moves.len()).then(|| moves.into_iter().map(Frame).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn the_cheapest_of_what_is_looked_at_is_found(
        memory in prop::collection::vec(held(), 0..100),
        most_order in 0u8..6,
        order in 0u8..6,
        from in 0u64..120,
        most_scanned in prop_oneof![0u64..10, Just(u64::MAX)],
    ) {
        let mut buddy = buddy_of(&memory, most_order);
        let host = |frame| state(&memory, frame);
        let scan = plan(&buddy, &host, order, Frame(from), most_scanned);
        let extents = if order > most_order { 0 } else { memory.len() as u64 >> order };
        let begin = (from >> order).checked_rem(extents).unwrap_or(0);
        let numbers = (0..extents.min(most_scanned)).map(|step| (begin + step) % extents);
        let found = numbers
            .filter_map(|number| Some((number << order, movable(&memory, number, order)?)));
        let best = found.min_by_key(|(_, moves)| moves.len());
        let planned = scan.plan.clone().map(|plan| (plan.first.0, plan.moves));
        prop_assert_eq!(planned, best);
        let free_at_once = scan.plan.as_ref().is_some_and(|plan| plan.cost() == 0);
        prop_assert!(free_at_once || scan.scanned == extents.min(most_scanned));
        if extents > 0 {
            prop_assert_eq!(scan.next.0, ((begin + scan.scanned) % extents) << order);
        }

        let Some(plan) = scan.plan else { return Ok(()); };
        let before = buddy.free_frames();
        let inside = buddy.free_frames_in(plan.first, plan.order);
        let targets = plan.carry_out(&mut buddy, Choice::Highest).expect("nothing has changed");
        buddy.check();
        prop_assert_eq!(targets.len(), plan.moves.len());
        prop_assert_eq!(buddy.free_frames() + inside + plan.cost(), before);
        prop_assert!(targets.iter().all(|it| it.0 >> order != plan.first.0 >> order));
        let was_free = |it: &Frame| memory[it.0 as usize] == FrameUse::InBuddy;
        prop_assert!(targets.iter().all(|it| was_free(it) && !buddy.is_free(*it)));
        // The extent is the caller's now, in one piece.
        prop_assert_eq!(buddy.free_frames_in(plan.first, plan.order), 0);
        buddy.free(plan.first, plan.order).expect("all of it was given out");
    }
}

#[test]
fn a_plan_that_is_out_of_date_changes_nothing() {
    let movable = FrameUse::Is(FrameState::Movable);
    let memory = [
        movable,
        FrameUse::InBuddy,
        movable,
        movable,
        FrameUse::InBuddy,
        movable,
    ];
    let mut buddy = buddy_of(&memory, 1);
    let host = |frame| state(&memory, frame);
    let plan = plan(&buddy, &host, 1, Frame(0), u64::MAX)
        .plan
        .expect("a pair");
    assert_eq!(
        (plan.first, plan.moves.as_slice()),
        (Frame(0), [Frame(0)].as_slice())
    );
    // The only target goes.
    assert!(buddy.take(Frame(4), 0));
    assert_eq!(plan.carry_out(&mut buddy, Choice::Lowest), None);
    assert_eq!(buddy.free_frames(), 1);
    buddy.free(Frame(4), 0).expect("it was taken");
    // What was to be moved is gone.
    buddy.free(Frame(0), 0).expect("it was never given out");
    assert_eq!(plan.carry_out(&mut buddy, Choice::Lowest), None);
    assert_eq!(buddy.free_frames(), 3);
}
