//! Prefetching of sequential streams.

use broadleaf_cache::{
    AccessKind, AnsweredBy, CacheField, CacheHierarchy, CacheKind, CacheRequest, CacheSpec,
    HierarchySpec, StreamSpec,
};
use proptest::prelude::*;
use std::collections::BTreeSet;

use crate::common::{MEMORY, access, cache, hierarchy};

/// Two levels from which nothing leaves. The second prefetches.
fn roomy(prefetch: Option<StreamSpec>) -> Vec<CacheSpec> {
    let second = CacheSpec {
        prefetch,
        ..cache(2, 1024, 32)
    };
    vec![cache(1, 1024, 32), second]
}

const STREAMS: StreamSpec = StreamSpec {
    streams: 4,
    distance: 8,
    step: 2,
};

fn misses(caches: &CacheHierarchy, level: usize) -> u64 {
    caches.counts().cores[0].levels[level].misses[0]
}

/// Three lines of the first page are missed before the stream is sure of itself, and the first line
/// of each later page.
#[test]
fn a_stream_misses_its_beginning_and_the_first_line_of_each_page() {
    let pages = 10;
    for downwards in [false, true] {
        let mut caches = hierarchy("non-inclusive", 1, roomy(Some(STREAMS)));
        for step in 0..pages * 64 {
            let line = match downwards {
                true => 0x10_0000 + pages * 64 - 1 - step,
                false => 0x10_0000 + step,
            };
            access(&mut caches, 0, line, AccessKind::Load);
        }
        assert_eq!(misses(&caches, 0), pages * 64);
        assert_eq!(misses(&caches, 1), 3 + (pages - 1));
        let prefetched = caches.counts().cores[0].levels[1].prefetched;
        assert_eq!(prefetched, pages * 64 - 3 - (pages - 1));
        // Memory reads each line once.
        assert_eq!(caches.counts().memory.reads, pages * 64);
    }
}

/// An access that comes before its line waits for the rest of the time.
#[test]
fn a_line_on_its_way_takes_the_rest_of_its_time() {
    let mut caches = hierarchy("non-inclusive", 1, roomy(Some(STREAMS)));
    let mut at = |line: u64, time: u64| {
        let request = CacheRequest {
            core: 0,
            address: line * 64,
            kind: AccessKind::Load,
            time,
        };
        caches.access(&request).cycles
    };
    // A lookup of the first level takes 1 cycle, of the second 4, and memory 100.
    for line in 0..3 {
        assert_eq!(at(line, 0), 105);
    }
    // Lines 3 to 10 were asked for in cycle 0 and arrive in cycle 104.
    assert_eq!(at(3, 10), 104 - 10);
    assert_eq!(at(4, 99), 5);
    assert_eq!(at(5, 500), 5);
}

#[test]
fn only_data_makes_streams_and_chance_makes_none() {
    let mut caches = hierarchy("non-inclusive", 1, roomy(Some(STREAMS)));
    for line in 0..64 {
        access(&mut caches, 0, line, AccessKind::Fetch);
        access(&mut caches, 0, 0x1000 + line, AccessKind::Walk);
        access(&mut caches, 0, 0x100_000 + 977 * line, AccessKind::Load);
    }
    assert_eq!(caches.counts().cores[0].levels[1].prefetched, 0);
}

/// Accesses to a page ask for this number of lines.
fn asked_for(lines: impl IntoIterator<Item = u64>) -> u64 {
    let mut caches = hierarchy("non-inclusive", 1, roomy(Some(STREAMS)));
    for line in lines {
        access(&mut caches, 0, 0x1000 + line, AccessKind::Load);
    }
    caches.counts().cores[0].levels[1].prefetched
}

/// Pairs of lines are a stream if the gaps between them are short. A long step ends the stream.
#[test]
fn steps_of_a_stream_are_short_or_equally_long() {
    let pairs = |stride: u64| {
        let starts = (0..64).step_by(stride as usize);
        starts.flat_map(|start| [start, start + 1].into_iter())
    };
    assert_eq!(asked_for(pairs(2)), 64 - 3);
    // Lines 2, 5, 8 and so on are asked for, too.
    assert!(asked_for(pairs(3).filter(|line| *line < 64)) > 50);
    assert_eq!(asked_for(pairs(4)), 0);
    // The third step of 5 lines is the second one as long as the one before. Line 60 is asked for.
    assert_eq!(asked_for((0..60).step_by(5)), 12 - 4 + 1);
    assert_eq!(asked_for((0..60).step_by(9)), 0);
    // A short step after long ones begins another stream.
    assert_eq!(asked_for([0, 5, 10, 11]), 0);
}

/// A line that another core's caches hold stays there.
#[test]
fn lines_of_other_cores_are_not_asked_for() {
    let mut caches = hierarchy("non-inclusive", 2, roomy(Some(STREAMS)));
    access(&mut caches, 1, 3, AccessKind::Store);
    for line in 0..3 {
        access(&mut caches, 0, line, AccessKind::Load);
    }
    let answer = access(&mut caches, 0, 3, AccessKind::Load);
    // The second level is the last one, which both cores share.
    assert_eq!(answer.by, AnsweredBy::Level(1));
    caches.check();
}

#[test]
fn a_description_of_streams_is_checked() {
    let refused = |number: usize, prefetch| {
        let mut caches = roomy(None);
        caches[number].prefetch = Some(prefetch);
        let kind = CacheKind::named("non-inclusive").expect("a kind");
        let spec = HierarchySpec::new(kind, 1, caches, 64, 1, MEMORY);
        let error = spec.expect_err("it is wrong");
        assert_eq!(error.field, CacheField::Prefetch(number));
        error.message
    };
    assert!(refused(0, STREAMS).contains("the next level"));
    let wrong = [
        (0, 8, 2),
        (65, 8, 2),
        (4, 0, 2),
        (4, 65, 2),
        (4, 8, 0),
        (4, 8, 9),
    ];
    for (streams, distance, step) in wrong {
        let streams = StreamSpec {
            streams,
            distance,
            step,
        };
        let message = refused(1, streams);
        assert!(message.contains("prefetch-step"), "{message}");
    }
}

/// A slow detector of streams, by the rules of the specification.
#[derive(Default)]
struct SlowStreams {
    /// Regions, the one used last at the end.
    regions: Vec<SlowRegion>,
}

struct SlowRegion {
    number: i64,
    last: i64,
    direction: i64,
    steps: u32,
    /// The furthest line that was asked for.
    asked: i64,
    /// The lines of the last step if it was long, 1 if it was short, and 0 before the first step.
    unit: i64,
    leaves: bool,
}

impl SlowStreams {
    /// The lines that an access asks for.
    fn pass(&mut self, line: i64, spec: StreamSpec) -> Vec<i64> {
        let number = line.div_euclid(64);
        let at = self.regions.iter().position(|one| one.number == number);
        let Some(at) = at else {
            let inside = line.rem_euclid(64);
            let mut from = (self.regions.iter_mut().rev()).filter(|one| {
                one.leaves
                    && if one.direction > 0 {
                        inside < 4
                    } else {
                        inside >= 60
                    }
            });
            let direction = from.next().map(|one| {
                one.leaves = false;
                one.direction
            });
            if self.regions.len() == spec.streams {
                self.regions.remove(0);
            }
            self.regions.push(SlowRegion {
                number,
                last: line,
                direction: direction.unwrap_or(1),
                steps: if direction.is_some() { 2 } else { 0 },
                asked: line,
                unit: i64::from(direction.is_some()),
                leaves: false,
            });
            return self.ask(spec);
        };
        let mut one = self.regions.remove(at);
        let step = line - one.last;
        if step != 0 {
            let lines = step.unsigned_abs();
            let is_short = lines <= spec.step;
            let unit = if is_short { 1 } else { lines as i64 };
            let is_equal = step.signum() == one.direction && unit == one.unit;
            if is_equal && (is_short || lines <= spec.distance) {
                one.steps += 1;
                if (one.asked - line) * one.direction < 0 {
                    one.asked = line;
                }
            } else {
                one.steps = u32::from(is_short);
                one.asked = line;
                one.leaves = false;
            }
            (one.direction, one.last, one.unit) = (step.signum(), line, unit);
        }
        self.regions.push(one);
        if step == 0 {
            Vec::new()
        } else {
            self.ask(spec)
        }
    }

    /// The lines ahead of the region that was used last.
    fn ask(&mut self, spec: StreamSpec) -> Vec<i64> {
        let Some(one) = self.regions.last_mut().filter(|one| one.steps >= 2) else {
            return Vec::new();
        };
        let (line, direction) = (one.last, one.direction);
        let end = one.number * 64 + if direction > 0 { 63 } else { 0 };
        one.leaves = one.unit == 1 && (end - line).abs() < 4;
        let mut asked = Vec::new();
        for ahead in (one.unit..=spec.distance as i64).step_by(one.unit as usize) {
            let next = line + direction * ahead;
            if next.div_euclid(64) == one.number && (next - one.asked) * direction > 0 {
                asked.push(next);
                one.asked = next;
            }
        }
        asked
    }
}

proptest! {
    #[test]
    fn the_streams_equal_slow_ones(
        walks in prop::collection::vec((0..6_i64, 0..64_i64, -6..7_i64, 1..30_usize), 1..40),
        streams in 1..6_usize,
        distance in 1..20_u64,
        step in 1..4_u64,
    ) {
        let spec = StreamSpec { streams, distance, step: step.min(distance) };
        let mut caches = hierarchy("non-inclusive", 1, roomy(Some(spec)));
        let mut slow = SlowStreams::default();
        let (mut first, mut second) = (BTreeSet::new(), BTreeSet::new());
        for (page, inside, step, count) in walks {
            for number in 0..count as i64 {
                let line = 0x10_000 + page * 64 + inside + step * number;
                let expected = if first.contains(&line) {
                    AnsweredBy::Level(0)
                } else if second.contains(&line) {
                    AnsweredBy::Level(1)
                } else {
                    AnsweredBy::Memory
                };
                let answer = access(&mut caches, 0, line as u64, AccessKind::Load);
                prop_assert_eq!(answer.by, expected);
                if first.insert(line) {
                    second.insert(line);
                    second.extend(slow.pass(line, spec));
                }
            }
        }
    }
}
