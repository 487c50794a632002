//! The search against plain enumeration of all layouts.

use broadleaf_oracle::offline::{Layout, LayoutPiece, Problem};
use broadleaf_oracle::random::Rng;

use super::{Case, anything};

/// The least cost of all layouts of pieces that `may` be superpages.
fn least(case: &Case, may: &dyn Fn(LayoutPiece) -> bool) -> u128 {
    let layouts = case.layouts().into_iter();
    let allowed = layouts.filter(|layout| layout.pieces().all(may));
    let costs = allowed.map(|layout| case.problem().cost(&layout));
    costs.min().expect("at least one layout")
}

#[test]
fn the_optimum_is_the_least_of_all_layouts() {
    let (mut with_superpages, mut restricted) = (0, 0);
    for seed in 0..150 {
        let mut rng = Rng::new(seed);
        let case = Case::random(&mut rng, 60);
        let salt = rng.next();
        let some = move |piece: LayoutPiece| {
            let place = u64::from(piece.order) << 40 | u64::from(piece.space) << 32 | piece.first;
            !Rng::new(salt ^ place).one_in(3)
        };
        let mut costs = Vec::new();
        for may in [&anything as &dyn Fn(LayoutPiece) -> bool, &some] {
            let problem = Problem {
                may,
                ..case.problem()
            };
            let best = problem.optimum(u64::MAX).expect("no limit");
            assert_eq!(best.cost, least(&case, may), "seed {seed}, {case:?}");
            assert_eq!(best.cost, problem.cost(&best.layout), "seed {seed}");
            assert!(best.layout.pieces().all(may), "seed {seed}");
            let greedy = problem.greedy();
            assert!(greedy.layout.pieces().all(may), "seed {seed}");
            assert_eq!(greedy.cost, problem.cost(&greedy.layout), "seed {seed}");
            assert!(
                best.cost <= greedy.cost && greedy.cost <= problem.cost(&Layout::default()),
                "seed {seed}, {case:?}"
            );
            with_superpages += u32::from(best.layout.pieces().next().is_some());
            costs.push(best.cost);
        }
        restricted += u32::from(costs[0] < costs[1]);
    }
    // The cases must not be trivial.
    assert!(
        with_superpages > 150 && restricted > 30,
        "{with_superpages}, {restricted}"
    );
}

/// A longer stream, compared with many layouts.
#[test]
fn the_optimum_is_no_dearer_than_anything() {
    for seed in 0..60 {
        let mut rng = Rng::new(1000 + seed);
        let case = Case::random(&mut rng, 300);
        let best = case.problem().optimum(u64::MAX).expect("no limit");
        let orders: Vec<u32> = case.prices.superpages.keys().copied().collect();
        for _ in 0..20 {
            let mut layout = Layout::default();
            for _ in 0..rng.below(8) {
                let space = rng.below(u64::from(case.spaces)) as u32;
                let around = LayoutPiece::around(space, rng.below(case.pages), rng.pick(&orders));
                layout = layout.with(around);
                assert!(
                    best.cost <= case.problem().cost(&layout),
                    "seed {seed}, {layout:?}"
                );
            }
        }
    }
}

#[test]
fn a_search_that_would_take_too_long_is_given_up() {
    let mut rng = Rng::new(7);
    let case = Case::random(&mut rng, 100);
    let problem = case.problem();
    let answer = problem.optimum(u64::MAX);
    let enough = (0..10_000).find(|&nodes| problem.optimum(nodes).is_some());
    let enough = enough.expect("ten thousand are enough");
    assert!(enough > 5, "{enough}");
    assert_eq!(problem.optimum(enough - 1), None);
    assert_eq!(problem.optimum(enough), answer);
}
