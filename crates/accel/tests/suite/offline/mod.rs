//! OFFLINE compared with the oracle's greedy choice, with the cheapest choice, and with replays of
//! its choice.
//!
//! `BROADLEAF_CASES` sets the number of random streams (default: 1,000; this suite takes a tenth or
//! two).

mod bound;
mod prices;
mod ranges;

use std::ops::ControlFlow;

use crate::common::items_of;
use broadleaf_accel::run;
use broadleaf_machine::Machine;
use broadleaf_metrics::CellResult;
use broadleaf_model::{Choice, Costs, Files, MemoryLimits, Outcome, Plan};
use broadleaf_oracle::Recording;
use broadleaf_oracle::offline::{Layout, LayoutPiece as Piece, Prices, Problem};
use broadleaf_oracle::random::{Rng, loops, near};
use broadleaf_units::PageSize;

/// Cycles of a miss.
const MISS: u64 = 30;

fn cases() -> u64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "how much a test does is the tester's to say"
    )]
    let asked = std::env::var("BROADLEAF_CASES");
    let all: u64 = (asked.ok())
        .and_then(|text| text.parse().ok())
        .unwrap_or(1000);
    all.div_ceil(10)
}

/// A fully associative TLB of `entries` entries for base pages and pages of these orders.
pub(crate) fn machine(entries: usize, orders: &[u32]) -> Machine {
    let names = || {
        std::iter::once(&0).chain(orders).map(|order| {
            let size = PageSize::from_shift(12 + *order as u8).expect("a size");
            size.short_name().to_string()
        })
    };
    let index: Vec<String> = names().map(|name| format!("{name} = \"none\"")).collect();
    let walks: Vec<String> = names().map(|name| format!("{name} = {MISS}\n")).collect();
    let text = format!(
        "name = \"small\"\nsummary = \"a test's\"\nexplanation = \"\"\nsource = \"a test\"\n\
         [[tlb]]\nname = \"dtb\"\nlevel = 1\nentries = {entries}\nways = {entries}\n\
         replacement = \"lru\"\nindex = {{ {} }}\n\
         [walk-cycles]\n{}",
        index.join(", "),
        walks.concat()
    );
    Machine::from_toml(&text).expect("a machine")
}

/// Replays a recording on one machine. Copying and zeroing a KiB takes `kib` cycles.
fn replay(recording: &Recording, policies: &[&str], on: Machine, kib: u64) -> Outcome {
    replay_on(recording, policies, vec![on], kib, |plan| plan)
}

pub(crate) fn replay_on(
    recording: &Recording,
    policies: &[&str],
    on: Vec<Machine>,
    kib: u64,
    more: impl FnOnce(Plan) -> Plan,
) -> Outcome {
    let mut items = items_of(recording).in_parts_of(1 + recording.items.len() % 7);
    let limits = MemoryLimits {
        files: Files::InMemory,
        costs: Costs {
            copy_kib: kib,
            zero_kib: kib,
            promotion: 0,
            ..Costs::default()
        },
        ..MemoryLimits::none()
    };
    let policies = (policies.iter()).map(|name| broadleaf_policy::parse(name).expect("a policy"));
    let plan = more(Plan::within(policies.collect(), on, limits).expect("a plan"));
    run(&mut items, &plan, &mut |_| ControlFlow::Continue(())).expect("a replay")
}

/// The prices of superpages of these orders, if copying a KiB takes `kib` cycles.
fn prices(orders: &[u32], kib: u64) -> Prices {
    Prices {
        miss: MISS,
        superpages: (orders.iter())
            .map(|order| (*order, (4 << order) * kib))
            .collect(),
    }
}

fn tlb_cycles(result: &CellResult) -> u64 {
    let memory = result.memory.as_ref().expect("memory down to the frame");
    result.walk_cycles + memory.bookkeeping_cycles + memory.promotion_cycles
}

fn all_cycles(result: &CellResult) -> u64 {
    let memory = result.memory.as_ref().expect("memory down to the frame");
    result.walk_cycles + memory.bookkeeping_cycles + memory.fault_cycles + memory.daemon_cycles
}

fn layout(choice: &Choice) -> Layout {
    let pieces = choice.pieces.iter().map(|piece| Piece {
        order: u32::from(piece.size.shift() - 12),
        space: piece.space.0,
        first: piece.address >> 12,
    });
    Layout::of(pieces).expect("pieces that do not overlap")
}

/// Some orders of superpages, and what a KiB of them costs.
fn some_prices(rng: &mut Rng) -> (Vec<u32>, u64) {
    let mut orders: Vec<u32> = (1..=4).filter(|_| rng.one_in(2)).collect();
    if orders.is_empty() {
        orders.push(2);
    }
    (orders, rng.pick(&[2, 7, 15, 41]))
}

#[test]
fn chosen_one_by_one_it_is_what_the_oracle_chooses() {
    let mut chosen = 0;
    for seed in 0..cases() {
        let mut rng = Rng::new(seed);
        let (orders, kib) = some_prices(&mut rng);
        let entries = 2 + rng.below(6) as usize;
        let length = 40 + rng.below(300) as usize;
        let spaces = 1 + rng.below(2) as u32;
        let stream = loops(&mut rng, spaces, 20, length);
        let prices = prices(&orders, kib);
        let problem = Problem {
            stream: &stream,
            entries,
            prices: &prices,
            may: &|_| true,
        };
        let expected = problem.greedy();
        let recording = stream.recording(*orders.last().expect("an order"));
        // Each policy runs alone: compared policies may replay each other's promotions.
        let [one, many] = ["offline(step=one)", "offline"]
            .map(|policy| replay(&recording, &[policy], machine(entries, &orders), kib));
        assert_eq!(layout(&one.choices[0]), expected.layout, "seed {seed}");
        let cost = u128::from(tlb_cycles(&one.results[0]));
        assert_eq!(cost, expected.cost, "seed {seed}");
        chosen += one.choices[0].pieces.len();
        // The expected cycles are those of the replay.
        for outcome in [&one, &many] {
            let choice = &outcome.choices[0];
            assert_eq!(
                choice.cycles,
                tlb_cycles(&outcome.results[0]),
                "seed {seed}"
            );
            assert!(choice.cycles <= choice.cycles_without);
        }
        let many = &many.choices[0];
        // Each piece by itself spares as much as it would have spared.
        for piece in &many.pieces {
            let alone = Layout::of([Piece {
                order: u32::from(piece.size.shift() - 12),
                space: piece.space.0,
                first: piece.address >> 12,
            }]);
            let misses =
                |layout: &Layout| broadleaf_oracle::offline::misses(&stream, entries, layout);
            let spared = misses(&Layout::default()) - misses(&alone.expect("one piece"));
            assert_eq!(piece.walks_spared, spared, "seed {seed}");
        }
    }
    assert!(chosen as u64 > cases(), "{chosen}");
}

/// The cost relative to the cheapest choice, and its frequency.
#[test]
fn it_is_near_the_cheapest() {
    let (mut all, mut best, mut excess) = (0, 0, 0.0);
    for seed in 0..cases() {
        let mut rng = Rng::new(seed);
        let (orders, kib) = some_prices(&mut rng);
        let entries = 2 + rng.below(5) as usize;
        let stream = loops(&mut rng, 1, 16, 120);
        let prices = prices(&orders, kib);
        let problem = Problem {
            stream: &stream,
            entries,
            prices: &prices,
            may: &|_| true,
        };
        let Some(optimum) = problem.optimum(1 << 16) else {
            continue;
        };
        let recording = stream.recording(*orders.last().expect("an order"));
        let outcome = replay(&recording, &["offline"], machine(entries, &orders), kib);
        let cost = u128::from(tlb_cycles(&outcome.results[0]));
        assert!(cost >= optimum.cost, "seed {seed}");
        all += 1;
        best += u64::from(cost == optimum.cost);
        excess += cost as f64 / optimum.cost as f64 - 1.0;
    }
    assert!(all > cases() / 2 && best * 10 > all * 8, "{best} of {all}");
    assert!(excess < 0.02 * all as f64, "{excess} in {all}");
}

/// On traces that map, unmap, protect and move, the expected cost is an estimate. It is close, and
/// no policy is worse with foresight than without superpages.
#[test]
fn it_never_does_worse_than_none() {
    let (mut near_ones, mut all) = (0, 0);
    for seed in 0..cases().div_ceil(2) {
        let mut rng = Rng::new(seed);
        let (orders, kib) = some_prices(&mut rng);
        let entries = 1 + rng.pick(&[0, 1, 2, 5, 17, 40]);
        let steps = rng.pick(&[20, 80, 200, 500]);
        let recording = near(rng.next(), steps);
        let policies = ["4k", "offline", "offline(cycles=all)", "offline(step=one)"];
        let outcome = replay(&recording, &policies, machine(entries, &orders), kib);
        let results = &outcome.results;
        assert!(
            tlb_cycles(&results[1]) <= tlb_cycles(&results[0]),
            "seed {seed}"
        );
        assert!(
            tlb_cycles(&results[3]) <= tlb_cycles(&results[0]),
            "seed {seed}"
        );
        assert!(
            all_cycles(&results[2]) <= all_cycles(&results[0]),
            "seed {seed}"
        );
        assert_eq!(
            outcome.choices[0].cycles_without,
            tlb_cycles(&results[0]),
            "seed {seed}"
        );
        // Distances are from the first that has foresight.
        let best = tlb_cycles(&results[1]) as f64;
        for result in results.iter().filter(|_| best > 0.0) {
            let memory = result.memory.as_ref().expect("memory down to the frame");
            let times = tlb_cycles(result) as f64 / best;
            assert_eq!(memory.times_offline, Some(times), "seed {seed}");
        }
        let expected = outcome.choices[0].cycles as f64;
        all += 1;
        near_ones +=
            u64::from((tlb_cycles(&results[1]) as f64 / expected.max(1.0) - 1.0).abs() < 0.1);
    }
    assert!(near_ones * 10 >= all * 8, "{near_ones} of {all}");
}

/// Without superpages to choose from, the expected cost is that of base pages, and no policy is
/// followed.
#[test]
fn with_one_size_there_is_nothing_to_choose() {
    for seed in 0..10 {
        let mut rng = Rng::new(seed);
        let stream = loops(&mut rng, 2, 20, 200);
        let policies = ["4k", "offline(sizes=none)"];
        let outcome = replay(&stream.recording(2), &policies, machine(4, &[2]), 7);
        let choice = &outcome.choices[0];
        let walks = tlb_cycles(&outcome.results[0]);
        assert!(choice.pieces.is_empty() && choice.trials == 0);
        assert_eq!((choice.cycles, choice.cycles_without), (walks, walks));
    }
}

/// Each policy on each machine gets its own choice and its own result, whichever policy it follows.
#[test]
fn together_they_are_what_each_is_alone() {
    let mut differ = 0;
    for seed in 0..cases().div_ceil(2) {
        let mut rng = Rng::new(seed);
        let (orders, kib) = some_prices(&mut rng);
        let recording = near(rng.next(), 120);
        let policies = ["offline", "approx-online", "offline(cycles=all)"];
        // The larger TLB may need no superpages: the smaller one has a choice of its own all the
        // same.
        let sizes = if seed % 2 == 0 { [4, 9] } else { [64, 4] };
        let machines = sizes.map(|entries| {
            let mut machine = machine(entries, &orders);
            machine.name = format!("of-{entries}");
            machine
        });
        let together = replay_on(&recording, &policies, machines.to_vec(), kib, |plan| plan);
        let mut choices = Vec::new();
        let pairs =
            (policies.iter()).flat_map(|policy| machines.iter().map(move |on| (policy, on)));
        for ((policy, on), result) in pairs.zip(&together.results) {
            let alone = replay(&recording, &[policy], on.clone(), kib);
            assert_eq!(
                (&result.policy, &result.machine),
                (&alone.results[0].policy, &on.name)
            );
            // A policy with foresight may make the promotions of another one that it is compared
            // with, and is better for it.
            let (cycles, follows): (fn(&CellResult) -> u64, bool) = match *policy {
                "offline" => (tlb_cycles, true),
                "offline(cycles=all)" => (all_cycles, true),
                _ => (all_cycles, false),
            };
            let [together, alone_cycles] = [result, &alone.results[0]].map(cycles);
            assert!(together <= alone_cycles, "seed {seed}");
            assert!(follows || together == alone_cycles, "seed {seed}");
            choices.extend(alone.choices);
        }
        assert_eq!(together.choices, choices, "seed {seed}");
        differ += u64::from(choices[0].pieces != choices[3].pieces);
    }
    assert!(differ > 0);
}
