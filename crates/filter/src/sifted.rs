//! Pieces of the sifted trace, and their division into stretches for the replay.

use crate::trail::Trail;
use broadleaf_trace::Event;
use broadleaf_trace::reduced::{KeptVisit, Sums};

/// Sifted visits.
#[derive(Clone, Debug, Default)]
pub struct Sifted {
    /// The visits that may change something.
    pub kept: Vec<KeptVisit>,
    /// The lookups of all visits, if they are followed.
    pub trail: Trail,
}

impl Sifted {
    /// Removes all visits, and keeps the allocations.
    pub fn clear(&mut self) {
        self.kept.clear();
        self.trail.clear();
    }
}

/// A piece of the trace.
pub enum Fed {
    /// Sifted visits, and the sums of all visits.
    Visits(Sifted, Sums),
    /// An event.
    Event(Event),
}

/// The maximum numbers of a trail's pages and of kept visits in a stretch: few enough that they
/// stay in the cache while a team replays them.
const MOST_PAGES: usize = 1 << 14;
const MOST_KEPT: usize = 4096;

/// A stretch of a sifted piece: kept visits, and pages of the trail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The first visit, and the one after the last.
    pub kept: (usize, usize),
    /// The first page of the trail, and the one after the last.
    pub pages: (usize, usize),
}

/// Cuts a sifted piece into stretches.
pub fn stretches(sifted: &Sifted) -> impl Iterator<Item = Stretch> + '_ {
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

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_trace::reduced::{KeptVisit, Manner};
    use broadleaf_trace::synth::SplitMix64;
    use broadleaf_units::PageNumber;

    /// Each kept visit and each page is in exactly one stretch, in order, and each kept visit is in
    /// the stretch of the pages around it.
    #[test]
    fn stretches_are_all_there_is() {
        let mut random = SplitMix64::new(3);
        let visit = KeptVisit {
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
