//! Miss counts: every miss of a page, counted for each candidate around the page.

use super::regions::RegionMap;
use crate::{Candidate, Ladder, PageSpan};
use broadleaf_units::Asid;

/// The misses of each candidate's pages since its last promotion or demotion. Each region with a
/// miss takes 4 bytes for each base page.
#[derive(Clone, Debug)]
pub struct MissCounts {
    ladder: Ladder,
    /// The counts by region and candidate, the largest first.
    regions: RegionMap<Box<[u32]>>,
}

impl MissCounts {
    /// No counted miss.
    pub fn new(ladder: Ladder) -> Self {
        Self {
            ladder,
            regions: RegionMap::new(),
        }
    }

    /// Counts a miss of a page with a translation of `level`. `visit` receives the larger
    /// candidates around the page, smallest first, with their counts.
    #[inline]
    pub fn miss(
        &mut self,
        tag: Asid,
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

    /// The count of a candidate.
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

    /// Resets the counts of a promoted or demoted candidate and of the candidates inside.
    pub fn restart(&mut self, candidate: Candidate) {
        if let Some(span) = PageSpan::of(&self.ladder, candidate) {
            self.clear(candidate.tag, span);
        }
    }

    /// Notes that `pages` base pages from `start` on are unmapped, and forgets the counts of
    /// candidates inside.
    pub fn forget(&mut self, tag: Asid, start: u64, pages: u64) {
        self.clear(tag, PageSpan::new(start, pages));
    }

    fn clear(&mut self, tag: Asid, span: PageSpan) {
        let Some((first, last)) = span.regions(&self.ladder) else {
            return;
        };
        let all: Vec<(u64, usize)> = self.regions.among(tag, first, last).collect();
        for (region, at) in all {
            let (start, end) = span.within(&self.ladder, region);
            for level in 1..=self.ladder.largest() {
                // Only candidates wholly in the range are forgotten.
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
        let tag = Asid::default();
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
        // Candidates partly in the range keep their counts.
        misses.forget(tag, 0, 8);
        assert_eq!((misses.count(at(4, 2)), misses.count(at(0, 3))), (0, 3));
        misses.forget(tag, 0, u64::MAX);
        assert_eq!(misses.count(at(0, 3)), 0);
    }
}
