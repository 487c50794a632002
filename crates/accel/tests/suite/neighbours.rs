//! TLBs whose entries depend on frames receive the frame of each page and its neighbours.

use crate::common::*;
use broadleaf_accel::run_after;
use broadleaf_machine::machine;
use broadleaf_model::{Items, MemoryLimits, Plan};
use broadleaf_tlb::{
    Design, Entries, EntryLookup, IndexFunction, Organisation, OrganisationChoice, Replacement,
    Role, Structure, TlbLog, TlbRequest, Translation, Walk,
};
use broadleaf_trace::{Advice, Backing, Event, Grain};
use broadleaf_units::{Described, PageNumber, PageSize, Rights};
use std::ops::ControlFlow;
use std::sync::Mutex;

/// A translation that a structure received. Bit `i` of `placed` is set if page `i` of the aligned
/// block of four pages is properly placed with the page.
#[derive(Clone, Copy, Debug)]
struct Loaded {
    translation: Translation,
    placed: u64,
}

/// The translations that all structures of [`WITNESS`] received.
static LOADED: Mutex<Vec<Loaded>> = Mutex::new(Vec::new());

/// One replay at a time fills [`LOADED`].
static REPLAYING: Mutex<()> = Mutex::new(());

/// An organisation that holds nothing and notes all that it receives. An entry could hold four
/// neighbours.
static WITNESS: Organisation = Organisation {
    described: Described {
        name: "witness",
        summary: "notes each translation",
        explanation: "",
        source: "this test",
    },
    parameters: &[],
    refuses: |_| None,
    build: |_| Box::new(Witness),
    wants_tables: |_| true,
    keeps_pages: |_| false,
    counts_uses: |_| false,
    grids: &[],
    block_of: None,
    entry: |_| None,
    support: None,
};

#[derive(Clone, Debug)]
struct Witness;

impl Entries for Witness {
    fn find(&mut self, _: &TlbRequest, _: PageSize, _: &mut TlbLog) -> EntryLookup {
        EntryLookup::Nothing
    }

    fn load(&mut self, walk: &Walk<'_>, _: &mut TlbLog) {
        let block = walk.request.page.0 & !3;
        let aligned = |page: u64| {
            let found = (walk.read)(PageNumber(page))?;
            let frame = found.frame_of(PageNumber(page))?;
            (frame & 3 == page & 3).then_some(frame & !3)
        };
        let own = aligned(walk.request.page.0);
        let is_placed = |at: &u64| own.is_some() && aligned(block + at) == own;
        LOADED.lock().expect("no panic").push(Loaded {
            translation: walk.translation,
            placed: (0..4).filter(is_placed).map(|at| 1 << at).sum(),
        });
    }

    fn holds(&self, _: &Translation) -> bool {
        false
    }

    fn drop_stale(&mut self, _: &mut dyn FnMut(&Translation) -> bool, _: &mut TlbLog) {}

    fn occupied(&self) -> usize {
        0
    }

    fn copy(&self) -> Box<dyn Entries> {
        Box::new(Self)
    }
}

/// Stores and loads of two blocks, with a page that is given back meanwhile.
fn stored_and_given_back() -> Items {
    let mut items = Items::new(Grain::Page);
    items.event(map(0, 2 * BLOCK, Backing::Anonymous));
    items.visits([store(0), store(1), store(2), store(3)]);
    items.event(Event::Advise(range(1, 1), Advice::DontNeed));
    items.visits([loads(0, 1), store(512), store(1), loads(2, 1)]);
    items
}

fn witnessed(policy: &str, beside: bool, mut items: Items) -> Vec<Loaded> {
    let sizes = [PageSize::SIZE_4K, PageSize::SIZE_2M];
    let index = || IndexFunction::parse("none").expect("an index");
    let structure = Structure {
        name: "dtlb".to_owned(),
        level: 1,
        entries: 8,
        ways: 8,
        pages: sizes.map(|size| (size, index())).to_vec(),
        organisation: OrganisationChoice::from(&WITNESS),
        replacement: Replacement::lru(),
        role: Role::default(),
        wired: 0,
        walk_entries: Vec::new(),
    };
    let mut machines = vec![machine("skylake").expect("a machine")];
    let mut witness = machines[0].clone();
    witness.name = "witness".to_owned();
    witness.design = Design::new(vec![structure]).expect("a design");
    if beside {
        machines.push(witness);
    } else {
        machines = vec![witness];
    }
    let policies = vec![broadleaf_policy::parse(policy).expect("a policy")];
    let plan = Plan::within(policies, machines, MemoryLimits::none()).expect("a plan");
    let _turn = REPLAYING.lock().expect("no panic");
    LOADED.lock().expect("no panic").clear();
    let earlier: &mut [Items] = &mut [];
    run_after(earlier, &mut items, &plan, &mut |_| {
        ControlFlow::Continue(())
    })
    .expect("a replay");
    LOADED.lock().expect("no panic").clone()
}

#[test]
fn entries_receive_frames_and_properly_placed_neighbours() {
    // Beside a machine whose lookups need no frame, the references must not wait.
    for beside in [false, true] {
        let loaded = witnessed("4k", beside, stored_and_given_back());
        let pages: Vec<u64> = loaded.iter().map(|one| one.translation.first.0).collect();
        assert_eq!(pages, [0, 1, 2, 3, 0, 512, 1, 2]);
        let placed: Vec<u64> = loaded.iter().map(|one| one.placed).collect();
        let frames: Vec<u64> = loaded
            .iter()
            .map(|one| one.translation.frame.expect("a frame"))
            .collect();
        // A bit for each neighbour whose frame has the same place in one aligned block of frames.
        let is_placed = |one: usize, other: usize| {
            frames[one] & !3 == frames[other] & !3
                && [one, other]
                    .iter()
                    .all(|at| frames[*at] & 3 == pages[*at] & 3)
        };
        for (at, bits) in placed[..4].iter().enumerate() {
            let expected: u64 = (0..=at)
                .map(|other| u64::from(is_placed(at, other)) << other)
                .sum();
            assert_eq!(*bits, expected, "{loaded:?}");
        }
        // Page 1 is gone.
        assert_eq!(placed[4] & 2, 0);
    }
    // A reservation places all pages of its block properly. The event parts the loads in two.
    let loaded = witnessed("navarro", false, stored_and_given_back());
    let placed: Vec<u64> = loaded.iter().map(|one| one.placed).collect();
    for expected in [[1, 3, 7, 15], [13, 1, 15, 15]] {
        assert!(placed.windows(4).any(|bits| bits == expected), "{loaded:?}");
    }
    // The policy to which faults are compared loads base pages.
    let loaded = witnessed("greedy", false, stored_and_given_back());
    let large: Vec<_> = loaded
        .iter()
        .filter(|one| one.translation.size == PageSize::SIZE_2M)
        .collect();
    // All but the reference to block 0 while one of its pages is gone.
    assert_eq!(large.len(), 7);
    assert!(large.iter().all(|one| one.placed == 15));
    assert!(large.iter().all(|one| {
        one.translation
            .frame
            .is_some_and(|frame| frame.is_multiple_of(512))
    }));
}

#[test]
fn entries_receive_the_rights_and_the_modified_bits_of_pages() {
    let read_only = Rights {
        write: false,
        ..Rights::READ_WRITE
    };
    let mut items = Items::new(Grain::Page);
    items.event(map(0, BLOCK, Backing::Anonymous));
    items.visits([store(0), loads(1, 1)]);
    items.event(Event::Protect(range(0, 1), read_only));
    items.visits([loads(0, 1), loads(1, 1), store(1), loads(1, 1)]);
    let loaded = witnessed("4k", false, items);
    let found = loaded.iter().map(|one| {
        let Translation {
            first,
            rights,
            modified,
            ..
        } = one.translation;
        (first.0, rights, modified)
    });
    let found: Vec<(u64, Rights, bool)> = found.collect();
    let writable = Rights::READ_WRITE;
    // A page is modified from its first store on.
    let expected = [
        (0, writable, true),
        (1, writable, false),
        (0, read_only, true),
        (1, writable, false),
        (1, writable, true),
        (1, writable, true),
    ];
    assert_eq!(found, expected);
}
