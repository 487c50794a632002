//! Mixes of programs on the cores of one machine, and threads on several cores.

use crate::caches::{CORE, level, lines, plan, random_visits, replayed, small, visit};
use crate::common::*;
use broadleaf_machine::{Machine, machine};
use broadleaf_metrics::{CacheResult, CoreResult};
use broadleaf_model::{
    Items, MixOutcome, MixProgram, MixWork, SlowLookups, Source, Step, StepListener, StepsWanted,
    run_mix,
};
use broadleaf_oracle::random::Rng;
use broadleaf_trace::{Advice, Backing, Event, Grain, Visit};
use broadleaf_units::{CoreId, SpaceId, ThreadId};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

/// Cores with 4 KiB of first level, and `size` of second level for all of them.
fn several(cores: usize, size: &str, more: &str) -> Machine {
    let core = format!("{CORE}count = {cores}\n{more}");
    small(&[level(1, "4K", 2), level(2, size, 10), core].concat())
}

/// The first instructions of a trace, or all.
fn first(counted: Option<u64>) -> MixWork {
    MixWork {
        counted,
        ..MixWork::default()
    }
}

fn mixed(programs: &[(Items, Option<u64>)], policy: &str, machine: Machine) -> MixOutcome {
    try_mix(programs, policy, machine).unwrap_or_else(|error| panic!("{error}"))
}

fn try_mix(
    programs: &[(Items, Option<u64>)],
    policy: &str,
    machine: Machine,
) -> Result<MixOutcome, String> {
    let mut sources: Vec<Items> = programs.iter().map(|(items, _)| items.clone()).collect();
    let works = programs.iter().map(|(_, work)| first(*work));
    let mut programs: Vec<_> = (sources.iter_mut().zip(works))
        .map(|(source, work)| MixProgram::new(source, work))
        .collect();
    let plan = plan(&[policy], &[machine]);
    let outcome = run_mix(&mut programs, &plan, &mut |_| ControlFlow::Continue(()));
    outcome.map_err(|error| error.to_string())
}

fn caches(items: &Items, policy: &str, machine: Machine) -> CacheResult {
    let mut outcome = replayed(items, &plan(&[policy], &[machine]));
    outcome.results.remove(0).caches.expect("counts of caches")
}

/// One program of a mix counts as its replay alone does.
#[test]
fn a_mix_of_one_program_is_its_replay() {
    for policy in ["4k", "greedy", "navarro", "coloured(by=process)"] {
        let items = lines(random_visits(11, 20_000));
        let alone = caches(&items, policy, several(1, "64K", ""));
        let mix = mixed(&[(items, None)], policy, several(4, "64K", ""));
        let core = &mix.programs[0];
        assert_eq!(core.cycles, alone.cycles, "{policy}");
        assert_eq!(core.instructions, alone.instructions);
        assert_eq!(core.levels, alone.levels);
        assert_eq!(core.last_level_lines, alone.last_level_lines);
        assert_eq!(mix.again, [0]);
    }
}

/// Two programs that fit into the last level alone, and not together, take lines from each other.
#[test]
fn programs_take_lines_from_each_other() {
    let walk = |from: u64| {
        let around = (0..200_000).map(move |number| visit(from + number % 600, 1, 0, 4));
        lines(around)
    };
    let machine = || several(2, "64K", "");
    let alone = mixed(&[(walk(0), None)], "4k", machine());
    let mix = mixed(&[(walk(0), None), (walk(64), None)], "4k", machine());
    let misses = |core: &CoreResult| core.levels[1].misses[0];
    assert!(misses(&alone.programs[0]) < 700, "{:?}", alone.programs[0]);
    for (number, core) in mix.programs.iter().enumerate() {
        assert!(misses(core) > 100_000, "{core:?}");
        assert!(core.cycles > alone.programs[0].cycles);
        assert!(core.lines_lost_to[1 - number] > 50_000, "{core:?}");
    }
}

/// With a colour share for each process, the same programs take no line from each other.
#[test]
fn colours_keep_programs_apart() {
    let walk =
        |from: u64| lines((0..40_000).map(move |number| visit(from + number % 600, 1, 0, 4)));
    let machine = || several(2, "256K", "");
    for owner in ["process", "core"] {
        let policy = format!("coloured(by={owner},shares=1/2)");
        let mix = mixed(&[(walk(0), None), (walk(64), None)], &policy, machine());
        for (number, core) in mix.programs.iter().enumerate() {
            // Walks read lines of page tables, which have no colour.
            assert!(core.lines_lost_to[1 - number] < 100, "{core:?}");
        }
    }
}

/// A listener that writes down the steps of a mix.
struct Writer(Arc<Mutex<Vec<(SpaceId, u64, u64)>>>);

impl StepListener for Writer {
    fn step(&mut self, step: &Step, _: SlowLookups) {
        let line = step.origin.line.map_or(0, |line| line.0);
        let time = step.visit.time;
        self.0
            .lock()
            .expect("no panic")
            .push((step.origin.space, line, time));
    }
}

/// A program with events between its visits.
fn eventful(seed: u64) -> (Items, Vec<Vec<Visit>>, Vec<Event>) {
    let mut rng = Rng::new(seed);
    let (mut pieces, mut events) = (Vec::new(), Vec::new());
    let mut items = Items::new(Grain::Line);
    for _ in 0..20 {
        let first = rng.below(4096);
        let event = match rng.below(3) {
            0 => Event::Unmap(range(first, 64)),
            1 => Event::Advise(range(first, 512), Advice::DontNeed),
            _ => map(first, 64, Backing::Anonymous),
        };
        let event = if events.is_empty() {
            map(0, 4096, Backing::Anonymous)
        } else {
            event
        };
        let visits = random_visits(rng.next(), 100 + rng.below(300) as usize);
        items.event(event.clone()).visits(visits.clone());
        events.push(event);
        pieces.push(visits);
    }
    (items, pieces, events)
}

/// A mix counts as one recording does in which the programs alternate in the same order.
#[test]
fn a_mix_is_a_recording_in_the_order_of_its_turns() {
    for (seed, policy) in [
        (1, "4k"),
        (2, "greedy"),
        (3, "navarro"),
        (4, "linux"),
        (5, "pop-64"),
    ] {
        let programs: Vec<_> = (0..3).map(|number| eventful(seed * 10 + number)).collect();
        let steps = Arc::new(Mutex::new(Vec::new()));
        let outcome = {
            let mut sources: Vec<Items> = programs.iter().map(|one| one.0.clone()).collect();
            let works = [3000, 900, 2000].map(Some).map(first);
            let mut running: Vec<_> = (sources.iter_mut().zip(works))
                .map(|(source, work)| MixProgram::new(source, work))
                .collect();
            let steps = Arc::clone(&steps);
            let plan = plan(&[policy], &[several(3, "64K", "")])
                .with_listeners(StepsWanted::EachVisit, move |_, _| {
                    Some(Box::new(Writer(Arc::clone(&steps))))
                });
            let outcome = run_mix(&mut running, &plan, &mut |_| ControlFlow::Continue(()));
            outcome.unwrap_or_else(|error| panic!("{error}"))
        };
        assert_eq!(outcome.again, [0, 0, 0], "no program ended");
        // The same steps as one recording: a piece of a program follows its event.
        let mut merged = Items::new(Grain::Line);
        let (mut at, mut running) = ([(0, 0); 3], None);
        let spaces: Vec<SpaceId> = {
            let mut seen: Vec<SpaceId> = steps
                .lock()
                .expect("no panic")
                .iter()
                .map(|step| step.0)
                .collect();
            seen.sort();
            seen.dedup();
            seen
        };
        for (space, line, _) in steps.lock().expect("no panic").iter() {
            let number = spaces
                .iter()
                .position(|known| known == space)
                .expect("a program");
            if running != Some(number) {
                merged.event(Event::SpaceSwitch(SpaceId(number as u32)));
                merged.event(Event::CoreSwitch(CoreId(number as u32)));
                running = Some(number);
            }
            let (_, pieces, events) = &programs[number];
            let (piece, visit) = &mut at[number];
            if *visit == pieces[*piece].len() {
                (*piece, *visit) = (*piece + 1, 0);
            }
            if *visit == 0 {
                merged.event(events[*piece].clone());
            }
            let next = pieces[*piece][*visit];
            assert_eq!(next.unit, *line);
            merged.visits([next]);
            *visit += 1;
        }
        let whole = outcome.whole.caches.expect("caches");
        let of_merged = caches(&merged, policy, several(3, "64K", ""));
        assert_eq!(whole, of_merged, "{policy}");
        assert!(whole.cores.len() == 3 && whole.cores.iter().all(|core| core.instructions > 0));
    }
}

/// The clocks decide: a program that misses all the time begins fewer instructions.
#[test]
fn slow_programs_have_fewer_turns() {
    let fast = lines((0..400_000).map(|_| visit(0, 1, 0, 4)));
    let slow = lines((0..400_000).map(|number| visit(number * 67 % 262_144, 1, 0, 4)));
    let mix = mixed(
        &[(fast, Some(100_000)), (slow, Some(10_000))],
        "4k",
        several(2, "64K", ""),
    );
    let whole = mix.whole.caches.expect("caches");
    let [fast, slow] = [&whole.cores[0], &whole.cores[1]];
    // Both ran for the same time, to within the latency of some misses.
    let (first, second) = (fast.cycles.unwrap_or(0), slow.cycles.unwrap_or(0));
    assert!(first.abs_diff(second) < 2000, "{first} {second}");
    assert!(fast.instructions > 4 * slow.instructions, "{whole:?}");
}

/// A program that ends early runs again, until the others have done their work.
#[test]
fn programs_begin_again() {
    let short = lines(random_visits(1, 1000));
    let long = lines(random_visits(2, 20_000));
    let machine = || several(2, "64K", "");
    let mix = mixed(&[(short.clone(), None), (long, None)], "greedy", machine());
    assert!(mix.again[0] > 3, "{:?}", mix.again);
    let alone = mixed(&[(short, None)], "greedy", machine());
    assert_eq!(mix.programs[0].instructions, alone.programs[0].instructions);
    let again = mixed(
        &[
            (lines(random_visits(1, 1000)), None),
            (lines(random_visits(2, 20_000)), None),
        ],
        "greedy",
        machine(),
    );
    assert_eq!(mix, again);
}

/// Threads run on cores of their own. A page that one of them unmaps leaves the TLBs of the cores
/// that have its space loaded, and both sides wait.
#[test]
fn threads_have_cores_and_shootdowns_cost_both_sides() {
    let mut items = Items::new(Grain::Line);
    items.event(map(0, 64, Backing::Anonymous));
    for round in 0..50 {
        for thread in 1..=2 {
            items.event(Event::ThreadSwitch(ThreadId(thread)));
            items.visits((0..4).map(|page| visit(page * 64 + u64::from(thread), 1, 0, 100)));
        }
        if round % 5 == 4 {
            items.event(Event::Advise(range(0, 1), Advice::DontNeed));
        }
    }
    let cost = "shootdown-sent = 3000\nshootdown-received = 1000\n";
    let free = caches(&items, "4k", several(2, "64K", ""));
    let costly = caches(&items, "4k", several(2, "64K", cost));
    assert_eq!(free.cores.len(), 2);
    let counts = |of: &CoreResult| (of.shootdowns_sent, of.shootdowns_received);
    assert_eq!(counts(&free.cores[0]), (0, 10));
    assert_eq!(counts(&free.cores[1]), (10, 0));
    let cycles = |of: &CacheResult, core: usize| of.cores[core].cycles.unwrap_or(0);
    assert_eq!(cycles(&costly, 0) - cycles(&free, 0), 10 * 1000);
    assert_eq!(cycles(&costly, 1) - cycles(&free, 1), 10 * 3000);
    // Page 0 walks again on both cores after each shootdown, but the last.
    let walks = |core: usize| free.cores[core].walks;
    assert_eq!([walks(0), walks(1)], [4 + 9, 4 + 9]);
    // One core: no shootdown, and no results by core.
    let alone = caches(&items, "4k", several(1, "64K", cost));
    assert!(alone.cores.is_empty());
}

/// Two threads that store to one line in turn take it from each other.
#[test]
fn a_line_goes_between_the_cores_of_threads() {
    let mut items = Items::new(Grain::Line);
    items.event(map(0, 64, Backing::Anonymous));
    for _ in 0..100 {
        for thread in 1..=2 {
            items.event(Event::ThreadSwitch(ThreadId(thread)));
            items.visits([visit(0, 0, 1, 10)]);
        }
    }
    let found = caches(&items, "4k", several(2, "64K", ""));
    let moved: u64 = found.cores.iter().map(|core| core.transfers).sum();
    let missed: u64 = found
        .cores
        .iter()
        .map(|core| core.levels[0].misses[0])
        .sum();
    assert!(moved > 0 || missed > 190, "{found:?}");
    assert_eq!(
        caches(&items, "4k", several(1, "64K", "")).levels[0].misses[0],
        1
    );
}

#[test]
fn mixes_that_cannot_run_are_refused() {
    let program = || (lines(random_visits(1, 100)), None);
    let two = [program(), program()];
    let refused = |policy: &str, machine| try_mix(&two, policy, machine).expect_err("refused");
    let few = refused("4k", several(1, "64K", ""));
    assert!(few.contains("for 1 at most"), "{few}");
    let without = refused("4k", machine("skylake").expect("a machine"));
    assert!(without.contains("chen2014-4core"), "{without}");
    let misses = refused("approx-online", several(2, "64K", ""));
    assert!(misses.contains("approx-online"), "{misses}");
    let mut pages = Items::new(Grain::Page);
    pages.visits([load(1)]);
    let grain = try_mix(&[(pages, None)], "4k", several(2, "64K", "")).expect_err("pages");
    assert!(grain.contains("--grain line"), "{grain}");
    let none = lines([visit(0, 1, 0, 0)]);
    let counts = try_mix(&[(none, None)], "4k", several(2, "64K", "")).expect_err("no counts");
    assert!(counts.contains("instructions"), "{counts}");
}

/// Skipped references make pages resident, and reach neither TLBs nor caches. The counts after a
/// warm-up are those of a longer run less those of its beginning.
#[test]
fn work_begins_after_skipping_and_warming() {
    let items = lines(random_visits(5, 10_000));
    let run = |work: MixWork| {
        let mut source = items.clone();
        let mut programs = [MixProgram::new(&mut source, work)];
        let plan = plan(&["4k"], &[several(2, "64K", "")]);
        let outcome = run_mix(&mut programs, &plan, &mut |_| ControlFlow::Continue(()));
        outcome.unwrap_or_else(|error| panic!("{error}"))
    };
    let of = |skipped, warming, counted| {
        run(MixWork {
            skipped,
            warming,
            counted: Some(counted),
        })
    };
    let (long, short) = (of(0, 0, 20_000), of(0, 0, 8000));
    let warm = of(0, 8000, 12_000);
    assert_eq!(warm.programs[0], long.programs[0].since(&short.programs[0]));
    let skipped = of(8000, 0, 12_000);
    // A turn ends after the last instruction of a window.
    let counted = |of: &MixOutcome| of.programs[0].instructions;
    assert!(counted(&skipped).abs_diff(counted(&warm)) <= 256);
    assert!(skipped.programs[0].levels[1].misses[0] > warm.programs[0].levels[1].misses[0]);
    // Pages of skipped references are resident: all faults are there, to within the last turn.
    let faults = |of: &MixOutcome| of.whole.page_faults;
    assert!(
        faults(&skipped).abs_diff(faults(&long)) < 20,
        "{}",
        faults(&skipped)
    );
    let mut source = items.clone();
    let far = MixWork {
        skipped: 1 << 40,
        ..MixWork::default()
    };
    let mut programs = [MixProgram::new(&mut source, far)];
    let plan = plan(&["4k"], &[several(2, "64K", "")]);
    let refused = run_mix(&mut programs, &plan, &mut |_| ControlFlow::Continue(()));
    let message = refused.expect_err("too many").to_string();
    assert!(message.contains("skip fewer"), "{message}");
    programs[0].source.rewind().expect("a trace in memory");
    programs[0].work = MixWork {
        warming: 1 << 40,
        ..MixWork::default()
    };
    let refused = run_mix(&mut programs, &plan, &mut |_| ControlFlow::Continue(()));
    let message = refused.expect_err("too many").to_string();
    assert!(message.contains("warm fewer"), "{message}");
}

/// A skip is long: it reports where it is, and can be stopped.
#[test]
fn skipping_reports_its_progress() {
    let mut source = Items::new(Grain::Line);
    let visits = random_visits(5, 40_000);
    for visits in visits.chunks(1000) {
        source.visits(visits.iter().copied());
    }
    let far = MixWork {
        skipped: 30_000,
        ..MixWork::default()
    };
    let mut programs = [MixProgram::new(&mut source, far)];
    let plan = plan(&["4k"], &[several(2, "64K", "")]);
    let mut reported = Vec::new();
    let stopped = run_mix(&mut programs, &plan, &mut |state| {
        reported.push(state.accesses);
        match reported.len() {
            3 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    assert_eq!(stopped.err(), Some(broadleaf_model::Error::Stopped));
    let skipped: u64 = visits.iter().take(4000).map(Visit::accesses).sum();
    assert!(
        reported.is_sorted_by(|one, next| one < next),
        "{reported:?}"
    );
    assert!(reported[2] < skipped, "{reported:?}");
}

/// An entry with a configuration of its own takes a cycle more for each first access; a set's
/// configuration takes none.
#[test]
fn the_addition_of_a_scattered_superpage_takes_a_cycle() {
    let items = lines((0..20_000).map(|number| visit(number % 64, 1, 0, 1)));
    let of = |name: &str, policy: &str| caches(&items, policy, machine(name).expect("a machine"));
    let entry = of("chen2014-4core-scattered", "scattered(by=core)");
    let set = of("chen2014-4core-scattered-sets", "scattered(by=core)");
    assert_eq!(entry.levels, set.levels);
    let serial = |of: &CacheResult| of.serial_cycles.unwrap_or(0);
    // The first access misses the TLB, and the walk gives the translation.
    assert!(
        serial(&entry).abs_diff(serial(&set) + 20_000) <= 1,
        "{}",
        serial(&entry)
    );
    let plain = of("chen2014-4core-scattered", "fixed-2m");
    assert_eq!(serial(&plain), serial(&set));
}
