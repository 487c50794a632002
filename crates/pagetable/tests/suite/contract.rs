//! Every page table of the catalogue finds the leaves that a plain list holds.

use broadleaf_pagetable::{PAGE_TABLES, PageTable, PageTableKind};
use broadleaf_units::{AlignedRun, Leaf, PageNumber, PageSize, SpaceId};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Sizes in pages of 4 KiB: base pages, sizes of a level, and sizes between levels.
const SHIFTS: [u8; 5] = [12, 16, 21, 23, 25];

/// A verb of a page table.
#[derive(Clone, Copy, Debug)]
enum Edit {
    Map(u32, u64, usize),
    Unmap(u32, usize),
    End(u32),
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let page = prop_oneof![0..2048_u64, 0..1_u64 << 20, (1 << 44) - 4096..1_u64 << 44];
    let edit = prop_oneof![
        8 => (0..3_u32, page, 0..SHIFTS.len()).prop_map(|(a, b, c)| Edit::Map(a, b, c)),
        4 => (0..3_u32, 0..40_usize).prop_map(|(a, b)| Edit::Unmap(a, b)),
        1 => (0..3_u32).prop_map(Edit::End),
    ];
    prop::collection::vec(edit, 1..120)
}

/// Leaves by space and first page.
type Listed = BTreeMap<(u32, u64), Leaf>;

fn pages(leaf: &Leaf) -> u64 {
    leaf.run.size.bytes() / PageSize::SIZE_4K.bytes()
}

fn overlapping(listed: &Listed, space: u32, first: u64, count: u64) -> Vec<(u32, u64)> {
    let leaves = listed.range((space, 0)..(space, first + count));
    let overlaps = leaves.filter(|((_, start), leaf)| start + pages(leaf) > first);
    overlaps.map(|(key, _)| *key).collect()
}

fn same(table: &mut dyn PageTable, listed: &Listed) -> Result<(), TestCaseError> {
    for ((space, first), leaf) in listed {
        let (space, last) = (SpaceId(*space), first + pages(leaf) - 1);
        for page in [*first, first + pages(leaf) / 2, last] {
            let found = table.walk(space, PageNumber(page), &mut |_| {});
            prop_assert_eq!(found, Some(*leaf));
        }
        let after = last + 1;
        let mapped = !overlapping(listed, space.0, after, 1).is_empty();
        let found = table.walk(space, PageNumber(after), &mut |_| {});
        prop_assert_eq!(found.is_some(), mapped);
    }
    Ok(())
}

/// The pages where an edit happened, and those beside it.
fn near(table: &mut dyn PageTable, listed: &Listed, edit: &Edit) -> Result<(), TestCaseError> {
    let Edit::Map(space, page, _) = *edit else {
        return Ok(());
    };
    for page in [
        page.saturating_sub(1),
        page,
        page + 1,
        page ^ 15,
        page ^ 512,
    ] {
        let key = overlapping(listed, space, page, 1);
        let leaf = key.first().and_then(|key| listed.get(key)).copied();
        let found = table.walk(SpaceId(space), PageNumber(page), &mut |_| {});
        prop_assert_eq!(found, leaf, "page {}", page);
    }
    Ok(())
}

/// A table that holds nothing takes what it took at the beginning.
fn empty(kind: &PageTableKind, table: &dyn PageTable) -> Result<(), TestCaseError> {
    let size = table.size();
    prop_assert_eq!(size.nodes(), 0, "{}", kind.described.name);
    prop_assert_eq!(size.bytes(), size.fixed);
    prop_assert_eq!(size.fixed, (kind.build)(PageSize::SIZE_4K).size().fixed);
    Ok(())
}

/// Unmapping everything page by page leaves nothing, as ending the space does.
#[test]
fn what_is_unmapped_takes_no_memory() {
    for kind in PAGE_TABLES {
        let mut table = (kind.build)(PageSize::SIZE_4K);
        let runs: Vec<AlignedRun> = (0..3000_u64)
            .map(|number| {
                let size = PageSize::from_shift(SHIFTS[(number % 3) as usize]).expect("a size");
                AlignedRun::around(PageNumber(number * 7919 * 512), size)
            })
            .collect();
        for run in &runs {
            table.map(
                SpaceId(1),
                Leaf {
                    run: *run,
                    frame: Some(run.first.0),
                },
            );
        }
        assert!(table.size().nodes() > 0 && table.size().bytes() > table.size().fixed);
        runs.iter().for_each(|run| table.unmap(SpaceId(1), *run));
        empty(kind, table.as_ref()).expect("an empty table");
    }
}

/// A walk reads an entry for each span that is larger than the leaf, and the leaf.
#[test]
fn spans_are_those_of_the_entries_that_walks_read() {
    for kind in PAGE_TABLES {
        for base in [12, 14] {
            let base = PageSize::from_shift(base).expect("a size");
            let spans = (kind.spans)(base);
            assert!(spans.is_sorted() && spans.iter().all(|span| *span > base));
            if spans.is_empty() {
                // A table without levels: each walk reads what it likes.
                continue;
            }
            for shift in SHIFTS.into_iter().filter(|shift| *shift >= base.shift()) {
                let size = PageSize::from_shift(shift).expect("a size");
                let run = AlignedRun::around(PageNumber(0), size);
                let mut table = (kind.build)(base);
                table.map(SpaceId(0), Leaf { run, frame: None });
                let mut reads = 0;
                table.walk(SpaceId(0), PageNumber(0), &mut |_| reads += 1);
                let above = spans.iter().filter(|span| **span > size).count();
                assert_eq!(reads, above + 1, "{size:?}");
            }
        }
    }
}

proptest! {
    #[test]
    fn walks_find_the_mapped_leaves(edits in edits()) {
        for kind in PAGE_TABLES {
            let mut table = (kind.build)(PageSize::SIZE_4K);
            let mut listed = Listed::new();
            for edit in &edits {
                match *edit {
                    Edit::Map(space, page, shift) => {
                        let size = PageSize::from_shift(SHIFTS[shift]).expect("a size");
                        let count = size.bytes() / PageSize::SIZE_4K.bytes();
                        let first = page & !(count - 1);
                        for key in overlapping(&listed, space, first, count) {
                            let old = listed.remove(&key).expect("a leaf");
                            table.unmap(SpaceId(space), old.run);
                        }
                        let first = PageNumber(first);
                        let run = AlignedRun { first, size };
                        let leaf = Leaf { run, frame: Some(first.0 * 3) };
                        table.map(SpaceId(space), leaf);
                        listed.insert((space, first.0), leaf);
                    }
                    Edit::Unmap(space, number) => {
                        let key = listed.range((space, 0)..(space + 1, 0)).nth(number);
                        let Some((key, leaf)) = key.map(|(key, leaf)| (*key, *leaf)) else {
                            continue;
                        };
                        table.unmap(SpaceId(space), leaf.run);
                        listed.remove(&key);
                    }
                    Edit::End(space) => {
                        table.end(SpaceId(space));
                        listed.retain(|(of, _), _| *of != space);
                    }
                }
                near(table.as_mut(), &listed, edit)?;
            }
            same(table.as_mut(), &listed)?;
            (0..3).for_each(|space| table.end(SpaceId(space)));
            prop_assert_eq!(table.walk(SpaceId(0), PageNumber(0), &mut |_| {}), None);
            empty(kind, table.as_ref())?;
        }
    }
}

#[test]
fn names_are_unique_and_found() {
    for kind in PAGE_TABLES {
        assert_eq!(PageTableKind::named(kind.described.name), Some(*kind));
    }
    assert_eq!(PageTableKind::named("a card index"), None);
}
