//! Counts of the newest translations in each candidate.
//!
//! Candidates with fewer pages than wanted are left out. The translations of the smallest others
//! are counted, and larger candidates get the sums of their parts.

use super::Ladder;
use super::recent::Element;

/// A count with its buffers.
#[derive(Clone, Debug)]
pub(super) struct Count {
    /// The order of the number of candidates of a region: the base-two logarithm, rounded up.
    order: u32,
    /// The count of each candidate, by the place of its region. 0 outside a count.
    counts: Vec<u32>,
    /// For each level, the indexes of nonzero counts.
    counted: Vec<Vec<usize>>,
}

impl Count {
    pub(super) fn new(ladder: &Ladder) -> Self {
        Self {
            order: ladder.candidates_from(1).next_power_of_two().ilog2(),
            counts: Vec::new(),
            counted: vec![Vec::new(); ladder.largest() + 1],
        }
    }

    /// Passes each candidate that holds `wanted` or more of some translations, and not `missing`:
    /// its level, the place of its region, and its own place in the region. Smaller ones come
    /// first.
    pub(super) fn those_that_hold(
        &mut self,
        ladder: &Ladder,
        wanted: usize,
        newest: &[Element],
        missing: Element,
        mut show: impl FnMut(usize, usize, usize),
    ) {
        let largest = ladder.largest();
        let fits = |level: &usize| ladder.pages(*level) >= wanted as u64;
        let Some(smallest) = (1..=largest).find(fits) else {
            return;
        };
        for element in newest {
            let level = smallest.max(element.level() + 1);
            if level <= largest {
                let within = ladder.candidate(level, element.first());
                self.add(level, (element.region() << self.order) + within, 1);
            }
        }
        for level in smallest..=largest {
            let excepted = ladder.candidate(level, missing.first());
            let excepted = (missing.region() << self.order) + excepted;
            let mut counted = std::mem::take(&mut self.counted[level]);
            for at in counted.drain(..) {
                let held = std::mem::take(&mut self.counts[at]);
                // Candidates around the missing page lie in larger ones around it.
                if at == excepted {
                    continue;
                }
                let (region, within) = (at >> self.order, at & ((1 << self.order) - 1));
                if held as usize >= wanted {
                    show(level, region, within);
                }
                if level < largest {
                    let first = ladder.first_within(level, within);
                    let above = ladder.candidate(level + 1, first);
                    self.add(level + 1, (region << self.order) + above, held);
                }
            }
            self.counted[level] = counted;
        }
    }

    #[inline]
    fn add(&mut self, level: usize, at: usize, held: u32) {
        if at >= self.counts.len() {
            let regions = ((at >> self.order) + 1).next_power_of_two();
            self.counts.resize(regions << self.order, 0);
        }
        let count = &mut self.counts[at];
        if *count == 0 {
            self.counted[level].push(at);
        }
        *count += held;
    }

    /// Asserts the invariants outside a count.
    pub(super) fn check(&self) {
        assert!(
            self.counts.iter().all(|count| *count == 0),
            "a count is left"
        );
        assert!(self.counted.iter().all(Vec::is_empty), "a count is left");
    }
}
