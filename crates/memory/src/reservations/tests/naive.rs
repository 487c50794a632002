//! A reservation, slow and obvious.

use broadleaf_units::PageSizes;

pub(super) type NaivePlace = (u8, u64);

/// A reservation, slow and obvious.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NaiveReservations {
    pub(super) key: NaivePlace,
    pub(super) frame: u64,
    pub(super) level: usize,
    pub(super) populated: Vec<bool>,
    pub(super) last: u64,
}

impl NaiveReservations {
    /// Returns true if any of `pages` pages from `key` on is the reservation's.
    pub(super) fn meets(&self, key: NaivePlace, pages: u64) -> bool {
        let end = self.key.1 + self.populated.len() as u64;
        self.key.0 == key.0 && self.key.1 < key.1 + pages && key.1 < end
    }

    /// Returns true if an aligned piece of `level` inside is free.
    pub(super) fn has_free(&self, sizes: &PageSizes, level: usize) -> bool {
        let size = sizes.pages(level) as usize;
        let mut pieces = self.populated.chunks_exact(size);
        pieces.any(|piece| piece.iter().all(|populated| !populated))
    }

    /// The level of the reservation's list.
    pub(super) fn list(&self, sizes: &PageSizes) -> Option<usize> {
        (0..=self.level)
            .rev()
            .find(|level| self.has_free(sizes, *level))
    }

    pub(super) fn part(&self, sizes: &PageSizes, page: u64, level: usize) -> Self {
        let pages = page as usize..(page + sizes.pages(level)) as usize;
        Self {
            key: (self.key.0, self.key.1 + page),
            frame: self.frame + page,
            level,
            populated: self.populated[pages].to_vec(),
            last: self.last,
        }
    }

    /// The parts of the reservation after a preemption for a level. The part around each page is
    /// the largest piece that is full, or free, or holds nothing free of that level.
    pub(super) fn parts(&self, sizes: &PageSizes, wanted: usize) -> Vec<Self> {
        let (mut parts, mut page) = (Vec::new(), 0);
        while page < sizes.pages(self.level) {
            let around = |level| self.part(sizes, sizes.first_of(level, page), level);
            let stays = |part: &Self| {
                let count = part.populated.iter().filter(|page| **page).count();
                count == 0
                    || count == part.populated.len()
                    || part.level < wanted
                    || !part.has_free(sizes, wanted)
            };
            let mut levels = (0..=self.level).rev().map(around);
            let part = levels.find(stays).expect("a page is full or free");
            page += sizes.pages(part.level);
            parts.push(part);
        }
        parts
    }
}
