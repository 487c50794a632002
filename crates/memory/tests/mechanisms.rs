//! Each mechanism of limited memory by itself, counted by hand: without it, its test fails.

use broadleaf_memory::frames::Start;
use broadleaf_memory::population::Sizes;
use broadleaf_memory::system::{Costs, Files, Place, Spec, System, SystemCounters};
use broadleaf_memory::{AddressSpaces, Backing, Mapping, Pages, Rights};
use broadleaf_policy::{
    Copies, Effort, Needs, Order, PageDaemon, Placement, Point, Policy, Scan, Verdict, View, parse,
};
use broadleaf_units::{FileId, PageSize, SpaceId};
use std::collections::BTreeSet;

const A: SpaceId = SpaceId(0);
const B: SpaceId = SpaceId(1);
const FILE: Backing = Backing::File {
    file: FileId(0),
    offset: 0,
};

/// Promotes full pieces at one point, and breaks superpages when memory is short.
struct Some {
    needs: Needs,
    at: Point,
}

impl Policy for Some {
    fn name(&self) -> String {
        "some".to_string()
    }

    fn needs(&self) -> Needs {
        self.needs
    }

    fn decide(&self, point: Point, view: &View) -> Verdict {
        if point == Point::Short && view.promoted {
            Verdict::Demote
        } else if point == self.at && view.populated == view.pages && !view.promoted {
            Verdict::Promote
        } else {
            Verdict::Pass
        }
    }

    fn effort(&self, _: Point, _: &View) -> Effort {
        Effort::Later
    }
}

struct World<'a> {
    spaces: AddressSpaces,
    system: System<'a>,
}

impl<'a> World<'a> {
    /// Of base pages and superpages of eight of them.
    fn new(policy: &'a dyn Policy, frames: u64, files: Files) -> Self {
        Self::with_swap(policy, frames, files, 1 << 20)
    }

    fn with_swap(policy: &'a dyn Policy, frames: u64, files: Files, swap: u64) -> Self {
        let spec = Spec {
            base: PageSize::SIZE_4K,
            sizes: Sizes::new(&[0, 3]).expect("sizes"),
            start: Start::Empty.lay_out(frames, 3).expect("a layout"),
            swap,
            files,
            costs: Costs::default(),
        };
        let mut spaces = AddressSpaces::new(BTreeSet::from([A, B]));
        spaces.file(FileId(0), 1 << 30);
        let system = System::new(policy, &spec, None);
        Self { spaces, system }
    }

    fn map(&mut self, space: SpaceId, backing: Backing, start: u64, end: u64) {
        let mapping = Mapping {
            pages: Pages { start, end },
            rights: Rights::READ_WRITE,
            shared: false,
            backing,
        };
        for change in self.spaces.map(space, mapping) {
            self.system.apply(&change);
        }
    }

    fn touch(&mut self, space: SpaceId, pages: std::ops::Range<u64>, store: bool) {
        for page in pages {
            let at = Place { space, page };
            if self.system.look(at, store).is_none() {
                let done = self.system.reference(&self.spaces, at, store);
                done.expect("a frame");
            }
            self.system.shootdowns().for_each(drop);
            self.system.check();
        }
    }

    fn counters(&self) -> &SystemCounters {
        self.system.counters()
    }
}

#[test]
fn loads_of_untouched_memory_share_a_page_of_zeroes() {
    let needs = Needs {
        zero_page: true,
        placement: Placement::AtFault,
        ..Needs::default()
    };
    let at = Point::Scan;
    let policy = Some { needs, at };
    let mut world = World::new(&policy, 64, Files::OnDisk);
    world.map(A, Backing::Anonymous, 0, 40);
    world.touch(A, 0..10, false);
    assert_eq!(
        (world.counters().page_faults, world.counters().resident),
        (10, 0)
    );
    world.touch(A, 0..4, true);
    assert_eq!(
        (world.counters().write_faults, world.counters().resident),
        (4, 4)
    );
    // A store to what was never read takes one fault.
    world.touch(A, 20..21, true);
    assert_eq!(
        (world.counters().page_faults, world.counters().write_faults),
        (11, 4)
    );
}

#[test]
fn a_fault_in_a_file_maps_what_is_in_memory_around_it() {
    let needs = Needs {
        fault_around: 16,
        placement: Placement::AtFault,
        ..Needs::default()
    };
    let at = Point::Scan;
    let policy = Some { needs, at };
    let mut world = World::new(&policy, 256, Files::InMemory);
    world.map(A, FILE, 3, 100);
    world.touch(A, 5..6, false);
    // From where the mapping begins, sixteen pages; then sixteen from an aligned one.
    assert_eq!(
        (world.counters().page_faults, world.counters().resident),
        (1, 16)
    );
    world.touch(A, 3..19, false);
    assert_eq!(world.counters().page_faults, 1);
    world.touch(A, 40..41, false);
    assert_eq!(
        (world.counters().page_faults, world.counters().resident),
        (2, 32)
    );
    // A store maps its own page alone.
    world.touch(A, 70..71, true);
    assert_eq!(
        (world.counters().page_faults, world.counters().resident),
        (3, 33)
    );
}

#[test]
fn pages_of_files_are_found_in_free_frames() {
    let policy = parse("4k").expect("a policy");
    let mut world = World::new(policy.as_ref(), 64, Files::OnDisk);
    world.map(A, FILE, 0, 30);
    world.map(A, Backing::Anonymous, 512, 600);
    world.touch(A, 0..30, false);
    let mut page = 512;
    while world.counters().dropped == 0 {
        world.touch(A, page..page + 1, true);
        page += 1;
    }
    let reads = world.counters().file_reads;
    assert_eq!(reads, 30);
    world.touch(A, 0..30, false);
    assert!(world.counters().cache_hits > 0);
    assert_eq!(
        world.counters().file_reads + world.counters().cache_hits,
        30 + world.counters().page_faults - 30 - (page - 512)
    );
}

#[test]
fn superpages_break_when_memory_is_short_so_that_only_what_is_used_of_them_stays() {
    let mut resident = Vec::new();
    for asked in [true, false] {
        let at = Point::Fault;
        let policy = Some {
            needs: Needs {
                asked_when_short: asked,
                ..Needs::default()
            },
            at,
        };
        let mut world = World::new(&policy, 64, Files::OnDisk);
        world.map(A, Backing::Anonymous, 0, 16);
        world.map(A, FILE, 512, 4096);
        world.touch(A, 0..16, true);
        assert_eq!(world.counters().promotions, 2);
        // One page of each is used all the time, while pages of a file come and go.
        for page in 512..2512 {
            world.touch(A, 0..1, false);
            world.touch(A, 8..9, false);
            world.touch(A, page..page + 1, false);
        }
        resident.push(world.counters().swapped_out);
    }
    // Unbroken, they are used as a whole.
    assert!(resident[0] == 14 && resident[1] < 7, "{resident:?}");
}

#[test]
fn what_was_broken_when_memory_was_short_is_a_superpage_again_when_it_is_used() {
    let policy = parse("navarro").expect("a policy");
    // Without a swap, only pages of the file leave.
    let mut world = World::with_swap(policy.as_ref(), 64, Files::OnDisk, 0);
    world.map(A, Backing::Anonymous, 0, 16);
    world.map(A, FILE, 512, 4096);
    world.touch(A, 0..16, true);
    // Pages of a file come and go, and the daemon breaks both to see which of their pages are used: all are.
    let mut broken = 0;
    for page in 512..1512 {
        world.touch(A, page..page + 1, false);
        let level =
            |world: &mut World<'_>, page| world.system.look(Place { space: A, page }, false);
        broken += u32::from(level(&mut world, 0) != Some(1));
        // The daemon may go on at the first of these references, and at no other.
        world.touch(A, 0..16, false);
        world.touch(A, 0..16, false);
        let all: Vec<_> = (0..16).map(|page| level(&mut world, page)).collect();
        assert_eq!(all, vec![Some(1); 16]);
    }
    assert!(broken > 4, "{broken}");
}

#[test]
fn the_daemon_clears_an_extent_that_was_asked_for_in_vain() {
    let needs = |daemon| Needs {
        daemon,
        ..Needs::default()
    };
    let mut refused = Vec::new();
    for daemon in [PageDaemon::ForContiguity, PageDaemon::OldestFirst] {
        let at = Point::Fault;
        let policy = Some {
            needs: needs(daemon),
            at,
        };
        let mut world = World::new(&policy, 128, Files::OnDisk);
        // A file of which nobody uses anything any more fills memory, but for some frames of a program all over the place.
        world.map(A, FILE, 0, 100);
        world.touch(A, 0..100, false);
        for change in world.spaces.unmap(A, Pages { start: 0, end: 100 }) {
            world.system.apply(&change);
        }
        world.map(A, Backing::Anonymous, 1024, 1024 + 160);
        // Eight pages apart: each wants an extent of its own.
        for page in (1024..1024 + 80).step_by(8) {
            world.touch(A, page..page + 1, true);
        }
        refused.push((
            world.counters().extents_refused,
            world.counters().reservations,
        ));
    }
    let [(_, with), (_, without)] = refused[..] else {
        panic!("two runs");
    };
    assert!(with > without, "{with} reservations against {without}");
}

#[test]
fn frames_zeroed_ahead_spare_the_program_the_zeroing() {
    let scan = Scan {
        period: 100,
        pages: 0,
        promotions: 0,
        order: Order::AsTheyStand,
    };
    let needs = Needs {
        zeroed_ahead: 100_000,
        scan: Option::Some(scan),
        placement: Placement::AtFault,
        ..Needs::default()
    };
    let at = Point::Short;
    let policy = Some { needs, at };
    let mut world = World::new(&policy, 64, Files::OnDisk);
    world.map(A, Backing::Anonymous, 0, 40);
    // A tenth of a frame in an access: ten in a period, one of which the page table gets.
    world.system.pass(&world.spaces, 100);
    world.touch(A, 0..15, true);
    assert_eq!(
        (world.counters().zeroed_ahead, world.counters().zeroed),
        (9, 6)
    );
}

#[test]
fn a_fair_daemon_serves_the_space_first_that_has_least() {
    let scan = Scan {
        period: 100,
        pages: 0,
        promotions: 4,
        order: Order::Fair,
    };
    let needs = Needs {
        copies: Copies::Scattered,
        scan: Option::Some(scan),
        placement: Placement::AtFault,
        ..Needs::default()
    };
    let at = Point::Scan;
    let policy = Some { needs, at };
    let mut world = World::new(&policy, 1024, Files::OnDisk);
    for space in [A, B] {
        world.map(space, Backing::Anonymous, 0, 64);
        world.touch(space, 0..64, true);
    }
    world.system.pass(&world.spaces, 100);
    // Four promotions, in turns: two for each.
    assert_eq!(world.counters().promotions, 4);
    let levels = |world: &mut World<'_>, space| {
        let promoted = (0..64).step_by(8).filter(|page| {
            let at = Place { space, page: *page };
            let _ = world.system.reference(&world.spaces, at, true);
            world.system.look(at, true) == Option::Some(1)
        });
        promoted.count()
    };
    assert_eq!((levels(&mut world, A), levels(&mut world, B)), (2, 2));
}
