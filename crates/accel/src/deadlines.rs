//! Deadlines: the times at which reservations reach the age that a policy asks about.

use broadleaf_memory::BlockId;
use std::collections::VecDeque;

/// The deadline of a reservation: the time when it is due, its block, and the time of the
/// reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Deadline {
    pub(crate) due: u64,
    pub(crate) block: BlockId,
    pub(crate) reserved_at: u64,
}

/// Deadlines in the order in which they fall due.
///
/// All deadlines allow the same age, so the deadlines of new reservations go to the end. Only a
/// reservation that moves to another block is inserted in between.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deadlines {
    age: Option<u64>,
    queue: VecDeque<Deadline>,
}

impl Deadlines {
    pub(crate) fn new(age: Option<u64>) -> Self {
        Self {
            age,
            queue: VecDeque::new(),
        }
    }

    /// Returns true if there may be deadlines.
    pub(crate) const fn are_kept(&self) -> bool {
        self.age.is_some()
    }

    /// The time of the first deadline, in accesses. `u64::MAX` if there is none.
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        self.queue.front().map_or(u64::MAX, |deadline| deadline.due)
    }

    /// Adds the deadline of a block's reservation. Deadlines before `now` are already handled.
    pub(crate) fn add(&mut self, block: BlockId, reserved_at: u64, now: u64) {
        let Some(due) = self.age.and_then(|age| reserved_at.checked_add(age)) else {
            return;
        };
        let deadline = Deadline {
            due,
            block,
            reserved_at,
        };
        let at = match self.queue.back() {
            Some(last) if *last >= deadline => {
                self.queue.partition_point(|other| *other < deadline)
            }
            _ => self.queue.len(),
        };
        // A reservation that left and came back still has its deadline.
        if due >= now && self.queue.get(at) != Some(&deadline) {
            self.queue.insert(at, deadline);
        }
    }

    /// Removes and returns the first deadline, if it is due at `now`.
    pub(crate) fn take(&mut self, now: u64) -> Option<Deadline> {
        self.queue.pop_front_if(|deadline| deadline.due <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_order_once_each_and_only_when_due() {
        let mut deadlines = Deadlines::new(Some(10));
        deadlines.add(BlockId(1), 5, 5);
        deadlines.add(BlockId(2), 8, 8);
        deadlines.add(BlockId(3), 6, 9);
        deadlines.add(BlockId(3), 6, 9);
        deadlines.add(BlockId(4), 6, 17);
        assert_eq!(deadlines.next(), 15);
        assert_eq!(deadlines.take(14), None);
        let order: Vec<u32> = std::iter::from_fn(|| deadlines.take(100))
            .map(|deadline| deadline.block.0)
            .collect();
        assert_eq!(order, [1, 3, 2]);
        assert_eq!(deadlines.next(), u64::MAX);
    }

    #[test]
    fn nobody_is_asked_without_an_age() {
        let mut deadlines = Deadlines::new(None);
        deadlines.add(BlockId(0), 0, 0);
        assert_eq!(deadlines.next(), u64::MAX);
    }
}
