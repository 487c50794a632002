//! Curves: those of the model, of the quick path and of the oracle are equal. They depend neither
//! on cuts nor on the machine.

use super::locality::{near, recording_of};
use super::replays::in_parts;
use super::*;
use broadleaf_model::MemoryLimits;
use broadleaf_oracle::{OfOneSize, PageSizeKind};
use broadleaf_trace::Visit;

#[test]
fn curves_do_not_depend_on_where_visits_are_cut() {
    for_each_seed(cases(100), |seed| {
        let seed = seed + 3_000_000;
        let script = Script::from_seed(seed);
        let mut rng = Rng::new(seed);
        let policies = [
            PolicySpec::FreeBsd,
            PolicySpec::Life(1 + rng.below(200)),
            PolicySpec::Life(1 + rng.below(2000)),
            PolicySpec::Pop(2 + rng.below(10)),
        ];
        let machine = machine_of(seed);
        let cut = |recording: &Recording| split(recording, &mut Rng::new(seed));
        let curves = |recording: &Recording, policies: &[PolicySpec]| {
            replayed(recording, policies, machine, Plan::with_curves)
        };
        let recording = script.recording();
        let both = curves(&cut(&recording), &policies)
            .into_iter()
            .zip(curves(&recording, &policies));
        for ((left, right), &policy) in both.zip(&policies) {
            if left != right {
                report(seed, &script, policy, |recording| {
                    (
                        curves(&cut(recording), &[policy]).remove(0),
                        curves(recording, &[policy]).remove(0),
                    )
                });
            }
        }
    });
}

/// The sieve depends on the machine, and curves do not. Some machines allow no deferred lookup and
/// skip only repeats of the newest page. There the curves see every visit that does not repeat it.
/// Reservations fall due at all times, those of visits among them.
#[test]
fn curves_do_not_depend_on_the_machine() {
    for_each_seed(cases(400), |seed| {
        let seed = seed + 7_000_000;
        let recording = Script::from_seed(seed).recording();
        let mut rng = Rng::new(seed);
        let policies = [
            PolicySpec::Life(1 + rng.below(20)),
            PolicySpec::Life(1 + rng.below(200)),
            PolicySpec::Pop(2 + rng.below(10)),
        ];
        let curves = |machine| {
            let mut all = replayed(&recording, &policies, machine, Plan::with_curves);
            for figures in &mut all {
                figures.retain(|name, _| name.starts_with("4096 ") || name.starts_with("2097152 "));
                assert!(!figures.is_empty(), "no curve");
            }
            all
        };
        let right = curves(Machine::ALL[0]);
        for machine in Machine::ALL {
            assert_eq!(curves(machine), right, "seed {seed}, {machine}");
        }
    });
}

#[test]
fn a_curve_changes_no_other_count() {
    for_each_seed(cases(100), |seed| {
        let seed = seed + 4_000_000;
        let recording = Script::from_seed(seed).recording();
        let (policies, machine) = (policies(&mut Rng::new(seed)), machine_of(seed));
        let without = engine(&recording, &policies, machine);
        let with = replayed(&recording, &policies, machine, Plan::with_curves);
        for (without, mut with) in without.into_iter().zip(with) {
            with.retain(|name, _| without.contains_key(name));
            assert_eq!(with, without, "seed {seed}");
        }
    });
}

/// If many visits are kept, pieces are cut and lists are reused.
#[test]
fn curves_do_not_depend_on_how_much_is_kept_at_a_time() {
    use broadleaf_trace::synth::updates;
    let near = near(20_000);
    let spread: Vec<Visit> = updates(0, 1 << 13, 60_000, 3).collect();
    let recording = recording_of(&[&near, &spread, &near]);
    let policies = [PolicySpec::Life(30_000), PolicySpec::Pop(64)];
    for policies in [&policies[..], &policies[1..]] {
        let curves = |part: usize, threads: usize| {
            in_parts(&recording, policies, Machine::ALL[0], part, |plan| {
                plan.with_curves().on_threads(threads)
            })
        };
        let right = curves(1, 1);
        for (part, threads) in [(1000, 1), (1000, 2), (30, 3)] {
            assert_eq!(curves(part, threads), right, "{part}, {threads} threads");
        }
    }
}

/// The counts of the model alone, with curves: memory down to the frame that never runs short.
fn model_with_curves(
    recording: &Recording,
    policies: &[PolicySpec],
    machine: Machine,
) -> Vec<CountsByName> {
    replayed(recording, policies, machine, |plan| {
        let limited = plan.limited_to(MemoryLimits::none());
        limited.expect("a memory").with_curves()
    })
}

/// The counts of the quick path, with curves.
fn quick_with_curves(
    recording: &Recording,
    policies: &[PolicySpec],
    machine: Machine,
) -> Vec<CountsByName> {
    replayed(recording, policies, machine, |plan| {
        assert_eq!(broadleaf_accel::covers(&plan), Ok(()));
        plan.with_curves()
    })
}

#[test]
fn the_curves_of_the_model_are_those_of_the_quick_path() {
    for_each_seed(cases(300), |seed| {
        let seed = seed + 9_000_000;
        assert_same_counts(seed, alone, model_with_curves, quick_with_curves);
    });
}

/// Geometries of each kind: direct-mapped, set-associative and fully associative.
const GEOMETRIES: [(usize, usize); 9] = [
    (1, 1),
    (1, 2),
    (1, 16),
    (1, 64),
    (1, 4096),
    (2, 3),
    (16, 4),
    (64, 1),
    (4096, 16),
];

/// The points of a curve at [`GEOMETRIES`], from the counts of a replay.
fn points_of(mut counts: CountsByName) -> CountsByName {
    let is_asked = |name: &str| {
        GEOMETRIES.iter().any(|(sets, ways)| {
            let sizes = [4096, 2 << 20].iter();
            sizes
                .map(|size| format!("{size} {sets}x{ways}"))
                .any(|of| of == name)
        })
    };
    counts.retain(|name, _| is_asked(name));
    counts
}

/// The points of the oracle's curve: a TLB of each geometry, at the pace of [`Pace::Leap`].
///
/// [`Pace::Leap`]: broadleaf_oracle::Pace::Leap
fn points_of_oracle(recording: &Recording, policy: PolicySpec, machine: Machine) -> CountsByName {
    let others = broadleaf_oracle::curve(recording, policy, machine, &GEOMETRIES);
    let missing = others.into_iter().filter(|other| other.tlb.misses > 0);
    let points = missing.map(|OfOneSize { size, tlb }| {
        let size = match size {
            PageSizeKind::Base => 4096,
            PageSizeKind::Super => 2 << 20,
        };
        let name = format!("{size} {}x{}", tlb.sets, tlb.ways);
        (name, tlb.misses as i64)
    });
    points.collect()
}

#[test]
fn curves_are_those_of_the_oracle() {
    for_each_seed(cases(300), |seed| {
        let of = |recording: &Recording, policies: &[PolicySpec], machine| {
            let points = |policy: &PolicySpec| points_of_oracle(recording, *policy, machine);
            policies.iter().map(points).collect()
        };
        let quick = |recording: &Recording, policies: &[PolicySpec], machine| {
            let counts = quick_with_curves(recording, policies, machine);
            counts.into_iter().map(points_of).collect()
        };
        let model = |recording: &Recording, policies: &[PolicySpec], machine| {
            let counts = model_with_curves(recording, policies, machine);
            counts.into_iter().map(points_of).collect()
        };
        assert_same_counts(seed + 10_000_000, |recording| recording, quick, of);
        assert_same_counts(seed + 11_000_000, alone, model, of);
    });
}

#[test]
fn a_curve_changes_no_other_count_of_the_model() {
    for_each_seed(cases(100), |seed| {
        let seed = seed + 12_000_000;
        let recording = alone(Script::from_seed(seed).recording());
        let (policies, machine) = (policies(&mut Rng::new(seed)), machine_of(seed));
        let without = in_ample_memory(&recording, &policies, machine);
        let with = model_with_curves(&recording, &policies, machine);
        for (without, mut with) in without.into_iter().zip(with) {
            with.retain(|name, _| without.contains_key(name));
            assert_eq!(with, without, "seed {seed}");
        }
    });
}
