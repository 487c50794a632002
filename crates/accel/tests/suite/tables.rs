//! Page tables of replays: walk caches, synonym tables, rights, and nodes that processes share.

use crate::common::*;
use broadleaf_accel::run;
use broadleaf_machine::Machine;
use broadleaf_metrics::{CellResult, TlbResult};
use broadleaf_model::{Items, Plan};
use broadleaf_trace::{Backing, Event, Grain, Mapping};
use broadleaf_units::SpaceId;
use std::ops::ControlFlow;

/// A machine with a TLB of four pages. `top` are keys of the machine, `second` a further structure,
/// and `tables` further tables.
fn machine(top: &str, second: &str, tables: &str) -> Machine {
    let text = format!(
        "name = \"small\"\nsummary = \"a small TLB\"\n{top}\n\
         [[tlb]]\nname = \"first\"\nlevel = 1\nentries = 4\nways = 4\nreplacement = \"lru\"\n\
         index = {{ 4k = \"none\" }}\n{second}\n[walk-lines]\nbytes = 64\n{tables}\n\
         [walk-cycles]\n4k = 30\n"
    );
    Machine::from_toml(&text).unwrap_or_else(|error| panic!("{error}"))
}

fn replayed(items: &Items, machine: Machine) -> CellResult {
    replayed_under("4k", items, machine)
}

fn replayed_under(policy: &str, items: &Items, machine: Machine) -> CellResult {
    let policy = broadleaf_policy::parse(policy).expect("a policy");
    let plan = Plan::new(vec![policy], vec![machine]).expect("a plan");
    let mut items = items.clone();
    let outcome = run(&mut items, &plan, &mut |_| ControlFlow::Continue(()));
    outcome.expect("a replay").results.remove(0)
}

fn tlb(items: &Items, machine: Machine) -> TlbResult {
    replayed(items, machine).tlb.expect("counts of a TLB")
}

/// Loads of 64 pages in each of four directories of 2 MiB, one directory after the other or in
/// turn: each misses.
fn directories(in_turn: bool) -> Items {
    let mut items = Items::new(Grain::Page);
    items.event(map(0, 1 << 14, Backing::Anonymous));
    items.visits((0..256).map(|number| match in_turn {
        true => load(number % 4 * 512 + 8 * (number / 4)),
        false => load(number / 64 * 512 + 8 * (number % 64)),
    }));
    items
}

const SECOND: &str = "[[tlb]]\nname = \"second\"\nlevel = 2\nentries = 8\nways = 8\n\
                      replacement = \"lru\"\nindex = { 4k = \"none\" }\n\
                      walk-entries = { 1g = \"none\" }\n";

#[test]
fn walks_leave_out_what_walk_caches_hold() {
    let items = directories(false);
    let plain = replayed(&items, machine("", "", ""));
    let before = plain.tlb.clone().expect("counts of a TLB");
    assert_eq!((plain.l2_misses, before.walk_cache_hits), (256, None));
    assert_eq!(before.table_nodes, Some(4 * 256));
    let cached = replayed(
        &items,
        machine("", "", "[walk-caches]\n2m = { entries = 4 }\n"),
    );
    let after = cached.tlb.clone().expect("counts of a TLB");
    // The first walk of each directory reads four levels, the others one.
    assert_eq!(after.walk_cache_hits, Some(252));
    assert_eq!(after.walk_reads, 4 * 4 + 252);
    assert_eq!(after.table_nodes, Some(4 * 4 + 252));
    assert_eq!(cached.l2_misses, plain.l2_misses);
    assert_eq!(after.table_bytes, before.table_bytes);
}

#[test]
fn walk_caches_and_walk_entries_shorten_the_same_walks() {
    let items = directories(true);
    let entries = tlb(&items, machine("", SECOND, ""));
    // The second level holds the entry of 1 GiB: later walks read two entries.
    assert_eq!(
        (entries.walk_entry_hits, entries.walk_reads),
        (255, 4 + 255 * 2)
    );
    assert_eq!(entries.table_nodes, Some(4 + 255 * 2));
    let both = tlb(
        &items,
        machine("", SECOND, "[walk-caches]\n2m = { entries = 4 }\n"),
    );
    assert_eq!((both.walk_cache_hits, both.walk_entry_hits), (Some(252), 3));
    assert_eq!(both.walk_reads, 4 + 3 * 2 + 252);
    assert_eq!(both.table_nodes, Some(4 + 3 * 2 + 252));
}

#[test]
fn an_invalidation_drops_the_entries_that_lead_to_its_pages() {
    let mut items = Items::new(Grain::Page);
    items.event(map(0, 1 << 14, Backing::Anonymous));
    items.visits([0, 512].map(load));
    items.event(Event::Unmap(range(0, 8)));
    items.visits([16, 520].map(load));
    let caches = "[walk-caches]\n2m = { entries = 4 }\n1g = { entries = 1 }\n";
    let counts = tlb(&items, machine("", "", caches));
    // The unmapped pages take the 2 MiB entry of the first directory and the 1 GiB entry along.
    assert_eq!(counts.walk_reads, 4 + 2 + 4 + 1);
}

/// Pages of the shared memory.
const PAGES: u64 = 300;

/// A process with shared memory, and a child that loads it too. The child unmaps a part at last.
fn sharing(unmapped: u64) -> Items {
    let shared = Event::Map(Mapping {
        range: range(0, PAGES),
        protection: READ_WRITE,
        shared: true,
        backing: Backing::SharedMemory,
    });
    let mut items = Items::new(Grain::Page);
    items.event(shared.clone());
    items.visits((0..PAGES).map(store));
    items.event(Event::Fork { child: 7 });
    items.event(Event::SpaceSwitch(SpaceId(1)));
    items.event(Event::SpaceStart {
        pid: 7,
        parent: 1,
        command: Vec::new(),
    });
    items.event(shared);
    items.visits((0..PAGES).map(load));
    if unmapped > 0 {
        items.event(Event::Unmap(range(0, unmapped)));
        items.visits([load(PAGES - 1)]);
    }
    items
}

#[test]
fn synonym_tables_list_the_pages_that_processes_share() {
    for name in ["pages", "same-size", "first", "sorted"] {
        let key = format!("synonyms = \"synonyms-{name}\"\n");
        let counts = |unmapped| tlb(&sharing(unmapped), machine(&key, "", ""));
        let all = counts(0);
        // A list head for each frame, and a pointer for each of the two entries.
        assert_eq!(all.synonym_bytes, Some(PAGES * (8 + 2 * 8)), "{name}");
        assert_eq!(
            (all.synonym_bytes_peak, all.synonym_split),
            (all.synonym_bytes, Some(0))
        );
        assert!(all.synonym_updates >= Some(2 * PAGES), "{name}");
        assert!(all.synonym_lines >= all.synonym_updates, "{name}");
        let fewer = counts(100);
        assert_eq!(
            fewer.synonym_bytes,
            Some(PAGES * (8 + 2 * 8) - 100 * 8),
            "{name}"
        );
        assert_eq!(fewer.synonym_bytes_peak, all.synonym_bytes, "{name}");
    }
    let none = tlb(&sharing(0), machine("", "", ""));
    assert_eq!((none.synonym_bytes, none.synonym_updates), (None, None));
}

#[test]
fn pointers_in_entries_count_in_the_page_table() {
    let key = "synonyms = \"synonyms-pages\"\npage-table = \"hashed(aliases=entries)\"\n";
    let counts = tlb(&sharing(0), machine(key, "", ""));
    assert_eq!(counts.synonym_bytes, Some(PAGES * 8));
    assert_eq!(counts.table_bytes, Some(2 * PAGES * 32));
}

#[test]
fn processes_share_nodes_of_shared_memory() {
    let bytes = |table: &str| {
        let key = format!("page-table = \"{table}\"\n");
        tlb(&sharing(0), machine(&key, "", "")).table_bytes
    };
    // Two trees of four nodes; the node of the pages is one.
    assert_eq!(bytes("x86-64"), Some(8 * 4096));
    assert_eq!(bytes("x86-64(shared=true)"), Some(7 * 4096));
}

/// A range of pages has one set of rights.
#[test]
fn protection_reaches_the_page_table() {
    let bytes = |protect: &[Event]| {
        let mut items = Items::new(Grain::Page);
        items.event(map(0, 64, Backing::Anonymous));
        items.visits((0..64).map(store));
        for event in protect {
            items.event(event.clone());
        }
        items.visits([load(63)]);
        let counts = tlb(&items, machine("page-table = \"ranges\"\n", "", ""));
        counts.table_bytes.expect("a table")
    };
    let without = bytes(&[]);
    let half = |rights| Event::Protect(range(0, 32), rights);
    assert_eq!(bytes(&[half(READ)]), without + 32);
    assert_eq!(bytes(&[half(READ), half(READ_WRITE)]), without);
}

/// A policy that is asked at misses, and promotes nothing, has the walks of base pages: those of
/// the missing pages, and those of the pages that a preloading TLB loads beside them.
#[test]
fn a_policy_asked_at_misses_reads_the_entries_of_neighbours_too() {
    let subblocks = |table: &str| {
        let text = format!(
            "name = \"subblocks\"\nsummary = \"a TLB that preloads\"\npage-table = \"{table}\"\n\
             [[tlb]]\nname = \"first\"\nlevel = 1\nentries = 4\nways = 4\n\
             organisation = \"complete-subblock\"\nblock = \"16k\"\npreload = true\n\
             replacement = \"lru\"\nindex = {{ 4k = \"none\", 2m = \"none\" }}\n\
             [walk-lines]\nbytes = 64\n[walk-cycles]\n4k = 30\n2m = 30\n"
        );
        Machine::from_toml(&text).unwrap_or_else(|error| panic!("{error}"))
    };
    let items = directories(true);
    for table in ["hashed", "clustered", "linear"] {
        let counts = |policy| {
            let result = replayed_under(policy, &items, subblocks(table));
            let tlb = result.tlb.expect("counts of a TLB");
            (
                result.l2_misses,
                tlb.walk_reads,
                tlb.table_lines,
                tlb.table_nodes,
            )
        };
        let expected = counts("4k");
        assert_eq!(
            counts("approx-online(idle_below=1000000)"),
            expected,
            "{table}"
        );
    }
}
