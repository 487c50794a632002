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
    let wrong = [(0, 8), (65, 8), (4, 0), (4, 65)];
    for (streams, distance) in wrong {
        let message = refused(1, StreamSpec { streams, distance });
        assert!(message.contains("1 to 64 streams"), "{message}");
    }
}

/// A slow detector of streams, by the rules of the specification.
#[derive(Default)]
struct SlowStreams {
    /// Regions, the one used last at the end: number, last line, direction, steps, the furthest
    /// line asked for, and whether the stream leaves.
    regions: Vec<(i64, i64, i64, u32, i64, bool)>,
}

impl SlowStreams {
    /// The lines that an access asks for.
    fn pass(&mut self, line: i64, spec: StreamSpec) -> Vec<i64> {
        let region = line.div_euclid(64);
        let at = self.regions.iter().position(|one| one.0 == region);
        let Some(at) = at else {
            let inside = line.rem_euclid(64);
            let from = self.regions.iter_mut().rev();
            let mut from =
                from.filter(|one| one.5 && if one.2 > 0 { inside < 4 } else { inside >= 60 });
            let direction = from.next().map(|one| {
                one.5 = false;
                one.2
            });
            if self.regions.len() == spec.streams {
                self.regions.remove(0);
            }
            let steps = if direction.is_some() { 2 } else { 0 };
            let direction = direction.unwrap_or(1);
            self.regions
                .push((region, line, direction, steps, line, false));
            return if steps == 2 {
                self.ask(spec)
            } else {
                Vec::new()
            };
        };
        let mut one = self.regions.remove(at);
        let step = line - one.1;
        if step == 0 {
            self.regions.push(one);
            return Vec::new();
        }
        one.1 = line;
        if step.unsigned_abs() > spec.distance || step.signum() != one.2 {
            one.2 = step.signum();
            one.3 = u32::from(step.unsigned_abs() <= spec.distance);
            one.4 = line;
            self.regions.push(one);
            return Vec::new();
        }
        one.3 += 1;
        if (one.4 - line) * one.2 < 0 {
            one.4 = line;
        }
        self.regions.push(one);
        match one.3 {
            0 | 1 => Vec::new(),
            _ => self.ask(spec),
        }
    }

    /// The lines ahead of the region that was used last.
    fn ask(&mut self, spec: StreamSpec) -> Vec<i64> {
        let Some(one) = self.regions.last_mut() else {
            return Vec::new();
        };
        let (line, direction) = (one.1, one.2);
        let end = one.0 * 64 + if direction > 0 { 63 } else { 0 };
        one.5 = (end - line).abs() < 4;
        let mut asked = Vec::new();
        for ahead in 1..=spec.distance as i64 {
            let next = line + direction * ahead;
            if next.div_euclid(64) == one.0 && (next - one.4) * direction > 0 {
                asked.push(next);
                one.4 = next;
            }
        }
        asked
    }
}

proptest! {
    #[test]
    fn the_streams_equal_slow_ones(
        walks in prop::collection::vec((0..6_i64, 0..64_i64, -3..4_i64, 1..30_usize), 1..40),
        streams in 1..6_usize,
        distance in 1..20_u64,
    ) {
        let spec = StreamSpec { streams, distance };
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
