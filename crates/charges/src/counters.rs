//! The counters that charges take: Romer 1995, section 8.1.

use std::iter::Sum;
use std::ops::Add;

/// The number of counters, and the bytes of memory that hold them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChargeCounters {
    /// The number of counters.
    pub count: u64,
    /// The bytes that hold these counters.
    pub bytes: u64,
}

impl ChargeCounters {
    /// `each` counters for every element of a slice.
    pub(super) fn of<T>(slice: &[T], each: u64) -> Self {
        Self {
            count: slice.len() as u64 * each,
            bytes: size_of_val(slice) as u64,
        }
    }
}

impl Add for ChargeCounters {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            bytes: self.bytes + other.bytes,
        }
    }
}

impl Sum for ChargeCounters {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}
