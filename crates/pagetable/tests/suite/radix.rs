//! Closed forms of the radix tree: reads of a walk, and nodes.

use broadleaf_pagetable::{PageTable, PageTableKind};
use broadleaf_units::{AlignedRun, Leaf, PageNumber, PageSize, SpaceId};

fn table(base: PageSize) -> Box<dyn PageTable> {
    PageTableKind::table(&PageTableKind::x86_64().into(), base)
}

fn run(first: u64, shift: u8) -> AlignedRun {
    AlignedRun {
        first: PageNumber(first),
        size: PageSize::from_shift(shift).expect("a size"),
    }
}

fn leaf(first: u64, shift: u8) -> Leaf {
    Leaf::new(run(first, shift), Some(first))
}

/// The addresses that a walk reads.
fn reads(table: &mut dyn PageTable, page: u64) -> Vec<u64> {
    let mut reads = Vec::new();
    table.walk(SpaceId(0), PageNumber(page), &mut |at| {
        reads.push(at.address)
    });
    reads
}

#[test]
fn a_walk_reads_one_entry_for_each_level() {
    let mut table = table(PageSize::SIZE_4K);
    for (page, shift, levels) in [(0, 12, 4), (512, 21, 3), (1 << 18, 30, 2)] {
        table.map(SpaceId(0), leaf(page, shift));
        let read = reads(table.as_mut(), page);
        assert_eq!(read.len(), levels, "2^{shift} bytes");
        // Each entry lies in a node of its own.
        let mut nodes: Vec<u64> = read.iter().map(|at| at >> 12).collect();
        nodes.dedup();
        assert_eq!(nodes.len(), levels);
    }
}

#[test]
fn neighbours_share_a_line_of_entries() {
    let mut table = table(PageSize::SIZE_4K);
    (0..16).for_each(|page| table.map(SpaceId(0), leaf(page, 12)));
    let mut line = |page| reads(table.as_mut(), page).last().map(|at| at / 64);
    assert_eq!(line(0), line(7));
    assert_ne!(line(7), line(8));
}

#[test]
fn nodes_come_and_go_with_leaves() {
    let mut table = table(PageSize::SIZE_4K);
    assert_eq!(table.size().bytes(), 0);
    table.map(SpaceId(0), leaf(5, 12));
    assert_eq!(table.size().bytes(), 4 * 4096);
    table.map(SpaceId(0), leaf(512, 21));
    assert_eq!(table.size().bytes(), 4 * 4096);
    table.unmap(SpaceId(0), run(5, 12));
    assert_eq!(table.size().bytes(), 3 * 4096);
    table.unmap(SpaceId(0), run(512, 21));
    assert_eq!(table.size().bytes(), 0);
}

#[test]
fn sizes_between_levels_are_replicated() {
    let mut table = table(PageSize::SIZE_4K);
    let page = leaf(16, 16);
    table.map(SpaceId(0), page);
    for number in 16..32 {
        let found = table.walk(SpaceId(0), PageNumber(number), &mut |_| {});
        assert_eq!(found, Some(page));
    }
    assert_eq!(reads(table.as_mut(), 16).len(), 4);
    assert_eq!(table.walk(SpaceId(0), PageNumber(32), &mut |_| {}), None);
}

#[test]
fn larger_base_pages_have_larger_nodes() {
    let mut table = table(PageSize::from_shift(14).expect("a size"));
    table.map(SpaceId(0), leaf(0, 14));
    assert_eq!(reads(table.as_mut(), 3).len(), 4);
    assert_eq!(table.size().bytes(), 4 << 14);
}
