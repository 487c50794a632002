//! A part of a plan counts as the whole: results are taken over from one comparison to another.

use crate::observers::random;
use broadleaf_accel::run;
use broadleaf_model::{MemoryLimits, NoteAbout, Outcome, Plan, ReplayNote};
use broadleaf_trace::synth::SplitMix64;
use std::ops::ControlFlow;

const MACHINES: [&str; 5] = [
    "skylake",
    "skylake-unified-64",
    "zen4",
    "neoverse-n1",
    "skylake-1g",
];
/// Policies that promote at faults, with a daemon, from reservations, at misses, with foresight.
const POLICIES: [&str; 8] = [
    "4k",
    "greedy",
    "linux",
    "navarro",
    "foresight",
    "approx-online",
    "ingens",
    "coloured",
];

fn plan(policies: &[&str], machines: &[&str], limits: Option<&MemoryLimits>) -> Plan {
    let policies = policies.iter().map(|name| broadleaf_policy::parse(name));
    let machines = machines.iter().map(|name| broadleaf_machine::machine(name));
    let policies = policies.collect::<Result<_, _>>().expect("policies");
    let machines = machines.collect::<Result<_, _>>().expect("machines");
    let plan = match limits {
        Some(limits) => Plan::within(policies, machines, limits.clone()),
        None => Plan::new(policies, machines),
    };
    plan.expect("a plan")
}

fn replayed(seed: u64, plan: &Plan) -> Outcome {
    let mut go_on = |_| ControlFlow::Continue(());
    run(&mut random(seed), plan, &mut go_on).expect("a replay")
}

/// Some of the places below a number, at least one.
fn some(random: &mut SplitMix64, number: usize) -> Vec<usize> {
    let first = random.next() as usize % number;
    let others = (0..number).filter(|_| random.next().is_multiple_of(3));
    let mut all: Vec<usize> = others.filter(|place| *place != first).collect();
    all.insert(random.next() as usize % (all.len() + 1), first);
    all
}

/// The texts of the notes on the trace and on some results.
fn texts_on(notes: &[ReplayNote], places: &[usize]) -> Vec<String> {
    let is_on = |note: &&ReplayNote| match &note.about {
        NoteAbout::Trace => true,
        NoteAbout::Results(on) => on.iter().any(|place| places.contains(place)),
        NoteAbout::Plan => panic!("{}", note.text),
    };
    let mut texts: Vec<String> = notes
        .iter()
        .filter(is_on)
        .map(|note| note.text.clone())
        .collect();
    texts.sort();
    texts
}

#[test]
fn parts_count_as_the_whole() {
    let quick = (
        &["4k", "greedy", "pop-64", "freebsd", "foresight"][..],
        None,
    );
    let quick_machines = &["skylake", "skylake-unified-64", "skylake-va23"][..];
    let limits = [MemoryLimits::none(), MemoryLimits::new(6 << 20)];
    let cases = [
        (quick.0, quick_machines, quick.1),
        (&POLICIES[..], &MACHINES[..], Some(&limits[0])),
        (&POLICIES[..], &MACHINES[..], Some(&limits[1])),
    ];
    let mut draws = SplitMix64::new(7);
    for (seed, (policies, machines, limits)) in (1..).zip(cases) {
        let whole_plan = plan(policies, machines, limits);
        let whole = replayed(seed, &whole_plan);
        for _ in 0..6 {
            let rows = some(&mut draws, policies.len());
            let columns = some(&mut draws, machines.len());
            let part = whole_plan.part(&rows, &columns).expect("a part");
            let part = replayed(seed, &part);
            assert_eq!(part.trace, whole.trace);
            let places = rows.iter().flat_map(|row| {
                let places = columns.iter();
                places.map(move |column| row * machines.len() + column)
            });
            let places: Vec<usize> = places.collect();
            assert_eq!(part.results.len(), places.len());
            for (one, place) in part.results.iter().zip(&places) {
                let (policy, machine) = (&one.policy, &one.machine);
                assert_eq!(
                    *one, whole.results[*place],
                    "{policy} on {machine}, seed {seed}"
                );
            }
            let all: Vec<usize> = (0..places.len()).collect();
            assert_eq!(texts_on(&part.notes, &all), texts_on(&whole.notes, &places));
        }
    }
}
