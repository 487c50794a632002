//! Long traces, with much locality and with little.

use super::figures::differences;
use super::recoded::of_recoded;
use super::replays::{in_parts, oracle};
use broadleaf_oracle::{OracleMachine as Machine, OwnedItem, PolicySpec, Recording};
use broadleaf_trace::Visit;

/// Visits with much locality: two places that share sets of the larger page's structure, and now
/// and then another.
pub(super) fn near(count: usize) -> Vec<Visit> {
    use broadleaf_trace::synth::SplitMix64;
    let mut random = SplitMix64::new(7);
    let visit = |random: &mut SplitMix64| {
        let block = match random.below(40) {
            0 => random.below(64),
            _ => random.below(2),
        };
        Visit {
            unit: (block << 9) + random.below(12) * 16,
            loads: 1,
            stores: u32::from(random.below(9) == 0),
            loads_before_store: 1,
            ..Visit::default()
        }
    };
    (0..count).map(|_| visit(&mut random)).collect()
}

/// Visits in items of 1024.
pub(super) fn recording_of(visits: &[&[Visit]]) -> Recording {
    Recording {
        grain: broadleaf_trace::Grain::Page,
        items: (visits.iter())
            .flat_map(|visits| visits.chunks(1024))
            .map(|visits| OwnedItem::Visits(visits.to_vec()))
            .collect(),
    }
}

/// Long enough that the sieve sees that most of one part gets through it, and little of another.
#[test]
fn long_traces_with_and_without_locality() {
    use broadleaf_trace::synth::updates;
    let near = near(150_000);
    let spread: Vec<Visit> = updates(0, 1 << 15, 150_000, 3).collect();
    let recording = recording_of(&[&near, &spread, &near]);
    let policies = [
        PolicySpec::FreeBsd,
        PolicySpec::Pop(64),
        PolicySpec::Life(100_000),
        // Groups that differ in a few entries, and one that never promotes.
        PolicySpec::Dirty(64),
        PolicySpec::Pop(300),
        PolicySpec::Dirty(300),
        PolicySpec::Foresight,
        PolicySpec::FourK,
    ];
    for machine in [Machine::ALL[0], Machine::ALL[3]] {
        let right = oracle(&recording, &policies, machine);
        for parts in [0, 1, 200] {
            let left = match parts {
                0 => of_recoded(&recording, &policies, machine, |plan| plan),
                parts => in_parts(&recording, &policies, machine, parts, |plan| plan),
            };
            for ((left, right), policy) in left.iter().zip(&right).zip(&policies) {
                assert_eq!(differences(left, right), "", "{policy} on {machine}");
            }
        }
    }
}

/// After a step without locality, the sieve compares no visit for 15 steps of 2^16 visits. Then it
/// compares visits again, and has forgotten all earlier ones.
#[test]
fn what_comes_after_a_long_stretch_without_locality() {
    use broadleaf_trace::synth::updates;
    let near = near(100 << 10);
    for steps in [15, 16] {
        let spread: Vec<Visit> = updates(0, 1 << 12, steps << 16, 3).collect();
        let recording = recording_of(&[&spread, &near]);
        let policies = [PolicySpec::Pop(64)];
        let right = oracle(&recording, &policies, Machine::ALL[0]);
        let whole = recording.items.len();
        let left = in_parts(&recording, &policies, Machine::ALL[0], whole, |plan| {
            plan.on_threads(1)
        });
        assert_eq!(differences(&left[0], &right[0]), "", "{steps} steps");
    }
}
