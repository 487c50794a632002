//! Memory that the kernel populates: resident without a reference of the program.

use crate::common::*;
use broadleaf_accel::run;
use broadleaf_metrics::CellResult;
use broadleaf_model::{Items, MemoryLimits, Plan};
use broadleaf_trace::{Advice, Backing, Event, Grain, KernelTouch, Mapping, TouchOrigin};
use std::ops::ControlFlow;

fn populate(start: u64, pages: u64, touch: KernelTouch) -> Event {
    Event::Populate {
        range: range(start, pages),
        touch,
        origin: TouchOrigin::Request,
    }
}

/// The result of one policy, in the model without limits or within 1 GiB.
fn replayed(items: &Items, policy: &str, limited: bool) -> CellResult {
    let policies = vec![broadleaf_policy::parse(policy).expect("a policy")];
    let machines = vec![broadleaf_machine::machine("skylake").expect("a machine")];
    let plan = if limited {
        Plan::within(policies, machines, MemoryLimits::new(1 << 30))
    } else {
        Plan::new(policies, machines)
    };
    let outcome = run(&mut items.clone(), &plan.expect("a plan"), &mut |_| {
        ControlFlow::Continue(())
    });
    outcome.expect("a replay").results.remove(0)
}

/// Each populated page is a fault and no access. The program's own reference to the page does not
/// fault.
#[test]
fn a_populated_page_is_a_fault_and_no_reference() {
    let mut items = Items::new(Grain::Page);
    items.event(map(0, 2 * BLOCK, Backing::Anonymous));
    items.event(populate(0, 40, KernelTouch::Store));
    items.visits((0..10).map(load));
    for limited in [false, true] {
        let result = replayed(&items, "4k", limited);
        assert_eq!((result.accesses, result.page_faults), (10, 40));
        assert_eq!((result.resident_pages, result.l1_misses), (40, 10));
    }
    // The policy is asked as at a fault: of 40 pages, and of their stores.
    for (policy, promotions) in [
        ("pop-40", 1),
        ("pop-41", 0),
        ("dirty-40", 1),
        ("dirty-41", 0),
    ] {
        assert_eq!(
            replayed(&items, policy, false).promotions,
            promotions,
            "{policy}"
        );
    }
}

/// The kernel stores to private pages that may be written, and to nothing else, where the mapping
/// decides. Pages of no mapping, of the kernel's own and past the end of a file are left alone.
#[test]
fn what_is_populated_depends_on_the_mapping() {
    let private = |start, backing, protection| {
        Event::Map(Mapping {
            range: range(start, 10),
            protection,
            shared: false,
            backing,
        })
    };
    let mut items = Items::new(Grain::Page);
    items.event(file(1, 7));
    items.event(private(0, Backing::Anonymous, READ_WRITE));
    items.event(private(20, Backing::Anonymous, READ));
    items.event(private(40, backed_by(1), READ));
    items.event(private(60, Backing::Kernel, READ));
    let shared = Mapping {
        range: range(80, 10),
        protection: READ_WRITE,
        shared: true,
        backing: Backing::SharedMemory,
    };
    items.event(Event::Map(shared));
    items.event(populate(0, 100, KernelTouch::AsMapped));
    items.visits([load(0)]);
    for limited in [false, true] {
        let result = replayed(&items, "4k", limited);
        assert_eq!(result.page_faults, 10 + 10 + 7 + 10, "{limited}");
    }
}

/// `MADV_COLLAPSE` makes superpages under the policy that obeys it, and pages resident under any
/// other.
#[test]
fn a_collapse_makes_superpages_where_the_policy_obeys() {
    let mut items = Items::new(Grain::Page);
    items.event(map(0, 4 * BLOCK, Backing::Anonymous));
    items.event(Event::Advise(range(0, 4 * BLOCK), Advice::NoHugePage));
    items.visits((0..BLOCK).map(store));
    items.event(Event::Advise(range(0, 4 * BLOCK), Advice::HugePage));
    items.event(populate(0, 3 * BLOCK + 7, KernelTouch::Collapse));
    items.visits([load(0)]);
    let linux = replayed(&items, "linux(enabled=never,khugepaged=off)", true);
    assert_eq!(linux.promotions, 3);
    let base = replayed(&items, "4k", true);
    assert_eq!((base.promotions, base.resident_pages), (0, 3 * BLOCK + 7));
}
