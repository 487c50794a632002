//! What the writer of a random trace knows of one address space, so that its events make sense.

use std::ops::Range;

use super::ranges::{ARENA, ARENA_PAGES, STACK_END};

/// One address space.
pub(super) struct Space {
    /// Whether it has map events.
    pub(super) told: bool,
    /// For each page of the arena the number of the `Map` event that it comes from, [`Space::free`] where there is none.
    arena: Vec<u32>,
    maps: u32,
    pub(super) heap: Option<Range<u64>>,
    pub(super) stack: Option<Range<u64>>,
    pub(super) wide: bool,
}

impl Space {
    pub(super) fn new(told: bool) -> Self {
        Self {
            told,
            arena: vec![Self::free(told); ARENA_PAGES as usize],
            maps: 0,
            heap: None,
            stack: None,
            wide: false,
        }
    }

    /// What stands for a page that no event maps: 0 for nothing; 1 in a space without map events, all of which is taken for
    /// one mapping.
    fn free(told: bool) -> u32 {
        u32::from(!told)
    }

    fn slots(pages: &Range<u64>) -> Range<usize> {
        (pages.start - ARENA) as usize..(pages.end - ARENA) as usize
    }

    /// Whether nothing was ever mapped in the arena.
    pub(super) fn is_bare(&self) -> bool {
        self.maps == 0
    }

    pub(super) fn set_mapped(&mut self, pages: &Range<u64>) {
        self.maps += 1;
        self.arena[Self::slots(pages)].fill(self.maps);
    }

    pub(super) fn set_unmapped(&mut self, pages: &Range<u64>) {
        self.arena[Self::slots(pages)].fill(Self::free(self.told));
    }

    /// The longest beginning of `pages` that comes from one `Map` event.
    pub(super) fn one_mapping(&self, pages: &Range<u64>) -> Range<u64> {
        let slots = &self.arena[Self::slots(pages)];
        let first = slots.first().copied().unwrap_or(0);
        let same = slots
            .iter()
            .take_while(|&&map| map == first && map != 0)
            .count();
        pages.start..pages.start + same as u64
    }

    /// The longest beginning of `pages` that is mapped.
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

    /// Pages worth a reference, by a number that says where.
    pub(super) fn place(&self, which: u64) -> Range<u64> {
        match which {
            0 => self
                .heap
                .clone()
                .map(|heap| heap.start..heap.end.max(heap.start + 1)),
            // Now and then below the stack's end, as a program does before the stack grows.
            1 => self.stack.clone().map(|stack| stack.start - 3..stack.end),
            2 => Some(STACK_END - 1024..STACK_END),
            _ => None,
        }
        .unwrap_or(ARENA..ARENA + ARENA_PAGES)
    }
}
