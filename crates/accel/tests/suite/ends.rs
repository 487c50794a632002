//! Sources that fail, and replays that end early.

use crate::common::*;
use broadleaf_accel::run;
use broadleaf_model::foresight::ForeseenPromotions;
use broadleaf_model::{Error, Items, Plan, ReplayProgress, Source, SourcePart, SourcePiece};
use broadleaf_trace::{Advice, Backing, Event, Grain, Visit};
use broadleaf_units::{BlockNumber, SpaceId, ThreadId};
use std::ops::ControlFlow;

/// The behaviour of a source that is asked for a part.
#[derive(Clone, Copy)]
enum Then {
    Load(u64),
    Fail,
    End,
}

/// A source of parts that load one page each or fail, which cannot be read twice, and ends with its
/// `ends_with`th part.
struct Failing {
    parts: Vec<Then>,
    at: usize,
    ends_with: usize,
    closed: usize,
}

struct OneLoad(Option<Result<[Visit; 1], &'static str>>, [Visit; 1]);

impl SourcePart for OneLoad {
    type Error = &'static str;

    fn next(&mut self) -> Result<Option<SourcePiece<'_>>, Self::Error> {
        match self.0.take() {
            None => Ok(None),
            Some(Err(error)) => Err(error),
            Some(Ok(visits)) => {
                self.1 = visits;
                Ok(Some(SourcePiece::Visits(&self.1)))
            }
        }
    }
}

impl Source for Failing {
    type Error = &'static str;
    type Part = OneLoad;

    fn grain(&self) -> Grain {
        Grain::Page
    }

    fn rewind(&mut self) -> Result<(), Self::Error> {
        Err("a pipe cannot be read twice")
    }

    fn next_part(&mut self) -> Result<Option<OneLoad>, Self::Error> {
        let then = self.parts.get(self.at).copied().unwrap_or(Then::End);
        self.at += 1;
        let part = match then {
            Then::Load(page) => Ok([load(page)]),
            Then::Fail => Err("a part is damaged"),
            Then::End => return Ok(None),
        };
        Ok(Some(OneLoad(Some(part), [load(0)])))
    }

    fn close(&mut self, _: OneLoad) -> Result<ControlFlow<()>, Self::Error> {
        self.closed += 1;
        Ok(if self.closed == self.ends_with {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        })
    }
}

fn failing(parts: &[Then], ends_with: usize) -> Failing {
    Failing {
        parts: parts.to_vec(),
        at: 0,
        ends_with,
        closed: 0,
    }
}

fn plan_of(policy: &str, threads: usize) -> Plan {
    let machines = vec![broadleaf_machine::machine("skylake").unwrap()];
    let plan = Plan::new(vec![broadleaf_policy::parse(policy).unwrap()], machines);
    plan.unwrap().on_threads(threads)
}

/// Other threads replay a turn while the next is prepared, which meets new blocks, spaces and
/// children of which that turn knows nothing.
#[test]
fn what_is_prepared_while_teams_are_away_changes_nothing() {
    let mut items = Items::new(Grain::Page).in_parts_of(3);
    for space in 0..3 {
        items.event(Event::SpaceSwitch(SpaceId(space)));
        items.event(map(0, 300 * BLOCK, Backing::Anonymous));
    }
    for step in 0..400 {
        let first = step / 2 * BLOCK + step % 2 * 7;
        // Now and then a whole block, so that there is something to foresee.
        let pages = if step % 50 == 0 { BLOCK } else { 70 };
        items.visits((0..pages).map(|page| load(first + page)));
        items.visits((0..300).map(|number| store(number * 37 % (step + 1) * BLOCK)));
        match step % 8 {
            0 => items.event(Event::SpaceSwitch(SpaceId(step as u32 / 8 % 3))),
            1 => items.event(Event::Fork { child: step as u32 }),
            2 => items.event(Event::ThreadSwitch(ThreadId(1))),
            3 => items.event(Event::Unmap(range(first / 2, 4))),
            4 => items.event(Event::Protect(range(first + 10, 1), READ)),
            5 => items.event(Event::Advise(
                range(first + BLOCK, 2 * BLOCK),
                Advice::NoHugePage,
            )),
            _ => &mut items,
        };
    }
    let results = |threads| {
        let policies = [
            "4k",
            "greedy",
            "pop-64",
            "life-5e4",
            "thp-always",
            "foresight",
        ];
        let policies = policies.map(|name| broadleaf_policy::parse(name).unwrap());
        let machines = vec![broadleaf_machine::machine("skylake").unwrap()];
        let plan = Plan::new(policies.into(), machines).unwrap();
        let go_on = &mut |_| ControlFlow::Continue(());
        run(&mut items.clone(), &plan.on_threads(threads), go_on)
            .unwrap()
            .results
    };
    let alone = results(1);
    let mut not_base = alone.iter().skip(1);
    assert!(not_base.all(|result| result.promotions > 0), "{alone:#?}");
    for threads in [2, 3, 4].into_iter().cycle().take(12) {
        assert_eq!(results(threads), alone, "{threads} threads");
    }
}

#[test]
fn errors_of_the_source_come_through() {
    let go_on = &mut |_| ControlFlow::Continue(());
    for threads in [1, 2, 3] {
        let once = plan_of("greedy", threads);
        let parts = [Then::Load(7), Then::Load(8)];
        assert!(run(&mut failing(&parts, usize::MAX), &once, go_on).is_ok());
        let twice = plan_of("foresight", threads);
        let block: Vec<Then> = (0..BLOCK).map(Then::Load).collect();
        assert!(run(&mut failing(&block, usize::MAX), &twice, go_on).is_ok());
        let twice = twice.keeping_decoded(0);
        let error = run(&mut failing(&block, usize::MAX), &twice, go_on).err();
        assert_eq!(error, Some(Error::Source("a pipe cannot be read twice")));
        let damaged = [Then::Load(7), Then::Fail, Then::Load(8)];
        let error = run(&mut failing(&damaged, usize::MAX), &once, go_on).err();
        assert_eq!(error, Some(Error::Source("a part is damaged")));
    }
}

/// If `freebsd` promotes nothing, nothing is foreseen, and the counts of the first pass remain.
#[test]
fn a_second_pass_is_made_only_where_something_is_foreseen() {
    for (pages, promoted) in [(BLOCK - 1, 0), (BLOCK, 1)] {
        let mut items = Items::new(Grain::Page);
        items.visits((0..pages).chain(0..pages).map(load));
        let counts = |threads: usize| {
            let policies = ["4k", "foresight", "greedy"];
            let policies = policies.map(|name| broadleaf_policy::parse(name).unwrap());
            let machines = vec![broadleaf_machine::machine("skylake").unwrap()];
            let plan = Plan::new(policies.into(), machines).unwrap();
            let mut passes = 0;
            let mut note = |progress: ReplayProgress| {
                assert_eq!(progress.passes, progress.pass, "as far as is known");
                passes = progress.pass;
                ControlFlow::Continue(())
            };
            let outcome = run(&mut items.clone(), &plan.on_threads(threads), &mut note);
            (outcome.unwrap().results, passes)
        };
        for threads in [1, 2, 3] {
            let (results, passes) = counts(threads);
            assert_eq!(results[1].policy, "foresight");
            assert_eq!(results[1].promotions, promoted, "{threads} threads");
            assert_eq!(passes, 1 + promoted as u32, "{threads} threads");
        }
    }
}

/// If the expected promotions are those that are made, one pass is enough. If they are others, a
/// second pass corrects the results.
#[test]
fn expected_promotions_spare_a_pass_and_change_no_result() {
    let mut items = Items::new(Grain::Page);
    // Block 0 fills up, block 1 does not.
    items.visits((0..BLOCK + 9).chain(0..BLOCK + 9).map(load));
    for policies in [&["4k", "foresight", "freebsd"][..], &["foresight"][..]] {
        let before = replay(&items, policies);
        assert_eq!(before.foreseen["freebsd"].len(), 1);
        let block = |number| (SpaceId(0), BlockNumber(number));
        for (blocks, passes) in [
            (vec![block(0)], 1),
            (vec![], 2),
            (vec![block(1)], 2),
            (vec![block(0), block(1)], 2),
        ] {
            for (threads, bytes) in [(1, 0), (1, usize::MAX), (2, usize::MAX)] {
                let expected = ForeseenPromotions::from([(
                    "freebsd".into(),
                    blocks.clone().into_iter().collect(),
                )]);
                let named = policies
                    .iter()
                    .map(|name| broadleaf_policy::parse(name).unwrap());
                let machines = vec![broadleaf_machine::machine("skylake").unwrap()];
                let plan = Plan::new(named.collect(), machines).unwrap();
                let plan = plan
                    .expecting(expected)
                    .on_threads(threads)
                    .keeping_decoded(bytes);
                let mut made = 0;
                let mut note = |progress: ReplayProgress| {
                    made = progress.pass;
                    ControlFlow::Continue(())
                };
                let outcome = run(&mut items.clone(), &plan, &mut note).unwrap();
                assert_eq!(outcome.results, before.results, "{policies:?}, {blocks:?}");
                assert_eq!(outcome.foreseen, before.foreseen);
                assert_eq!(made, passes, "{policies:?}, {blocks:?}");
            }
        }
    }
}

/// Beside no other policy, one that foresees waits until that is known.
#[test]
fn what_foresees_alone_is_looked_up_once() {
    for pages in [BLOCK - 1, BLOCK] {
        let mut items = Items::new(Grain::Page);
        items.visits((0..pages).chain(0..pages).map(load));
        let beside = &replay(&items, &["foresight", "4k"]).results[0];
        for threads in [1, 2] {
            let mut passes = 0;
            let mut note = |progress: ReplayProgress| {
                passes = progress.pass;
                ControlFlow::Continue(())
            };
            let plan = plan_of("foresight", threads);
            let outcome = run(&mut items.clone(), &plan, &mut note).unwrap();
            assert_eq!((&outcome.results[0], passes), (beside, 2));
        }
    }
}

#[test]
fn teams_that_are_away_when_a_replay_ends_early_are_waited_for() {
    let mut items = Items::new(Grain::Page).in_parts_of(3);
    for step in 0..300 {
        items.visits((0..2000).map(|number| store((number * 37 + step) % 5000)));
    }
    let mut bad = items.clone();
    bad.visits([load(1 << 44)]);
    for threads in [1, 2, 3] {
        let plan = plan_of("greedy", threads);
        let stop = &mut |progress: ReplayProgress| match progress.accesses {
            ..300_000 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        };
        let stopped = run(&mut items.clone(), &plan, stop).err();
        assert_eq!(stopped, Some(Error::Stopped), "{threads} threads");
        let go_on = &mut |_| ControlFlow::Continue(());
        let refused = run(&mut bad.clone(), &plan, go_on).err();
        let address = 1 << 56;
        assert_eq!(
            refused,
            Some(Error::Address { address }),
            "{threads} threads"
        );
    }
}

#[test]
fn what_was_handed_out_behind_the_end_counts_for_nothing() {
    for threads in [1, 2, 3, 4] {
        let parts = [Then::Load(7), Then::Load(8), Then::Load(9), Then::Fail];
        let mut source = failing(&parts, 2);
        let plan = plan_of("4k", threads);
        let outcome = run(&mut source, &plan, &mut |_| ControlFlow::Continue(())).unwrap();
        assert_eq!((outcome.trace.accesses, outcome.trace.pages), (2, 2));
    }
}
