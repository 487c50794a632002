//! Colours and scattered superpages divide the sets of a cache among their owners (Chen 2014).

use crate::common::*;
use broadleaf_accel::run;
use broadleaf_machine::{Machine, machine_text};
use broadleaf_model::{Items, Plan};
use broadleaf_trace::{Backing, Event, Grain};
use broadleaf_units::SpaceId;
use std::ops::{ControlFlow, Range};

/// The lines of a base page.
const LINES: u64 = 64;

/// Chen's core with its caches, and with entries for scattered superpages.
fn chen() -> Machine {
    let text = |name| machine_text(name).expect("a machine of the catalogue");
    let (tlbs, _) = text("chen2014-scattered")
        .split_once("[walk-cycles]")
        .expect("costs of walks");
    let (_, caches) = text("chen2014-1core")
        .split_once("[[cache]]")
        .expect("caches");
    let text = format!("caches = \"non-inclusive\"\n{tlbs}[[cache]]{caches}");
    Machine::from_toml(&text).unwrap_or_else(|error| panic!("{error}"))
}

/// Loads from each line of these pages, in order.
fn read(items: &mut Items, pages: &Range<u64>) {
    items.visits((pages.start * LINES..pages.end * LINES).map(load));
}

/// The data misses of the last level under each policy.
fn misses<const N: usize>(items: &Items, policies: [&str; N]) -> [u64; N] {
    let parsed = policies.map(|name| broadleaf_policy::parse(name).expect("a policy"));
    let plan = Plan::new(parsed.into(), vec![chen()]).expect("a plan");
    let outcome = run(
        &mut items.clone(),
        &plan,
        &mut |_| ControlFlow::Continue(()),
    );
    let results = outcome.expect("a replay").results;
    let last = results.iter().map(|result| {
        let caches = result.caches.as_ref().expect("counts of caches");
        caches.levels.last().expect("a level").misses[0]
    });
    let last: Vec<u64> = last.collect();
    last.try_into().expect("a result for each policy")
}

/// 1 MiB in turns: it stays in 4 MiB, and an eighth of the cache is too small for it.
#[test]
fn a_share_holds_less_than_the_cache() {
    let mut items = Items::new(Grain::Line);
    items.event(map(0, BLOCK, Backing::Anonymous));
    let pages = 0..256;
    for _ in 0..4 {
        read(&mut items, &pages);
    }
    let once = 256 * LINES;
    let eighths = |policy| format!("{policy}(shares=1/8+1/8+1/8+1/8)");
    for (whole, part) in [("fixed-4k", "coloured"), ("fixed-2m", "scattered")] {
        let found = misses(&items, [whole, &eighths(part)]);
        assert_eq!(found, [once, 4 * once], "{part}");
    }
}

/// A process reads a mapping again and again. Between, another process passes 8 MiB through the
/// cache.
#[test]
fn owners_with_shares_do_not_drive_each_other_out() {
    let mut items = Items::new(Grain::Line);
    let (kept, passing) = (0..128, 0..4 * BLOCK);
    for round in 0..3 {
        for space in [1, 2] {
            items.event(Event::SpaceSwitch(SpaceId(space)));
            if round == 0 {
                items.event(Event::SpaceStart {
                    pid: 100 + space,
                    parent: 1,
                    command: vec!["program".into()],
                });
                items.event(map(0, 4 * BLOCK, Backing::Anonymous));
            }
            match space {
                1 => {
                    read(&mut items, &kept);
                    read(&mut items, &kept);
                }
                _ => read(&mut items, &passing),
            }
        }
    }
    let (kept, passing) = (128 * LINES, 3 * 4 * BLOCK * LINES);
    let apart = kept + passing;
    let together = 3 * kept + passing;
    for (whole, part) in [("fixed-4k", "coloured"), ("fixed-2m", "scattered")] {
        // A quarter for each of four owners.
        assert_eq!(misses(&items, [whole, part]), [together, apart], "{part}");
    }
}
