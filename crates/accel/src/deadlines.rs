//! When reservations reach the age at which a policy wants to be asked.

use broadleaf_memory::BlockId;
use std::collections::VecDeque;

/// A reservation, by its block and the time at which it was made, and when it is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Deadline {
    pub(crate) due: u64,
    pub(crate) block: BlockId,
    pub(crate) reserved_at: u64,
}

/// Deadlines in the order in which they fall due.
///
/// All have the same age, so those of new reservations go to the end; only one that moves to
/// another block is put between.
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

    /// When the first one falls due; later than any access where there is none.
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        self.queue.front().map_or(u64::MAX, |deadline| deadline.due)
    }

    /// A block has a reservation made at that time. A deadline before `now` has been dealt with
    /// where the reservation was.
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
        // A reservation that went away and came back has its deadline still.
        if due >= now && self.queue.get(at) != Some(&deadline) {
            self.queue.insert(at, deadline);
        }
    }

    /// Takes the first one out, if it is due at that time.
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
