//! OFFLINE is a bound: it is never worse than a policy that it is compared with, and its time does
//! not explode where the program gives pages back.

use super::{all_cycles, cases, machine, replay, some_prices, tlb_cycles};
use broadleaf_metrics::CellResult;
use broadleaf_model::{Outcome, ReplayNote};
use broadleaf_oracle::offline::ReferenceStream as Stream;
use broadleaf_oracle::random::{Rng, Script, near};
use broadleaf_oracle::{OwnedItem, Recording};
use broadleaf_trace::{Advice, Event, Range, Visit};
use broadleaf_units::{Rights, VirtAddr};

/// The policies of the catalogue, but for those with foresight and those that only differ by a
/// number. The machines of these tests translate no scattered superpages.
fn policies() -> Vec<&'static str> {
    let all = broadleaf_policy::catalogue().iter();
    let first = all.flat_map(|entry| entry.examples.iter().take(2).copied());
    let scatters = |name: &&str| {
        let policy = broadleaf_policy::parse(name).expect("a policy");
        policy.needs().colours.is_some_and(|rule| rule.scatters)
    };
    first
        .filter(|name| !name.starts_with("offline") && !scatters(name))
        .collect()
}

fn notes_of_bound(outcome: &Outcome) -> bool {
    let mut notes = outcome.notes.iter();
    notes.any(|note| note.text.contains("is no bound here"))
}

fn assert_bound(outcome: &Outcome, cycles: fn(&CellResult) -> u64, seed: u64) {
    let (offline, others) = outcome.results.split_last().expect("results");
    for other in others {
        assert!(
            cycles(offline) <= cycles(other),
            "seed {seed}: {} takes {} cycles, {} takes {}",
            offline.policy,
            cycles(offline),
            other.policy,
            cycles(other)
        );
    }
    assert!(!notes_of_bound(outcome), "seed {seed}");
}

/// On traces that map, unmap, protect and move, no policy of the catalogue takes fewer cycles.
#[test]
fn it_is_never_worse_than_a_policy_compared() {
    let policies = policies();
    let mut followed = 0;
    for seed in 0..cases().div_ceil(5) {
        let mut rng = Rng::new(seed);
        let (mut orders, kib) = some_prices(&mut rng);
        orders.push(9);
        let entries = 1 + rng.pick(&[0, 1, 2, 5, 17]);
        let steps = rng.pick(&[80, 200, 500]);
        // Every fifth trace has blocks of 2 MiB, and processes that are copies of others.
        let recording = match seed % 5 {
            4 => Script::from_seed(rng.next()).recording(),
            _ => near(rng.next(), steps),
        };
        for (offline, cycles) in [
            ("offline", tlb_cycles as fn(&CellResult) -> u64),
            ("offline(cycles=all)", all_cycles),
        ] {
            let compared = [&policies[..], &[offline]].concat();
            let outcome = replay(&recording, &compared, machine(entries, &orders), kib);
            assert_bound(&outcome, cycles, seed);
            let makes = |note: &&ReplayNote| note.text.contains("makes the promotions of");
            followed += outcome.notes.iter().filter(makes).count();
        }
    }
    assert!(followed > 0);
}

const PAGES: u64 = 64;

fn load(page: u64) -> Visit {
    Visit {
        unit: page,
        loads: 1,
        loads_before_store: 1,
        instructions: 1,
        ..Visit::default()
    }
}

/// A table of which one page after the other is given back and used again, and which is then used
/// at random for long.
fn given_back(breaks: u64, references: usize, advice: Option<Advice>) -> Recording {
    let all: Vec<(u32, u64)> = (0..PAGES).map(|page| (0, page)).collect();
    let mut recording = Stream(all).recording(6);
    for round in 0..breaks {
        let page = round * 37 % PAGES;
        if let Some(advice) = advice {
            let range = Range {
                start: VirtAddr(page << 12),
                len: 4096,
            };
            recording
                .items
                .push(OwnedItem::Event(Event::Advise(range, advice)));
        }
        recording.items.push(OwnedItem::Visits(vec![load(page)]));
    }
    let mut rng = Rng::new(3);
    let visits = (0..references).map(|_| load(rng.below(PAGES))).collect();
    recording.items.push(OwnedItem::Visits(visits));
    recording
}

/// A piece that is broken again and again is promoted late, once.
#[test]
fn a_promotion_begins_late_where_breaks_come_first() {
    let recording = given_back(40, 20_000, Some(Advice::DontNeed));
    let on = machine(8, &[1, 2, 3, 4, 5, 6]);
    let outcome = replay(&recording, &["4k", "offline"], on, 15);
    let choice = &outcome.choices[0];
    let promotions: u64 = choice.pieces.iter().map(|piece| piece.promotions).sum();
    assert!(
        (1..=4).contains(&promotions),
        "{promotions}: {:?}",
        choice.pieces
    );
    let [base, offline] = [0, 1].map(|at| tlb_cycles(&outcome.results[at]));
    // The whole table is copied about once.
    let copy = PAGES * 4 * 15;
    assert!(
        offline < 3 * copy && offline * 10 < base,
        "{offline} {base}"
    );
    assert_eq!(choice.cycles, offline);
}

/// Changing the rights of a page and restoring them causes no fault, but the next miss is a chance.
#[test]
fn a_promotion_begins_at_a_miss_where_nothing_faults() {
    let mut recording = given_back(0, 0, None);
    let rights = |write| Rights {
        read: true,
        write,
        execute: false,
    };
    let range = Range {
        start: VirtAddr(5 << 12),
        len: 4096,
    };
    for write in [false, true] {
        let event = Event::Protect(range, rights(write));
        recording.items.push(OwnedItem::Event(event));
    }
    recording
        .items
        .extend(given_back(0, 20_000, None).items.split_off(2));
    let outcome = replay(&recording, &["4k", "offline"], machine(8, &[1, 3, 6]), 15);
    let [base, offline] = [0, 1].map(|at| tlb_cycles(&outcome.results[at]));
    assert!(offline * 5 < base, "{offline} {base}");
}

/// The number of trials, in which OFFLINE spends its time, does not grow with the number of breaks.
#[test]
fn breaks_take_few_trials() {
    let trials = |breaks, advice| {
        let recording = given_back(breaks, 5000, advice);
        let on = machine(8, &[1, 2, 3, 4, 5, 6]);
        let outcome = replay(&recording, &["offline"], on, 15);
        outcome.choices[0].trials
    };
    let none = trials(0, None);
    for breaks in [100, 1000] {
        let some = trials(breaks, Some(Advice::DontNeed));
        assert!(
            some <= 2 * none,
            "{some} trials with {breaks} breaks, {none} without"
        );
    }
}

/// Three hot pairs and cold pages that together exceed the TLB by three entries. A superpage spares
/// misses only together with the two others.
#[test]
fn pieces_that_gain_only_together_are_found() {
    let hot: Vec<u64> = (0..3).flat_map(|pair| [pair * 64, pair * 64 + 1]).collect();
    let mut stream = Vec::new();
    for _ in 0..100 {
        for cold in 0..5 {
            stream.push((0, (10 + cold) * 64 + 5));
            stream.extend(hot.iter().map(|page| (0, *page)));
        }
    }
    let recording = Stream(stream).recording(2);
    let policies = ["4k", "asap", "offline"];
    let outcome = replay(&recording, &policies, machine(8, &[1, 2]), 15);
    let [base, asap, offline] = [0, 1, 2].map(|at| tlb_cycles(&outcome.results[at]));
    assert!(
        offline <= asap && offline * 2 < base,
        "{offline} {asap} {base}"
    );
    let own = outcome.choices[0].cycles;
    assert!(own <= asap, "by its own choice: {own}");
}
