//! Every miss of a page, counted for each candidate that holds it.

use super::regions::Regions;
use crate::{Candidate, Ladder, Span};
use broadleaf_units::SpaceTag;

/// How many misses of its pages each candidate saw since it last was, or ceased to be, a superpage.
/// It takes 4 bytes for each base page of a region of which anything missed.
#[derive(Clone, Debug)]
pub struct MissCounts {
    ladder: Ladder,
    /// By candidate, the largest of a region first.
    regions: Regions<Box<[u32]>>,
}

impl MissCounts {
    /// Nothing counted.
    pub fn new(ladder: Ladder) -> Self {
        Self {
            ladder,
            regions: Regions::new(),
        }
    }

    /// A reference to a page missed, and its translation is of that level. `visit` is shown the
    /// larger candidates that hold the page, smallest first, and how many misses each saw.
    #[inline]
    pub fn miss(
        &mut self,
        tag: SpaceTag,
        page: u64,
        level: usize,
        mut visit: impl FnMut(Candidate, u64),
    ) {
        let ladder = &self.ladder;
        let region = self.regions.obtain(tag, ladder.region(page), || {
            vec![0; ladder.candidates_from(1)].into()
        });
        let counts = self.regions.at(region);
        for level in level + 1..=ladder.largest() {
            let count = &mut counts[ladder.candidate(level, ladder.within(page))];
            *count = count.saturating_add(1);
            let first = ladder.first_of(level, page);
            visit(Candidate { tag, first, level }, u64::from(*count));
        }
    }

    /// How many misses a candidate saw.
    pub fn count(&self, candidate: Candidate) -> u64 {
        let Candidate { tag, first, level } = candidate;
        match self.regions.get(tag, self.ladder.region(first)) {
            Some(counts) if (1..=self.ladder.largest()).contains(&level) => {
                let at = self.ladder.candidate(level, self.ladder.within(first));
                u64::from(counts[at])
            }
            _ => 0,
        }
    }

    /// A candidate became a superpage, or ceases to be one: it and those that it holds begin at
    /// nothing.
    pub fn restart(&mut self, candidate: Candidate) {
        if let Some(span) = Span::of(&self.ladder, candidate) {
            self.clear(candidate.tag, span);
        }
    }

    /// `pages` base pages from `start` on are no more, and what candidates that lie in them saw is
    /// forgotten.
    pub fn forget(&mut self, tag: SpaceTag, start: u64, pages: u64) {
        self.clear(tag, Span::new(start, pages));
    }

    fn clear(&mut self, tag: SpaceTag, span: Span) {
        let Some((first, last)) = span.regions(&self.ladder) else {
            return;
        };
        let all: Vec<(u64, usize)> = self.regions.among(tag, first, last).collect();
        for (region, at) in all {
            let (start, end) = span.within(&self.ladder, region);
            for level in 1..=self.ladder.largest() {
                // Only those that lie in it as a whole.
                let pages = self.ladder.pages(level);
                let (from, to) = (start.div_ceil(pages), end / pages);
                for number in from..to {
                    let candidate = self.ladder.candidate(level, number * pages);
                    self.regions.at(at)[candidate] = 0;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_that_holds_the_page_and_is_larger_than_its_own() {
        let ladder = Ladder::new(&[0, 1, 2, 4]).unwrap();
        let mut misses = MissCounts::new(ladder);
        let tag = SpaceTag::default();
        let mut seen = Vec::new();
        for (page, level) in [(5, 0), (4, 0), (6, 1)] {
            misses.miss(tag, page, level, |candidate, count| {
                seen.push((candidate.first, candidate.level, count));
            });
        }
        let first = [(4, 1, 1), (4, 2, 1), (0, 3, 1)];
        let second = [(4, 1, 2), (4, 2, 2), (0, 3, 2)];
        assert_eq!(
            seen,
            [&first[..], &second, &[(4, 2, 3), (0, 3, 3)]].concat()
        );
        let at = |first, level| Candidate { tag, first, level };
        misses.restart(at(4, 1));
        assert_eq!((misses.count(at(4, 1)), misses.count(at(4, 2))), (0, 3));
        // What is not whole in the range keeps its count.
        misses.forget(tag, 0, 8);
        assert_eq!((misses.count(at(4, 2)), misses.count(at(0, 3))), (0, 3));
        misses.forget(tag, 0, u64::MAX);
        assert_eq!(misses.count(at(0, 3)), 0);
    }
}
