//! The resident pages of a trial, and the extents in which superpages left their pages.

use super::LadderPiece;
use broadleaf_charges::Ladder;
use broadleaf_memory::system::Place;
use broadleaf_memory::{PAGES_PER_BLOCK, PageMap};
use broadleaf_units::SpaceId;
use std::collections::BTreeMap;

/// Pages in a [`PageMap`].
const BLOCK: u64 = PAGES_PER_BLOCK as u64;

/// The resident pages of all address spaces.
#[derive(Clone, Debug)]
pub(super) struct Residence {
    ladder: Ladder,
    blocks: BTreeMap<(SpaceId, u64), PageMap>,
    /// Pieces whose pages lie in one extent, by first page, each with its level. No two of them
    /// overlap.
    extents: BTreeMap<Place, usize>,
}

impl Residence {
    /// No resident page.
    pub(super) const fn new(ladder: Ladder) -> Self {
        Self {
            ladder,
            blocks: BTreeMap::new(),
            extents: BTreeMap::new(),
        }
    }

    /// Returns true if a page is resident.
    pub(super) fn holds(&self, at: Place) -> bool {
        let block = self.blocks.get(&(at.space, at.page / BLOCK));
        block.is_some_and(|pages| pages.get((at.page % BLOCK) as usize))
    }

    /// The number of resident pages of a piece.
    pub(super) fn count(&self, (first, level): LadderPiece) -> u64 {
        let end = first.page + self.ladder.pages(level);
        let last = (first.space, (end - 1) / BLOCK);
        let blocks = self.blocks.range((first.space, first.page / BLOCK)..=last);
        blocks
            .map(|((_, block), pages)| {
                let inside = pages.and(&part(*block, first.page, end));
                u64::from(inside.count())
            })
            .sum()
    }

    /// Returns true if all pages of a piece lie in one extent.
    pub(super) fn is_together(&self, (first, level): LadderPiece) -> bool {
        let before = self.extents.range(..=first).next_back();
        before.is_some_and(|(at, of)| {
            let end = at.page + self.ladder.pages(*of);
            at.space == first.space && first.page + self.ladder.pages(level) <= end
        })
    }

    /// Makes a page resident.
    pub(super) fn add(&mut self, at: Place) {
        let block = self.blocks.entry((at.space, at.page / BLOCK));
        block
            .or_insert(PageMap::EMPTY)
            .set((at.page % BLOCK) as usize);
    }

    /// Makes all pages of a piece resident, in one extent.
    pub(super) fn gather(&mut self, (first, level): LadderPiece) {
        if self.is_together((first, level)) {
            return;
        }
        let end = first.page + self.ladder.pages(level);
        for number in first.page / BLOCK..=(end - 1) / BLOCK {
            let block = self.blocks.entry((first.space, number));
            let block = block.or_insert(PageMap::EMPTY);
            *block = block.or(&part(number, first.page, end));
        }
        let inside: Vec<Place> = (self.extents.range(first..Place { page: end, ..first }))
            .map(|(at, _)| *at)
            .collect();
        for at in inside {
            self.extents.remove(&at);
        }
        self.extents.insert(first, level);
    }

    /// Removes the pages of a range.
    pub(super) fn remove(&mut self, first: Place, pages: u64) {
        let end = first.page.saturating_add(pages);
        let keys = (first.space, first.page / BLOCK)..=(first.space, end / BLOCK);
        let mut empty = Vec::new();
        for (key, block) in self.blocks.range_mut(keys) {
            *block = block.without(&part(key.1, first.page, end));
            if block.is_empty() {
                empty.push(*key);
            }
        }
        for key in empty {
            self.blocks.remove(&key);
        }
        self.split_extents(first, end);
    }

    /// Splits an extent around a range into smaller extents.
    fn split_extents(&mut self, first: Place, end: u64) {
        let before = self.extents.range(..first).next_back();
        let inside = self.extents.range(first..Place { page: end, ..first });
        let mut met: Vec<LadderPiece> = before.into_iter().chain(inside).map(own).collect();
        while let Some((at, level)) = met.pop() {
            self.extents.remove(&at);
            let own_end = at.page + self.ladder.pages(level);
            if at.space != first.space || own_end <= first.page || end <= at.page {
                self.extents.insert(at, level);
            } else if level > 1 && !(first.page <= at.page && own_end <= end) {
                let each = self.ladder.pages(level - 1);
                let parts = (at.page..own_end).step_by(each as usize);
                met.extend(parts.map(|page| (Place { page, ..at }, level - 1)));
            }
        }
    }

    /// Moves the resident pages of a range, so that the first page comes to lie at `to`.
    pub(super) fn relocate(&mut self, first: Place, pages: u64, to: u64) {
        let end = first.page.saturating_add(pages);
        let keys = (first.space, first.page / BLOCK)..=(first.space, end / BLOCK);
        let mut moved = Vec::new();
        for ((_, number), block) in self.blocks.range(keys) {
            let inside = block.and(&part(*number, first.page, end));
            moved.extend(inside.offsets().map(|at| number * BLOCK + at as u64));
        }
        self.remove(first, pages);
        for page in moved {
            let page = page - first.page + to;
            self.add(Place { page, ..first });
        }
    }
}

fn own((at, level): (&Place, &usize)) -> LadderPiece {
    (*at, *level)
}

/// The pages of a block that lie in a range.
fn part(block: u64, first: u64, end: u64) -> PageMap {
    let start = block * BLOCK;
    let offset = |page: u64| (page.clamp(start, start + BLOCK) - start) as usize;
    PageMap::of(offset(first)..offset(end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_oracle::random::Rng;

    const SPAN: u64 = 1100;

    /// The frame of each resident page. An extent begins at a multiple of `SPAN`.
    type FrameOfPage = BTreeMap<u64, u64>;

    fn is_together(frames: &FrameOfPage, first: u64, pages: u64) -> bool {
        let mut all = (first..first + pages).map(|page| frames.get(&page).map(|at| at - page));
        let start = all.next().flatten();
        start.is_some() && all.all(|other| other == start)
    }

    #[test]
    fn it_is_a_list_of_pages_and_their_frames() {
        let orders = [0, 1, 3, 4, 10];
        let ladder = Ladder::new(&orders).unwrap();
        let at = |page| Place {
            space: SpaceId(1),
            page,
        };
        for seed in 0..100 {
            let mut rng = Rng::new(seed);
            let mut residence = Residence::new(ladder);
            let (mut frames, mut next) = (FrameOfPage::new(), 0);
            for _ in 0..200 {
                next += 4 * SPAN;
                let page = rng.below(SPAN);
                let level = 1 + rng.below(4) as usize;
                let first = ladder.first_of(level, page);
                let pages = ladder.pages(level);
                match rng.below(8) {
                    0 => {
                        if !is_together(&frames, first, pages) {
                            frames.extend((first..first + pages).map(|page| (page, next + page)));
                        }
                        residence.gather((at(first), level));
                    }
                    1 => {
                        let pages = rng.pick(&[1, 3, 8, 700, u64::MAX]);
                        residence.remove(at(page), pages);
                        let end = page.saturating_add(pages);
                        frames.retain(|other, _| !(page..end).contains(other));
                    }
                    2 => {
                        let to = page + 3000;
                        residence.relocate(at(page), 40, to);
                        for page in page..page + 40 {
                            frames.remove(&page);
                        }
                        residence.remove(at(3000), u64::MAX);
                    }
                    _ => {
                        // Frames of single pages lie apart.
                        frames.entry(page).or_insert(next + SPAN + 2 * page);
                        residence.add(at(page));
                    }
                }
                let count = frames.range(first..first + pages).count() as u64;
                assert_eq!(residence.count((at(first), level)), count, "seed {seed}");
                assert_eq!(residence.holds(at(page)), frames.contains_key(&page));
                let together = is_together(&frames, first, pages);
                assert_eq!(residence.is_together((at(first), level)), together);
            }
        }
    }

    #[test]
    fn moved_pages_are_resident_where_they_come_to_lie() {
        let ladder = Ladder::new(&[0, 3]).unwrap();
        let at = |page| Place {
            space: SpaceId(1),
            page,
        };
        let mut residence = Residence::new(ladder);
        residence.gather((at(504), 1));
        residence.add(at(513));
        residence.relocate(at(506), 100, 8);
        let resident: Vec<u64> = (0..600).filter(|page| residence.holds(at(*page))).collect();
        assert_eq!(resident, [8, 9, 10, 11, 12, 13, 15, 504, 505]);
        assert!(!residence.is_together((at(504), 1)) && !residence.is_together((at(8), 1)));
    }
}
