//! What the parameters of page tables change.

use super::{SPACE, bytes, elsewhere, placed, reads, table};
use broadleaf_pagetable::PageTable;
use broadleaf_units::{Leaf, PageNumber, SpaceId};

#[test]
fn parameters_set_blocks_and_buckets() {
    assert_eq!(bytes("clustered(subblocks=4)", 1), 16 + 4 * 8);
    assert_eq!(bytes("clustered(subblocks=8)", 16), 2 * (16 + 8 * 8));
    let mut table = table("hashed(buckets=1)");
    (0..20).for_each(|page| table.map(SPACE, elsewhere(page)));
    let nodes = |table: &mut dyn PageTable, page| {
        let reads = reads(table, page);
        reads.iter().filter(|read| read.begins_node).count()
    };
    assert_eq!(nodes(table.as_mut(), 19), 20);
    // Searched largest first, base pages cost a search of the superpages.
    let mut table = self::table("hashed(order=largest-first)");
    table.map(SPACE, placed(0, 16));
    table.map(SPACE, elsewhere(100));
    assert_eq!([0, 100].map(|page| nodes(table.as_mut(), page)), [1, 2]);
}

/// Partial-subblock mappings need equal rights.
#[test]
fn pages_with_other_rights_do_not_share_a_mapping() {
    let mut table = table("clustered-partial");
    let mut ranges = self::table("ranges");
    for page in [3, 4] {
        table.map(SPACE, placed(page, 12));
        ranges.map(SPACE, placed(page, 12));
    }
    let range = |table: &dyn PageTable| table.size().levels.last().map(|level| level.bytes);
    assert_eq!(
        (table.size().bytes(), range(ranges.as_ref())),
        (24, Some(32))
    );
    let mut read_only = placed(4, 12);
    read_only.rights.write = false;
    table.protect(SPACE, read_only);
    ranges.protect(SPACE, read_only);
    assert_eq!(
        (table.size().bytes(), range(ranges.as_ref())),
        (144, Some(64))
    );
    table.protect(SPACE, placed(4, 12));
    ranges.protect(SPACE, placed(4, 12));
    assert_eq!(
        (table.size().bytes(), range(ranges.as_ref())),
        (24, Some(32))
    );
}

/// A tag of form 2 holds the mapping of a block that one superpage covers.
#[test]
fn the_second_form_of_the_clustered_software_tlb() {
    let mut table = table("clustered-software-tlb(form=2)");
    let first_form = self::table("clustered-software-tlb").size().fixed;
    assert_eq!(first_form, 1024 * (8 + 16 * 8));
    assert_eq!(table.size().fixed, 1024 * 16);
    table.map(SPACE, placed(0, 16));
    table.map(SPACE, elsewhere(40));
    let rooms = |table: &dyn PageTable| table.size().levels.last().map(|level| level.bytes);
    for page in [9, 40] {
        reads(table.as_mut(), page);
    }
    // The superpage is in its tag. The other block has room for sixteen mappings.
    assert_eq!(reads(table.as_mut(), 3).len(), 1);
    assert_eq!(reads(table.as_mut(), 40).len(), 2);
    assert_eq!(rooms(table.as_ref()), Some(16 * 8));
    table.unmap(SPACE, elsewhere(40).run);
    assert_eq!(rooms(table.as_ref()), Some(0));
}

/// Processes that map the same frames with the same rights have a node of base pages in common.
#[test]
fn nodes_with_equal_entries_are_one_node() {
    for name in ["x86-64", "linear", "forward-mapped", "arm-contiguous"] {
        let mut table = table(&format!("{name}(shared=true)"));
        let mut alone = self::table(name);
        let (one, other) = (SpaceId(1), SpaceId(2));
        for space in [one, other] {
            (0..10).for_each(|page| table.map(space, elsewhere(page)));
            (0..10).for_each(|page| alone.map(space, elsewhere(page)));
        }
        let nodes = |table: &dyn PageTable| table.size().levels[0].nodes;
        assert_eq!(
            (nodes(table.as_ref()), nodes(alone.as_ref())),
            (1, 2),
            "{name}"
        );
        let last = |table: &mut dyn PageTable, space| {
            let mut last = None;
            table.walk(space, PageNumber(3), &mut |read| last = Some(read.address));
            last
        };
        assert_eq!(last(table.as_mut(), one), last(table.as_mut(), other));
        // A store copies the page of one of them.
        let copied = Leaf {
            frame: Some(7777),
            ..elsewhere(3)
        };
        table.unmap(other, copied.run);
        table.map(other, copied);
        assert_eq!(nodes(table.as_ref()), 2);
        assert_ne!(last(table.as_mut(), one), last(table.as_mut(), other));
        table.end(one);
        assert_eq!(nodes(table.as_ref()), 1);
        table.end(other);
        assert_eq!(table.size().bytes(), 0);
    }
}
