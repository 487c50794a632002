//! Curves of the model, which depend neither on cuts nor on the machine.

use super::locality::{near, recording_of};
use super::replays::in_parts;
use super::*;
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
