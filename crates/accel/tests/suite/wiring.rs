//! The replay around the model: notes, errors, progress, and machines that share a memory.

use crate::common::*;
use broadleaf_accel::{WhyNot, run};
use broadleaf_model::{Error, Items, Plan, PlanError};
use broadleaf_trace::{Backing, Event, Grain, Lead, Visit};
use broadleaf_units::{PageSize, SpaceId, VirtAddr};
use std::ops::ControlFlow;

#[test]
fn walks_and_cycles_add_up() {
    let mut items = Items::new(Grain::Page);
    items.visits((0..5000).map(|number| load(number * 7 % 4096)));
    for result in replay(&items, &["4k", "greedy"]).results {
        assert!(result.l2_misses > 0 && result.l1_misses >= result.l2_misses);
        let (base, large) = (
            result.walks.of(PageSize::SIZE_4K),
            result.walks.of(PageSize::SIZE_2M),
        );
        assert_eq!(base + large, result.l2_misses);
        assert_eq!(result.walk_cycles, 35 * base + 21 * large);
        assert_eq!(base == 0, result.policy == "greedy");
    }
}

#[test]
fn results_come_policy_by_policy_with_the_machines_inside() {
    let machines =
        ["skylake", "skylake-unified-96"].map(|name| broadleaf_machine::machine(name).unwrap());
    let policies = ["greedy", "4k"].map(|name| broadleaf_policy::parse(name).unwrap());
    let plan = Plan::new(policies.into(), machines.into()).unwrap();
    let mut items = Items::new(Grain::Page);
    items.visits((0..1000).map(load));
    let outcome = run(&mut items, &plan, &mut |_| ControlFlow::Continue(())).unwrap();
    let order: Vec<(&str, &str)> = outcome
        .results
        .iter()
        .map(|result| (result.policy.as_str(), result.machine.as_str()))
        .collect();
    let (a, b) = ("skylake", "skylake-unified-96");
    assert_eq!(order, [("greedy", a), ("greedy", b), ("4k", a), ("4k", b)]);
    // Both machines observe one memory.
    assert_eq!(outcome.results[0].refusals, outcome.results[1].refusals);
    assert_eq!(
        outcome.results[0].page_faults,
        outcome.results[1].page_faults
    );
}

#[test]
fn an_empty_trace_has_empty_results() {
    let outcome = replay(&Items::new(Grain::Page), &["foresight"]);
    assert_eq!(outcome.trace.accesses, 0);
    assert_eq!(outcome.results[0].peak_resident_pages, 0);
    assert!(outcome.notes.is_empty());
}

#[test]
fn straddling_accesses_make_two_lookups_at_one_time() {
    let mut items = Items::new(Grain::Page);
    items.visits([
        load(0),
        Visit {
            unit: 1,
            lead: Lead::Load,
            ..Visit::default()
        },
    ]);
    let counted = result(&items, "4k");
    assert_eq!(
        (counted.accesses, counted.l2_misses, counted.page_faults),
        (1, 2, 2)
    );
}

#[test]
fn lines_of_one_page_are_one_page() {
    let mut items = Items::new(Grain::Line);
    items.visits((0..128).map(load));
    let counted = result(&items, "4k");
    assert_eq!(
        (counted.accesses, counted.l2_misses, counted.touched_pages),
        (128, 2, 2)
    );
}

#[test]
fn fetches_are_left_out() {
    let mut items = Items::new(Grain::Page);
    items.visits([Visit {
        unit: 5,
        instructions: 10,
        fetch: true,
        ..Visit::default()
    }]);
    let outcome = replay(&items, &["4k"]);
    assert_eq!(
        (
            outcome.trace.accesses,
            outcome.trace.pages,
            outcome.trace.instructions
        ),
        (0, 0, 10)
    );
}

#[test]
fn switching_spaces_flushes_nothing() {
    let mut items = Items::new(Grain::Page);
    for _ in 0..10 {
        items
            .event(Event::SpaceSwitch(SpaceId(1)))
            .visits([load(0)]);
        items
            .event(Event::SpaceSwitch(SpaceId(0)))
            .visits([load(0)]);
    }
    let counted = result(&items, "4k");
    assert_eq!(
        (counted.l1_misses, counted.regions, counted.touched_pages),
        (2, 2, 2)
    );
}

#[test]
fn mappings_told_late_count_from_the_start() {
    let mut items = Items::new(Grain::Page);
    items
        .visits([load(0)])
        .event(map(0, 512, Backing::Anonymous))
        .visits([load(1)]);
    let mut passes = 0;
    let plan = Plan::new(
        vec![broadleaf_policy::parse("greedy").unwrap()],
        vec![broadleaf_machine::machine("skylake").unwrap()],
    )
    .unwrap();
    let outcome = run(&mut items, &plan, &mut |progress| {
        passes = progress.pass;
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(passes, 2);
    // The first access was outside every mapping, so it made no reservation; the mapping took its
    // page away, and the second access found an empty block.
    let result = &outcome.results[0];
    assert_eq!(
        (
            result.promotions,
            refused(result, "no_reservation"),
            result.page_faults
        ),
        (1, 1, 2)
    );
    assert!(outcome.trace.events);
}

#[test]
fn rights_split_the_mapping_that_is_assumed() {
    let mut items = Items::new(Grain::Page);
    items.visits((0..64).map(store));
    let protect = |pages: u64, rights| Event::Protect(range(0, pages), rights);
    // The same rights again do nothing; others of a part break the superpage, and the second time
    // do nothing either.
    items.event(protect(8, READ_WRITE)).visits([load(64)]);
    assert_eq!(result(&items, "pop-64").demotions, 0);
    items.event(protect(8, READ)).visits([load(8)]);
    items.event(protect(8, READ)).visits([store(9)]);
    let split = result(&items, "dirty-65");
    assert_eq!(refused(&split, "too_few_dirty"), 64 + 1);
    let split = result(&items, "pop-64");
    assert_eq!((split.promotions, split.demotions), (1, 1));
    // In a block that is split nothing can be promoted, until it has one kind of rights again.
    items.visits([store(64)]);
    assert_eq!(refused(&result(&items, "pop-64"), "mixed_protection"), 1);
    items
        .event(protect(512, READ_WRITE))
        .visits([store(65), load(66)]);
    assert_eq!(result(&items, "pop-64").promotions, 2);
    // Unmapped ranges fall back to the assumed mapping.
    let mut items = Items::new(Grain::Page);
    items
        .event(protect(8, READ))
        .event(Event::Unmap(range(0, 8)))
        .visits([load(0)]);
    assert_eq!(result(&items, "greedy").promotions, 1);
}

#[test]
fn notes_say_what_the_trace_does_not() {
    let mut items = Items::new(Grain::Page);
    items.visits([load(0)]);
    let notes = replay(&items, &["4k"]).notes;
    let notes: Vec<String> = notes.into_iter().map(|note| note.text).collect();
    assert!(
        notes[0].starts_with("no mapping events: every block"),
        "{notes:?}"
    );
    assert_eq!(
        notes[1],
        "memory accesses made by the kernel are not counted"
    );
    let mut items = Items::new(Grain::Page);
    items.event(map(0, 1, Backing::Anonymous)).visits([load(0)]);
    items.event(Event::Misplaced {
        at: range(0, 1),
        native: VirtAddr(0x1000),
    });
    items
        .event(Event::SpaceSwitch(SpaceId(4)))
        .visits([load(0), load((1 << 52) - 1)]);
    let notes = replay(&items, &["4k"]).notes;
    let notes: Vec<String> = notes.into_iter().map(|note| note.text).collect();
    assert!(
        notes[0].starts_with("no mapping events of address space 4: "),
        "{notes:?}"
    );
    assert!(
        notes[1].starts_with("1 mapping lies elsewhere"),
        "{notes:?}"
    );
}

#[test]
fn what_the_model_cannot_take_is_refused() {
    let plan = Plan::new(
        vec![broadleaf_policy::parse("greedy").unwrap()],
        vec![broadleaf_machine::machine("skylake").unwrap()],
    )
    .unwrap();
    let go = |items: &mut Items| run(items, &plan, &mut |_| ControlFlow::Continue(())).err();
    let mut items = Items::new(Grain::Page);
    items.visits([load(1 << 44)]);
    assert_eq!(go(&mut items), Some(Error::Address { address: 1 << 56 }));
}

#[test]
fn however_many_spaces_are_alive_each_has_its_pages() {
    let mut items = Items::new(Grain::Page);
    for space in (0..1 << 15).chain(0..1 << 15) {
        items
            .event(Event::SpaceSwitch(SpaceId(space)))
            .visits([load(0)]);
    }
    let outcome = replay(&items, &["4k"]);
    assert_eq!(outcome.results[0].page_faults, 1 << 15);
    assert_eq!(outcome.results[0].l2_misses, 2 << 15);
}

#[test]
fn blocks_that_would_use_up_memory_are_refused() {
    let plan = |names: &[&str], blocks| {
        let named = names
            .iter()
            .map(|name| broadleaf_policy::parse(name).unwrap());
        let machine = broadleaf_machine::machine("skylake").unwrap();
        Plan::new(named.collect(), vec![machine])
            .unwrap()
            .keeping(blocks)
    };
    let go = |items: &Items, plan| {
        run(
            &mut items.clone(),
            &plan,
            &mut |_| ControlFlow::Continue(()),
        )
        .err()
    };
    let mut items = Items::new(Grain::Page);
    items.visits((0..300).map(|block| load(block * BLOCK)));
    let too_many = |blocks, policies, limit| {
        Some(Error::TooManyBlocks {
            blocks,
            policies,
            limit,
        })
    };
    // `4k` is kept too, and is not kept twice.
    assert_eq!(go(&items, plan(&["greedy", "pop-64"], 900)), None);
    assert_eq!(go(&items, plan(&["greedy", "4k"], 600)), None);
    assert_eq!(
        go(&items, plan(&["greedy", "pop-64"], 899)),
        too_many(300, 3, 899)
    );
    let message = too_many(300, 3, 899).map(|error| error.to_string());
    assert!(message.is_some_and(|text| text.ends_with("compare fewer policies at a time")));
    // Pages that move reach blocks as well.
    items.event(Event::Remap {
        from: range(0, 300 * BLOCK),
        to: range(1 << 30, 300 * BLOCK),
    });
    assert_eq!(
        go(&items, plan(&["greedy", "4k"], 1199)),
        too_many(600, 2, 1199)
    );
}

#[test]
fn progress_can_stop_it() {
    let plan = Plan::new(
        vec![broadleaf_policy::parse("greedy").unwrap()],
        vec![broadleaf_machine::machine("skylake").unwrap()],
    )
    .unwrap();
    let mut items = Items::new(Grain::Page);
    items.visits([load(0)]).visits([load(1)]);
    let mut most = 0;
    let stopped = run(&mut items, &plan, &mut |progress| {
        assert_eq!((progress.pass, progress.passes), (1, 1));
        most = progress.accesses;
        if most > 0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    assert_eq!((stopped.err(), most), (Some(Error::Stopped), 2));
}

#[test]
fn plans_without_anything_to_do_are_refused() {
    assert_eq!(Plan::new(vec![], vec![]).err(), Some(PlanError::Empty));
    let text = broadleaf_machine::machine_text("skylake").unwrap();
    let without = text
        .replace("2m = \"va[27:21]\"", "1g = \"va[36:30]\"")
        .replace("{ 2m = \"va[24:22]\" }", "{ 1g = \"va[32:30]\" }");
    let machine =
        broadleaf_machine::Machine::from_toml(&without.replace("2m = 21", "1g = 21")).unwrap();
    let plan = Plan::new(vec![broadleaf_policy::base_pages()], vec![machine]).expect("a plan");
    let why = broadleaf_accel::covers(&plan).expect_err("a missing size");
    assert!(matches!(why, WhyNot::PageSize { size, .. } if size == "2m"));
}
