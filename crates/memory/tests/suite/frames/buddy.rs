//! Random sequences of verbs, each compared with the naive set, and `check()` after each.
//!
//! `BROADLEAF_OPERATIONS` sets the number of verbs (default: 20,000).

use crate::frames::naive::NaiveBuddy;
use broadleaf_memory::frames::{Buddy, Choice, Frame, FreeError};
use proptest::prelude::*;

/// Verbs in one sequence.
const LENGTH: u32 = 200;

fn sequences() -> u32 {
    #[expect(
        clippy::disallowed_methods,
        reason = "how much a test does is the tester's to say"
    )]
    let asked = std::env::var("BROADLEAF_OPERATIONS");
    let all: u32 = asked
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(20_000);
    all.div_ceil(LENGTH)
}

#[derive(Clone, Copy, Debug)]
enum Verb {
    Allocate(u8, Choice),
    Take(u64, u8),
    Free(u64, u8),
    FreeZeroed(u64, u8),
    /// Frees the extent of an earlier allocation, if it is still allocated.
    GiveBack(prop::sample::Index),
    Isolate(u64, u8),
    Zero(u64),
}

fn verb() -> impl Strategy<Value = Verb> {
    let choice = prop::sample::select(vec![
        Choice::Lowest,
        Choice::Highest,
        Choice::Zeroed,
        Choice::NotZeroed,
    ]);
    let order = || prop_oneof![3 => Just(0u8), 3 => 0u8..4, 1 => 0u8..10];
    let frame = || 0u64..140;
    prop_oneof![
        8 => (order(), choice).prop_map(|(order, choice)| Verb::Allocate(order, choice)),
        3 => (frame(), order()).prop_map(|(first, order)| Verb::Take(first, order)),
        4 => (frame(), order()).prop_map(|(first, order)| Verb::Free(first, order)),
        2 => (frame(), order()).prop_map(|(first, order)| Verb::FreeZeroed(first, order)),
        5 => any::<prop::sample::Index>().prop_map(Verb::GiveBack),
        1 => (frame(), order()).prop_map(|(first, order)| Verb::Isolate(first, order)),
        2 => prop_oneof![4 => 0u64..30, 1 => Just(u64::MAX)].prop_map(Verb::Zero),
    ]
}

/// Both allocators, and the allocated extents.
struct Both {
    buddy: Buddy,
    naive: NaiveBuddy,
    given: Vec<(u64, u8)>,
}

impl Both {
    fn new(frames: u64, most_order: u8) -> Self {
        let both = Self {
            buddy: Buddy::new(frames, most_order),
            naive: NaiveBuddy::new(frames, most_order),
            given: Vec::new(),
        };
        both.compare();
        both
    }

    fn apply(&mut self, verb: Verb) {
        match verb {
            Verb::Allocate(order, choice) => {
                let zeroed = self.naive.zeroed.clone();
                let expected = self.naive.allocate(order, choice);
                let given = match choice {
                    Choice::Lowest if zeroed.is_empty() => {
                        self.buddy.allocate(order).map(|first| (first.0, 0))
                    }
                    _ => {
                        let given = self.buddy.allocate_by(order, choice);
                        given.map(|given| (given.first.0, given.zeroed))
                    }
                };
                assert_eq!(given, expected);
                self.given.extend(given.map(|(first, _)| (first, order)));
            }
            Verb::Take(first, order) => {
                let expected = self.naive.is_whole(first, order);
                assert_eq!(self.buddy.take(Frame(first), order), expected);
                if expected {
                    self.naive.remove(first, order);
                    self.given.push((first, order));
                }
            }
            Verb::Free(first, order) => self.free(first, order, false),
            Verb::FreeZeroed(first, order) => self.free(first, order, true),
            Verb::GiveBack(index) => {
                if !self.given.is_empty() {
                    let (first, order) = self.given.remove(index.index(self.given.len()));
                    self.free(first, order, false);
                }
            }
            Verb::Isolate(first, order) => {
                let expected = self.free_in(first, order);
                assert_eq!(self.buddy.isolate(Frame(first), order), expected);
                for (first, order) in expected {
                    self.naive.remove(first.0, order);
                    self.given.push((first.0, order));
                }
            }
            Verb::Zero(frames) => {
                assert_eq!(self.buddy.zero_some(frames), self.naive.zero_some(frames));
            }
        }
        self.compare();
    }

    fn free(&mut self, first: u64, order: u8, zeroed: bool) {
        let frame = Frame(first);
        let freed = if zeroed {
            self.buddy.free_zeroed(frame, order)
        } else {
            self.buddy.free(frame, order)
        };
        let naive = &mut self.naive;
        let expected = if !naive.is_extent(first, order) {
            Err(FreeError::NoExtent {
                first: frame,
                order,
            })
        } else if naive.free.range(first..first + (1 << order)).count() > 0 {
            Err(FreeError::AlreadyFree {
                first: frame,
                order,
            })
        } else {
            let frames = first..first + (1 << order);
            naive.free.extend(frames.clone());
            if zeroed {
                naive.zeroed.extend(frames);
            }
            Ok(())
        };
        assert_eq!(freed, expected);
    }

    /// The free parts of an extent, by address.
    fn free_in(&self, first: u64, order: u8) -> Vec<(Frame, u8)> {
        if !self.naive.is_extent(first, order) {
            return Vec::new();
        }
        if self.naive.is_whole(first, order) {
            return vec![(Frame(first), order)];
        }
        let frames = first..first + (1 << order);
        let mut parts: Vec<(Frame, u8)> = self
            .naive
            .extents()
            .into_iter()
            .filter(|(first, _)| frames.contains(first))
            .map(|(first, order)| (Frame(first), order))
            .collect();
        parts.sort();
        parts
    }

    fn compare(&self) {
        let Self { buddy, naive, .. } = self;
        buddy.check();
        let extents: Vec<(u64, u8)> = buddy
            .iter()
            .map(|(first, order)| (first.0, order))
            .collect();
        assert_eq!(extents, naive.extents());
        assert_eq!(buddy.free_frames(), naive.free.len() as u64);
        assert_eq!(buddy.zeroed_frames(), naive.zeroed.len() as u64);
    }

    /// Compares all questions about one place.
    fn ask(&self, frame: u64, order: u8) {
        let Self { buddy, naive, .. } = self;
        let place = Frame(frame);
        assert_eq!(buddy.is_free(place), naive.free.contains(&frame));
        let mut extents = naive.extents().into_iter();
        let holding = extents.find(|(first, order)| frame >> order == first >> order);
        let holding = holding.map(|(first, order)| (Frame(first), order));
        assert_eq!(buddy.extent_of(place), holding);
        let whole = naive.whole(order);
        let asked = order <= naive.most_order;
        let expected = if asked { whole.len() as u64 } else { 0 };
        assert_eq!(buddy.possible(order), expected);
        let next = whole.iter().find(|first| asked && **first >= frame);
        assert_eq!(buddy.next_free(place, order), next.copied().map(Frame));
        let exact = naive.extents().iter().filter(|it| it.1 == order).count();
        assert_eq!(buddy.free_extents(order), exact as u64);
        let parts: Vec<(Frame, u8)> = buddy.free_in(place, order).collect();
        assert_eq!(parts, self.free_in(frame, order));
        let (mut free, mut zeroed) = (0, 0);
        if naive.is_extent(frame, order) {
            free = naive.free.range(frame..frame + (1 << order)).count() as u64;
            zeroed = naive.zeroed_in(frame, order);
        }
        assert_eq!(buddy.free_frames_in(place, order), free);
        assert_eq!(buddy.zeroed_in(place, order), zeroed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sequences()))]

    #[test]
    fn the_buddy_allocator_is_the_set_of_its_free_frames(
        frames in 0u64..=130,
        most_order in 0u8..=8,
        verbs in prop::collection::vec((verb(), 0u64..140, 0u8..10), LENGTH as usize),
    ) {
        let mut both = Both::new(frames, most_order);
        for (verb, frame, order) in verbs {
            both.apply(verb);
            both.ask(frame, order);
        }
    }
}

#[test]
fn a_double_free_changes_nothing() {
    let mut both = Both::new(16, 3);
    both.apply(Verb::Allocate(1, Choice::Lowest));
    for _ in 0..2 {
        both.apply(Verb::Free(0, 1));
    }
    for (first, order) in [(1, 1), (8, 4), (16, 0), (u64::MAX, 0), (0, 255)] {
        let error = FreeError::NoExtent {
            first: Frame(first),
            order,
        };
        assert_eq!(both.buddy.free(Frame(first), order), Err(error));
    }
    both.compare();
}

#[test]
fn zeroed_frames_are_given_or_kept() {
    let mut buddy = Buddy::new(16, 2);
    assert_eq!(buddy.zero_some(6), 6);
    // Extents of four: 0 is zeroed, 4 to half, 8 and 12 are not.
    let mut given = |choice| {
        let given = buddy.allocate_by(1, choice).expect("a pair");
        (given.first.0, given.zeroed)
    };
    assert_eq!(given(Choice::NotZeroed), (8, 0));
    // The smallest extent goes before one with zeroes.
    assert_eq!(given(Choice::Zeroed), (10, 0));
    assert_eq!(given(Choice::Zeroed), (0, 2));
    assert_eq!(given(Choice::NotZeroed), (2, 2));
    assert_eq!(given(Choice::NotZeroed), (12, 0));
    assert_eq!(given(Choice::NotZeroed), (14, 0));
    assert_eq!(given(Choice::NotZeroed), (6, 0));
    assert_eq!(given(Choice::NotZeroed), (4, 2));
}
