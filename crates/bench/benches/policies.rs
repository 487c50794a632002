//! Benchmarks of the policies alone: decisions on views of faults and first stores.

use broadleaf_policy::{Point, Policy, Verdict, View, catalogue, examples, parse};
use broadleaf_trace::synth::SplitMix64;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const VIEWS: usize = 4096;

/// Returns views of reserved, covered, writable, anonymous blocks with any population. The policy
/// is asked at each view, after a fault or a first store.
fn views() -> Vec<(Point, View)> {
    let mut random = SplitMix64::new(1);
    let one = |_| {
        let populated = 1 + random.below(512) as u32;
        let view = View {
            populated,
            dirty: random.below(u64::from(populated) + 1) as u32,
            reservation_age: Some(random.below(2_000_000_000)),
            foreseen: random.below(2) == 1,
            ..View::BLANK
        };
        let point = if random.below(2) == 1 {
            Point::Fault
        } else {
            Point::FirstStore
        };
        (point, view)
    };
    (0..VIEWS).map(one).collect()
}

/// Returns the number of promotions of a policy.
fn decide(policy: &dyn Policy, views: &[(Point, View)]) -> usize {
    let promotes = |(point, view): &&(Point, View)| policy.decide(*point, view) == Verdict::Promote;
    views.iter().filter(promotes).count()
}

/// Returns the number of promotions by the policy's definition. Returns `None` for a definition of
/// more than a line.
fn defined(name: &str, views: &[(Point, View)]) -> Option<usize> {
    let (family, number) = name.split_once('-').unwrap_or((name, ""));
    let number = number.parse::<f64>().unwrap_or_default();
    let promotes = |view: &View| -> Option<bool> {
        Some(match family {
            "4k" => false,
            "greedy" => true,
            "foresight" => view.foreseen,
            "pop" => f64::from(view.populated) >= number,
            "dirty" => f64::from(view.dirty) >= number,
            "life" => view.reservation_age? as f64 >= number,
            "freebsd" => view.populated == 512 && (view.dirty == 0 || view.dirty == 512),
            _ => return None,
        })
    };
    let all: Option<Vec<bool>> = views.iter().map(|(_, view)| promotes(view)).collect();
    Some(all?.into_iter().filter(|promotes| *promotes).count())
}

fn policies(criterion: &mut Criterion) {
    let views = views();
    let mut known = 0;
    for policy in examples().expect("the catalogue knows its examples") {
        if let Some(right) = defined(&policy.name(), &views) {
            let found = decide(policy.as_ref(), &views);
            assert_eq!(found, right, "{}", policy.name());
            known += 1;
        }
    }
    assert_eq!(known, 18, "each policy of Zhu 2018 has a definition here");
    let mut group = criterion.benchmark_group("policies");
    group.throughput(Throughput::Elements(VIEWS as u64));
    // The members of a family differ only in a number, and take the same time.
    for example in catalogue()
        .iter()
        .filter_map(|entry| entry.examples.first())
    {
        let policy = parse(example).expect("the catalogue knows its examples");
        group.bench_function(*example, |bencher| {
            bencher.iter(|| decide(policy.as_ref(), &views));
        });
    }
    group.finish();
}

criterion_group!(benches, policies);
criterion_main!(benches);
