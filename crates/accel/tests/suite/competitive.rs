//! The competitive ratio: the cost of a promotion that waits, relative to the best choice in
//! hindsight (Romer 1995, section 6.1 and appendix B), for one candidate of two pages and a TLB of
//! one entry.
//!
//! With a miss of b cycles, bookkeeping of o, a promotion of C = R b and a threshold of t charges,
//! never by more than a factor of `max(1 + o/b + R/t, t/R + o t/C + 1)`; and who stops at the worst
//! moment comes close to it.

use std::ops::ControlFlow;

use broadleaf_accel::run;
use broadleaf_machine::Machine;
use broadleaf_model::{Costs, Items, MemoryLimits, Plan};
use broadleaf_oracle::random::Rng;
use broadleaf_trace::{Grain, Visit};

/// Cycles of a miss.
const MISS: u64 = 30;

/// The costs of misses, charges and promotions.
#[derive(Clone, Copy, Debug)]
struct Prices {
    bookkeeping: u64,
    /// For each KiB of the 8 of the candidate.
    copy: u64,
}

impl Prices {
    /// C.
    fn promotion(self) -> u64 {
        8 * self.copy
    }

    /// R.
    fn ratio(self) -> f64 {
        self.promotion() as f64 / MISS as f64
    }

    /// The bound on the ratio for a threshold of `charges` charges.
    fn bound(self, threshold: u64) -> f64 {
        let (t, o, b) = (threshold as f64, self.bookkeeping as f64, MISS as f64);
        let at_least = 1.0 + o / b + self.ratio() / t;
        let at_most = t / self.ratio() + o * t / self.promotion() as f64 + 1.0;
        at_least.max(at_most)
    }
}

fn machine() -> Machine {
    let text = format!(
        "name = \"one\"\nsummary = \"one entry\"\nexplanation = \"\"\nsource = \"a test\"\n\
         [[tlb]]\nname = \"dtb\"\nlevel = 1\nentries = 1\nways = 1\nreplacement = \"lru\"\n\
         index = {{ 4k = \"none\", 8k = \"none\" }}\n\
         [walk-cycles]\n4k = {MISS}\n8k = {MISS}\n"
    );
    Machine::from_toml(&text).expect("a machine")
}

/// The total cost of each policy, in cycles, and its number of promotions.
fn costs<const N: usize>(stream: &[u64], policies: [&str; N], prices: Prices) -> [(u64, u64); N] {
    let mut items = Items::new(Grain::Page);
    items.visits(stream.iter().map(|&page| Visit {
        unit: page,
        loads: 1,
        loads_before_store: 1,
        ..Visit::default()
    }));
    let limits = MemoryLimits {
        costs: Costs {
            copy_kib: prices.copy,
            zero_kib: prices.copy,
            promotion: 0,
            prefetch: prices.bookkeeping,
            capacity: 0,
            ..Costs::default()
        },
        ..MemoryLimits::none()
    };
    let named = policies.map(|policy| broadleaf_policy::parse(policy).expect("a policy"));
    let plan = Plan::within(named.into(), vec![machine()], limits).expect("a plan");
    let outcome = run(&mut items, &plan, &mut |_| ControlFlow::Continue(())).expect("a replay");
    let of = |at: usize| {
        let result = &outcome.results[at];
        let memory = result.memory.as_ref().expect("memory down to the frame");
        // Pages that are large from the start cost nothing: it is added where it belongs.
        (
            result.walk_cycles + memory.bookkeeping_cycles + memory.copy_cycles,
            result.promotions,
        )
    };
    std::array::from_fn(of)
}

/// The cost relative to the better of promoting at time 0 and never, and true if anything was
/// promoted.
fn factor(stream: &[u64], policy: &str, prices: Prices) -> (f64, bool) {
    let policies = [policy, "fixed-4k", "fixed-8k"];
    let [(online, promotions), (never, _), (large, _)] = costs(stream, policies, prices);
    let best = never.min(large + prices.promotion());
    assert!(promotions <= 1, "one candidate");
    (online as f64 / best as f64, promotions > 0)
}

/// The name of a policy with this limit in thousandths of R, and how many charges it takes.
fn waiting(rng: &mut Rng, prices: Prices, thousandths: u64) -> (String, u64) {
    let (limit, unit) = (thousandths * prices.promotion(), MISS * 1000);
    if rng.one_in(2) {
        (
            format!("approx-online(prefetch={thousandths})"),
            limit.div_ceil(unit).max(1),
        )
    } else {
        // It promotes above the limit.
        (
            format!("online(prefetch={thousandths},capacity=1000000)"),
            limit / unit + 1,
        )
    }
}

fn some_prices(rng: &mut Rng) -> Prices {
    Prices {
        bookkeeping: rng.pick(&[0, 7, 100]),
        copy: 100 + rng.below(400),
    }
}

#[test]
fn no_stream_is_dearer_than_the_bound() {
    let mut rng = Rng::new(83);
    let mut promoted = 0;
    for _ in 0..400 {
        let prices = some_prices(&mut rng);
        let thousandths = rng.pick(&[125, 300, 625, 1000, 1500, 3000]);
        let (policy, threshold) = waiting(&mut rng, prices, thousandths);
        let bound = prices.bound(threshold);
        // Pages 8 and 12 belong to pieces of which nothing else is used; the more of them, the
        // fewer misses can be prevented.
        let (others, length) = (rng.below(6), rng.below(4 * threshold + 8));
        let mut stream: Vec<u64> = Vec::new();
        for _ in 0..1 + length {
            stream.push(match rng.below(8) {
                kind if kind < others => rng.pick(&[8, 12]),
                // The other one of the two, mostly.
                _ if rng.one_in(5) => rng.below(2),
                _ => stream.last().map_or(0, |&page| u64::from(page == 0)),
            });
        }
        let (factor, made_it) = factor(&stream, &policy, prices);
        promoted += u64::from(made_it);
        assert!(
            factor <= bound,
            "{policy}, {prices:?}: {factor} above {bound}"
        );
    }
    assert!((100..300).contains(&promoted), "{promoted} of 400 promoted");
}

#[test]
fn who_stops_at_the_promotion_comes_close_to_the_bound() {
    let mut rng = Rng::new(84);
    for case in 0..60 {
        // Dear enough that the first miss, which prevents nothing, hardly counts.
        let copy = 1000 + rng.below(3000);
        let prices = Prices {
            copy,
            ..some_prices(&mut rng)
        };
        let thousandths = [300, 625, 1000, 1500, 3000][case % 5];
        let (policy, threshold) = waiting(&mut rng, prices, thousandths);
        let bound = prices.bound(threshold);
        // Each miss after the first is charged.
        let stream: Vec<u64> = (0..=threshold).map(|at| at % 2).collect();
        let (at_worst, made_it) = factor(&stream, &policy, prices);
        assert!(
            made_it && at_worst <= bound && at_worst > 0.97 * bound,
            "{policy}, {prices:?}: {at_worst} and {bound}"
        );
        let (before, made_it) = factor(&stream[..stream.len() - 1], &policy, prices);
        assert!(!made_it && before < at_worst);
    }
}

#[test]
fn waiting_for_the_price_is_best() {
    let prices = Prices {
        bookkeeping: 100,
        copy: 300,
    };
    let least = prices.ratio() as u64;
    assert_eq!(least, 80);
    let best = prices.bound(least);
    assert!((best - (2.0 + 100.0 / 30.0)).abs() < 1e-9);
    for threshold in (1..400).filter(|&threshold| threshold != least) {
        assert!(prices.bound(threshold) > best);
    }
}
