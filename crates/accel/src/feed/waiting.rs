//! Decoded visits that wait for their use, of all parts together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of visits of all parts at which no part but the first is decoded further: about
/// 100 MB. A part of a recording keeps a million or two.
const MOST: usize = 1 << 22;
/// The number of visits that a part may hold in any case.
const LEAST_OF_PART: usize = 1 << 17;

/// The visits of one part that wait, and those of all.
///
/// Parts have no equal shares. The next part to be used is decoded first, and with a share it would
/// stop in the middle, though the parts after it hold little.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    own: usize,
    all: Arc<AtomicUsize>,
}

impl Waiting {
    /// Another part, of which nothing waits.
    pub(super) fn of_another(&self) -> Self {
        Self {
            own: 0,
            all: Arc::clone(&self.all),
        }
    }

    /// So many more visits of the part wait.
    pub(super) fn add(&mut self, visits: usize) {
        self.own += visits;
        self.all.fetch_add(visits, Ordering::Relaxed);
    }

    /// The visits of the part wait no longer.
    pub(super) fn end(&mut self) {
        self.all.fetch_sub(self.own, Ordering::Relaxed);
        self.own = 0;
    }

    /// Returns true if the part may be decoded further.
    pub(super) fn has_room(&self) -> bool {
        self.own < LEAST_OF_PART || self.all.load(Ordering::Relaxed) < MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_room_while_all_hold_little_and_in_any_case_for_some() {
        let mut one = Waiting::default();
        let mut other = one.of_another();
        one.add(MOST - 1);
        assert!(one.has_room() && other.has_room());
        one.add(1);
        assert!(!one.has_room() && other.has_room());
        other.add(LEAST_OF_PART);
        assert!(!other.has_room());
        one.end();
        assert!(one.has_room() && other.has_room());
        other.end();
        assert_eq!(one.all.load(Ordering::Relaxed), 0);
    }
}
