use super::*;
use broadleaf_units::AlignedRun;

const SPACE: SpaceId = SpaceId(0);

/// Levels whose pages have entries of these sizes.
fn levels(sizes: &[(PageSize, PageSize)]) -> Vec<CurveLevel> {
    let level = |&(size, entry): &(PageSize, PageSize)| CurveLevel {
        size,
        entry,
        is_fractured: size != entry,
    };
    sizes.iter().map(level).collect()
}

fn both() -> Vec<CurveLevel> {
    let [small, large] = [PageSize::SIZE_4K, PageSize::SIZE_2M];
    levels(&[(small, small), (large, large)])
}

fn misses(
    curves: &WorldCurves,
    levels: &[CurveLevel],
    size: PageSize,
    entries: u64,
) -> Option<u64> {
    let points = curves.points(levels).expect("a curve");
    let is_it = |point: &&CurvePoint| {
        (point.page_size, point.sets, point.ways) == (size.bytes(), 1, entries)
    };
    points.iter().find(is_it).map(|point| point.misses)
}

fn look_up(curves: &mut WorldCurves, pages: std::ops::Range<u64>) {
    for page in pages {
        curves.look_up(SPACE, PageNumber(page), 0);
    }
}

#[test]
fn entries_from_before_the_count_hit() {
    let mut curves = WorldCurves::default();
    curves.add(both());
    look_up(&mut curves, 0..64);
    curves.begin();
    assert!(curves.last().is_none());
    look_up(&mut curves, 0..65);
    for (entries, expected) in [(64, 1), (32, 65)] {
        let found = misses(&curves, &both(), PageSize::SIZE_4K, entries);
        assert_eq!(found, Some(expected), "{entries}");
    }
}

/// Each core has as many entries as the other.
#[test]
fn each_core_has_its_own_entries() {
    let mut curves = WorldCurves::default();
    curves.add(both());
    let size = PageSize::SIZE_4K;
    for _ in 0..5 {
        for core in [0, 1] {
            curves.run_on(core);
            look_up(&mut curves, core as u64 * 64..core as u64 * 64 + 64);
        }
    }
    assert_eq!(misses(&curves, &both(), size, 64), Some(128));
    // An access of the other core is looked up again there.
    curves.run_on(1);
    look_up(&mut curves, 127..128);
    curves.run_on(0);
    let last = curves.last().expect("an access");
    curves.look_up_again(last, 0);
    assert_eq!(misses(&curves, &both(), size, 64), Some(128));
    // A shootdown reaches both cores.
    let pages = Pages { start: 63, end: 65 };
    curves.forget(&Shootdown::Range {
        space: SPACE,
        pages,
    });
    for core in [0, 1] {
        curves.run_on(core);
        look_up(&mut curves, core as u64 * 64..core as u64 * 64 + 64);
    }
    assert_eq!(misses(&curves, &both(), size, 64), Some(130));
    curves.forget(&Shootdown::Space(SPACE));
    curves.run_on(0);
    look_up(&mut curves, 0..64);
    assert_eq!(misses(&curves, &both(), size, 64), Some(130 + 64));
}

#[test]
fn a_broken_superpage_leaves_the_tlbs_of_all_cores() {
    let mut curves = WorldCurves::default();
    curves.add(both());
    let run = AlignedRun {
        first: PageNumber(512),
        size: PageSize::SIZE_2M,
    };
    for round in 0..2 {
        for core in [0, 1] {
            curves.run_on(core);
            curves.look_up(SPACE, PageNumber(600), 1);
        }
        let found = misses(&curves, &both(), PageSize::SIZE_2M, 64);
        assert_eq!(found, Some(2 * (round + 1)));
        curves.forget(&Shootdown::Superpage { space: SPACE, run });
    }
}

/// A size has TLBs if the machine's TLBs hold entries of the size. Machines of 4 KiB pages alone
/// have those of 2 MiB too, as on the quick path.
#[test]
fn sizes_without_entries_have_no_tlbs() {
    let [small, large] = [PageSize::SIZE_4K, PageSize::SIZE_2M];
    let middle = PageSize::from_bytes(64 << 10).expect("a power of two");
    for (levels, expected) in [
        (levels(&[(small, small)]), vec![small, large]),
        (levels(&[(small, small), (large, small)]), vec![small]),
        (
            levels(&[(small, small), (middle, middle)]),
            vec![small, middle],
        ),
        (levels(&[(middle, middle)]), vec![middle]),
        (both(), vec![small, large]),
    ] {
        let mut curves = WorldCurves::default();
        curves.add(levels.clone());
        for size in [small, middle, large] {
            let found = misses(&curves, &levels, size, 64);
            let expected = expected.contains(&size).then_some(0);
            assert_eq!(found, expected, "{levels:?} {size:?}");
        }
    }
}
