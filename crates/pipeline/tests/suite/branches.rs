//! The branch predictor.

use broadleaf_pipeline::{BranchKind, Branches};

/// A generator of random numbers.
pub(crate) fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// The wrong predictions among the last thousand of ten thousand branches.
fn wrong(kind: BranchKind, went: impl Fn(u64, &mut u64) -> u64) -> usize {
    let (mut branches, mut state) = (Branches::default(), 0x1234_5678_9abc_def1);
    let mut predict = |number: u64| {
        let to = went(number, &mut state);
        branches.mispredicts(kind, 0x1000, 0x1002, to)
    };
    (0..9_000).for_each(|number| {
        predict(number);
    });
    (9_000..10_000).filter(|number| predict(*number)).count()
}

#[test]
fn patterns_are_learned_and_chance_is_not() {
    let to = |taken: bool| if taken { 0x2000 } else { 0x1002 };
    assert_eq!(wrong(BranchKind::Conditional, |_, _| 0x2000), 0);
    assert_eq!(wrong(BranchKind::Conditional, |_, _| 0x1002), 0);
    assert_eq!(
        wrong(BranchKind::Conditional, |number, _| to(number % 2 == 0)),
        0
    );
    let seventh = wrong(BranchKind::Conditional, |number, _| to(number % 7 == 0));
    assert!(seventh < 10, "{seventh}");
    let chance = wrong(BranchKind::Conditional, |_, state| {
        to(random(state) & 1 == 0)
    });
    assert!((400..600).contains(&chance), "{chance}");
    let rare = wrong(BranchKind::Conditional, |_, state| {
        to(random(state).is_multiple_of(10))
    });
    assert!((60..160).contains(&rare), "{rare}");
}

#[test]
fn computed_targets_are_learned_by_their_path() {
    let target = |number: u64| 0x2000 + 0x40 * (number % 5);
    let cycle = wrong(BranchKind::Indirect, |number, _| target(number));
    assert!(cycle < 10, "{cycle}");
    let chance = wrong(BranchKind::Indirect, |_, state| target(random(state) % 5));
    assert!((700..900).contains(&chance), "{chance}");
    assert_eq!(wrong(BranchKind::IndirectCall, |_, _| 0x2000), 0);
}

#[test]
fn returns_go_where_calls_came_from() {
    let mut branches = Branches::default();
    for depth in 0..20_u64 {
        let call = 0x1000 + 0x10 * depth;
        assert!(!branches.mispredicts(BranchKind::Call, call, call + 5, 0x9000));
    }
    for depth in (0..20_u64).rev() {
        let back = 0x1005 + 0x10 * depth;
        assert!(!branches.mispredicts(BranchKind::Return, 0x9009, 0x900a, back));
    }
    // A return without a call, and one to another place.
    assert!(branches.mispredicts(BranchKind::Return, 0x9009, 0x900a, 0x1005));
    branches.mispredicts(BranchKind::Call, 0x1000, 0x1005, 0x9000);
    assert!(branches.mispredicts(BranchKind::Return, 0x9009, 0x900a, 0x7777));
    // The stack forgets the oldest calls.
    for depth in 0..40_u64 {
        branches.mispredicts(BranchKind::Call, depth, depth + 5, 0x9000);
    }
    let wrong = |depth: &u64| branches.mispredicts(BranchKind::Return, 0x9009, 0x900a, depth + 5);
    assert_eq!((0..40_u64).rev().filter(wrong).count(), 8);
    assert!(!Branches::default().mispredicts(BranchKind::None, 0, 1, 7));
}
