//! Benchmarks of whole replays on a machine with TLBs and three levels of caches: line visits a
//! second, with one policy and one thread.

use broadleaf_accel::run;
use broadleaf_bench::caches::three_levels;
use broadleaf_model::{Items, Plan};
use broadleaf_trace::{Grain, Visit, synth};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use std::ops::ControlFlow;

const VISITS: u64 = 1 << 21;

fn lines(visits: impl Iterator<Item = Visit>) -> Items {
    let mut items = Items::new(Grain::Line);
    let instructed = visits.map(|visit| Visit {
        instructions: 4,
        ..visit
    });
    let visits: Vec<Visit> = instructed.collect();
    for visits in visits.chunks(1 << 14) {
        items.visits(visits.iter().copied());
    }
    items
}

/// Replays the lines. Returns the misses of the levels.
fn replay(mut items: Items, plan: &Plan) -> Vec<u64> {
    let outcome = run(&mut items, plan, &mut |_| ControlFlow::Continue(()));
    let result = outcome.expect("a replay").results.remove(0);
    let levels = result.caches.expect("caches").levels;
    levels.iter().map(|level| level.misses[0]).collect()
}

fn caches(criterion: &mut Criterion) {
    // The cases fit into the first level, the second, the third and none. A sweep misses each line
    // once, and Zipf's law has something of all.
    let cases = [
        ("first level", lines(synth::updates(0, 1 << 8, VISITS, 1))),
        ("second level", lines(synth::updates(0, 1 << 11, VISITS, 1))),
        ("third level", lines(synth::updates(0, 1 << 16, VISITS, 1))),
        ("memory", lines(synth::updates(0, 1 << 20, VISITS, 1))),
        (
            "sweep",
            lines(synth::sequential(0, 1 << 18, 8, VISITS >> 18)),
        ),
        ("zipf", lines(synth::zipf(0, 1 << 18, VISITS, 1))),
    ];
    let policy = broadleaf_policy::parse("4k").expect("a policy");
    let plan = Plan::new(vec![policy], vec![three_levels().expect("a machine")]).expect("a plan");
    let mut group = criterion.benchmark_group("caches");
    group
        .throughput(Throughput::Elements(VISITS))
        .sample_size(10);
    for (name, items) in cases {
        let misses = replay(items.clone(), &plan);
        assert!(
            misses.is_sorted_by(|above, below| above >= below),
            "{name}: {misses:?}"
        );
        group.bench_function(name, |bencher| {
            let copy = || items.clone();
            bencher.iter_batched(copy, |items| replay(items, &plan), BatchSize::LargeInput);
        });
    }
    group.finish();
}

criterion_group!(benches, caches);
criterion_main!(benches);
