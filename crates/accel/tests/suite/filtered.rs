//! The filter of the frame-level model changes no figure.

use crate::common::*;
use broadleaf_accel::run;
use broadleaf_machine::Machine;
use broadleaf_metrics::CellResult;
use broadleaf_model::{MemoryLimits, Outcome, Plan, Source, SourcePart, SourcePiece};
use broadleaf_policy::{NOMINAL_RATE, Policy};
use broadleaf_trace::synth::SplitMix64;
use broadleaf_trace::{Advice, Backing, Event, Grain, Lead, Phrased, Visit};
use broadleaf_units::SpaceId;
use std::convert::Infallible;
use std::ops::ControlFlow;

/// Policies that promote at faults, at an age, with daemons, from reservations and at misses.
const POLICIES: [&str; 9] = [
    "4k",
    "greedy",
    "life-700",
    "linux",
    "ingens",
    "hawkeye",
    "navarro",
    "freebsd14",
    "approx-online",
];
/// Machines that are filtered together.
const MACHINES: [&[&str]; 4] = [
    &["skylake"],
    &["skylake", "skylake-va23", "skylake-unified-64"],
    &["skylake-1g", "neoverse-n1"],
    &["alpha21264", "skylake-unified-96"],
];
/// Machines of one set: the filter keeps their last pages.
const WINDOWS: [&[&str]; 4] = [
    &[
        "single:entries=64,replacement=lru,line=256,table=hashed",
        "complete-subblock:entries=9,replacement=lru,block=64k,preload=true",
        "complete-subblock:entries=35,replacement=lru,block=16k",
        "coalesced:entries=24,replacement=lru,block=16k,table=linear",
    ],
    &[
        "partial-subblock:entries=57,replacement=lru,block=64k,sizes=4k+64k",
        "partial-subblock:entries=12,replacement=lru,block=64k,sizes=4k+64k,preload=true,modified=page",
        "superpage:entries=14,replacement=lru,sizes=4k+64k,modified-faults=true",
    ],
    &[
        "superpage:entries=62,replacement=lru,sizes=4k+64k,table=clustered",
        "complete-subblock:entries=10,replacement=lru,block=64k,sizes=4k+64k,subblock-miss=load-page,preload=true",
        "partial-subblock:entries=11,replacement=lru,block=64k,sizes=4k+64k,check=never,rights=page",
    ],
    &[
        "partial-subblock:entries=64,replacement=lru,block=64k,preload=true,table=clustered-partial",
        "single:entries=5,replacement=lru,modified-faults=true",
    ],
];
/// Policies of 64 KiB blocks.
const BLOCK_POLICIES: [&str; 6] = [
    "4k",
    "random-frames",
    "reserve-64k",
    "foxtrot(size=64k)",
    "place",
    "working-set(size=64k)",
];
const PAGES: u64 = 5 * BLOCK;

/// A trace whose visits come one by one or by words, some at a time.
#[derive(Clone)]
pub(crate) enum Chunked {
    Visits(Vec<Visit>),
    Words(Vec<Visit>, Vec<u16>, usize),
    Event(Event),
}

/// A trace in parts, each of which is some pieces.
#[derive(Clone)]
pub(crate) struct Chunks {
    pub(crate) parts: Vec<Vec<Chunked>>,
    next: usize,
}

pub(crate) struct ChunksPart {
    pieces: Vec<Chunked>,
    /// The next piece, and how many words of it were handed out.
    at: (usize, usize),
}

impl Source for Chunks {
    type Error = Infallible;
    type Part = ChunksPart;

    fn grain(&self) -> Grain {
        Grain::Page
    }

    fn rewind(&mut self) -> Result<(), Infallible> {
        self.next = 0;
        Ok(())
    }

    fn next_part(&mut self) -> Result<Option<ChunksPart>, Infallible> {
        self.next += 1;
        let pieces = self.parts.get(self.next - 1).cloned();
        Ok(pieces.map(|pieces| ChunksPart { pieces, at: (0, 0) }))
    }

    fn close(&mut self, _: ChunksPart) -> Result<ControlFlow<()>, Infallible> {
        Ok(ControlFlow::Continue(()))
    }
}

impl SourcePart for ChunksPart {
    type Error = Infallible;

    fn next(&mut self) -> Result<Option<SourcePiece<'_>>, Infallible> {
        let (piece, from) = self.at;
        let Some(chunk) = self.pieces.get(piece) else {
            return Ok(None);
        };
        self.at = (piece + 1, 0);
        Ok(Some(match chunk {
            Chunked::Visits(visits) => SourcePiece::Visits(visits),
            Chunked::Event(event) => SourcePiece::Event(event),
            Chunked::Words(vocabulary, words, each) => {
                let to = (from + each).min(words.len());
                if to < words.len() {
                    self.at = (piece, to);
                }
                SourcePiece::Phrased(Phrased {
                    vocabulary,
                    words: &words[from..to],
                })
            }
        }))
    }
}

/// A visit to one of a few places most of the time.
fn any_visit(random: &mut SplitMix64, hot: &[u64], fetches: bool) -> Visit {
    let page = match random.below(40) {
        0 => random.below(PAGES),
        pick => hot[pick as usize % hot.len()],
    };
    let visit = match random.below(12) {
        0 | 1 => store(page),
        2 => Visit {
            stores: 2,
            ..loads(page, 3)
        },
        3 => Visit {
            lead: if random.below(2) == 0 {
                Lead::Load
            } else {
                Lead::Store
            },
            ..loads(page, random.below(2) as u32)
        },
        4 if fetches => Visit {
            fetch: true,
            ..Visit::default()
        },
        5 => Visit::default(),
        count => loads(page, count as u32 / 4),
    };
    Visit {
        unit: page,
        instructions: random.below(9) as u32,
        ..visit
    }
}

/// Random visits of two address spaces, with pages that are given back meanwhile.
pub(crate) fn random(seed: u64) -> Chunks {
    let mut random = SplitMix64::new(seed);
    let fetches = seed.is_multiple_of(3);
    let mut parts = Vec::new();
    let mut pieces = Vec::new();
    for space in [0, 1] {
        pieces.push(Chunked::Event(Event::SpaceSwitch(SpaceId(space))));
        pieces.push(Chunked::Event(file(space, PAGES)));
        pieces.push(Chunked::Event(map(0, PAGES - 300, Backing::Anonymous)));
        pieces.push(Chunked::Event(map(PAGES - 300, 300, backed_by(space))));
    }
    for _ in 0..9 {
        let space = SpaceId(random.below(2) as u32);
        pieces.push(Chunked::Event(Event::SpaceSwitch(space)));
        let near = random.below(PAGES);
        let places = 3 + random.below(60);
        let hot: Vec<u64> = (0..places)
            .map(|_| (near + random.below(200)) % PAGES)
            .collect();
        let count = [300, 2000, 18_000][random.below(3) as usize];
        let mut visits: Vec<Visit> = (0..count)
            .map(|_| any_visit(&mut random, &hot, fetches))
            .collect();
        if random.below(2) == 0 {
            let mut vocabulary: Vec<Visit> = visits.iter().take(200).copied().collect();
            vocabulary.sort_by_key(|visit| visit.unit);
            let words = visits
                .iter()
                .map(|_| random.below(vocabulary.len() as u64) as u16);
            let words: Vec<u16> = words.collect();
            visits.clear();
            let each = 1 + random.below(4000) as usize;
            pieces.push(Chunked::Words(vocabulary, words, each));
            // All words of a part have one vocabulary.
            parts.push(std::mem::take(&mut pieces));
            pieces.push(Chunked::Event(Event::SpaceSwitch(space)));
        }
        pieces.push(Chunked::Visits(visits));
        let at = random.below(PAGES - 64);
        match random.below(5) {
            0 => pieces.push(Chunked::Event(Event::Advise(
                range(at, 64),
                Advice::DontNeed,
            ))),
            1 => pieces.push(Chunked::Event(Event::Advise(range(at, 64), Advice::Free))),
            2 => pieces.push(Chunked::Event(map(at, 8, Backing::Anonymous))),
            _ => {}
        }
    }
    parts.push(pieces);
    Chunks { parts, next: 0 }
}

pub(crate) fn replayed(source: &Chunks, plan: &Plan) -> Outcome {
    run(
        &mut source.clone(),
        plan,
        &mut |_| ControlFlow::Continue(()),
    )
    .expect("a replay")
}

pub(crate) fn plan(machines: &[&str], limits: &MemoryLimits) -> Plan {
    plan_of(&POLICIES, machines, limits)
}

/// A plan of policies on machines that are named, or described by grids of one machine.
fn plan_of(policies: &[&str], machines: &[&str], limits: &MemoryLimits) -> Plan {
    let machine = |name: &&str| -> Machine {
        broadleaf_machine::machine(name).unwrap_or_else(|_| {
            let machines = broadleaf_machine::machines_of_grid(name).expect("a grid");
            machines.into_iter().next().expect("a machine")
        })
    };
    let policy = |name: &&str| -> Box<dyn Policy> { broadleaf_policy::parse(name).unwrap() };
    let plan = Plan::within(
        policies.iter().map(policy).collect(),
        machines.iter().map(machine).collect(),
        limits.clone(),
    );
    let plan = plan.expect("a plan");
    plan.with_interim_results(vec![700, 701, 9000])
        .with_frames()
}

/// Memory that never runs short, that is swapped, and that is used up; daemons that run often.
pub(crate) fn limits() -> [MemoryLimits; 4] {
    let often = NOMINAL_RATE / 100_000;
    let swapped = MemoryLimits::new(3 << 20);
    [
        MemoryLimits {
            rate: often,
            ..MemoryLimits::none()
        },
        MemoryLimits {
            rate: often * 40,
            ..swapped.clone()
        },
        swapped,
        MemoryLimits {
            swap: 128 << 10,
            ..MemoryLimits::new(2 << 20)
        },
    ]
}

/// Compares filtered replays with those of all visits. Calls `look` with each result.
fn compare(
    source: &Chunks,
    plan: impl Fn() -> Plan,
    case: &str,
    look: &mut impl FnMut(&CellResult),
) {
    let filtered = replayed(source, &plan());
    let all = replayed(source, &plan().with_all_visits());
    assert_eq!(filtered.trace, all.trace, "{case}");
    assert_eq!(filtered.frames, all.frames, "{case}");
    let results = [
        &filtered.results,
        &filtered.interim[0],
        &filtered.interim[2],
    ];
    let expected = [&all.results, &all.interim[0], &all.interim[2]];
    for (results, expected) in results.into_iter().zip(expected) {
        for (result, expected) in results.iter().zip(expected) {
            let (policy, machine) = (&expected.policy, &expected.machine);
            assert_eq!(result, expected, "{policy} on {machine}, {case}");
            look(expected);
        }
    }
}

#[test]
fn what_the_filter_leaves_out_changes_no_figure() {
    let (mut ended, mut swapped, mut turns) = (0, 0, 0);
    for seed in 0..4 {
        let source = random(seed);
        for (number, limits) in limits().iter().enumerate() {
            let machines = MACHINES[(seed as usize + number) % MACHINES.len()];
            let case = format!("seed {seed}, limits {number}");
            let plan = || plan(machines, limits);
            compare(&source, plan, &case, &mut |result| {
                let memory = result.memory.as_ref().expect("memory is modelled");
                ended += u32::from(memory.out_of_memory_after.is_some());
                swapped += memory.swapped_out_pages;
                turns += u32::from(memory.daemon_cycles > 0);
            });
        }
    }
    assert!(
        ended > 0 && swapped > 0 && turns > 0,
        "{ended} {swapped} {turns}"
    );
}

#[test]
fn what_a_window_leaves_out_changes_no_figure() {
    let (mut subblock, mut modified, mut promotions, mut swapped) = (0, 0, 0, 0);
    for seed in 0..3 {
        let source = random(seed);
        for (number, limits) in limits().iter().enumerate() {
            let machines = WINDOWS[(seed as usize + number) % WINDOWS.len()];
            let case = format!("seed {seed}, limits {number}");
            let plan = || plan_of(&BLOCK_POLICIES, machines, limits);
            assert!(broadleaf_filter::Recency::covers(
                plan().machines().iter().map(|machine| &machine.design)
            ));
            compare(&source, plan, &case, &mut |result| {
                let memory = result.memory.as_ref().expect("memory is modelled");
                swapped += memory.swapped_out_pages;
                promotions += result.promotions;
                if let Some(tlb) = &result.tlb {
                    subblock += tlb.subblock_misses;
                    modified += tlb.modified_faults;
                }
            });
        }
    }
    let seen = [subblock, modified, promotions, swapped];
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
}

/// The trace without instruction fetches.
fn without_fetches(mut source: Chunks) -> Chunks {
    for piece in source.parts.iter_mut().flatten() {
        match piece {
            Chunked::Visits(visits) | Chunked::Words(visits, ..) => {
                visits.iter_mut().for_each(|visit| visit.fetch = false);
            }
            Chunked::Event(_) => {}
        }
    }
    source
}

/// Machines of today whose first level has one set, with other levels below it.
#[test]
fn what_a_window_leaves_out_of_several_levels_changes_no_figure() {
    let has_window = |name: &&'static str| {
        let machine = broadleaf_machine::machine(name).expect("a machine");
        let has_window = machine.design.last_pages().is_some();
        // Machines with caches need every visit to a line.
        has_window && !machine.design.is_sets_with_lru() && machine.caches.is_none()
    };
    let machines: Vec<&str> = broadleaf_machine::machine_names()
        .filter(has_window)
        .collect();
    assert!(machines.contains(&"zen4"), "{machines:?}");
    for (number, machines) in machines.chunks(3).enumerate() {
        let source = without_fetches(random(number as u64));
        let limits = &limits()[number % 4];
        let case = format!("machines {number}");
        let policies = ["4k", "greedy", "linux", "hawkeye", "freebsd14"];
        let plan = || plan_of(&policies, machines, limits).without_fetches();
        compare(&source, plan, &case, &mut |_| ());
    }
}

/// Machines of several groups, and machines that no filter knows.
const APART: [&[&str]; 3] = [
    &["skylake", "zen4"],
    &["zen4", "c910", "neoverse-n2", "skylake-va23"],
    &["c910", "neoverse-n1", "zen4"],
];

#[test]
fn machines_that_are_filtered_apart_count_the_same() {
    for (seed, machines) in APART.into_iter().enumerate() {
        let source = without_fetches(random(seed as u64));
        for (number, limits) in limits().iter().enumerate() {
            let case = format!("seed {seed}, limits {number}");
            let policies = ["4k", "greedy", "linux", "hawkeye", "freebsd14"];
            let plan = || plan_of(&policies, machines, limits).without_fetches();
            assert!(!broadleaf_filter::Recency::covers(
                plan().machines().iter().map(|machine| &machine.design)
            ));
            compare(&source, plan, &case, &mut |_| ());
        }
    }
}
