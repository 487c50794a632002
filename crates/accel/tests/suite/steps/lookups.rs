//! The lookups that listeners hear: their sums are the counts of the results.

use super::{NONE_SLOW, listening, plan_of};
use crate::common::{BLOCK, load, map, store};
use crate::filtered::{Chunked, Chunks, limits, plan, random, replayed};
use broadleaf_accel::run;
use broadleaf_model::{Items, MemoryLimits, SlowLookups, Step, StepsWanted};
use broadleaf_trace::{Backing, Event, Grain, Lead, Visit};
use broadleaf_units::SpaceId;
use std::ops::ControlFlow;

/// The slow lookups of all steps.
pub(super) fn summed(steps: &[(Step, SlowLookups)]) -> SlowLookups {
    let all = steps.iter().map(|(_, slow)| *slow);
    all.fold(NONE_SLOW, |sum, slow| SlowLookups {
        second_hits: sum.second_hits + slow.second_hits,
        third_hits: sum.third_hits + slow.third_hits,
        walks: sum.walks + slow.walks,
        fractured_walks: sum.fractured_walks + slow.fractured_walks,
    })
}

/// The numbers of steps that the visits of a source have: for each visit, and for each access.
fn counted(source: &Chunks) -> [u64; 2] {
    let mut counts = [0, 0];
    let mut count = |visit: &Visit| {
        counts[0] += u64::from(visit.lookups() > 0);
        counts[1] += visit.accesses() + u64::from(visit.lead != Lead::None);
    };
    for piece in source.parts.iter().flatten() {
        match piece {
            Chunked::Visits(visits) => visits.iter().for_each(&mut count),
            Chunked::Words(vocabulary, words, _) => words
                .iter()
                .for_each(|word| count(&vocabulary[usize::from(*word)])),
            Chunked::Event(_) => {}
        }
    }
    counts
}

#[test]
fn listeners_change_no_figure_and_hear_each_lookup() {
    let (mut sums, mut several, mut ended) = ([NONE_SLOW; 2], [0; 2], 0);
    for seed in 0..2 {
        let source = random(seed);
        let numbers = counted(&source);
        let limits = limits();
        for (number, limits) in limits.iter().enumerate().skip(seed as usize).step_by(2) {
            let machines = ["skylake", "skylake-va23"];
            // The filter changes no figure either: see `filtered`.
            let unheard = replayed(&source, &plan(&machines, limits).with_all_visits());
            for (wanted, steps) in [StepsWanted::EachVisit, StepsWanted::EachAccess]
                .into_iter()
                .zip(numbers)
            {
                let (plan, heard) = listening(plan(&machines, limits), wanted);
                let outcome = replayed(&source, &plan);
                let case = format!("seed {seed}, limits {number}, {wanted:?}");
                assert_eq!(outcome.trace, unheard.trace, "{case}");
                assert_eq!(outcome.frames, unheard.frames, "{case}");
                assert!(outcome.interim == unheard.interim, "{case}");
                let heard = heard.lock().expect("no panic");
                for (result, expected) in outcome.results.iter().zip(&unheard.results) {
                    let case = format!("{case}, {} on {}", result.policy, result.machine);
                    assert_eq!(result, expected, "{case}");
                    let lookups = heard.of(result);
                    let memory = expected.memory.as_ref().expect("memory is modelled");
                    if memory.out_of_memory_after.is_none() {
                        assert_eq!(lookups.len() as u64, steps, "{case}");
                    }
                    let slow = summed(lookups);
                    assert_eq!(slow.walks, expected.walks.total(), "{case}");
                    assert_eq!(slow.walks + slow.second_hits, expected.l1_misses, "{case}");
                    let sums = &mut sums[usize::from(wanted == StepsWanted::EachAccess)];
                    sums.walks += slow.walks;
                    sums.second_hits += slow.second_hits;
                    let missed_again = lookups.iter().filter(|(_, slow)| slow.walks > 1);
                    several[usize::from(wanted == StepsWanted::EachAccess)] += missed_again.count();
                    ended += u32::from(memory.out_of_memory_after.is_some());
                }
            }
        }
    }
    for SlowLookups {
        walks,
        second_hits,
        third_hits,
        fractured_walks,
    } in sums
    {
        assert_eq!(
            fractured_walks, 0,
            "no pages of these machines are fractured"
        );
        assert!(walks > 1000 && second_hits > 1000, "{walks} {second_hits}");
        assert_eq!(third_hits, 0, "these machines have two levels");
    }
    assert!(
        several[0] > 0 && several[1] == 0 && ended > 0,
        "{several:?} {ended}"
    );
}

/// A visit loads from a clean superpage and stores to it. The load hits. The store has the policy
/// demote the superpage, so its lookup misses.
#[test]
fn a_visit_whose_store_demotes_a_superpage_is_heard_with_its_walk() {
    let load_and_store = Visit {
        stores: 1,
        ..load(0)
    };
    let mut items = Items::new(Grain::Page);
    // The other blocks evict the translations that the first block's base pages had.
    items.event(map(0, 5 * BLOCK, Backing::Anonymous));
    items.visits((0..5 * BLOCK).map(load));
    items.visits([load(0), load(0), load_and_store, load(0)]);
    let plan = plan_of(&["freebsd"], &["skylake", "skylake-va23"]);
    let (plan, heard) = listening(plan, StepsWanted::EachVisit);
    let outcome = run(&mut items, &plan, &mut |_| ControlFlow::Continue(())).expect("a replay");
    let heard = heard.lock().expect("no panic");
    for result in &outcome.results {
        assert_eq!((result.promotions, result.demotions), (5, 1));
        let steps = heard.of(result);
        let [.., before, both, after] = steps else {
            panic!("{} steps", steps.len());
        };
        let walk = SlowLookups {
            walks: 1,
            ..NONE_SLOW
        };
        assert_eq!((before.1, both.1, after.1), (NONE_SLOW, walk, NONE_SLOW));
        assert_eq!(summed(steps).walks, result.walks.total());
    }
}

/// A child loads a page that it shares with its parent, and its store finds no memory for a copy.
/// The step of both is heard.
#[test]
fn a_visit_that_uses_up_memory_is_heard_with_its_lookups_before() {
    const SHARED: u64 = 400;
    let limits = MemoryLimits {
        swap: 0,
        ..MemoryLimits::new(2 << 20)
    };
    let mut items = Items::new(Grain::Page);
    items.event(map(0, SHARED, Backing::Anonymous));
    items.visits((0..SHARED).map(store));
    items.event(Event::Fork { child: 7 });
    items.event(Event::SpaceSwitch(SpaceId(1)));
    items.event(Event::SpaceStart {
        pid: 7,
        parent: 1,
        command: Vec::new(),
    });
    items.visits((0..SHARED).map(|page| Visit {
        stores: 1,
        ..load(page)
    }));
    let plan = plan_of(&["4k"], &["skylake", "skylake-va23"]).limited_to(limits);
    let (plan, heard) = listening(plan.expect("a plan"), StepsWanted::EachVisit);
    let outcome = run(&mut items, &plan, &mut |_| ControlFlow::Continue(())).expect("a replay");
    let heard = heard.lock().expect("no panic");
    for result in &outcome.results {
        let memory = result.memory.as_ref().expect("memory is modelled");
        let ended = memory.out_of_memory_after.expect("memory is used up");
        let accesses = ended - SHARED;
        assert_eq!(accesses % 2, 1, "memory ends at a store");
        let steps = heard.of(result);
        assert_eq!(steps.len() as u64, SHARED + accesses.div_ceil(2));
        assert_eq!(summed(steps).walks, result.walks.total());
    }
}

/// Three levels of 1, 2 and 4 entries: pages in turn are found where they fit.
#[test]
fn hits_of_a_third_level_are_heard() {
    let structures = [(1, 1), (2, 2), (3, 4)].map(|(level, entries)| {
        format!(
            "[[tlb]]\nname = \"of-{level}\"\nlevel = {level}\nentries = {entries}\n\
             ways = {entries}\nreplacement = \"lru\"\nindex = {{ 4k = \"none\" }}\n"
        )
    });
    let text = format!(
        "name = \"three\"\nsummary = \"three levels\"\n{}[walk-cycles]\n4k = 30\n",
        structures.concat()
    );
    let mut items = Items::new(Grain::Page);
    items.event(map(0, 4, Backing::Anonymous));
    items.visits((0..40).map(|step| load(step % 4)));
    let policy = broadleaf_policy::parse("4k").expect("a policy");
    let machine = broadleaf_machine::Machine::from_toml(&text).expect("a machine");
    let plan = broadleaf_model::Plan::new(vec![policy], vec![machine]).expect("a plan");
    let (plan, heard) = listening(plan, StepsWanted::EachVisit);
    run(&mut items, &plan, &mut |_| ControlFlow::Continue(())).expect("a replay");
    let slow = summed(heard.lock().expect("no panic").only());
    let expected = SlowLookups {
        second_hits: 0,
        third_hits: 36,
        walks: 4,
        fractured_walks: 0,
    };
    assert_eq!(slow, expected);
}

/// Of 40 walks, those that find the pages of a fractured superpage are told apart.
#[test]
fn walks_to_fractured_pages_are_told_apart() {
    let text = "name = \"guest\"\nsummary = \"\"\nfractured = [\"2m\"]\n[[tlb]]\nname = \"tlb\"\n\
                level = 1\nentries = 4\nways = 4\nreplacement = \"lru\"\nindex = { 4k = \"none\" }\n\
                [walk-cycles]\n4k = 30\n2m = 20\n";
    let machine = broadleaf_machine::Machine::from_toml(text).expect("a machine");
    let policy = broadleaf_policy::parse("pop-5").expect("a policy");
    let plan = broadleaf_model::Plan::new(vec![policy], vec![machine]).expect("a plan");
    let (plan, heard) = listening(plan, StepsWanted::EachVisit);
    let mut items = Items::new(Grain::Page);
    items.event(map(0, 512, Backing::Anonymous));
    items.visits((0..40).map(load));
    run(&mut items, &plan, &mut |_| ControlFlow::Continue(())).expect("a replay");
    let slow = summed(heard.lock().expect("no panic").only());
    // The fifth page fills the block: its walk finds the superpage.
    assert_eq!((slow.walks, slow.fractured_walks), (40, 36));
}
