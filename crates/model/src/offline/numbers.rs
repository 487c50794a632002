//! Base pages by number, in the order in which they were first referenced.

use broadleaf_memory::system::{Place, RecentChunks};
use broadleaf_units::SpaceId;
use std::collections::BTreeMap;

/// Pages in a chunk.
const CHUNK: u64 = 512;
/// No page.
const NONE: u32 = u32::MAX;

/// The numbers of referenced base pages.
#[derive(Clone, Debug)]
pub(crate) struct Numbers {
    chunks: Vec<[u32; CHUNK as usize]>,
    index: BTreeMap<(SpaceId, u64), u32>,
    recent: RecentChunks,
    places: Vec<Place>,
}

impl Numbers {
    /// No numbered pages.
    pub(crate) fn new() -> Self {
        Self {
            chunks: Vec::new(),
            index: BTreeMap::new(),
            recent: RecentChunks::new(),
            places: Vec::new(),
        }
    }

    /// The number of numbered pages.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// The size of the numbers, in bytes.
    pub(super) fn size(&self) -> usize {
        self.chunks.len() * size_of::<[u32; CHUNK as usize]>()
            + self.places.len() * size_of::<Place>()
    }

    /// The page of a number.
    #[inline]
    pub(super) fn place(&self, number: u32) -> Place {
        self.places[number as usize]
    }

    /// The number of a page. A page without a number gets the next one.
    #[inline]
    pub(super) fn of(&mut self, at: Place) -> u32 {
        let chunk = self.chunk(at.space, at.page / CHUNK);
        let known = self.chunks[chunk as usize][(at.page % CHUNK) as usize];
        if known != NONE {
            return known;
        }
        let new = self.places.len() as u32;
        self.places.push(at);
        self.chunks[chunk as usize][(at.page % CHUNK) as usize] = new;
        new
    }

    /// The pages of a range that have numbers, by their numbers.
    pub(super) fn among(&self, first: Place, pages: u64) -> impl Iterator<Item = u32> + '_ {
        let end = first.page.saturating_add(pages);
        let chunks = (first.space, first.page / CHUNK)..=(first.space, end / CHUNK);
        self.index.range(chunks).flat_map(move |((_, at), chunk)| {
            let pages = (at * CHUNK..).zip(&self.chunks[*chunk as usize]);
            pages
                .filter(move |(page, number)| **number != NONE && (first.page..end).contains(page))
                .map(|(_, number)| *number)
        })
    }

    #[inline]
    fn chunk(&mut self, space: SpaceId, number: u64) -> u32 {
        // Equal addresses of several spaces take different places among the recent chunks.
        let mixed = number ^ u64::from(space.0) << 5;
        if let Some(chunk) = self.recent.find(space, mixed) {
            return chunk as u32;
        }
        let new = self.chunks.len() as u32;
        let chunk = *self.index.entry((space, number)).or_insert(new);
        if chunk == new {
            self.chunks.push([NONE; CHUNK as usize]);
        }
        self.recent.keep(space, mixed, chunk as usize);
        chunk
    }
}
