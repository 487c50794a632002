//! What processes share, counted by hand: copies at forks, files, and what is left when they end.

use broadleaf_memory::frames::Start;
use broadleaf_memory::population::Sizes;
use broadleaf_memory::system::{Costs, Files, Place, Spec, System, SystemCounters};
use broadleaf_memory::{AddressSpaces, Backing, Mapping, Pages, Rights};
use broadleaf_policy::Policy;
use broadleaf_units::{FileId, PageSize, SpaceId};
use std::collections::BTreeSet;

const PARENT: SpaceId = SpaceId(0);
const CHILD: SpaceId = SpaceId(1);
/// The child's process id.
const PID: u32 = 42;

fn spec(frames: u64) -> Spec {
    Spec {
        base: PageSize::SIZE_4K,
        sizes: Sizes::new(&[0, 9]).expect("sizes"),
        start: Start::Empty.lay_out(frames, 10).expect("a layout"),
        swap: 1 << 20,
        files: Files::OnDisk,
        costs: Costs::default(),
    }
}

struct World<'a> {
    spaces: AddressSpaces,
    system: System<'a>,
}

impl<'a> World<'a> {
    fn new(policy: &'a dyn Policy, frames: u64) -> Self {
        Self {
            spaces: AddressSpaces::new(BTreeSet::from([PARENT, CHILD])),
            system: System::new(policy, &spec(frames), None),
        }
    }

    fn map(&mut self, space: SpaceId, backing: Backing, shared: bool, pages: u64) {
        let changes = self.spaces.map(
            space,
            Mapping {
                pages: Pages {
                    start: 0,
                    end: pages,
                },
                rights: Rights::READ_WRITE,
                shared,
                backing,
            },
        );
        changes.iter().for_each(|change| self.system.apply(change));
        self.system.check();
    }

    fn map_shared(&mut self, space: SpaceId, pages: u64) {
        let behind = self.spaces.shared_memory(
            space,
            Pages {
                start: 0,
                end: pages,
            },
        );
        self.map(space, behind, true, pages);
    }

    fn touch(&mut self, space: SpaceId, pages: std::ops::Range<u64>, store: bool) {
        self.system.visited(space);
        for page in pages {
            let at = Place { space, page };
            if self.system.look(at, store).is_none() {
                self.system
                    .reference(&self.spaces, at, store)
                    .expect("a frame");
            }
            self.system.shootdowns().for_each(drop);
        }
        self.system.check();
    }

    fn fork(&mut self) {
        self.fork_unheard();
        self.spaces.begin(CHILD, PID);
        self.system.begin(CHILD, PID);
        self.system.check();
    }

    /// A child that the trace has not told of yet.
    fn fork_unheard(&mut self) {
        let changes = self.spaces.fork(PARENT, PID);
        self.system.fork(&self.spaces, PARENT, PID);
        changes.iter().for_each(|change| self.system.apply(change));
        self.system.check();
    }

    fn unmap(&mut self, space: SpaceId, end: u64) {
        for change in self.spaces.unmap(space, Pages { start: 0, end }) {
            self.system.apply(&change);
        }
        self.system.shootdowns().for_each(drop);
        self.system.check();
    }

    fn end(&mut self, space: SpaceId) {
        for change in self.spaces.end(space) {
            self.system.apply(&change);
        }
        self.system.shootdowns().for_each(drop);
        self.system.check();
    }

    /// Frames that are free, or taken by page tables.
    fn free(&self) -> u64 {
        let sample = self.system.sample();
        sample.free + sample.wired
    }

    fn counters(&self) -> &SystemCounters {
        self.system.counters()
    }
}

fn policy(name: &str) -> Box<dyn Policy> {
    broadleaf_policy::parse(name).expect("a policy")
}

#[test]
fn a_child_copies_what_either_stores_to_and_nothing_else() {
    let policy = policy("4k");
    let mut world = World::new(policy.as_ref(), 4096);
    world.map(PARENT, Backing::Anonymous, false, 100);
    world.touch(PARENT, 0..100, true);
    let free = world.free();
    world.fork();
    world.map(CHILD, Backing::Anonymous, false, 100);
    assert_eq!(world.free(), free, "nothing was copied yet");
    world.touch(CHILD, 0..100, false);
    assert_eq!(world.counters().page_faults, 100);
    world.touch(CHILD, 0..30, true);
    assert_eq!(
        (world.counters().write_faults, world.counters().copied),
        (30, 30)
    );
    assert_eq!(world.free(), free - 30);
    // Ten of these the child has copied, so the parent only learns that they are its own.
    world.touch(PARENT, 20..40, true);
    assert_eq!(
        (world.counters().write_faults, world.counters().copied),
        (50, 40)
    );
    world.end(PARENT);
    world.touch(CHILD, 0..100, true);
    assert_eq!(
        (world.counters().write_faults, world.counters().copied),
        (120, 40)
    );
    world.end(CHILD);
    assert_eq!(world.free(), 4096);
    assert_eq!(world.counters().page_faults, 100);
}

#[test]
fn memory_that_is_shared_for_good_is_never_copied() {
    let policy = policy("4k");
    let mut world = World::new(policy.as_ref(), 4096);
    world.map_shared(PARENT, 10);
    world.touch(PARENT, 0..10, true);
    world.fork();
    world.map_shared(CHILD, 10);
    world.touch(CHILD, 0..10, true);
    assert_eq!(
        (world.counters().write_faults, world.counters().copied),
        (0, 0)
    );
    assert_eq!(world.free(), 4086);
}

#[test]
fn shared_memory_that_is_first_used_after_the_fork_stands_there_once() {
    let policy = policy("4k");
    let mut world = World::new(policy.as_ref(), 4096);
    world.map_shared(PARENT, 20);
    world.fork();
    world.map_shared(CHILD, 20);
    // What is mapped there later is not what the parent has.
    world.touch(CHILD, 0..10, true);
    world.touch(PARENT, 0..10, false);
    assert_eq!(world.free(), 4086);
    assert_eq!(
        (world.counters().page_faults, world.counters().zeroed),
        (20, 10)
    );
    world.map_shared(CHILD, 20);
    world.touch(CHILD, 0..10, true);
    assert_eq!(world.free(), 4076);
    // The parent's last mapping of it goes, and it is no more.
    world.end(PARENT);
    assert_eq!(world.free(), 4086);
    world.end(CHILD);
    assert_eq!(world.free(), 4096);
}

#[test]
fn shared_memory_outlives_the_process_that_used_it() {
    let policy = policy("4k");
    let mut world = World::new(policy.as_ref(), 4096);
    world.map_shared(PARENT, 10);
    world.fork();
    world.map_shared(CHILD, 10);
    world.touch(CHILD, 0..10, true);
    world.end(CHILD);
    assert_eq!(world.free(), 4086, "the parent has it mapped");
    world.touch(PARENT, 0..10, false);
    assert_eq!((world.free(), world.counters().zeroed), (4086, 10));
    for change in world.spaces.remove(PARENT, Pages { start: 0, end: 4 }) {
        world.system.apply(&change);
    }
    world.system.check();
    assert_eq!(world.free(), 4090);
    world.touch(PARENT, 0..10, false);
    assert_eq!(world.counters().zeroed, 14);
}

#[test]
fn shared_memory_stands_in_the_swap_once() {
    let policy = policy("4k");
    let mut world = World::new(policy.as_ref(), 64);
    world.map_shared(PARENT, 100);
    world.fork();
    world.map_shared(CHILD, 100);
    world.touch(PARENT, 0..100, true);
    let out = world.counters().swapped_out;
    assert!(out >= 100 - 64, "memory holds 64: {out}");
    world.touch(CHILD, 0..100, false);
    let counters = *world.counters();
    assert!(
        counters.swapped_in >= out,
        "found in the swap: {counters:?}"
    );
    assert_eq!(counters.zeroed, 100, "zeroes are given once");
    assert!(world.system.totals().in_swap <= 100);
    world.end(PARENT);
    world.end(CHILD);
    assert_eq!((world.system.totals().in_swap, world.free()), (0, 64));
}

#[test]
fn what_a_private_mapping_brought_from_the_swap_is_not_lost_with_a_store_to_it() {
    let policy = policy("4k");
    let mut world = World::new(policy.as_ref(), 64);
    world.map_shared(PARENT, 100);
    world.touch(PARENT, 0..100, true);
    world.fork();
    // The child has the same memory, and copies what it stores to.
    let pages = Pages { start: 0, end: 100 };
    let behind = world.spaces.shared_memory(CHILD, pages);
    world.map(CHILD, behind, false, 100);
    for page in 0..100 {
        world.touch(CHILD, page..page + 1, false);
        world.touch(CHILD, page..page + 1, true);
    }
    world.end(CHILD);
    world.touch(PARENT, 0..100, false);
    let zeroed = world.counters().zeroed;
    assert_eq!(zeroed, 100, "what the parent stored is there still");
}

#[test]
fn a_child_that_never_began_keeps_no_shared_memory_from_the_next() {
    let policy = policy("4k");
    let mut world = World::new(policy.as_ref(), 4096);
    world.map_shared(PARENT, 10);
    world.touch(PARENT, 0..10, true);
    world.fork_unheard();
    world.unmap(PARENT, 10);
    assert_eq!(world.free(), 4086, "the child may begin yet");
    // Another has its number now, so it never will.
    world.fork_unheard();
    assert_eq!(world.free(), 4096);
}

#[test]
fn a_child_that_was_heard_of_before_its_fork_finds_no_shared_memory() {
    let policy = policy("4k");
    let mut world = World::new(policy.as_ref(), 4096);
    world.map_shared(PARENT, 10);
    world.spaces.begin(CHILD, PID);
    world.system.begin(CHILD, PID);
    world.touch(PARENT, 0..10, true);
    world.fork_unheard();
    // It executes another program, which maps memory where its parent has some.
    world.end(CHILD);
    world.spaces.begin(CHILD, PID);
    world.system.begin(CHILD, PID);
    world.map_shared(CHILD, 10);
    world.touch(CHILD, 0..10, true);
    assert_eq!(world.free(), 4076);
    world.end(PARENT);
    assert_eq!(world.free(), 4086);
}

#[test]
fn shared_memory_whose_rights_changed_in_part_is_one_for_a_child_still() {
    let policy = policy("4k");
    let mut world = World::new(policy.as_ref(), 4096);
    world.map_shared(PARENT, 20);
    let rights = Rights {
        write: false,
        ..Rights::READ_WRITE
    };
    let part = Pages { start: 5, end: 9 };
    for rights in [rights, Rights::READ_WRITE] {
        for change in world.spaces.protect(PARENT, part, rights) {
            world.system.apply(&change);
        }
    }
    world.fork();
    world.map_shared(CHILD, 20);
    world.touch(CHILD, 0..20, true);
    world.touch(PARENT, 0..20, false);
    assert_eq!(world.free(), 4076);
}

#[test]
fn shared_memory_that_the_heap_grows_over_is_no_more() {
    let policy = policy("4k");
    let mut world = World::new(policy.as_ref(), 4096);
    world.map_shared(PARENT, 10);
    world.touch(PARENT, 0..10, true);
    for change in world.spaces.set_heap(PARENT, Pages { start: 0, end: 10 }) {
        world.system.apply(&change);
    }
    world.unmap(PARENT, 10);
    assert_eq!(world.free(), 4096);
}

#[test]
fn pages_that_were_found_in_memory_were_not_zeroed_for_whoever_found_them() {
    let policy = policy("linux");
    let mut world = World::new(policy.as_ref(), 4096);
    world.map_shared(PARENT, 16);
    world.touch(PARENT, 0..16, false);
    world.fork();
    world.map_shared(CHILD, 16);
    // What it began with goes, and what is around the page that it asks for is mapped again.
    world.system.visited(CHILD);
    for change in world.spaces.discard(CHILD, Pages { start: 0, end: 16 }) {
        world.system.apply(&change);
    }
    assert_eq!(world.counters().resident, 16);
    world.touch(CHILD, 0..1, false);
    assert_eq!(world.counters().resident, 32, "mapped around");
    assert_eq!(world.system.totals().common.extra_zeroed_pages, 0);
    world.end(CHILD);
    assert_eq!(world.counters().zeroed_and_gone, 0);
}

#[test]
fn a_superpage_that_is_shared_breaks_where_it_is_stored_to() {
    let policy = policy("thp-always");
    let mut world = World::new(policy.as_ref(), 4096);
    world.map(PARENT, Backing::Anonymous, false, 512);
    world.touch(PARENT, 0..512, true);
    assert_eq!(
        (world.counters().promotions, world.counters().page_faults),
        (1, 1)
    );
    world.fork();
    world.map(CHILD, Backing::Anonymous, false, 512);
    world.touch(CHILD, 0..1, true);
    assert_eq!(
        (world.counters().demotions, world.counters().copied),
        (1, 1)
    );
    // The parent's stands: a store to it breaks it in turn, where the frame is shared still.
    assert_eq!(world.counters().in_superpages, 512);
    world.touch(PARENT, 1..2, true);
    assert_eq!(
        (world.counters().demotions, world.counters().copied),
        (2, 2)
    );
}

#[test]
fn a_child_that_never_begins_is_gone_with_its_parent() {
    let policy = policy("4k");
    let mut world = World::new(policy.as_ref(), 4096);
    world.map(PARENT, Backing::Anonymous, false, 10);
    world.touch(PARENT, 0..10, true);
    world.system.fork(&world.spaces, PARENT, PID);
    world.touch(PARENT, 0..10, true);
    assert_eq!(world.counters().copied, 10);
    world.end(PARENT);
    assert_eq!(world.free(), 4096);
}

#[test]
fn a_child_that_was_heard_of_before_its_fork_shares_nothing() {
    let policy = policy("4k");
    let mut world = World::new(policy.as_ref(), 4096);
    world.map(PARENT, Backing::Anonymous, false, 10);
    // It begins, and executes another program.
    world.system.begin(CHILD, PID);
    world.system.begin(SpaceId(2), PID);
    world.touch(PARENT, 0..10, true);
    world.system.fork(&world.spaces, PARENT, PID);
    world.touch(PARENT, 0..10, true);
    assert_eq!(world.counters().resident, 10);
    assert_eq!(world.counters().write_faults, 0);
    // Numbers of processes are used again: this is another child.
    world.fork();
    assert_eq!(world.counters().resident, 20);
}

#[test]
fn processes_that_map_a_file_share_its_pages() {
    let policy = policy("4k");
    let mut world = World::new(policy.as_ref(), 4096);
    let file = Backing::File {
        file: FileId(3),
        offset: 0,
    };
    world.spaces.file(FileId(3), 64 << 12);
    world.map(PARENT, file, false, 64);
    world.map(CHILD, file, false, 64);
    world.touch(PARENT, 0..64, false);
    world.touch(CHILD, 0..64, false);
    assert_eq!(
        (world.counters().page_faults, world.counters().file_reads),
        (128, 64)
    );
    assert_eq!(world.free(), 4096 - 64);
    // A private page that is stored to is the process's own from then on.
    world.touch(CHILD, 0..8, true);
    assert_eq!(
        (world.counters().write_faults, world.counters().copied),
        (8, 8)
    );
    world.end(CHILD);
    world.end(PARENT);
    // The file's pages stay in memory, and are found there.
    assert_eq!(world.system.sample().file_cache, 64);
    world.map(PARENT, file, false, 64);
    world.touch(PARENT, 0..64, false);
    assert_eq!(world.counters().file_reads, 64);
}

#[test]
fn page_tables_take_frames_that_stand_together_where_the_policy_says_so() {
    for (name, together) in [("navarro", true), ("navarro(daemon=cache)", false)] {
        let policy = policy(name);
        let mut world = World::new(policy.as_ref(), 1 << 15);
        world.map(PARENT, Backing::Anonymous, false, 20 * 512);
        for block in 0..20 {
            world.touch(PARENT, block * 512..block * 512 + 1, true);
        }
        // One more reference, since tables are given their frames before the next.
        world.touch(PARENT, 1..2, true);
        let wired = world.system.sample().wired;
        assert_eq!(wired, if together { 64 } else { 20 }, "{name}");
        world.end(PARENT);
        world.touch(CHILD, 0..2, true);
        assert!(world.system.sample().wired <= if together { 64 } else { 1 });
    }
}

#[test]
fn a_child_of_which_nothing_was_told_keeps_no_shared_memory() {
    let policy = policy("4k");
    let mut world = World::new(policy.as_ref(), 4096);
    world.map_shared(PARENT, 10);
    world.touch(PARENT, 0..10, true);
    let forked = world.spaces.fork(PARENT, PID);
    assert_eq!(forked, []);
    let silent = SpaceId(7);
    world.spaces.begin(silent, PID);
    assert_eq!(world.spaces.end(silent), []);
    world.spaces.check();
    world.end(PARENT);
    assert_eq!(world.free(), 4096, "nobody has it mapped");
}
