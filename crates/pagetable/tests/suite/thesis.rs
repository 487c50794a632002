//! The closed forms of the thesis (Talluri 1995, sections 7.3 to 7.9).

mod parameters;

use broadleaf_pagetable::{PageTable, PageTableChoice, PageTableKind, TableRead, WalkMeter};
use broadleaf_units::{AlignedRun, Leaf, PageNumber, PageSize, SpaceId};

const SPACE: SpaceId = SpaceId(0);

fn table(name: &str) -> Box<dyn PageTable> {
    let choice = PageTableChoice::parse(name).expect("parameters");
    PageTableKind::table(&choice.expect("a table"), PageSize::SIZE_4K)
}

fn size(shift: u8) -> PageSize {
    PageSize::from_shift(shift).expect("a size")
}

/// A page whose frame has its number, so that it is properly placed.
fn placed(page: u64, shift: u8) -> Leaf {
    let run = AlignedRun::around(PageNumber(page), size(shift));
    Leaf::new(run, Some(run.first.0))
}

/// A base page in a frame that is not its place.
fn elsewhere(page: u64) -> Leaf {
    Leaf {
        frame: Some(page * 3 + 1),
        ..placed(page, 12)
    }
}

fn reads(table: &mut dyn PageTable, page: u64) -> Vec<TableRead> {
    let mut reads = Vec::new();
    table.walk(SPACE, PageNumber(page), &mut |read| reads.push(read));
    reads
}

/// The lines of one walk.
fn lines(table: &mut dyn PageTable, page: u64, line_shift: u32) -> u64 {
    let mut meter = WalkMeter::new(line_shift);
    table.walk(SPACE, PageNumber(page), &mut |read| meter.read(read));
    meter.end()
}

/// The bytes for the first pages of a block.
fn bytes(name: &str, pages: u64) -> u64 {
    let mut table = table(name);
    (0..pages).for_each(|page| table.map(SPACE, elsewhere(page)));
    table.size().bytes()
}

#[test]
fn a_clustered_node_breaks_even_at_six_pages_of_a_block() {
    assert_eq!((bytes("hashed", 1), bytes("clustered", 1)), (24, 144));
    assert!(bytes("hashed", 5) < bytes("clustered", 5));
    assert_eq!(bytes("hashed", 6), bytes("clustered", 6));
    assert!(bytes("hashed", 7) > bytes("clustered", 7));
    // A full block takes 0.375 of a hashed table's memory.
    assert_eq!(bytes("clustered", 16) * 1000, bytes("hashed", 16) * 375);
}

#[test]
fn one_mapping_for_a_block_takes_24_bytes() {
    let mut superpage = table("clustered");
    superpage.map(SPACE, placed(32, 16));
    assert_eq!(superpage.size().bytes(), 24);
    let mut partial = table("clustered-partial");
    [3, 7, 8]
        .into_iter()
        .for_each(|page| partial.map(SPACE, placed(page, 12)));
    assert_eq!(partial.size().bytes(), 24);
    partial.map(SPACE, elsewhere(9));
    assert_eq!(partial.size().bytes(), 144);
    partial.unmap(SPACE, elsewhere(9).run);
    assert_eq!(partial.size().bytes(), 24);
    // Without partial-subblock mappings, placement does not matter.
    let mut plain = table("clustered");
    [3, 7, 8]
        .into_iter()
        .for_each(|page| plain.map(SPACE, placed(page, 12)));
    assert_eq!(plain.size().bytes(), 144);
}

/// The memory of nodes with a synonym table's pointers (section 7.8).
#[test]
fn pointers_of_synonyms_take_32_and_272_bytes_and_break_even_at_nine_pages() {
    for aliases in ["pages", "entries"] {
        let hashed = |pages| bytes(&format!("hashed(aliases={aliases})"), pages);
        let clustered = |pages| bytes(&format!("clustered(aliases={aliases})"), pages);
        assert_eq!((hashed(1), clustered(1)), (32, 272));
        // 272 / 32 is 8.5.
        assert!(hashed(8) < clustered(8) && hashed(9) > clustered(9));
    }
    let superpage = |name: &str| {
        let mut table = table(name);
        table.map(SPACE, placed(32, 16));
        table.size().bytes()
    };
    // One mapping with one pointer, or with one for each base page.
    for kind in ["hashed", "clustered", "hashed-superpage"] {
        assert_eq!(superpage(&format!("{kind}(aliases=entries)")), 32, "{kind}");
        assert_eq!(
            superpage(&format!("{kind}(aliases=pages)")),
            16 + 8 + 16 * 8
        );
    }
    assert_eq!(superpage("hashed-replicated(aliases=pages)"), 16 * 32);
    // The pointers follow the mappings, so that a walk reads the same lines.
    let mut table = table("clustered(aliases=pages)");
    (0..16).for_each(|page| table.map(SPACE, elsewhere(page)));
    let all: u64 = (0..16).map(|page| lines(table.as_mut(), page, 6)).sum();
    assert_eq!(all, 16 + 10);
    assert!(table.has_aliases() && !self::table("clustered").has_aliases());
}

/// Blocks of other sizes, and chains of other lengths.
#[test]
fn a_clustered_walk_reads_0_625_more_lines_of_64_bytes() {
    let mut table = table("clustered");
    (0..16).for_each(|page| table.map(SPACE, elsewhere(page)));
    let all: u64 = (0..16).map(|page| lines(table.as_mut(), page, 6)).sum();
    assert_eq!(all, 16 + 10);
    let all: u64 = (0..16).map(|page| lines(table.as_mut(), page, 8)).sum();
    assert_eq!(all, 16, "lines of 256 bytes hold a node");
    // A whole node has three lines of 64 bytes.
    let mut meter = WalkMeter::new(6);
    let run = placed(0, 16).run;
    table.walk_run(SPACE, run, &mut |read| meter.read(read));
    assert_eq!(meter.end(), 3);
}

#[test]
fn preloading_a_block_takes_sixteen_probes_of_a_hashed_table() {
    let mut hashed = table("hashed");
    (0..16).for_each(|page| hashed.map(SPACE, elsewhere(page)));
    let mut meter = WalkMeter::new(8);
    hashed.walk_run(SPACE, placed(0, 16).run, &mut |read| meter.read(read));
    assert_eq!(meter.end(), 16);
    assert_eq!(meter.counts().nodes, 16);
}

#[test]
fn a_forward_mapped_walk_reads_seven_nodes_and_fewer_for_superpages() {
    let mut table = table("forward-mapped");
    table.map(SPACE, elsewhere(5));
    assert_eq!(reads(table.as_mut(), 5).len(), 7);
    table.map(SPACE, placed(1 << 20, 18));
    assert_eq!(
        reads(table.as_mut(), 1 << 20).len(),
        6,
        "256 KiB is an entry of the sixth level"
    );
    table.map(SPACE, placed(1 << 21, 16));
    assert_eq!(
        reads(table.as_mut(), 1 << 21).len(),
        7,
        "64 KiB is replicated"
    );
}

#[test]
fn a_linear_walk_reads_one_entry_while_its_table_pages_are_at_hand() {
    let mut table = table("linear");
    let pages: Vec<u64> = (0..9).map(|number| number << 9).collect();
    pages
        .iter()
        .for_each(|page| table.map(SPACE, elsewhere(*page)));
    // The first walk needs the pages of five levels below the root.
    assert_eq!(reads(table.as_mut(), pages[0]).len(), 6);
    assert_eq!(reads(table.as_mut(), pages[0] + 1).len(), 1);
    assert_eq!(reads(table.as_mut(), pages[1]).len(), 2);
    // Nine pages of the array and those above do not fit eight entries.
    pages.iter().for_each(|page| {
        reads(table.as_mut(), *page);
    });
    assert!(reads(table.as_mut(), pages[0]).len() > 1);
    let mut bound = self::table("linear-1");
    pages
        .iter()
        .for_each(|page| bound.map(SPACE, elsewhere(*page)));
    assert!(
        pages
            .iter()
            .all(|page| reads(bound.as_mut(), *page).len() == 1)
    );
    assert_eq!(bound.size().bytes(), 9 * 4096);
    assert_eq!(table.size().bytes(), 9 * 4096 + 4 * 4096 + 1024);
}

#[test]
fn superpages_are_held_in_four_ways() {
    let with = |name: &str| {
        let mut table = table(name);
        table.map(SPACE, placed(0, 16));
        let read = reads(table.as_mut(), 9)
            .iter()
            .filter(|read| read.begins_node)
            .count();
        (table.size().bytes(), read)
    };
    // Replicated; one table for each size, of which this is the only one; one chain for all sizes.
    assert_eq!(with("hashed-replicated"), (16 * 24, 1));
    assert_eq!(with("hashed"), (24, 1));
    assert_eq!(with("hashed-superpage"), (24, 1));
    // Searched smallest first, a superpage costs a search of the base pages' table.
    let mut both = table("hashed");
    both.map(SPACE, placed(0, 16));
    both.map(SPACE, elsewhere(100));
    let nodes = reads(both.as_mut(), 9)
        .iter()
        .filter(|read| read.begins_node)
        .count();
    assert_eq!(nodes, 2);
    // Base pages of a block share a chain.
    let mut shared = table("hashed-superpage");
    (0..16).for_each(|page| shared.map(SPACE, elsewhere(page)));
    let nodes = reads(shared.as_mut(), 15)
        .iter()
        .filter(|read| read.begins_node)
        .count();
    assert_eq!(nodes, 16);
}

#[test]
fn the_worked_example_of_the_generalised_table() {
    // A block at 0x450 with two pages of 8 KiB, one of 16 KiB and three base pages (section 7.6).
    let mut table = table("clustered-general");
    for leaf in [placed(0x450, 13), placed(0x452, 13), placed(0x454, 14)] {
        table.map(SPACE, leaf);
    }
    [0x458, 0x459, 0x45b]
        .into_iter()
        .for_each(|page| table.map(SPACE, elsewhere(page)));
    let found = |table: &mut dyn PageTable, page| {
        table
            .walk(SPACE, PageNumber(page), &mut |_| {})
            .map(|leaf| leaf.run.size)
    };
    assert_eq!(found(table.as_mut(), 0x451), Some(size(13)));
    assert_eq!(found(table.as_mut(), 0x456), Some(size(14)));
    assert_eq!(found(table.as_mut(), 0x45b), Some(size(12)));
    assert_eq!(
        found(table.as_mut(), 0x45a),
        None,
        "a failed check does not end the search"
    );
    // Nodes of eight, four and sixteen mappings.
    assert_eq!(table.size().bytes(), 3 * 16 + (8 + 4 + 16) * 8);
}

#[test]
fn chains_move_what_was_found_to_the_front() {
    let mut table = table("inverted");
    let pages = [7, 7 + 4096, 7 + 2 * 4096];
    pages
        .into_iter()
        .for_each(|page| table.map(SPACE, elsewhere(page)));
    let nodes = |table: &mut dyn PageTable, page| {
        reads(table, page)
            .iter()
            .filter(|read| read.begins_node)
            .count()
    };
    assert_eq!(nodes(table.as_mut(), pages[2]), 3);
    assert_eq!(nodes(table.as_mut(), pages[2]), 1);
    assert_eq!(nodes(table.as_mut(), pages[0]), 2);
    // The pointer of the bucket is one read more.
    assert_eq!(reads(table.as_mut(), pages[0]).len(), 3);
}

#[test]
fn caches_in_front_spare_the_chains() {
    for (name, first, again) in [("software-tlb", 2, 1), ("clustered-software-tlb", 2, 1)] {
        let mut table = table(name);
        table.map(SPACE, elsewhere(7));
        let nodes = |table: &mut dyn PageTable| {
            reads(table, 7)
                .iter()
                .filter(|read| read.begins_node)
                .count()
        };
        assert_eq!(
            (nodes(table.as_mut()), nodes(table.as_mut())),
            (first, again),
            "{name}"
        );
        table.unmap(SPACE, elsewhere(7).run);
        let found = table.walk(SPACE, PageNumber(7), &mut |_| {});
        assert_eq!(found, None, "{name}: a cached mapping went with its page");
    }
}

#[test]
fn ranges_join_what_is_contiguous() {
    let mut table = table("ranges");
    (0..1000).for_each(|page| table.map(SPACE, placed(page, 12)));
    let range = |table: &dyn PageTable| table.size().levels.last().map(|level| level.bytes);
    assert_eq!(range(table.as_ref()), Some(32));
    assert_eq!(reads(table.as_mut(), 500).len(), 1);
    table.unmap(SPACE, placed(500, 12).run);
    assert_eq!(range(table.as_ref()), Some(64));
    table.map(SPACE, placed(500, 12));
    assert_eq!(range(table.as_ref()), Some(32));
    table.map(SPACE, elsewhere(1000));
    assert_eq!(range(table.as_ref()), Some(64));
}

#[test]
fn a_walk_of_a_virtual_machine_reads_24_entries() {
    let mut nested = table("nested");
    nested.map(SPACE, elsewhere(5));
    assert_eq!(reads(nested.as_mut(), 5).len(), 24);
    nested.map(SPACE, placed(512, 21));
    assert_eq!(
        reads(nested.as_mut(), 512).len(),
        19,
        "a guest's page of 2 MiB over 4 KiB"
    );
    let mut large = table("nested-2m");
    large.map(SPACE, elsewhere(5));
    assert_eq!(reads(large.as_mut(), 5).len(), 19);
    large.map(SPACE, placed(512, 21));
    assert_eq!(reads(large.as_mut(), 512).len(), 15);
}

#[test]
fn cuckoo_ways_are_read_at_once_and_grow() {
    let mut table = table("elastic-cuckoo");
    table.map(SPACE, elsewhere(5));
    assert_eq!(reads(table.as_mut(), 5).len(), 3);
    assert_eq!(table.size().bytes(), 3 * 128 * 64);
    table.map(SPACE, placed(512, 21));
    assert_eq!(
        reads(table.as_mut(), 5).len(),
        6,
        "each page size has ways of its own"
    );
    (0..4000_u64).for_each(|block| table.map(SPACE, elsewhere(block * 8)));
    let full = table.size().levels[0];
    assert!(full.nodes == 4000 && full.bytes >= 4000 * 64 && full.bytes < 4 * 4000 * 64);
    let missing = (0..4000_u64).find(|block| {
        table.walk(SPACE, PageNumber(block * 8), &mut |_| {}) != Some(elsewhere(block * 8))
    });
    assert_eq!(missing, None);
    (1..4000_u64).for_each(|block| table.unmap(SPACE, elsewhere(block * 8).run));
    assert!(
        table.size().levels[0].bytes < full.bytes / 2,
        "the ways shrink"
    );
}
