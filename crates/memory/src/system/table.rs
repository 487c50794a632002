//! Page tables: what is mapped where in each address space, in chunks of pages.

use super::counts::PageCounts;
use super::pte::Pte;
pub use super::recent_chunks::RecentChunks;
use super::recent_entries::RecentEntries;
use super::sparse::{ENTRIES, Sparse};
use broadleaf_units::SpaceId;
use std::collections::BTreeMap;

/// A base page of an address space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The space.
    pub space: SpaceId,
    /// The number of the base page: its address divided by the size of a base page.
    pub page: u64,
}

/// Pages in a chunk.
pub(crate) const CHUNK: u64 = ENTRIES;

#[derive(Clone, Debug)]
struct Chunk {
    ptes: Sparse<Pte>,
    counts: PageCounts,
    /// Referenced pages in a daemon's round, as a moving average, in sixteenths.
    average: u32,
}

/// The page tables of all address spaces.
#[derive(Clone, Debug)]
pub(crate) struct Tables {
    index: BTreeMap<(SpaceId, u64), u32>,
    chunks: Vec<Chunk>,
    free: Vec<u32>,
    recent: RecentChunks,
    entries: RecentEntries,
    /// Pages of all chunks that are in a frame and were not referenced.
    unused: u64,
    /// The number of times that an entry or a chunk of entries became unsettled.
    unsettled: u64,
    /// The number of times that an entry was set.
    entries_set: u64,
    /// Bytes of memory that the entries of all chunks take.
    entry_bytes: usize,
    /// The entries before the changes since the last notices, if changes are kept.
    changes: Option<BTreeMap<Place, Pte>>,
}

impl Tables {
    pub(crate) fn new() -> Self {
        Self {
            index: BTreeMap::new(),
            chunks: Vec::new(),
            free: Vec::new(),
            recent: RecentChunks::new(),
            entries: RecentEntries::new(),
            unused: 0,
            unsettled: 0,
            entries_set: 0,
            entry_bytes: 0,
            changes: None,
        }
    }

    /// Keeps changes from here on. Pages that are mapped already count as changes.
    pub(crate) fn watch(&mut self) {
        if self.changes.is_none() {
            let mapped = self.iter().filter(|(_, pte)| pte.is_present());
            self.changes = Some(mapped.map(|(at, _)| (at, Pte::NONE)).collect());
        }
    }

    /// Counts the mapped pages of a range as changed, if changes are kept: something else about
    /// the pages changed.
    pub(crate) fn note_unchanged(&mut self, space: SpaceId, from: u64, to: u64) {
        if self.changes.is_none() {
            return;
        }
        let pages = self.pages_in(space, from, to).into_iter();
        let mapped: Vec<_> = pages.filter(|(_, pte)| pte.is_present()).collect();
        if let Some(changes) = &mut self.changes {
            for (at, pte) in mapped {
                changes.entry(at).or_insert(pte);
            }
        }
    }

    /// Returns true if changes were kept.
    #[inline]
    pub(crate) fn has_changes(&self) -> bool {
        self.changes
            .as_ref()
            .is_some_and(|changes| !changes.is_empty())
    }

    /// The entries before the changes, by place.
    pub(crate) fn take_changes(&mut self) -> BTreeMap<Place, Pte> {
        self.changes
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// The number of resident pages that were not referenced since they became resident.
    pub(crate) const fn unused(&self) -> u64 {
        self.unused
    }

    /// A number that changes whenever references begin to change a page again that they left as it
    /// was.
    pub(crate) const fn unsettled(&self) -> u64 {
        self.unsettled
    }

    pub(crate) const fn entries_set(&self) -> u64 {
        self.entries_set
    }

    /// Bytes of memory that the tables take.
    pub(crate) fn bytes(&self) -> usize {
        let index = self.index.len() * super::footprint::entry::<(SpaceId, u64), u32>();
        self.entry_bytes + self.chunks.capacity() * size_of::<Chunk>() + index
    }

    /// The number of chunks.
    pub(crate) fn len(&self) -> u64 {
        self.index.len() as u64
    }

    #[inline]
    fn find(&self, space: SpaceId, number: u64) -> Option<usize> {
        if let Some(chunk) = self.recent.find(space, number) {
            return Some(chunk);
        }
        self.index
            .get(&(space, number))
            .map(|chunk| *chunk as usize)
    }

    /// The entry of a page.
    #[inline]
    pub(crate) fn get(&self, at: Place) -> Pte {
        match self.find(at.space, at.page / CHUNK) {
            Some(chunk) => self.chunks[chunk].ptes.get(at.page as usize),
            None => Pte::NONE,
        }
    }

    /// The entry of a page. The next lookup finds the entry faster.
    #[inline]
    pub(crate) fn look(&mut self, at: Place) -> Pte {
        if let Some(pte) = self.entries.find(at) {
            return pte;
        }
        let pte = self.look_in_chunk(at);
        self.entries.keep(at, pte);
        pte
    }

    fn look_in_chunk(&mut self, at: Place) -> Pte {
        let number = at.page / CHUNK;
        let Some(chunk) = self.find(at.space, number) else {
            return Pte::NONE;
        };
        self.recent.keep(at.space, number, chunk);
        self.chunks[chunk].ptes.get(at.page as usize)
    }

    /// Says something else of a page.
    pub(crate) fn set(&mut self, at: Place, pte: Pte) {
        let number = at.page / CHUNK;
        let chunk = match self.find(at.space, number) {
            Some(chunk) => chunk,
            None if pte == Pte::NONE => return,
            None => self.add(at.space, number),
        };
        self.entries.change(at, pte);
        self.entries_set += 1;
        let chunk = &mut self.chunks[chunk];
        let (old, bytes) = chunk.ptes.set(at.page as usize, pte);
        self.entry_bytes += bytes;
        if let Some(changes) = &mut self.changes
            && old.mapping() != pte.mapping()
        {
            changes.entry(at).or_insert(old);
        }
        self.unsettled += u64::from(!pte.is_settled_as(old));
        let (old, new) = (PageCounts::of(old), PageCounts::of(pte));
        self.unused = self.unused + u64::from(new.unused) - u64::from(old.unused);
        chunk.counts.subtract(&old);
        chunk.counts.add(&new);
    }

    fn add(&mut self, space: SpaceId, number: u64) -> usize {
        let chunk = Chunk {
            ptes: Sparse::new(),
            counts: PageCounts::default(),
            average: 0,
        };
        let at = match self.free.pop() {
            Some(at) => {
                self.chunks[at as usize] = chunk;
                at as usize
            }
            None => {
                if self.chunks.len() == self.chunks.capacity() {
                    // Not twice as many: with many chunks that would be most of the memory there
                    // is.
                    self.chunks.reserve_exact((self.chunks.len() / 8).max(64));
                }
                self.chunks.push(chunk);
                self.chunks.len() - 1
            }
        };
        self.index.insert((space, number), at as u32);
        // A fault asks of a new chunk many times, and a promotion once for each page.
        self.recent.keep(space, number, at);
        at
    }

    /// The number of pages of a piece in each state. A piece is aligned and has a power of two of
    /// pages.
    pub(crate) fn counts(&self, first: Place, pages: u64) -> PageCounts {
        let mut sum = PageCounts::default();
        if pages < CHUNK {
            if let Some(chunk) = self.find(first.space, first.page / CHUNK) {
                for page in first.page..first.page + pages {
                    let pte = self.chunks[chunk].ptes.get(page as usize);
                    sum.add(&PageCounts::of(pte));
                }
            }
            return sum;
        }
        for chunk in self.chunks_of(first, pages) {
            sum.add(&self.chunks[chunk as usize].counts);
        }
        sum
    }

    fn chunks_of(&self, first: Place, pages: u64) -> impl Iterator<Item = u32> + '_ {
        let numbers = first.page / CHUNK..=(first.page + pages - 1) / CHUNK;
        let range = (first.space, *numbers.start())..=(first.space, *numbers.end());
        self.index.range(range).map(|(_, chunk)| *chunk)
    }

    /// The moving average of a piece's referenced pages, in sixteenths of a page. A piece smaller
    /// than a chunk has none.
    pub(crate) fn average(&self, first: Place, pages: u64) -> u32 {
        if pages < CHUNK {
            return 0;
        }
        let averages = self.chunks_of(first, pages);
        averages
            .map(|chunk| self.chunks[chunk as usize].average)
            .sum()
    }

    /// Adds the referenced pages of a chunk to its moving average, and clears the reference bits.
    /// Returns the number of resident pages.
    pub(crate) fn look_over(&mut self, space: SpaceId, number: u64) -> u64 {
        let Some(chunk) = self.index.get(&(space, number)) else {
            return 0;
        };
        let chunk = &mut self.chunks[*chunk as usize];
        self.entries.forget();
        chunk.average = (chunk.average + 16 * chunk.counts.referenced) / 2;
        chunk.ptes.update(|pte| pte.without(Pte::REFERENCED));
        self.unsettled += u64::from(chunk.counts.referenced > 0);
        chunk.counts.referenced = 0;
        u64::from(chunk.counts.present)
    }

    /// The first chunk from there on, over all address spaces.
    pub(crate) fn chunk_from(&self, from: (SpaceId, u64)) -> Option<(SpaceId, u64)> {
        self.index.range(from..).next().map(|(at, _)| *at)
    }

    /// The pages of a range that something is said of, in order.
    pub(crate) fn pages_in(&self, space: SpaceId, from: u64, to: u64) -> Vec<(Place, Pte)> {
        let mut found = Vec::new();
        if from >= to {
            return found;
        }
        for ((_, number), chunk) in
            (self.index).range((space, from / CHUNK)..=(space, (to - 1) / CHUNK))
        {
            let start = number * CHUNK;
            let (first, last) = (from.max(start) - start, to.min(start + CHUNK) - start);
            let ptes = &self.chunks[*chunk as usize].ptes;
            let said = ptes.iter().map(|(offset, pte)| (offset as u64, pte));
            for (offset, pte) in said.filter(|(offset, _)| (first..last).contains(offset)) {
                let page = start + offset;
                found.push((Place { space, page }, pte));
            }
        }
        found
    }

    /// Forgets chunks of a range that say nothing any more.
    pub(crate) fn tidy(&mut self, space: SpaceId, from: u64, to: u64) {
        if from >= to {
            return;
        }
        let range = (space, from / CHUNK)..=(space, (to - 1) / CHUNK);
        let empty: Vec<(SpaceId, u64)> = (self.index.range(range))
            .filter(|(_, chunk)| {
                let counts = &self.chunks[**chunk as usize].counts;
                counts.present + counts.swapped == 0
            })
            .map(|(at, _)| *at)
            .collect();
        if empty.is_empty() {
            return;
        }
        for at in empty {
            if let Some(chunk) = self.index.remove(&at) {
                let said = &mut self.chunks[chunk as usize].ptes;
                self.entry_bytes -= said.bytes();
                *said = Sparse::new();
                self.free.push(chunk);
            }
        }
        self.recent.forget();
        self.entries.forget();
    }

    /// Every page that something is said of.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Place, Pte)> + '_ {
        self.index.iter().flat_map(|((space, number), chunk)| {
            let ptes = self.chunks[*chunk as usize].ptes.iter();
            ptes.map(move |(offset, pte)| {
                let page = number * CHUNK + offset as u64;
                let space = *space;
                (Place { space, page }, pte)
            })
        })
    }

    /// Pages that a promotion filled until now and that were not referenced count as filled before
    /// ([`Pte::FILLED_BEFORE`]).
    pub(crate) fn note_filled(&mut self) {
        self.entries.forget();
        for chunk in self.index.values() {
            let ptes = &mut self.chunks[*chunk as usize].ptes;
            ptes.update(|pte| {
                if pte.has_frame() && pte.filled() != (false, false) {
                    pte.with(Pte::FILLED_BEFORE)
                } else {
                    pte
                }
            });
        }
    }

    /// Compacts the entries of a superpage, or of the parts of a broken one. Call this after a
    /// change of all its pages.
    pub(crate) fn compact(&mut self, first: Place, pages: u64) {
        if pages < CHUNK {
            return;
        }
        for chunk in self.chunks_of(first, pages).collect::<Vec<_>>() {
            self.entry_bytes -= self.chunks[chunk as usize].ptes.compact();
        }
    }

    /// Asserts that what is counted is what is there.
    pub(crate) fn check(&self) {
        let mut unused = 0;
        for chunk in self.index.values() {
            let chunk = &self.chunks[*chunk as usize];
            let mut counts = PageCounts::default();
            let said = chunk.ptes.iter();
            said.for_each(|(_, pte)| counts.add(&PageCounts::of(pte)));
            assert_eq!(counts, chunk.counts, "pages of a chunk are miscounted");
            unused += u64::from(counts.unused);
        }
        assert_eq!(unused, self.unused, "unreferenced pages are miscounted");
        self.entries.check(|at| self.get(at));
        let bytes = self.chunks.iter().map(|chunk| chunk.ptes.bytes());
        assert_eq!(bytes.sum::<usize>(), self.entry_bytes, "memory of tables");
    }
}
