//! What is easily forgotten of limited memory: what each thing costs and whom, and what must not be left behind.

use broadleaf_memory::frames::Start;
use broadleaf_memory::population::Sizes;
use broadleaf_memory::system::{Costs, Files, Place, Spec, System};
use broadleaf_memory::{AddressSpaces, Backing, Mapping, Pages, Rights};
use broadleaf_policy::{
    Copies, Effort, Needs, Order, Placement, Point, Policy, Scan, Verdict, View, parse,
};
use broadleaf_units::{FileId, PageSize, SpaceId};
use std::collections::BTreeSet;

const P: SpaceId = SpaceId(0);
const C: SpaceId = SpaceId(1);

#[derive(Clone, Copy)]
struct Any {
    needs: Needs,
    at: Option<Point>,
    from: u32,
    effort: Effort,
}
impl Policy for Any {
    fn name(&self) -> String {
        "any".into()
    }
    fn needs(&self) -> Needs {
        self.needs
    }
    fn decide(&self, point: Point, v: &View) -> Verdict {
        if self.at.is_none_or(|at| at == point) && v.populated >= self.from && !v.promoted {
            Verdict::Promote
        } else {
            Verdict::Pass
        }
    }
    fn effort(&self, _: Point, _: &View) -> Effort {
        self.effort
    }
}
struct W<'a> {
    spaces: AddressSpaces,
    system: System<'a>,
}
impl<'a> W<'a> {
    fn new(policy: &'a dyn Policy, spec: Spec) -> Self {
        Self {
            spaces: AddressSpaces::new(BTreeSet::from([P, C])),
            system: System::new(policy, &spec, None),
        }
    }
    fn map(&mut self, space: SpaceId, backing: Backing, shared: bool, start: u64, end: u64) {
        for c in self.spaces.map(
            space,
            Mapping {
                pages: Pages { start, end },
                rights: Rights::READ_WRITE,
                shared,
                backing,
            },
        ) {
            self.system.apply(&c);
        }
    }
    fn touch(&mut self, space: SpaceId, pages: impl Iterator<Item = u64>, store: bool) {
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
    }
}
fn spec(frames: u64) -> Spec {
    Spec {
        base: PageSize::SIZE_4K,
        sizes: Sizes::new(&[0, 9]).unwrap(),
        start: Start::Empty.lay_out(frames, 10).unwrap(),
        swap: 1 << 40,
        files: Files::OnDisk,
        costs: Costs::default(),
    }
}
const A: Backing = Backing::Anonymous;
fn file(n: u32) -> Backing {
    Backing::File {
        file: FileId(n),
        offset: 0,
    }
}
fn any(needs: Needs) -> Any {
    Any {
        needs,
        at: None,
        from: 1,
        effort: Effort::None,
    }
}

#[test]
fn pages_that_are_no_longer_needed_break_a_superpage_once_and_for_all() {
    let p = parse("freebsd14").unwrap();
    let mut w = W::new(p.as_ref(), spec(4096));
    w.map(P, A, false, 0, 512);
    w.touch(P, 0..512, true);
    w.system.check();
    w.system.freed(&w.spaces, P, Pages { start: 0, end: 100 });
    w.system.check();
}

#[test]
fn pages_that_do_not_come_to_lie_on_base_pages_are_not_moved_over_others() {
    let p = parse("4k").unwrap();
    let mut s = spec(4096);
    s.base = PageSize::from_shift(13).unwrap();
    let mut w = W::new(p.as_ref(), s);
    w.map(P, A, false, 0, 8);
    w.map(P, A, false, 20, 21);
    w.touch(P, [0, 1, 2, 3, 10].into_iter(), true);
    w.system.check();
    for c in w
        .spaces
        .remap(P, Pages { start: 0, end: 5 }, Pages { start: 21, end: 26 })
    {
        w.system.apply(&c);
    }
    w.system.check();
}

#[test]
fn the_program_waits_for_compaction_that_it_asked_for() {
    let needs = Needs {
        placement: Placement::AtFault,
        copies: Copies::Scattered,
        ..Needs::default()
    };
    let p = Any {
        effort: Effort::Now,
        ..any(needs)
    };
    let mut s = spec(4096);
    s.start = Start::Seeded {
        occupied: 0.3,
        movable: 1.0,
        seed: 1,
        run: (0, 1),
    }
    .lay_out(4096, 10)
    .unwrap();
    let mut w = W::new(&p, s);
    w.map(P, A, false, 0, 512);
    w.touch(P, 0..1, true);
    let c = w.system.counters();
    assert!(c.migrated > 0 && c.daemon_cycles == 0);
}

#[test]
fn promotions_between_references_cost_the_daemon() {
    let p = Any {
        at: Some(Point::Due),
        ..any(Needs {
            asked_at_age: Some(10),
            ..Needs::default()
        })
    };
    let mut w = W::new(&p, spec(4096));
    w.map(P, A, false, 0, 512);
    w.touch(P, 0..1, true);
    w.system.pass(&w.spaces, 100);
    w.touch(P, 1..2, true);
    let c = w.system.counters();
    assert!(c.fault_cycles + c.daemon_cycles >= 512 * 1200);
}

#[test]
fn a_superpage_that_an_event_breaks_costs_the_program() {
    let needs = Needs {
        placement: Placement::AtFault,
        ..Needs::default()
    };
    let p = any(needs);
    let mut w = W::new(&p, spec(4096));
    w.map(P, A, false, 0, 512);
    w.touch(P, 0..1, true);
    let before = w.system.counters().fault_cycles + w.system.counters().daemon_cycles;
    for c in w.spaces.unmap(P, Pages { start: 0, end: 10 }) {
        w.system.apply(&c);
    }
    w.touch(P, 10..11, true);
    let c = w.system.counters();
    assert_eq!(c.demotions, 1);
    assert!(
        c.fault_cycles + c.daemon_cycles >= before + 18_000,
        "{before} {}",
        c.fault_cycles + c.daemon_cycles
    );
}

#[test]
fn frames_zeroed_ahead_count_where_zeroes_were_wanted() {
    let scan = Scan {
        period: 1000,
        pages: 0,
        promotions: 0,
        order: Order::AsTheyStand,
    };
    let needs = Needs {
        placement: Placement::AtFault,
        zeroed_ahead: 10_000,
        scan: Some(scan),
        ..Needs::default()
    };
    let p = Any {
        from: 9999,
        ..any(needs)
    };
    let mut w = W::new(&p, spec(4096));
    w.map(P, file(0), false, 0, 10);
    w.map(P, A, false, 1024, 1100);
    w.system.pass(&w.spaces, 1000); // ten frames are zeroed
    w.touch(P, 0..10, false); // ten pages of a file take them
    w.touch(P, 1024..1034, true);
    let c = w.system.counters();
    assert_eq!((c.zeroed, c.zeroed_ahead), (10, 0));
}

#[test]
fn a_frame_that_was_zeroed_holds_no_page_of_a_file() {
    let scan = Scan {
        period: 1000,
        pages: 0,
        promotions: 0,
        order: Order::AsTheyStand,
    };
    let needs = Needs {
        placement: Placement::AtFault,
        zeroed_ahead: 1_000_000,
        scan: Some(scan),
        ..Needs::default()
    };
    let p = Any {
        from: 9999,
        ..any(needs)
    };
    let mut w = W::new(&p, spec(64));
    w.map(P, file(0), false, 0, 20);
    w.map(P, A, false, 1024, 2000);
    w.touch(P, 0..20, false);
    // Until the daemon takes pages of the file back.
    let mut n = 0;
    while w.system.counters().dropped < 3 {
        w.touch(P, 1024 + n..1025 + n, true);
        n += 1;
    }
    assert!(w.system.sample().file_cache > 0);
    // All that is free is zeroed.
    w.system.pass(&w.spaces, 1000);
    assert_eq!(w.system.sample().file_cache, 0);
}

#[test]
fn a_superpage_that_is_shared_no_more_takes_one_fault() {
    let p = any(Needs {
        placement: Placement::AtFault,
        ..Needs::default()
    });
    let mut w = W::new(&p, spec(4096));
    w.map(P, A, false, 0, 512);
    w.touch(P, 0..512, true);
    w.system.fork(&w.spaces, P, 7);
    w.system.begin(C, 7);
    w.map(C, A, false, 0, 512);
    w.system.visited(C);
    for c in w.spaces.end(C) {
        w.system.apply(&c);
    }
    w.touch(P, 0..512, true);
    let c = w.system.counters();
    assert_eq!((c.in_superpages, c.write_faults), (512, 1));
}

#[test]
fn daemons_pass_over_children_that_never_began() {
    let p = parse("ingens(scan_period=1000)").unwrap();
    let mut w = W::new(p.as_ref(), spec(8192));
    w.map(P, A, false, 0, 512);
    w.touch(P, 0..512, true);
    w.system.fork(&w.spaces, P, 7);
    w.system.pass(&w.spaces, 10000);
    assert!(
        w.system.counters().promotions <= 1,
        "a child that never began was promoted"
    );
}

#[test]
fn a_fork_takes_the_right_to_store_out_of_tlbs() {
    let p = parse("4k").unwrap();
    let mut w = W::new(p.as_ref(), spec(4096));
    w.map(P, A, false, 0, 8);
    w.touch(P, 0..8, true);
    w.system.fork(&w.spaces, P, 7);
    assert!(
        w.system.has_shootdowns(),
        "pages lost the right to be stored to, and no TLB is told"
    );
}

#[test]
fn pages_that_are_no_longer_needed_leave_without_the_swap() {
    let p = parse("freebsd14").unwrap();
    let mut w = W::new(p.as_ref(), spec(64));
    w.map(P, A, false, 0, 200);
    w.touch(P, 0..40, true);
    w.system.freed(&w.spaces, P, Pages { start: 0, end: 40 });
    w.touch(P, 100..140, true);
    assert_eq!(
        w.system.counters().swapped_out,
        0,
        "what the program gave up was written to the swap"
    );
}
