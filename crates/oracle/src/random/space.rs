//! The writer's knowledge of one address space, for meaningful events.

use std::ops::Range;

use super::ranges::{ARENA, ARENA_PAGES, STACK_END};

/// One address space.
pub(super) struct WriterSpace {
    /// True if the space has map events.
    pub(super) has_maps: bool,
    /// The number of the `Map` event of each page of the arena, or [`WriterSpace::free`].
    arena: Vec<u32>,
    maps: u32,
    pub(super) heap: Option<Range<u64>>,
    pub(super) stack: Option<Range<u64>>,
    pub(super) wide: bool,
}

impl WriterSpace {
    pub(super) fn new(has_maps: bool) -> Self {
        Self {
            has_maps,
            arena: vec![Self::free(has_maps); ARENA_PAGES as usize],
            maps: 0,
            heap: None,
            stack: None,
            wide: false,
        }
    }

    /// The number of an unmapped page: 0; or 1 in a space without map events, which counts as one
    /// mapping.
    fn free(has_maps: bool) -> u32 {
        u32::from(!has_maps)
    }

    fn slots(pages: &Range<u64>) -> Range<usize> {
        (pages.start - ARENA) as usize..(pages.end - ARENA) as usize
    }

    /// Returns true if nothing was ever mapped in the arena.
    pub(super) fn is_bare(&self) -> bool {
        self.maps == 0
    }

    pub(super) fn set_mapped(&mut self, pages: &Range<u64>) {
        self.maps += 1;
        self.arena[Self::slots(pages)].fill(self.maps);
    }

    pub(super) fn set_unmapped(&mut self, pages: &Range<u64>) {
        self.arena[Self::slots(pages)].fill(Self::free(self.has_maps));
    }

    /// The longest prefix of `pages` that comes from one `Map` event.
    pub(super) fn one_mapping(&self, pages: &Range<u64>) -> Range<u64> {
        let slots = &self.arena[Self::slots(pages)];
        let first = slots.first().copied().unwrap_or(0);
        let same = slots
            .iter()
            .take_while(|&&map| map == first && map != 0)
            .count();
        pages.start..pages.start + same as u64
    }

    /// The longest prefix of `pages` that is mapped.
    pub(super) fn mapped(&self, pages: &Range<u64>) -> Range<u64> {
        let same = self.arena[Self::slots(pages)]
            .iter()
            .take_while(|&&map| map != 0)
            .count();
        pages.start..pages.start + same as u64
    }

    pub(super) fn move_pages(&mut self, from: &Range<u64>, to: &Range<u64>) {
        let map = self.arena[Self::slots(from)].first().copied().unwrap_or(0);
        self.set_unmapped(from);
        self.arena[Self::slots(to)].fill(map);
    }

    /// Pages worth a reference, selected by `which`.
    pub(super) fn place(&self, which: u64) -> Range<u64> {
        match which {
            0 => self
                .heap
                .clone()
                .map(|heap| heap.start..heap.end.max(heap.start + 1)),
            // Sometimes the pages are below the stack's end, as before the stack grows.
            1 => self.stack.clone().map(|stack| stack.start - 3..stack.end),
            2 => Some(STACK_END - 1024..STACK_END),
            _ => None,
        }
        .unwrap_or(ARENA..ARENA + ARENA_PAGES)
    }
}
