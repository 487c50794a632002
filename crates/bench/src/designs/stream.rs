//! The lookups of a recorded program, and the page table that they find.

use crate::{Failed, walk};
use broadleaf_oracle::design::SlowPage;
use broadleaf_tlb::ReferenceKind;
use std::collections::{HashMap, HashSet};
use std::io::Read;

/// The pages of a superpage.
pub const SUPERPAGE: u64 = 16;
/// One of this number of blocks is a superpage.
const BLOCKS: u64 = 3;
/// One of this number of base pages is not properly placed.
const MISPLACED: u64 = 8;
/// The first frame of the pages that lie at no proper place.
const ELSEWHERE: u64 = 1 << 40;

/// A lookup.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The page of 4 KiB.
    pub page: u64,
    /// A load or a store.
    pub kind: ReferenceKind,
    /// True for the first store to the page.
    pub is_first_store: bool,
    /// The number of the next lookup of the page; `u64::MAX` if there is none.
    pub next_use: u64,
}

/// The lookups of a program, in their order.
pub struct Stream {
    steps: Vec<Step>,
    touched: HashSet<u64>,
}

impl Stream {
    /// Lookups from the middle of a trace: one for each visit, or a load and a store.
    ///
    /// # Errors
    /// Returns an error if the trace cannot be read.
    pub fn read(from: impl Read, skipped: u64, lookups: usize) -> Result<Self, Failed> {
        let mut seen = 0;
        let mut pages: Vec<(u64, bool)> = Vec::new();
        walk::each_batch(from, |visits| {
            for visit in visits.iter().filter(|visit| !visit.fetch) {
                seen += 1;
                if seen <= skipped || pages.len() >= lookups {
                    continue;
                }
                if visit.loads_before_store > 0 || visit.stores == 0 {
                    pages.push((visit.unit, false));
                }
                if visit.stores > 0 {
                    pages.push((visit.unit, true));
                }
            }
        })?;
        let mut stored = HashSet::new();
        let steps = pages.into_iter().map(|(page, is_store)| Step {
            page,
            kind: ReferenceKind::of_data(is_store),
            is_first_store: is_store && stored.insert(page),
            next_use: u64::MAX,
        });
        let mut steps: Vec<Step> = steps.collect();
        let mut later = HashMap::new();
        for (now, step) in steps.iter_mut().enumerate().rev() {
            step.next_use = later.insert(step.page, now as u64).unwrap_or(u64::MAX);
        }
        let touched = steps.iter().map(|step| step.page).collect();
        Ok(Self { steps, touched })
    }

    /// The lookups.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The page table before the first lookup. Without superpages, all pages are base pages.
    pub fn table(&self, has_superpages: bool) -> SmallTable<'_> {
        SmallTable {
            touched: &self.touched,
            has_superpages,
            modified: HashSet::new(),
        }
    }
}

/// The page table of a stream. One block of three is a superpage if there are superpages. Most base
/// pages lie at their proper place in a block of frames.
pub struct SmallTable<'a> {
    touched: &'a HashSet<u64>,
    has_superpages: bool,
    /// The first pages of the pages whose modified bit is set.
    modified: HashSet<u64>,
}

impl SmallTable<'_> {
    /// Sets the modified bit of a page.
    pub fn store(&mut self, page: u64) {
        self.modified.insert(self.bounds(page).0);
    }

    /// The translation of a page that is mapped.
    pub fn page(&self, page: u64) -> SlowPage {
        let (first, pages) = self.bounds(page);
        let is_misplaced = pages == 1 && page.wrapping_mul(0x9e37_79b9) >> 7 & (MISPLACED - 1) == 0;
        SlowPage {
            space: 0,
            first,
            pages,
            frame: Some(if is_misplaced {
                ELSEWHERE + 3 * first
            } else {
                first
            }),
            rights: 0,
            modified: self.modified.contains(&first),
        }
    }

    /// The translation of a page, if it is mapped: all pages of the stream are, and superpages.
    pub fn read(&self, page: u64) -> Option<SlowPage> {
        let is_mapped = self.touched.contains(&page) || self.bounds(page).1 > 1;
        is_mapped.then(|| self.page(page))
    }

    /// The first page of the translation of a page, and its number of pages.
    const fn bounds(&self, page: u64) -> (u64, u64) {
        let block = page / SUPERPAGE;
        if self.has_superpages && block.is_multiple_of(BLOCKS) {
            (block * SUPERPAGE, SUPERPAGE)
        } else {
            (page, 1)
        }
    }
}
