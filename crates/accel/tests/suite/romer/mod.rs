//! Romer 1995, compared with the oracle: policies that see TLB misses, their charges, their
//! promotions and their costs.
//!
//! `BROADLEAF_CASES` sets the number of random traces (default: 1,000; this suite takes four in
//! ten).

mod sides;

use std::collections::{BTreeMap, BTreeSet};

use broadleaf_oracle::random::{Rng, near, thin};
use broadleaf_oracle::{OwnedItem, Recording, RomerMachine, RomerPolicy};
use broadleaf_trace::{Event, Grain, Visit};
use sides::{SideCounts, engine, name, oracle, replayed};

fn cases() -> u64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "how much a test does is the tester's to say"
    )]
    let asked = std::env::var("BROADLEAF_CASES");
    let all: u64 = asked
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1000);
    (all * 4).div_ceil(10)
}

/// A machine with two to eight entries and one to five sizes beside the base page.
fn some_machine(rng: &mut Rng) -> RomerMachine {
    let mut sizes = vec![1];
    for order in 1..=6 {
        if rng.one_in(2) {
            sizes.push(1 << order);
        }
    }
    if sizes.len() == 1 {
        sizes.push(rng.pick(&[2, 4, 16]));
    }
    let mut machine = RomerMachine::of_paper(2 + rng.below(7) as usize, &sizes);
    // So cheap that a few misses are worth a promotion; often not in whole numbers.
    machine.copy_per_kib = rng.pick(&[7, 30, 41, 100]);
    if rng.one_in(4) {
        machine
            .sizes
            .iter_mut()
            .for_each(|(_, cycles)| *cycles = 20 + rng.below(30));
    }
    machine
}

fn some_policies(rng: &mut Rng, of: &RomerMachine) -> Vec<RomerPolicy> {
    let larger: Vec<u64> = of.sizes[1..].iter().map(|&(pages, _)| pages).collect();
    let one = rng.pick(&larger);
    let idle = |rng: &mut Rng| rng.pick(&[0, 0, 0, 300, 800]);
    vec![
        RomerPolicy::Fixed(one),
        RomerPolicy::Asap {
            sizes: larger,
            percent: 100,
        },
        RomerPolicy::Asap {
            sizes: vec![one],
            percent: 50,
        },
        RomerPolicy::ApproxOnline {
            prefetch: 125,
            idle_below: idle(rng),
        },
        RomerPolicy::ApproxOnline {
            prefetch: 1 + rng.below(1500),
            idle_below: idle(rng),
        },
        RomerPolicy::Online {
            prefetch: 125,
            capacity: 625,
            idle_below: idle(rng),
        },
        RomerPolicy::Online {
            prefetch: 1 + rng.below(1500),
            capacity: 1 + rng.below(1000),
            idle_below: idle(rng),
        },
        RomerPolicy::Online {
            prefetch: 1_000_000,
            capacity: 1 + rng.below(600),
            idle_below: 0,
        },
    ]
}

/// The recording without what is not needed for `fails` to hold of it.
fn small(recording: &Recording, fails: impl Fn(&Recording) -> bool) -> Recording {
    let mut least = recording.clone();
    let mut part = least.items.len().div_ceil(2);
    while part > 0 {
        let mut start = 0;
        while start < least.items.len() {
            let end = (start + part).min(least.items.len());
            let mut without = least.clone();
            without.items.drain(start..end);
            if fails(&without) {
                least = without;
            } else {
                start = end;
            }
        }
        part /= 2;
    }
    thin(&least, fails)
}

/// Panics with a small trace on which the two differ. The message has both results.
fn compare(
    seed: u64,
    recording: &Recording,
    policy: &RomerPolicy,
    of: &RomerMachine,
) -> SideCounts {
    let differs =
        |recording: &Recording| engine(recording, policy, of) != oracle(recording, policy, of);
    let counted = engine(recording, policy, of);
    if counted == oracle(recording, policy, of) {
        return counted;
    }
    let least = small(recording, differs);
    let (engine, oracle) = (engine(&least, policy, of), oracle(&least, policy, of));
    let (left, right) = (engine.figures, oracle.figures);
    let names: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
    let lines: Vec<String> = names
        .into_iter()
        .map(|name| {
            (
                name,
                left.get(name).unwrap_or(&0),
                right.get(name).unwrap_or(&0),
            )
        })
        .filter(|(_, left, right)| left != right)
        .map(|(name, left, right)| format!("  {name}: {left} against {right}"))
        .collect();
    panic!(
        "seed {seed}, {} on {of:?}:\n{}\n  TLBMCPI: {:?} against {:?}\n{:x?}",
        name(policy),
        lines.join("\n"),
        engine.tlbmcpi,
        oracle.tlbmcpi,
        least.items
    );
}

#[test]
fn every_figure_equals_the_oracles() {
    let mut sums: BTreeMap<(usize, String), u64> = BTreeMap::new();
    let mut measured = 0;
    for seed in 0..cases() {
        let mut rng = Rng::new(seed);
        let of = some_machine(&mut rng);
        let steps = rng.pick(&[10, 40, 120]);
        let recording = near(rng.next(), steps);
        for (at, policy) in some_policies(&mut rng, &of).iter().enumerate() {
            let counted = compare(seed, &recording, policy, &of);
            measured += u64::from(counted.tlbmcpi.is_some());
            for (name, count) in counted.figures {
                *sums.entry((at, name)).or_default() += count;
            }
        }
    }
    // Each policy did what it is there for, once a trace and more; and superpages were broken.
    let sum = |at: usize, name: &str| sums.get(&(at, name.to_owned())).copied().unwrap_or(0);
    for at in (0..8).filter(|_| cases() >= 100) {
        let (promoted, broken) = (sum(at, "promotions"), sum(at, "demotions"));
        assert!(
            promoted > cases() && broken > cases() / 8,
            "{at}: {promoted}, {broken}"
        );
        // Pages that are large from the first fault cost nothing; all others do.
        assert_eq!(sum(at, "copy_cycles") == 0, at == 0, "{at}");
    }
    assert!(measured > cases() || cases() < 100, "{measured} measured");
}

/// With reserved memory no promotion copies, and everything else is equal: the translations of a
/// promoted piece leave the TLB all the same.
#[test]
fn reserving_changes_nothing_but_the_price() {
    for seed in 0..cases() / 4 {
        let mut rng = Rng::new(seed + 1_000_000);
        let of = some_machine(&mut rng);
        let mut recording = near(rng.next(), 40);
        // Without mappings, and pages that go, every piece can be reserved.
        recording.items.retain(|item| {
            matches!(
                item,
                OwnedItem::Visits(_) | OwnedItem::Event(Event::SpaceSwitch(_))
            )
        });
        for policy in [
            "approx-online(prefetch=60",
            "online(prefetch=300,capacity=100",
        ] {
            let by = |how: &str| {
                let mut counted = replayed(&recording, &format!("{policy},by={how})"), &of);
                let price = counted.figures.remove("copy_cycles");
                let parts = counted.tlbmcpi.take();
                let others = parts.map(|[miss, bookkeeping, _]| [miss, bookkeeping]);
                (counted.figures, others, price, parts)
            };
            let (reserving, copying) = (by("reserving"), by("copying"));
            let but_the_price = (&reserving.0, reserving.1);
            assert_eq!(
                but_the_price,
                (&copying.0, copying.1),
                "seed {seed}, {policy}"
            );
            let copied = reserving.3.map_or(0.0, |[_, _, copied]| copied);
            assert_eq!((reserving.2, copied), (None, 0.0));
        }
    }
}

/// Pages of the base size are what there is without superpages.
#[test]
fn fixed_at_the_base_page_is_no_policy_at_all() {
    for seed in 0..cases() / 10 {
        let mut rng = Rng::new(seed + 2_000_000);
        let of = some_machine(&mut rng);
        let recording = near(rng.next(), 40);
        let [fixed, base] = ["fixed-4k", "4k"].map(|name| replayed(&recording, name, &of));
        assert_eq!(fixed, base, "seed {seed}");
    }
}

/// Charges of pieces larger than 64 KiB can be put off, and promotions of them then come later. By
/// how much is tested where they are counted.
#[test]
fn charges_can_be_put_off() {
    let (mut later, mut seen) = (0, 0);
    for seed in 0..cases() / 8 {
        let mut rng = Rng::new(seed + 2_000_000);
        let mut of = RomerMachine::of_paper(4, &[1, 2, 16, 64]);
        of.copy_per_kib = rng.pick(&[1, 2, 5]);
        let recording = near(rng.next(), 120);
        let put_off = |deferral: u64| {
            let policy = format!("approx-online(prefetch=400,deferral={deferral})");
            replayed(&recording, &policy, &of)
        };
        let exact = put_off(0);
        assert_eq!(put_off(1), exact, "seed {seed}");
        seen += 1;
        later += u64::from(put_off(1000) != exact);
    }
    assert!(later * 10 > seen, "{later} of {seen}");
}

/// Figure 2 of the paper from end to end: three entries, pages 8, 1, 7, 6, 5 and 0, and then 1. The
/// policy is idle until the last miss, and promotes the piece that this miss is charged to. The
/// number of resident pages then identifies the piece.
#[test]
fn figure_two() {
    let load = |page: u64| Visit {
        unit: page,
        loads: 1,
        loads_before_store: 1,
        instructions: if page == 8 { 1000 } else { 0 },
        ..Visit::default()
    };
    let recording = |pages: &[u64]| Recording {
        grain: Grain::Page,
        items: vec![OwnedItem::Visits(pages.iter().copied().map(load).collect())],
    };
    let (any, never) = (1, 1_000_000);
    let resident = |sizes: &[u64], prefetch: u64, capacity: u64| {
        let of = RomerMachine {
            copy_per_kib: 7,
            ..RomerMachine::of_paper(3, sizes)
        };
        // Six misses take 180 cycles, and seven 210.
        let policy = RomerPolicy::Online {
            prefetch,
            capacity,
            idle_below: 200,
        };
        let six = engine(&recording(&[8, 1, 7, 6, 5, 0]), &policy, &of);
        let six = six.figures;
        assert_eq!((six["misses"], six.get("promotions")), (6, None));
        let seven = recording(&[8, 1, 7, 6, 5, 0, 1]);
        let counted = engine(&seven, &policy, &of);
        assert_eq!(counted, oracle(&seven, &policy, &of));
        let figures = counted.figures;
        assert_eq!(
            (figures["misses"], figures["bookkeeping_cycles"]),
            (7, 2570)
        );
        let promotions = figures.get("promotions").copied().unwrap_or(0);
        // 1000 instructions.
        let copied = figures.get("copy_cycles").copied().unwrap_or(0);
        let parts = [0.21, 2.57, copied as f64 / 1000.0];
        assert_eq!(counted.tlbmcpi, Some(parts));
        (promotions, figures["resident_pages"])
    };
    // {0,1}, {0..3}, {0..7} and {0..15} are charged for prefetching; of all pieces {4..7} alone is
    // for capacity.
    assert_eq!(resident(&[1, 2], any, never), (1, 6));
    assert_eq!(resident(&[1, 4], any, never), (1, 8));
    assert_eq!(resident(&[1, 8], any, never), (1, 9));
    assert_eq!(resident(&[1, 16], any, never), (1, 16));
    for sizes in [&[1, 2][..], &[1, 8], &[1, 16]] {
        assert_eq!(resident(sizes, never, any), (0, 6));
    }
    assert_eq!(resident(&[1, 4], never, any), (1, 7));
    assert_eq!(resident(&[1, 2, 4, 8, 16], never, any), (1, 7));
    // The smallest of a chain takes the charges of the larger ones with it.
    assert_eq!(resident(&[1, 2, 4, 8, 16], any, never), (1, 6));
    assert_eq!(resident(&[1, 2, 4, 8, 16], any, any), (1, 6));
}
