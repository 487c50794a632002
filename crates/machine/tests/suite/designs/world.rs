//! A page table that changes: maps, unmaps, protections, promotions and demotions at random.

use broadleaf_oracle::design::SlowPage;
use broadleaf_oracle::random::Rng;
use std::collections::BTreeMap;

/// The number of pages of a space.
pub(crate) const PAGES: u64 = 96;
/// The largest block of frames.
const FRAMES: u64 = 16;

/// Where frames lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameChances {
    /// Of 100 base pages, those at their place in a block of frames.
    pub(crate) placed: u64,
    /// Of 100 base pages, those anywhere in the block of frames.
    pub(crate) inside: u64,
    /// The number of pages of which one, on average, has no frame.
    pub(crate) zero: u64,
}

/// Page tables of some spaces.
pub(crate) struct RandomTable {
    placement: FrameChances,
    /// The superpage sizes, in pages of 4 KiB.
    sizes: Vec<u64>,
    pages: BTreeMap<(u32, u64), SlowPage>,
    blocks: BTreeMap<(u32, u64), u64>,
    next_block: u64,
}

/// The translations that become stale with a change of the page table.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Forgotten {
    /// Nothing.
    None,
    /// The translation of this page and size.
    Page(SlowPage),
    /// Everything that overlaps pages: the space, the first page and the number.
    Range(u32, u64, u64),
}

impl RandomTable {
    pub(crate) fn new(placement: FrameChances, sizes: &[u64]) -> Self {
        Self {
            placement,
            sizes: sizes.iter().copied().filter(|size| *size > 1).collect(),
            pages: BTreeMap::new(),
            blocks: BTreeMap::new(),
            next_block: 1,
        }
    }

    /// The translation of a page.
    pub(crate) fn read(&self, space: u32, page: u64) -> Option<SlowPage> {
        let mut before = self.pages.range((space, 0)..=(space, page));
        let (_, last) = before.next_back()?;
        last.covers(space, page).then_some(*last)
    }

    /// A reference: the translation, which is mapped if it was not. A store sets the modified bit.
    pub(crate) fn refer(&mut self, rng: &mut Rng, space: u32, page: u64, store: bool) -> SlowPage {
        let mut found = match self.read(space, page) {
            Some(found) => found,
            None => self.map(rng, space, page),
        };
        found.modified |= store;
        self.pages.insert((space, found.first), found);
        found
    }

    fn fresh_block(&mut self) -> u64 {
        self.next_block += 1;
        self.next_block * FRAMES
    }

    fn block(&mut self, space: u32, page: u64) -> u64 {
        if let Some(block) = self.blocks.get(&(space, page / FRAMES)) {
            return *block;
        }
        let fresh = self.fresh_block();
        self.blocks.insert((space, page / FRAMES), fresh);
        fresh
    }

    /// Maps a base page.
    fn map(&mut self, rng: &mut Rng, space: u32, page: u64) -> SlowPage {
        let chance = rng.below(100);
        let FrameChances {
            placed,
            inside,
            zero,
        } = self.placement;
        let frame = if rng.one_in(zero) {
            None
        } else if chance < placed {
            Some(self.block(space, page) + page % FRAMES)
        } else if chance < placed + inside {
            Some(self.block(space, page) + rng.below(FRAMES))
        } else {
            Some(self.fresh_block() + rng.below(FRAMES))
        };
        let new = SlowPage {
            space,
            first: page,
            pages: 1,
            frame,
            rights: u8::from(rng.one_in(12)),
            modified: rng.one_in(8),
        };
        self.pages.insert((space, page), new);
        new
    }

    /// A random change of the pages around a page.
    pub(crate) fn change(&mut self, rng: &mut Rng, space: u32, page: u64) -> Forgotten {
        match rng.below(7) {
            0 => self.unmap(space, page),
            1 => self.protect(rng, space, page),
            2 | 3 => self.demote(rng, space, page),
            4 => {
                let (first, end) = (page & !3, (page & !3) + 4);
                for page in first..end {
                    if self.read(space, page).is_none() {
                        self.map(rng, space, page);
                    }
                }
                Forgotten::None
            }
            _ => self.promote(rng, space, page),
        }
    }

    fn unmap(&mut self, space: u32, page: u64) -> Forgotten {
        let Some(found) = self.read(space, page) else {
            return Forgotten::None;
        };
        self.pages.remove(&(space, found.first));
        Forgotten::Range(space, found.first, found.pages)
    }

    fn protect(&mut self, rng: &mut Rng, space: u32, page: u64) -> Forgotten {
        let Some(mut found) = self.read(space, page) else {
            return Forgotten::None;
        };
        found.rights = rng.below(3) as u8;
        found.modified &= rng.one_in(2);
        self.pages.insert((space, found.first), found);
        Forgotten::Range(space, found.first, found.pages)
    }

    /// Pages become a superpage. Base pages may linger in the TLB if their frames stay.
    fn promote(&mut self, rng: &mut Rng, space: u32, page: u64) -> Forgotten {
        if self.sizes.is_empty() {
            return Forgotten::None;
        }
        let size = rng.pick(&self.sizes);
        let first = page / size * size;
        let old: Vec<Option<SlowPage>> = (first..first + size)
            .map(|page| self.read(space, page))
            .collect();
        if old.iter().flatten().any(|old| old.pages >= size) {
            return Forgotten::None;
        }
        let frame_of = |at: usize| {
            let old = old[at]?;
            Some(old.frame? + first + at as u64 - old.first)
        };
        let base = frame_of(0);
        let stays = base.is_some_and(|base| base.is_multiple_of(size))
            && (0..old.len()).all(|at| frame_of(at) == base.map(|base| base + at as u64))
            && old
                .iter()
                .flatten()
                .all(|page| Some(page.rights) == old[0].map(|of| of.rights));
        let frame = match (base, stays, rng.below(3)) {
            (Some(base), true, _) => base,
            (_, _, 0) => self.fresh_block() + rng.below(FRAMES / size) * size,
            _ => self.block(space, page) + first % FRAMES,
        };
        for page in first..first + size {
            self.pages.remove(&(space, page));
        }
        let rights = old.iter().flatten().next().map_or(0, |page| page.rights);
        let modified = old.iter().flatten().any(|page| page.modified);
        let new = SlowPage {
            space,
            first,
            pages: size,
            frame: Some(frame),
            rights,
            modified,
        };
        self.pages.insert((space, first), new);
        match stays {
            true => Forgotten::None,
            false => Forgotten::Range(space, first, size),
        }
    }

    fn demote(&mut self, rng: &mut Rng, space: u32, page: u64) -> Forgotten {
        let Some(found) = self.read(space, page).filter(|found| found.pages > 1) else {
            return Forgotten::None;
        };
        for page in found.first..found.first + found.pages {
            let frame = found.frame.map(|frame| frame + page - found.first);
            let base = SlowPage {
                first: page,
                pages: 1,
                frame,
                ..found
            };
            self.pages.insert((space, page), base);
        }
        match rng.below(2) {
            0 => Forgotten::Page(found),
            _ => Forgotten::Range(space, found.first, found.pages),
        }
    }
}
