//! What has to be written back of a file that is mapped in superpages and stored to here and there.

use broadleaf_memory::frames::Start;
use broadleaf_memory::population::Sizes;
use broadleaf_memory::system::{Costs, Files, Place, Spec, System};
use broadleaf_memory::{AddressSpaces, Backing, Mapping, Pages, Rights};
use broadleaf_policy::{Copies, Needs, Point, Policy, Verdict, View, parse};
use broadleaf_units::{FileId, PageSize, SpaceId};
use std::collections::BTreeSet;

const SPACE: SpaceId = SpaceId(0);
/// Four superpages of 64 pages, which have pieces of 8 pages.
const PAGES: u64 = 256;

struct World<'a> {
    spaces: AddressSpaces,
    system: System<'a>,
}

impl<'a> World<'a> {
    /// A file is mapped, all of it was read, and some pages were stored to.
    fn after(policy: &'a dyn Policy, stored: &[u64]) -> Self {
        let spec = Spec {
            base: PageSize::SIZE_4K,
            sizes: Sizes::new(&[0, 3, 6]).expect("sizes"),
            start: Start::Empty.lay_out(1024, 10).expect("a layout"),
            swap: 0,
            files: Files::OnDisk,
            costs: Costs::default(),
        };
        let mut spaces = AddressSpaces::new(BTreeSet::from([SPACE]));
        spaces.file(FileId(0), PAGES << 12);
        let mut world = Self {
            spaces,
            system: System::new(policy, &spec, None),
        };
        let pages = Pages {
            start: 0,
            end: PAGES,
        };
        world.map(pages, true);
        (0..PAGES).for_each(|page| world.refer(page, false));
        stored.iter().for_each(|page| world.refer(*page, true));
        world
    }

    fn map(&mut self, pages: Pages, shared: bool) {
        let offset = (pages.start % PAGES) << 12;
        let mapping = Mapping {
            pages,
            rights: Rights::READ_WRITE,
            shared,
            backing: Backing::File {
                file: FileId(0),
                offset,
            },
        };
        for change in self.spaces.map(SPACE, mapping) {
            self.system.apply(&change);
        }
    }

    fn refer(&mut self, page: u64, store: bool) {
        let at = Place { space: SPACE, page };
        if self.system.look(at, store).is_none() {
            let done = self.system.reference(&self.spaces, at, store);
            done.expect("enough memory");
        }
        self.system.shootdowns().for_each(drop);
        self.system.check();
    }

    fn unmap(&mut self) {
        let all = Pages {
            start: 0,
            end: PAGES,
        };
        for change in self.spaces.unmap(SPACE, all) {
            self.system.apply(&change);
        }
        self.system.check();
    }

    fn to_write(&self) -> u64 {
        self.system.counters().file_writes + self.system.totals().unsaved_file_pages
    }
}

#[test]
fn a_store_makes_all_of_a_superpage_to_be_written_unless_it_is_broken() {
    let demotes = parse("navarro(sizes=all)").expect("a policy");
    let ignores = parse("navarro(sizes=all,dirty=ignore)").expect("a policy");
    for (policy, written, demotions) in [(&demotes, 2, 2 * 2), (&ignores, 2 * 64, 0)] {
        let mut world = World::after(policy.as_ref(), &[5, 130]);
        let counters = world.system.counters();
        assert_eq!(counters.demotions, demotions, "{}", policy.name());
        assert_eq!(world.to_write(), written, "{}", policy.name());
        // Whoever stored to it goes; the file has not been written for that.
        world.unmap();
        assert_eq!(world.to_write(), written, "{}", policy.name());
    }
}

#[test]
fn what_is_stored_to_throughout_is_written_whole_in_any_case() {
    let all: Vec<u64> = (0..PAGES).collect();
    for name in ["navarro", "navarro(dirty=ignore)", "4k"] {
        let policy = parse(name).expect("a policy");
        assert_eq!(World::after(policy.as_ref(), &all).to_write(), PAGES);
    }
}

#[test]
fn pages_that_nobody_maps_any_more_are_written_when_their_frames_are_wanted() {
    let policy = parse("4k").expect("a policy");
    let mut world = World::after(policy.as_ref(), &[5, 130]);
    world.unmap();
    assert_eq!(world.system.counters().file_writes, 0);
    let pages = Pages {
        start: 4096,
        end: 4096 + 1000,
    };
    let mapping = Mapping {
        pages,
        rights: Rights::READ_WRITE,
        shared: false,
        backing: Backing::Anonymous,
    };
    for change in world.spaces.map(SPACE, mapping) {
        world.system.apply(&change);
    }
    (pages.start..pages.end).for_each(|page| world.refer(page, true));
    assert_eq!(world.system.counters().file_writes, 2);
    assert_eq!(world.system.totals().unsaved_file_pages, 0);
}

#[test]
fn a_private_store_saves_what_was_stored_to_the_file_before() {
    let policy = parse("4k").expect("a policy");
    let mut world = World::after(policy.as_ref(), &[5]);
    world.unmap();
    let pages = Pages {
        start: 0,
        end: PAGES,
    };
    world.map(pages, false);
    world.refer(5, false);
    world.refer(5, true);
    assert_eq!(world.system.counters().file_writes, 1);
}

#[test]
fn a_file_that_is_mapped_again_stays_where_it_is() {
    let policy = parse("navarro").expect("a policy");
    let mut world = World::after(policy.as_ref(), &[]);
    assert_eq!(world.system.counters().reservations, 4);
    for _ in 0..3 {
        world.unmap();
        let pages = Pages {
            start: 0,
            end: PAGES,
        };
        world.map(pages, true);
        (0..PAGES).for_each(|page| world.refer(page, false));
    }
    let counters = world.system.counters();
    assert_eq!((counters.copied, counters.file_reads), (0, PAGES));
    assert_eq!(counters.reservations, 4);
}

/// Reserves and never promotes; whether it copies is its parameter.
struct Reserves(bool);

impl Policy for Reserves {
    fn name(&self) -> String {
        "reserves".to_string()
    }

    fn needs(&self) -> Needs {
        Needs {
            copies: if self.0 {
                Copies::Scattered
            } else {
                Copies::Never
            },
            ..Needs::default()
        }
    }

    fn decide(&self, _: Point, _: &View) -> Verdict {
        Verdict::Pass
    }
}

#[test]
fn the_daemon_moves_pages_for_an_extent_only_where_a_policy_copies() {
    for copies in [false, true] {
        let policy = Reserves(copies);
        let start = Start::Seeded {
            occupied: 0.5,
            movable: 1.0,
            seed: 1,
            run: (0, 0),
        };
        let spec = Spec {
            base: PageSize::SIZE_4K,
            sizes: Sizes::new(&[0, 3]).expect("sizes"),
            start: start.lay_out(1024, 10).expect("a layout"),
            swap: 0,
            files: Files::OnDisk,
            costs: Costs::default(),
        };
        let mut world = World {
            spaces: AddressSpaces::new(BTreeSet::new()),
            system: System::new(&policy, &spec, None),
        };
        (0..400).for_each(|page| world.refer(page, true));
        assert_eq!(world.system.counters().migrated > 0, copies);
    }
}
