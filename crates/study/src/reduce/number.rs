//! The number of a part of a trace.

use std::fmt;
use std::num::NonZero;
use std::str::FromStr;

/// The number of a part of a trace, from 1, and the number of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartNumber {
    number: NonZero<u32>,
    of: NonZero<u32>,
}

impl PartNumber {
    /// Part `number` of `of`; `None` if there is no such part.
    pub fn new(number: u32, of: u32) -> Option<Self> {
        let (number, of) = (NonZero::new(number)?, NonZero::new(of)?);
        (number <= of).then_some(Self { number, of })
    }

    /// The number of the part, from 1.
    pub const fn number(self) -> u32 {
        self.number.get()
    }

    /// The number of parts.
    pub const fn of(self) -> u32 {
        self.of.get()
    }

    /// Returns true for part 1.
    pub const fn is_first(self) -> bool {
        self.number() == 1
    }

    /// Returns true for the part with the end of the trace.
    pub const fn is_last(self) -> bool {
        self.number() == self.of()
    }

    /// The share of `items` that the part has. `before` gives the work before an item, which does
    /// not fall; work is measured from 0 to `all`. An item belongs to the part that its middle
    /// falls into, and the first item to the first part. So all parts together have all items,
    /// and about equal work.
    pub(crate) fn share_of(
        self,
        items: usize,
        all: u64,
        before: impl Fn(usize) -> u64,
    ) -> std::ops::Range<usize> {
        let all = u128::from(all.max(1));
        let part = |item: usize| match item {
            0 => 0,
            item => {
                let twice_its_middle = u128::from(before(item)) + u128::from(before(item + 1));
                twice_its_middle * u128::from(self.of()) / (2 * all)
            }
        };
        let first_of = |wanted: u32| {
            let (mut low, mut high) = (0, items);
            while low < high {
                let middle = low.midpoint(high);
                if part(middle) < u128::from(wanted) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            low
        };
        first_of(self.number() - 1)..match self.is_last() {
            true => items,
            false => first_of(self.number()),
        }
    }
}

impl fmt::Display for PartNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for PartNumber {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let part = text
            .split_once('/')
            .and_then(|(number, of)| Self::new(number.parse().ok()?, of.parse().ok()?));
        part.ok_or_else(|| "write I/N, such as 2/5 for the second of five parts".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_as_written() {
        for text in ["1/1", "2/5", "5/5"] {
            let part = text.parse::<PartNumber>().expect("a part");
            assert_eq!(part.to_string(), text);
        }
        for text in [
            "", "1", "0/1", "2/1", "1/0", "1/", "/2", "a/b", "-1/2", "1/2/3",
        ] {
            assert!(text.parse::<PartNumber>().is_err(), "{text}");
        }
    }

    #[test]
    fn parts_share_all_items_in_order() {
        let work = [3u64, 0, 40, 1, 1, 1, 0, 30, 2];
        let before = |item: usize| work[..item].iter().sum();
        for of in 1..=12 {
            let mut next = 0;
            for number in 1..=of {
                let part = PartNumber::new(number, of).expect("a part");
                let share = part.share_of(work.len(), before(work.len()), before);
                assert_eq!(share.start, next, "{part}");
                next = share.end;
            }
            assert_eq!(next, work.len());
        }
        let half = |number| PartNumber::new(number, 2).expect("a part");
        assert_eq!(half(1).share_of(9, 78, before), 0..3);
        // Most of the second item lies in the second half.
        let before = |item: usize| [0, 45, 99, 100][item];
        assert_eq!(half(1).share_of(3, 100, before), 0..1);
        assert_eq!(half(2).share_of(3, 100, before), 1..3);
        // Nothing to share.
        assert_eq!(half(2).share_of(0, 0, |_| 0), 0..0);
    }
}
