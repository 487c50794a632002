//! A daemon that promotes a block by copying: the TLB loses the block's base pages at once. Pages
//! that come next take the free entries.

use crate::common::{BLOCK, load, loads, map, range, store};
use broadleaf_accel::run;
use broadleaf_machine::machines_of_grid;
use broadleaf_model::{Items, MemoryLimits, Plan};
use broadleaf_trace::{Advice, Backing, Event, Grain};
use broadleaf_units::PageSize;
use std::ops::ControlFlow;

/// The accesses between two turns of khugepaged.
const PERIOD: u32 = 10_000;

/// A mapping of eight pages, which is too small for a superpage.
const SMALL: u64 = 4 * BLOCK;

/// The walks for base pages and for superpages in a TLB of eight entries, if `event` follows the
/// visit in which the daemon falls due.
fn walks(event: Option<Event>) -> (u64, u64) {
    let mut items = Items::new(Grain::Page);
    for (first, pages) in [(0, BLOCK), (SMALL, 8)] {
        items.event(map(first, pages, Backing::Anonymous));
        for _ in 0..3 {
            items.visits((first..first + pages).map(store));
        }
    }
    // The block has base pages already.
    items.event(Event::Advise(range(0, BLOCK), Advice::HugePage));
    // The TLB has half of the small mapping, and then four pages of the block.
    items.visits((SMALL..SMALL + 4).chain(0..4).map(load));
    items.visits([loads(SMALL, PERIOD)]);
    if let Some(event) = event {
        items.event(event);
    }
    // The daemon examines no page of the small mapping: all of them are settled, and none makes the
    // memory act.
    let rest = [1, 4, 5, 6, 7, 0, 1, 2, 3];
    items.visits(rest.map(|page| load(SMALL + page)));
    items.visits([load(0)]);

    let machines = machines_of_grid("superpage:entries=8,sizes=4k+2m,replacement=lru");
    let name = format!("linux(enabled=madvise,scan_period={PERIOD},pages_to_scan={BLOCK})");
    let policy = broadleaf_policy::parse(&name).expect("a policy");
    let plan = Plan::within(
        vec![policy],
        machines.expect("a grid"),
        MemoryLimits::none(),
    );
    let plan = plan.expect("a plan");
    let outcome = run(&mut items, &plan, &mut |_| ControlFlow::Continue(()));
    let result = outcome.expect("a replay").results.remove(0);
    assert_eq!(result.promotions, 1);
    let of = |size| result.walks.of(size);
    (of(PageSize::SIZE_4K), of(PageSize::SIZE_2M))
}

/// Three sweeps over the block; the small mapping, once; four pages of the block; the other half of
/// the small mapping, which takes their entries. The superpage comes last.
const EXPECTED: (u64, u64) = (3 * BLOCK + 8 + 4 + 4, 1);

#[test]
fn a_daemon_before_a_reference_flushes_the_base_pages_at_once() {
    assert_eq!(walks(None), EXPECTED);
}

#[test]
fn a_daemon_before_an_event_flushes_the_base_pages_at_once() {
    assert_eq!(
        walks(Some(map(16 * BLOCK, 1, Backing::Anonymous))),
        EXPECTED
    );
}
