//! The pages of one set of the recency table.

use super::{DEPTH, NOTHING};

/// The base pages of a set that were looked up last. Their times give the order; their positions do
/// not.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecentPages {
    pub(super) newest: u64,
    pub(super) newest_stamp: u64,
    pub(super) number: [u64; DEPTH],
    /// The larger page around each page, by the larger page's stay in its own set.
    pub(super) stamp: [u64; DEPTH],
}

/// The larger pages of a set that were looked up last.
#[derive(Clone, Copy, Debug)]
pub(super) struct LargerPages {
    pub(super) newest: u64,
    pub(super) newest_stay: u64,
    pub(super) number: [u64; DEPTH],
    /// The stay of each larger page. A page that enters the set again gets a new stay.
    pub(super) stay: [u64; DEPTH],
    /// The time of the last lookup of one of its pages, except lookups skipped by place and still
    /// deferred.
    pub(super) when: [u64; DEPTH],
    /// The time of the last lookup of one of its pages that was made. The entries of the TLB are in
    /// the order of these times.
    pub(super) made: [u64; DEPTH],
    /// The latest time in `made`.
    pub(super) made_last: u64,
}

pub(super) const NO_PAGES: RecentPages = RecentPages {
    newest: NOTHING,
    newest_stamp: 0,
    number: [NOTHING; DEPTH],
    stamp: [0; DEPTH],
};

pub(super) const NO_LARGER_PAGES: LargerPages = LargerPages {
    newest: NOTHING,
    newest_stay: 0,
    number: [NOTHING; DEPTH],
    stay: [0; DEPTH],
    when: [0; DEPTH],
    made: [0; DEPTH],
    made_last: 0,
};

/// The position of a number. [`DEPTH`] or more if the number is absent.
#[inline]
pub(super) fn find(numbers: &[u64; DEPTH], wanted: u64) -> usize {
    let mut found = 0;
    for (at, number) in numbers.iter().enumerate() {
        found |= u32::from(*number == wanted) << at;
    }
    found.trailing_zeros() as usize
}

/// The position of the oldest of the first `depth` entries.
#[inline]
pub(super) fn oldest(when: &[u64; DEPTH], depth: usize) -> usize {
    let mut first = u64::MAX;
    for (at, when) in when.iter().enumerate() {
        let this = when * DEPTH as u64 + at as u64;
        first = first.min(if at < depth { this } else { u64::MAX });
    }
    first as usize % DEPTH
}
