//! Events of an instrumented kernel, one rule at a time.

use crate::common::{load, range, result};
use broadleaf_accel::{run, run_after};
use broadleaf_model::{Error, Items, Plan};
use broadleaf_trace::{Event, Grain, KernelAction, KernelEvent, SystemEvent, TagFlush};
use broadleaf_units::{SpaceId, VirtAddr};
use std::ops::ControlFlow;

fn plan(policy: &str) -> Plan {
    let policy = broadleaf_policy::parse(policy).expect("a policy");
    let machine = broadleaf_machine::machine("skylake").expect("a machine");
    Plan::new(vec![policy], vec![machine]).expect("a plan")
}

/// A block whose pages are referenced in turn, with events before.
fn one_block(before: &[KernelAction]) -> Items {
    let mut items = Items::new(Grain::Page).of_system();
    let space = SpaceId(1);
    items.event(Event::System(SystemEvent::Space(space)));
    for action in before {
        let action = *action;
        items.event(Event::Kernel(KernelEvent { space, action }));
    }
    items.visits((0..64).map(load));
    items
}

#[test]
fn without_events_of_reservations_our_rules_hold() {
    let promotions = |before: &[KernelAction]| result(&one_block(before), "greedy").promotions;
    let here = VirtAddr(0);
    let elsewhere = VirtAddr(2 << 21);
    assert_eq!(promotions(&[]), 1);
    assert_eq!(promotions(&[KernelAction::SpaceFlushed]), 1);
    assert_eq!(promotions(&[KernelAction::ReservationCreated(here)]), 1);
    assert_eq!(
        promotions(&[KernelAction::ReservationCreated(elsewhere)]),
        0
    );
    assert_eq!(promotions(&[KernelAction::ReservationBroken(elsewhere)]), 0);
}

/// The kernel of an earlier trace does not decide on the reservations of a later one.
#[test]
fn another_trace_begins_with_our_reservations() {
    let elsewhere = KernelAction::ReservationCreated(VirtAddr(2 << 21));
    for (before, later, promotions) in [
        (vec![], vec![], 1),
        (vec![elsewhere], vec![], 1),
        (vec![elsewhere], vec![elsewhere], 0),
        (vec![], vec![elsewhere], 0),
    ] {
        let mut earlier = [one_block(&before)];
        let mut items = one_block(&later);
        let outcome = run_after(&mut earlier, &mut items, &plan("greedy"), &mut |_| {
            ControlFlow::Continue(())
        });
        let found = outcome.expect("a replay").results.remove(0);
        assert_eq!(found.promotions, promotions, "{before:?}, {later:?}");
        let memory = found.memory.expect("a model of frames");
        let follows = memory.part_filled_superpages_broken.is_some();
        assert_eq!(follows, !later.is_empty(), "{before:?}, {later:?}");
    }
}

/// The kernel's reservations count in the memory that a replay may take.
#[test]
fn reservations_without_a_reference_need_memory() {
    let replayed = |reservations: u64| {
        let creates = |block| KernelAction::ReservationCreated(VirtAddr(block << 21));
        let creates: Vec<_> = (0..reservations).map(creates).collect();
        let plan = plan("4k").within_bytes(16 << 20);
        run(&mut one_block(&creates), &plan, &mut |_| {
            ControlFlow::Continue(())
        })
    };
    assert!(replayed(10).is_ok());
    let why = replayed(400_000).expect_err("too many");
    assert!(matches!(why, Error::NoRoom { .. }), "{why:?}");
}

/// A reservation has its age since the kernel made it, and not since its first fault.
#[test]
fn ages_count_from_the_kernels_reservation() {
    let space = SpaceId(1);
    let mut items = Items::new(Grain::Page).of_system();
    items.event(Event::System(SystemEvent::Space(space)));
    let action = KernelAction::ReservationCreated(VirtAddr(0));
    items.event(Event::Kernel(KernelEvent { space, action }));
    items.visits((0..80).map(|page| load(4096 + page)));
    items.visits((0..30).map(load));
    assert_eq!(result(&items, "life-100").promotions, 1);
    assert_eq!(result(&items, "life-120").promotions, 0);
}

/// The policy of recorded sizes makes and breaks the superpages that the kernel names.
#[test]
fn the_recorded_policy_follows_the_kernels_superpages() {
    let start = VirtAddr(0);
    for (actions, expected) in [
        (vec![KernelAction::Promoted(start)], (1, 0)),
        (vec![KernelAction::Shared(start)], (1, 0)),
        (
            vec![KernelAction::Promoted(start), KernelAction::Demoted(start)],
            (1, 1),
        ),
    ] {
        let items = one_block(&actions);
        let found = result(&items, "guest");
        assert_eq!((found.promotions, found.demotions), expected, "{actions:?}");
        let others = result(&items, "4k");
        assert_eq!((others.promotions, others.demotions), (0, 0));
    }
}

/// An event about the kernel's own space changes none of its pages.
#[test]
fn the_kernels_own_memory_follows_its_leaves() {
    let mut items = Items::new(Grain::Page).of_system();
    let page = 0xffff_8000_0000_0000 >> 12;
    items.visits([load(page)]);
    let action = KernelAction::Unmapped(range(page, 1));
    let space = SystemEvent::KERNEL;
    items.event(Event::Kernel(KernelEvent { space, action }));
    items.visits([load(page)]);
    assert_eq!(result(&items, "4k").l2_misses, 1);
    let action = KernelAction::TagFlushed(TagFlush::AllButGlobal);
    items.event(Event::Kernel(KernelEvent { space, action }));
    items.visits([load(page)]);
    assert_eq!(result(&items, "4k").l2_misses, 1);
    let action = KernelAction::AllFlushed;
    items.event(Event::Kernel(KernelEvent { space, action }));
    items.visits([load(page)]);
    assert_eq!(result(&items, "4k").l2_misses, 2);
}

/// A miss of a page of the kernel is charged to no candidate, so the policy is not asked again
/// about the candidates of the miss before.
#[test]
fn misses_of_the_kernel_ask_about_nothing() {
    let refused = |kernel_pages: u64| {
        let mut items = Items::new(Grain::Page).of_system();
        let space = SpaceId(1);
        items.event(Event::System(SystemEvent::Space(space)));
        items.visits((0..40).map(load));
        let kernel = 0xffff_8000_0000_0000 >> 12;
        items.visits((0..kernel_pages).map(|page| load(kernel + page)));
        let found = result(&items, "approx-online");
        assert!(found.l2_misses >= 40 + kernel_pages, "{}", found.l2_misses);
        found.refusals
    };
    let without = refused(0);
    assert_eq!(refused(30), without);
    assert!(without.values().sum::<u64>() > 0, "{without:?}");
}
