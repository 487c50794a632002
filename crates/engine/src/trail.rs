//! Every page that is looked up, in order: what TLBs of other geometries than the machines' have to be shown.
//!
//! The sieve leaves out what hits the first level of the plan's machines, which others may miss. What it leaves in is for memories and the machines; beside it goes this.

use crate::feed::Sifted;
use broadleaf_memory::BlockId;
use broadleaf_units::PageNumber;

/// Whether somebody follows what all visits look up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Follows {
    Nothing,
    Pages,
    /// Pages and their times: something may be decided between two lookups.
    Times,
}

/// Pages that were looked up, none twice in a row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trail {
    pub(crate) pages: Vec<PageNumber>,
    /// How many accesses were made before each lookup's own, since the piece began: one before it where the piece begins with the rest of an access. None where nobody asks.
    pub(crate) times: Vec<i64>,
    /// For each visit that is kept, how many of these come before it.
    pub(crate) before: Vec<u32>,
    last: Option<PageNumber>,
}

impl Trail {
    /// A page is looked up; says whether it is another than the last.
    #[inline]
    pub(crate) fn add(&mut self, page: PageNumber) -> bool {
        let is_other = self.last != Some(page);
        if is_other {
            self.last = Some(page);
            self.pages.push(page);
        }
        is_other
    }

    /// The same, behind so many accesses, of which the last is its own where it leads.
    #[inline]
    pub(crate) fn add_at(&mut self, page: PageNumber, time: u64, leads: bool) {
        if self.add(page) {
            self.times.push(time as i64 - i64::from(leads));
        }
    }

    /// So many visits are kept now; those that are new come behind `before` pages.
    pub(crate) fn keep(&mut self, kept: usize, before: usize) {
        self.before.resize(kept, before as u32);
    }

    pub(crate) fn clear(&mut self) {
        self.pages.clear();
        self.times.clear();
        self.before.clear();
        self.last = None;
    }
}

/// How many pages of a trail are replayed at a time, and how many visits that are kept: few enough that they stay in the cache while a team replays them.
const MOST_PAGES: usize = 1 << 14;
const MOST_KEPT: usize = 4096;

/// A stretch of what was sifted: visits that are kept, and the trail's pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) kept: (usize, usize),
    pub(crate) pages: (usize, usize),
}

/// Cuts what was sifted into stretches.
pub(crate) fn stretches(sifted: &Sifted) -> impl Iterator<Item = Stretch> + '_ {
    let (all_kept, all_pages) = (sifted.kept.len(), sifted.trail.pages.len());
    let (mut kept, mut page) = (0, 0);
    std::iter::from_fn(move || {
        if kept == all_kept && page == all_pages {
            return None;
        }
        let (from, first) = (kept, page);
        let most_pages = first + MOST_PAGES;
        let rest = &sifted.trail.before[from.min(sifted.trail.before.len())..];
        let fitting = if rest.is_empty() {
            all_kept - from
        } else {
            rest.partition_point(|&before| before as usize <= most_pages)
        };
        kept = (from + fitting.min(MOST_KEPT)).min(all_kept);
        // Pages up to the next visit that is kept belong here.
        let next = sifted.trail.before.get(kept);
        page = next
            .map_or(all_pages, |&before| before as usize)
            .min(most_pages)
            .max(first);
        Some(Stretch {
            kept: (from, kept),
            pages: (first, page),
        })
    })
}

/// A stretch of a trail, prepared for replays.
#[derive(Clone, Debug, Default)]
pub(crate) struct Followed {
    pub(crate) pages: Vec<(PageNumber, BlockId)>,
    /// The time of each, and behind them that of the page that comes next, which is in the next stretch; the last time there can be where none does. None where nobody
    /// asks.
    pub(crate) times: Vec<u64>,
    /// For each visit of the batch, how many of these come before it.
    pub(crate) before: Vec<u32>,
}

impl Followed {
    pub(crate) fn clear(&mut self) {
        self.pages.clear();
        self.times.clear();
        self.before.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_trace::reduced::{Kept, Manner};
    use broadleaf_trace::synth::SplitMix64;

    /// Everything is in one stretch, in order, and each visit that is kept beside the pages around it.
    #[test]
    fn stretches_are_all_there_is() {
        let mut random = SplitMix64::new(3);
        let visit = Kept {
            page: 0,
            time: 0,
            loads_before_store: 0,
            manner: Manner::LOAD,
        };
        for _ in 0..400 {
            let mut sifted = Sifted::default();
            let follows = random.below(4) > 0;
            // Many pages for each visit that is kept, or many such visits for each page, or none.
            let each = [1, 3, 60_000][random.below(3) as usize];
            for number in 0..random.below(12_000) {
                if follows {
                    let before = sifted.trail.pages.len();
                    for _ in 0..random.below(each * 4) / 3 % 40_000 {
                        let page = sifted.trail.pages.len() as u64;
                        sifted.trail.add_at(PageNumber(page), page, false);
                    }
                    sifted.trail.keep(number as usize + 1, before);
                }
                sifted.kept.push(visit);
                if sifted.trail.pages.len() > 200_000 {
                    break;
                }
            }
            let (mut kept, mut page) = (0, 0);
            for stretch in stretches(&sifted) {
                assert_eq!((stretch.kept.0, stretch.pages.0), (kept, page));
                (kept, page) = (stretch.kept.1, stretch.pages.1);
                assert!(kept - stretch.kept.0 <= MOST_KEPT && page - stretch.pages.0 <= MOST_PAGES);
                assert!(
                    stretch.kept.0 < kept || stretch.pages.0 < page,
                    "it is empty"
                );
                let before = &sifted.trail.before;
                for &before in before.get(stretch.kept.0..kept).unwrap_or_default() {
                    let before = before as usize;
                    assert!((stretch.pages.0..=page).contains(&before));
                }
            }
            assert_eq!((kept, page), (sifted.kept.len(), sifted.trail.pages.len()));
        }
    }
}
