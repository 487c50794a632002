//! Sets of numbers, kept as runs.

use std::collections::BTreeMap;
use std::ops::Range;

/// A set of numbers, kept as ordered runs that neither overlap nor touch: the end of each run by
/// its start. A change takes time in proportion to the runs that it meets, however long they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Runs {
    ends: BTreeMap<u64, u64>,
    count: u64,
}

impl Runs {
    /// The empty set.
    pub(crate) const fn new() -> Self {
        Self {
            ends: BTreeMap::new(),
            count: 0,
        }
    }

    /// The number of elements.
    pub(crate) const fn count(&self) -> u64 {
        self.count
    }

    /// The lowest number.
    pub(crate) fn first(&self) -> Option<u64> {
        self.ends.first_key_value().map(|(start, _)| *start)
    }

    /// The highest number.
    pub(crate) fn last(&self) -> Option<u64> {
        self.ends.last_key_value().map(|(_, end)| end - 1)
    }

    /// The run that holds that number.
    pub(crate) fn holding(&self, number: u64) -> Option<Range<u64>> {
        let (start, end) = self.ends.range(..=number).next_back()?;
        (number < *end).then_some(*start..*end)
    }

    pub(crate) fn contains(&self, number: u64) -> bool {
        self.holding(number).is_some()
    }

    /// The lowest number of the set that is not below that one.
    pub(crate) fn next(&self, from: u64) -> Option<u64> {
        if self.contains(from) {
            return Some(from);
        }
        let above = self.ends.range(from..).next();
        above.map(|(start, _)| *start)
    }

    /// All runs in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Range<u64>> {
        self.ends.iter().map(|(start, end)| *start..*end)
    }

    /// The parts of the set that lie in that range, in order.
    pub(crate) fn within(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let from = match self.holding(range.start) {
            Some(run) => run.start,
            None => range.start,
        };
        let runs = self.ends.range(from..range.end.max(from));
        runs.map(move |(start, end)| *start.max(&range.start)..*end.min(&range.end))
            .filter(|part| !part.is_empty())
    }

    /// The number of elements in a range.
    pub(crate) fn count_within(&self, range: Range<u64>) -> u64 {
        self.within(range).map(|part| part.end - part.start).sum()
    }

    pub(crate) fn add(&mut self, range: Range<u64>) {
        let Range { mut start, mut end } = range;
        if start >= end {
            return;
        }
        while let Some((&from, &to)) = self.ends.range(..=end).next_back() {
            if to < start {
                break;
            }
            self.ends.remove(&from);
            self.count -= to - from;
            start = start.min(from);
            end = end.max(to);
        }
        self.ends.insert(start, end);
        self.count += end - start;
    }

    pub(crate) fn remove(&mut self, range: Range<u64>) {
        let Range { start, end } = range;
        if start >= end {
            return;
        }
        while let Some((&from, to)) = self.ends.range_mut(..end).next_back() {
            let its_end = *to;
            if its_end <= start {
                return;
            }
            if from < start {
                *to = start;
            } else {
                self.ends.remove(&from);
            }
            if its_end > end {
                self.ends.insert(end, its_end);
            }
            self.count -= its_end.min(end) - from.max(start);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_units::SplitMix64;
    use std::collections::BTreeSet;

    #[test]
    fn runs_are_the_set() {
        const NUMBERS: u64 = 40;
        let mut random = SplitMix64::new(1);
        let (mut runs, mut set) = (Runs::default(), BTreeSet::new());
        for _ in 0..5000 {
            let start = random.below(NUMBERS);
            let range = start..start + random.below(8);
            if random.below(2) == 0 {
                runs.add(range.clone());
                set.extend(range.clone());
            } else {
                runs.remove(range.clone());
                set.retain(|number| !range.contains(number));
            }
            let numbers: Vec<u64> = runs.iter().flatten().collect();
            assert!(numbers.iter().eq(set.iter()));
            assert!(
                runs.iter()
                    .zip(runs.iter().skip(1))
                    .all(|(a, b)| a.end < b.start)
            );
            assert_eq!(runs.count(), set.len() as u64);
            assert_eq!(runs.first(), set.first().copied());
            assert_eq!(runs.last(), set.last().copied());
            assert_eq!(runs.next(start), set.range(start..).next().copied());
            assert_eq!(runs.contains(start), set.contains(&start));
            let asked = start..start + 5;
            let within: Vec<u64> = runs.within(asked.clone()).flatten().collect();
            assert!(within.iter().eq(set.range(asked.clone())));
            assert_eq!(runs.count_within(asked), within.len() as u64);
        }
    }
}
