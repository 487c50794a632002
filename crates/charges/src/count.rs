//! How many of the newest translations each candidate holds.
//!
//! A candidate of fewer pages than are wanted is left out from the start. What lies in each of the
//! smallest others is counted, and larger ones get the sums of what they hold.

use super::Ladder;
use super::recent::Element;

/// A count, and the room that it takes.
#[derive(Clone, Debug)]
pub(super) struct Count {
    /// How many candidates a region has, or more: that power of two.
    order: u32,
    /// For each place of a region, and each candidate there, how many were counted; 0 outside a
    /// count.
    counts: Vec<u32>,
    /// For each level, where in `counts` there are some.
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

    /// Shows each candidate that holds `wanted` or more of some translations and does not hold
    /// `missing`: its level, the place of its region, and its own among the region's. Smaller ones
    /// come first.
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
                // What holds the missing page lies in larger ones that hold it.
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

    /// Asserts what has to hold outside a count.
    pub(super) fn check(&self) {
        assert!(
            self.counts.iter().all(|count| *count == 0),
            "a count is left"
        );
        assert!(self.counted.iter().all(Vec::is_empty), "a count is left");
    }
}
