//! Populations against one `bool` for each page.

use super::*;
use proptest::prelude::*;

/// The slow, obvious population.
struct Flags {
    sizes: PageSizes,
    top: usize,
    populated: Vec<bool>,
}

impl Flags {
    fn new(sizes: PageSizes, top: usize) -> Self {
        Self {
            sizes,
            top,
            populated: vec![false; sizes.pages(top) as usize],
        }
    }

    fn count_in(&self, level: usize, page: u64) -> u64 {
        let first = self.sizes.first_of(level.min(self.top), page) as usize;
        let pages = self.sizes.pages(level.min(self.top)) as usize;
        let piece = &self.populated[first..first + pages];
        piece.iter().filter(|populated| **populated).count() as u64
    }

    /// The largest level around a page with `wanted` populated pages for its size.
    fn largest(&self, page: u64, wanted: impl Fn(u64) -> u64) -> Option<usize> {
        (0..=self.top)
            .rev()
            .find(|level| self.count_in(*level, page) == wanted(self.sizes.pages(*level)))
    }

    fn free_pieces(&self) -> Vec<(u64, usize)> {
        let all = (0..self.populated.len() as u64)
            .filter_map(|page| Some((page, self.largest(page, |_| 0)?)));
        all.filter(|(page, level)| self.sizes.first_of(*level, *page) == *page)
            .collect()
    }
}

/// Asks about everything that concerns a page, and about the whole.
fn compare(population: &Population, flags: &Flags, page: u64) {
    population.check();
    assert_eq!(population.get(page), flags.populated[page as usize]);
    for level in 0..flags.sizes.levels() {
        let count = flags.count_in(level, page);
        assert_eq!(population.count_in(level, page), count, "level {level}");
    }
    assert_eq!(population.largest_empty(page), flags.largest(page, |_| 0));
    assert_eq!(
        population.largest_full(page),
        flags.largest(page, |all| all)
    );
    let count = flags.count_in(flags.top, 0);
    assert_eq!(population.count(), count);
    assert_eq!(population.is_empty(), count == 0);
    assert_eq!(population.is_full(), count == population.len());
}

/// Asks what takes a scan of all pages.
fn compare_all(population: &Population, flags: &Flags) {
    let free = flags.free_pieces();
    assert!(population.free_pieces().eq(free.iter().copied()));
    let largest = free.iter().map(|(_, level)| *level).max();
    assert_eq!(population.largest_free_level(), largest);
    let pages = 0..flags.populated.len() as u64;
    assert!(
        population
            .pages()
            .eq(pages.filter(|page| flags.populated[*page as usize]))
    );
}

/// Sets of sizes up to 512 pages, those of machines among them.
fn sizes() -> impl Strategy<Value = PageSizes> {
    let any = prop::collection::btree_set(1u8..10, 0..5).prop_map(|orders| {
        let orders: Vec<u8> = [0].into_iter().chain(orders).collect();
        PageSizes::new(&orders).unwrap()
    });
    let known = prop::sample::select(vec![&[0, 9][..], &[0, 3, 6, 9], &[0, 2, 4, 9]])
        .prop_map(|orders| PageSizes::new(orders).unwrap());
    prop_oneof![3 => any, 2 => known]
}

#[derive(Clone, Debug)]
enum PopulationStep {
    /// One page is populated or cleared.
    One(bool, prop::sample::Index),
    /// All pages of a piece around a page are, so that pieces become full and empty.
    All(bool, prop::sample::Index, prop::sample::Index),
}

fn step() -> impl Strategy<Value = PopulationStep> {
    let (page, level) = (any::<prop::sample::Index>, any::<prop::sample::Index>);
    prop_oneof![
        3 => (prop::bool::weighted(0.6), page())
            .prop_map(|(to, page)| PopulationStep::One(to, page)),
        1 => (any::<bool>(), page(), level())
            .prop_map(|(to, page, level)| PopulationStep::All(to, page, level)),
    ]
}

proptest! {
    #[test]
    fn as_flags_answer(
        sizes in sizes(),
        top in any::<prop::sample::Index>(),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let top = top.index(sizes.levels());
        let mut population = Population::new(sizes, top);
        let mut flags = Flags::new(sizes, top);
        for step in steps {
            let (to, page, level) = match step {
                PopulationStep::One(to, page) => (to, page, 0),
                PopulationStep::All(to, page, level) => (to, page, level.index(top + 1)),
            };
            let page = page.index(population.len() as usize) as u64;
            let first = sizes.first_of(level, page);
            for page in first..first + sizes.pages(level) {
                let was = std::mem::replace(&mut flags.populated[page as usize], to);
                let changed = if to { population.set(page) } else { population.clear(page) };
                assert_eq!(changed, was != to);
                compare(&population, &flags, page);
            }
            compare_all(&population, &flags);
        }
        // Taken apart, each part is what lay there.
        let size = population.len() as usize / sizes.children(top);
        let parts = population.split();
        assert_eq!(parts.len(), sizes.children(top));
        for (number, (page, part)) in parts.into_iter().enumerate() {
            assert_eq!(page as usize, number * size);
            let mut own = Flags::new(sizes, top.saturating_sub(1));
            own.populated.copy_from_slice(&flags.populated[page as usize..][..size]);
            compare(&part, &own, 0);
            compare_all(&part, &own);
        }
    }
}

/// Pages of a piece of 8 pages are populated in order, with sizes of 2, 4 and 8 pages: 2, 4, 4 + 2
/// and 8 pages are promoted (Navarro 2002, on incremental promotion).
#[test]
fn promotion_a_size_at_a_time() {
    let sizes = PageSizes::new(&[0, 1, 2, 3]).unwrap();
    let mut population = Population::new(sizes, sizes.largest());
    let promoted: Vec<Vec<u64>> = (0..8)
        .map(|page| {
            population.set(page);
            // What is mapped now: the full pieces that are larger than a base page.
            let full = population.pieces().filter(|piece| piece.populated);
            full.map(|piece| sizes.pages(piece.level))
                .filter(|pages| *pages > 1)
                .collect()
        })
        .collect();
    let expected: [&[u64]; 8] = [&[], &[2], &[2], &[4], &[4], &[4, 2], &[4, 2], &[8]];
    assert_eq!(promoted, expected);
    assert_eq!(population.largest_full(5), Some(3));
    population.clear(7);
    let levels = (0..8).map(|page| population.largest_full(page));
    assert!(levels.eq([2, 2, 2, 2, 1, 1, 0].map(Some).into_iter().chain([None])));
}

fn nodes(slot: &NodeLink) -> usize {
    let Some(node) = slot else { return 0 };
    match &node.below {
        node::Below::Pieces(pieces) => 1 + pieces.iter().map(nodes).sum::<usize>(),
        node::Below::Word(_) | node::Below::Words(_) => 1,
    }
}

/// A piece of 64 GiB takes memory for its populated pages alone.
#[test]
fn large_pieces_take_memory_for_what_is_populated() {
    let sizes = PageSizes::new(&[0, 9, 18, 24]).unwrap();
    let mut population = Population::new(sizes, sizes.largest());
    assert!(population.set(12_345_678) && population.set(0));
    population.check();
    assert_eq!(nodes(&population.root), 1 + 2 + 2);
    assert_eq!(population.largest_free_level(), Some(2));
    assert_eq!(population.largest_empty(1), Some(0));
    assert_eq!(population.largest_empty(1 << 9), Some(1));
    assert_eq!(population.largest_empty(1 << 18), Some(2));
    // One piece of 2^24 pages, two of 2^18, two of 2^9, each without the one around a page.
    assert_eq!(population.free_pieces().count(), 62 + 2 * 511 + 2 * 511);
    assert!(population.clear(0) && population.clear(12_345_678));
    assert_eq!(population.free_pieces().collect::<Vec<_>>(), [(0, 3)]);
    assert_eq!(nodes(&population.root), 0);
}

#[test]
#[should_panic(expected = "page 8 of 8")]
fn pages_past_the_end_are_refused() {
    let sizes = PageSizes::new(&[0, 3, 6]).unwrap();
    Population::new(sizes, 1).set(8);
}
