//! Walk caches: entries of a tree above the leaves, in small caches of their own for each level.

use broadleaf_units::{PageNumber, PageSize, SpaceId};

/// A walk cache: the entries of one level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalkCacheShape {
    /// The address range that one entry covers.
    pub span: PageSize,
    /// The number of entries.
    pub entries: usize,
    /// The entries of a set.
    pub ways: usize,
}

/// What the walks of a machine with walk caches read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WalkCacheCounts {
    /// The walks that began at an entry of a cache.
    pub hits: u64,
    /// The entries of the page table that walks read.
    pub reads: u64,
}

impl WalkCacheCounts {
    /// The sum with the counts of another core.
    pub const fn plus(self, more: Self) -> Self {
        Self {
            hits: self.hits + more.hits,
            reads: self.reads + more.reads,
        }
    }
}

/// The walk caches of one machine, each with exact LRU replacement in its sets. The bits above an
/// entry's range choose the set.
#[derive(Clone, Debug)]
pub struct WalkCaches {
    caches: Vec<WalkCache>,
    counts: WalkCacheCounts,
}

/// The tag of a walk entry.
type Tag = (SpaceId, u64);

#[derive(Clone, Debug)]
struct WalkCache {
    span: PageSize,
    ways: usize,
    /// The tags of each set, the one used last at the end.
    sets: Vec<Vec<Tag>>,
}

/// The number of an entry that covers a page.
const fn number(page: u64, span: PageSize) -> u64 {
    page >> (span.shift() - PageSize::SIZE_4K.shift())
}

impl WalkCache {
    fn set(&mut self, number: u64) -> &mut Vec<Tag> {
        let sets = self.sets.len() as u64;
        &mut self.sets[(number % sets) as usize]
    }

    /// Looks an entry up. An entry that is there was used last.
    fn finds(&mut self, space: SpaceId, page: PageNumber) -> bool {
        let tag = (space, number(page.0, self.span));
        let set = self.set(tag.1);
        let Some(place) = set.iter().position(|known| *known == tag) else {
            return false;
        };
        set[place..].rotate_left(1);
        true
    }

    fn load(&mut self, space: SpaceId, page: PageNumber) {
        if self.finds(space, page) {
            return;
        }
        let (ways, tag) = (self.ways, (space, number(page.0, self.span)));
        let set = self.set(tag.1);
        if set.len() == ways {
            set.remove(0);
        }
        set.push(tag);
    }

    fn retain(&mut self, stays: impl Fn(&Tag) -> bool) {
        self.sets.iter_mut().for_each(|set| set.retain(&stays));
    }
}

impl WalkCaches {
    /// Empty caches. A shape has at least one set.
    pub fn new(shapes: &[WalkCacheShape]) -> Self {
        let cache = |shape: &WalkCacheShape| WalkCache {
            span: shape.span,
            ways: shape.ways,
            sets: vec![Vec::new(); (shape.entries / shape.ways.max(1)).max(1)],
        };
        Self {
            caches: shapes.iter().map(cache).collect(),
            counts: WalkCacheCounts::default(),
        }
    }

    /// Probes all caches for the entries that lead to a page. `above` are the ranges of the entries
    /// above the leaf, smallest first. Returns the number of them that the walk reads: those below
    /// the lowest entry that a cache holds, or all.
    pub fn begin(&mut self, space: SpaceId, page: PageNumber, above: &[PageSize]) -> usize {
        let mut lowest = above.len();
        for cache in &mut self.caches {
            let level = above.iter().position(|span| *span == cache.span);
            if let Some(level) = level
                && cache.finds(space, page)
            {
                lowest = lowest.min(level);
            }
        }
        self.counts.hits += u64::from(lowest < above.len());
        lowest
    }

    /// Ends a walk that read the leaf and these entries above it, smallest range first: the caches
    /// hold them now.
    pub fn end(&mut self, space: SpaceId, page: PageNumber, read: &[PageSize]) {
        for span in read.iter().rev() {
            let own = self.caches.iter_mut().filter(|cache| cache.span == *span);
            own.for_each(|cache| cache.load(space, page));
        }
        self.counts.reads += read.len() as u64 + 1;
    }

    /// Drops the entries that lead to pages of a space, from `first` to before `after`.
    pub fn invalidate(&mut self, space: SpaceId, first: u64, after: u64) {
        for cache in &mut self.caches {
            let span = cache.span;
            let numbers = number(first, span)..=number(after.saturating_sub(1), span);
            cache.retain(|(of, number)| *of != space || !numbers.contains(number));
        }
    }

    /// Drops the entries of a space.
    pub fn invalidate_space(&mut self, space: SpaceId) {
        for cache in &mut self.caches {
            cache.retain(|(of, _)| *of != space);
        }
    }

    /// The counts of all walks.
    pub const fn counts(&self) -> WalkCacheCounts {
        self.counts
    }

    /// Counts from zero. The contents stay.
    pub fn begin_counting(&mut self) {
        self.counts = WalkCacheCounts::default();
    }
}
