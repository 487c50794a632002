//! Each refusal occurs at its threshold and not before, in the kernel's order.

use crate::policies::testing::{RESERVED, decide, needs};
use crate::{
    Copies, Coverage, Effort, Placement, Point, PromotionOrder, Refusal, Verdict, View, parse,
};
use broadleaf_units::{BackingKind, SizeSet};

/// A first fault.
const FIRST: View = View {
    populated: 1,
    reservation_age: None,
    ..RESERVED
};

/// A block for khugepaged: two pages, one with a store and one referenced.
const USED: View = View {
    populated: 2,
    dirty: 1,
    referenced: 1,
    ..FIRST
};

fn stays(name: &str, point: Point, view: View, refusal: Refusal) {
    let verdict = decide(name, point, view);
    assert_eq!(verdict, Verdict::Stay(refusal), "{name} {point:?}");
}

fn promotes(name: &str, point: Point, view: View) {
    let verdict = decide(name, point, view);
    assert_eq!(verdict, Verdict::Promote, "{name} {point:?}");
}

#[test]
fn settings_and_advice_come_first() {
    for (point, view) in [(Point::Fault, FIRST), (Point::Scan, USED)] {
        let advised = View {
            advised_for: true,
            ..view
        };
        promotes("linux", point, view);
        promotes("linux", point, advised);
        stays("linux(enabled=madvise)", point, view, Refusal::NotAdvised);
        promotes("linux(enabled=madvise)", point, advised);
        // khugepaged runs if any size is enabled.
        let elsewhere = "linux(enabled=never,sizes_always=64k)";
        stays(elsewhere, point, advised, Refusal::Disabled);
        promotes("linux(enabled=never,sizes_always=2m)", point, view);
        let own = "linux(enabled=never,sizes_madvise=2m)";
        stays(own, point, view, Refusal::NotAdvised);
        promotes(own, point, advised);
        stays("linux(sizes=64k)", point, view, Refusal::Disabled);
        // The more generous setting holds.
        promotes("linux(enabled=madvise,sizes_always=2m)", point, view);
    }
}

#[test]
fn refuses_in_the_kernel_s_order() {
    for (point, good, last) in [
        (Point::Fault, FIRST, Refusal::AlreadyPopulated),
        (Point::Scan, USED, Refusal::NothingStored),
    ] {
        let mut view = View {
            populated: 2,
            dirty: 0,
            coverage: Coverage::NotCovered,
            advised_against: true,
            ..good
        };
        let mut expect = |name: &str, refusal: Refusal, cure: fn(&mut View)| {
            stays(name, point, view, refusal);
            cure(&mut view);
        };
        expect("linux(sizes=64k)", Refusal::Disabled, |_| {});
        expect("linux(enabled=madvise)", Refusal::NotAdvised, |_| {});
        expect("linux", Refusal::AdvisedAgainst, |view| {
            view.advised_against = false;
        });
        expect("linux", Refusal::NotCovered, |view| {
            view.coverage = Coverage::MixedProtection;
        });
        expect("linux", Refusal::MixedProtection, |view| {
            view.coverage = Coverage::Covered;
            view.backing = BackingKind::File;
        });
        expect("linux", Refusal::FileBacked, |view| {
            view.backing = BackingKind::SharedMemory;
        });
        expect("linux", Refusal::SharedMemory, |view| {
            view.backing = BackingKind::Anonymous;
        });
        expect("linux", last, |_| {});
        promotes("linux", point, good);
    }
}

#[test]
fn only_empty_blocks_are_superpages_at_once() {
    promotes("linux", Point::Fault, FIRST);
    for (populated, swapped) in [(2, 0), (512, 0), (1, 1)] {
        let view = View {
            populated,
            swapped,
            ..FIRST
        };
        stays("linux", Point::Fault, view, Refusal::AlreadyPopulated);
    }
}

#[test]
fn every_size_at_faults_and_one_in_the_daemon() {
    let small = |view| View { pages: 16, ..view };
    promotes("linux(sizes=64k+2m)", Point::Fault, small(FIRST));
    promotes("linux(sizes_always=64k)", Point::Fault, small(FIRST));
    stays("linux", Point::Fault, small(FIRST), Refusal::Disabled);
    let verdict = decide("linux(sizes=64k+2m)", Point::Scan, small(USED));
    assert_eq!(verdict, Verdict::Pass);
    // With base pages of 16 KiB, a page table maps 32 MiB.
    let large = View {
        pages: 2048,
        base_bytes: 1 << 14,
        populated: 2048,
        ..USED
    };
    promotes("linux(sizes=32m)", Point::Scan, large);
}

#[test]
fn khugepaged_counts_empty_swapped_and_shared_pages() {
    let full = View {
        populated: 512,
        dirty: 512,
        referenced: 512,
        ..USED
    };
    for (name, most) in [
        ("linux(max_ptes_none=0)", 0),
        ("linux(max_ptes_none=100)", 100),
        ("linux", 511),
    ] {
        let with = |none| View {
            populated: 512 - none,
            ..full
        };
        promotes(name, Point::Scan, with(most));
        stays(name, Point::Scan, with(most + 1), Refusal::TooManyEmpty);
        // Pages of zeroes count as none where they share a frame.
        let zeroes = |zero| View { zero, ..full };
        promotes(name, Point::Scan, zeroes(most));
        stays(name, Point::Scan, zeroes(most + 1), Refusal::TooManyEmpty);
        let own = parse(name).unwrap().name().replace(')', ",zero_page=off)");
        if own != name {
            promotes(&own, Point::Scan, zeroes(512));
        }
    }
    for (name, most) in [
        ("linux", 64),
        ("linux(max_ptes_swap=0)", 0),
        ("linux(max_ptes_swap=511)", 511),
    ] {
        let with = |swapped| View {
            populated: 512 - swapped,
            swapped,
            ..full
        };
        promotes(name, Point::Scan, with(most));
        stays(name, Point::Scan, with(most + 1), Refusal::TooManySwapped);
        // Pages in the swap are not empty.
        promotes("linux(max_ptes_none=0)", Point::Scan, with(64));
    }
    for (name, most) in [
        ("linux", 256),
        ("linux(max_ptes_shared=0)", 0),
        ("linux(max_ptes_shared=511)", 511),
    ] {
        let with = |shared| View { shared, ..full };
        promotes(name, Point::Scan, with(most));
        stays(name, Point::Scan, with(most + 1), Refusal::TooManyShared);
    }
}

#[test]
fn khugepaged_takes_stored_and_referenced_blocks() {
    promotes("linux", Point::Scan, USED);
    stays(
        "linux",
        Point::Scan,
        View { dirty: 0, ..USED },
        Refusal::NothingStored,
    );
    let idle = View {
        referenced: 0,
        ..USED
    };
    stays("linux", Point::Scan, idle, Refusal::RarelyReferenced);
    // To read pages back, half of the block has to be referenced.
    let swapped = |referenced| View {
        populated: 400,
        swapped: 1,
        referenced,
        ..USED
    };
    stays(
        "linux",
        Point::Scan,
        swapped(255),
        Refusal::RarelyReferenced,
    );
    promotes("linux", Point::Scan, swapped(256));
    let superpage = View {
        promoted: true,
        ..USED
    };
    assert_eq!(decide("linux", Point::Scan, superpage), Verdict::Pass);
    for off in ["linux(khugepaged=off)", "linux(enabled=never)"] {
        assert_eq!(decide(off, Point::Scan, USED), Verdict::Pass);
    }
    stays(
        "linux(enabled=never)",
        Point::Fault,
        FIRST,
        Refusal::Disabled,
    );
}

#[test]
fn underused_superpages_are_broken_below_the_maximum() {
    let superpage = |zero| View {
        populated: 512,
        promoted: true,
        zero,
        ..FIRST
    };
    let short = |name: &str, zero| decide(name, Point::Short, superpage(zero));
    assert_eq!(short("linux", 512), Verdict::Pass);
    assert_eq!(short("linux(max_ptes_none=510)", 510), Verdict::Pass);
    assert_eq!(short("linux(max_ptes_none=510)", 511), Verdict::Demote);
    assert_eq!(short("linux(max_ptes_none=0)", 0), Verdict::Pass);
    assert_eq!(short("linux(max_ptes_none=0)", 1), Verdict::Demote);
    let off = "linux(max_ptes_none=0,shrink_underused=off)";
    assert_eq!(short(off, 512), Verdict::Pass);
    let small = View {
        pages: 16,
        ..superpage(16)
    };
    let verdict = decide("linux(max_ptes_none=0)", Point::Short, small);
    assert_eq!(verdict, Verdict::Pass);
    assert!(!needs("linux").asked_when_short && !needs(off).asked_when_short);
    assert!(needs("linux(max_ptes_none=510)").asked_when_short);
}

#[test]
fn effort_follows_defrag() {
    let advised = View {
        advised_for: true,
        ..FIRST
    };
    for (defrag, plain, on_advice) in [
        ("always", Effort::Now, Effort::Now),
        ("defer", Effort::Later, Effort::Later),
        ("defer+madvise", Effort::Later, Effort::Now),
        ("madvise", Effort::None, Effort::Now),
        ("never", Effort::None, Effort::None),
    ] {
        let policy = parse(&alloc::format!("linux(defrag={defrag})")).unwrap();
        assert_eq!(policy.effort(Point::Fault, &FIRST), plain, "{defrag}");
        assert_eq!(policy.effort(Point::Fault, &advised), on_advice, "{defrag}");
        assert_eq!(policy.effort(Point::Scan, &USED), Effort::Now, "{defrag}");
    }
    let off = parse("linux(khugepaged_defrag=off)").unwrap();
    assert_eq!(off.effort(Point::Scan, &USED), Effort::None);
}

#[test]
fn settings_reach_the_host() {
    let linux = needs("linux");
    assert_eq!(linux.placement, Placement::AtFault);
    assert_eq!(linux.sizes, SizeSet::These(1 << 21));
    assert!(linux.copies == Copies::Scattered && linux.zero_page && linux.needs_frames());
    assert_eq!(linux.fault_around, 16);
    let scan = linux.scan.unwrap();
    assert_eq!(
        (scan.period, scan.pages, scan.promotions),
        (10_000_000_000, 4096, 0)
    );
    assert_eq!(scan.order, PromotionOrder::ByAddress);
    let given = needs(
        "linux(sizes=64k,sizes_always=32k,sizes_madvise=2m,scan_period=7,pages_to_scan=9,\
         fault_around=1,zero_page=off)",
    );
    assert_eq!(given.sizes, SizeSet::These(1 << 15 | 1 << 16 | 1 << 21));
    assert_eq!((given.fault_around, given.zero_page), (1, false));
    let scan = given.scan.unwrap();
    assert_eq!((scan.period, scan.pages), (7, 9));
    assert_eq!(needs("linux(sizes=all)").sizes, SizeSet::All);
    assert!(needs("linux(khugepaged=off)").scan.is_none());
    assert!(needs("linux(enabled=never)").scan.is_none());
    assert!(needs("linux(sizes=none)").scan.is_none());
    assert!(
        needs("linux(enabled=never,sizes_madvise=2m)")
            .scan
            .is_some()
    );
}
