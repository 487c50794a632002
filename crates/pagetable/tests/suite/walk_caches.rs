//! Caches of walks: those of each level beside a tree, and those of nested walks, ranges and
//! cuckoo tables.

use broadleaf_pagetable::{PageTable, PageTableChoice, PageTableKind, WalkCacheShape, WalkCaches};
use broadleaf_units::{AlignedRun, Leaf, PageNumber, PageSize, SpaceId};

const SPACE: SpaceId = SpaceId(0);

fn size(shift: u8) -> PageSize {
    PageSize::from_shift(shift).expect("a size")
}

/// The ranges above base pages of x86-64.
fn spans() -> [PageSize; 3] {
    [21, 30, 39].map(size)
}

fn shape(shift: u8, entries: usize, ways: usize) -> WalkCacheShape {
    WalkCacheShape {
        span: size(shift),
        entries,
        ways,
    }
}

/// The entries that the walk of a page reads.
fn read(caches: &mut WalkCaches, page: u64) -> usize {
    let above = spans();
    let kept = caches.begin(SPACE, PageNumber(page), &above);
    caches.end(SPACE, PageNumber(page), &above[..kept]);
    kept + 1
}

#[test]
fn a_walk_begins_at_the_lowest_entry_of_a_cache() {
    let mut caches = WalkCaches::new(&[shape(21, 2, 2), shape(30, 1, 1)]);
    assert_eq!([0, 1, 511].map(|page| read(&mut caches, page)), [4, 1, 1]);
    // Another directory of the same GiB, and a third, which takes the place of the first.
    assert_eq!([512, 1024].map(|page| read(&mut caches, page)), [2, 2]);
    assert_eq!(read(&mut caches, 512), 1);
    assert_eq!(read(&mut caches, 0), 2);
    // Another GiB takes the place of the first.
    assert_eq!(read(&mut caches, 1 << 18), 4);
    assert_eq!(caches.counts().hits, 6);
    caches.invalidate(SPACE, 5, 6);
    assert_eq!(read(&mut caches, 0), 4);
    caches.invalidate_space(SPACE);
    assert_eq!(read(&mut caches, 0), 4);
}

/// The caches find what a plain list of the last uses of each set finds.
#[test]
fn sets_replace_the_entry_used_longest_ago() {
    let mut caches = WalkCaches::new(&[shape(21, 8, 4)]);
    let mut sets = [const { Vec::<u64>::new() }; 2];
    let mut random = broadleaf_units::SplitMix64::new(7);
    for _ in 0..5000 {
        let number = random.next() % 24;
        let set = &mut sets[(number % 2) as usize];
        let is_hit = set.contains(&number);
        set.retain(|other| *other != number);
        set.push(number);
        if set.len() > 4 {
            set.remove(0);
        }
        let wanted = if is_hit { 1 } else { 4 };
        assert_eq!(read(&mut caches, number << 9), wanted);
    }
}

fn table(name: &str) -> Box<dyn PageTable> {
    let choice = PageTableChoice::parse(name).expect("parameters");
    PageTableKind::table(&choice.expect("a table"), PageSize::SIZE_4K)
}

fn leaf(page: u64, shift: u8, frame: u64) -> Leaf {
    Leaf::new(
        AlignedRun::around(PageNumber(page), size(shift)),
        Some(frame),
    )
}

/// The reads of a walk.
fn reads(table: &mut dyn PageTable, page: u64) -> usize {
    let mut reads = 0;
    table.walk(SPACE, PageNumber(page), &mut |_| reads += 1);
    reads
}

#[test]
fn caches_shorten_walks_of_virtual_machines() {
    let reads_of = |name: &str| {
        let mut table = table(name);
        (0..8).for_each(|page| table.map(SPACE, leaf(page, 12, 100 + page)));
        [0, 1].map(|page| reads(table.as_mut(), page))
    };
    assert_eq!(reads_of("nested"), [24, 24]);
    // A cached node of the guest leaves its entry and the walk for the page: 1 + 4.
    assert_eq!(reads_of("nested(guest-cache=16)"), [24, 5]);
    // The pages of the four nodes and of the first frame are known; the second frame is not.
    assert_eq!(reads_of("nested(nested-tlb=16)"), [24, 4 + 4]);
    // All nodes of the host below its root are known: nodes lie apart from data.
    let [first, again] = reads_of("nested(host-cache=16)");
    assert_eq!(again, 4 + 5);
    assert!(first < 24);
    assert_eq!(
        reads_of("nested(guest-cache=16, nested-tlb=16, host-cache=16)")[1],
        2
    );
}

#[test]
fn a_range_tlb_holds_the_ranges_used_last() {
    let mut table = table("ranges(range-tlb=2)");
    for range in 0..3 {
        (0..4).for_each(|page| table.map(SPACE, leaf(100 * range + page, 12, 7 * range + page)));
    }
    let mut hit = |page| reads(table.as_mut(), page) == 0;
    assert_eq!([0, 1, 100, 103].map(&mut hit), [false, true, false, true]);
    assert_eq!([200, 100, 0].map(&mut hit), [false, true, false]);
    table.unmap(SPACE, leaf(1, 12, 1).run);
    assert!(reads(table.as_mut(), 0) > 0, "the range is another one");
    assert_eq!(reads(table.as_mut(), 0), 0);
}

#[test]
fn a_walk_cache_leaves_out_sizes_and_ways() {
    let mut table = table("elastic-cuckoo(walk-cache=16)");
    table.map(SPACE, leaf(5, 12, 1));
    table.map(SPACE, leaf(512, 21, 512));
    // Six slots, and the entry with the sizes of the part; then the three of base pages alone.
    assert_eq!([5, 5].map(|page| reads(table.as_mut(), page)), [7, 3]);
    assert_eq!([512, 513].map(|page| reads(table.as_mut(), page)), [7, 1]);
}
