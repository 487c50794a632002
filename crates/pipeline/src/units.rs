//! The units of a core: how many operations of a kind begin in a cycle.

use crate::{UNITS, UnitSet};

/// The cycles for which operations are counted, at least.
const AHEAD: usize = 1 << 13;

const _: () = assert!(UNITS <= 8);

/// The operations that begin or will begin, by cycle.
#[derive(Clone, Debug)]
pub(crate) struct Units {
    /// The units of each kind. `None` if there are always enough.
    counts: [Option<u8>; UNITS],
    /// By cycle modulo the length, from the present cycle on: the operations of each kind.
    used: Box<[[u8; 8]]>,
    /// The present cycle.
    now: u64,
    /// By kind: no unit is free from the present cycle up to this one.
    full_until: [u64; UNITS],
}

impl Units {
    /// Idle units of a core with a window of this many instructions.
    ///
    /// An operation that is ready in the first half of the counted cycles begins before their end:
    /// a full cycle holds an instruction of the window.
    pub(crate) fn new(counts: [Option<u8>; UNITS], window: usize) -> Self {
        let ahead = AHEAD.max((2 * window).next_power_of_two());
        Self {
            // Without a unit, an operation would wait for ever.
            counts: counts.map(|count| count.filter(|count| *count > 0)),
            used: vec![[0; 8]; ahead].into(),
            now: 0,
            full_until: [0; UNITS],
        }
    }

    /// The place of a cycle.
    #[inline]
    fn place(&self, cycle: u64) -> usize {
        // The length is a power of two.
        cycle as usize & (self.used.len() - 1)
    }

    /// The cycles before `now` are past.
    fn pass(&mut self, now: u64) {
        if now - self.now >= self.used.len() as u64 {
            self.used.fill([0; 8]);
        } else {
            for past in self.now..now {
                let place = self.place(past);
                self.used[place] = [0; 8];
            }
        }
        self.now = now;
    }

    /// Takes one of `count` units of a kind in the first cycle from `cycle` on that has one free.
    #[inline]
    fn take_one(&mut self, kind: usize, count: u8, cycle: u64) -> u64 {
        let is_full = |cycle: u64| self.used[self.place(cycle)][kind] >= count;
        let mut full_until = self.full_until[kind].max(self.now);
        while is_full(full_until) {
            full_until += 1;
        }
        let mut at = cycle.max(full_until);
        while is_full(at) {
            at += 1;
        }
        self.full_until[kind] = full_until;
        let place = self.place(at);
        self.used[place][kind] += 1;
        at
    }

    /// Takes units for an operation that is ready in a cycle. Returns the cycle in which it begins.
    /// `now` is the present cycle, which never falls. An operation that is ready far ahead takes
    /// none. No unit is free before the present cycle.
    #[inline]
    pub(crate) fn take(&mut self, units: UnitSet, now: u64, cycle: u64) -> u64 {
        if now > self.now {
            self.pass(now);
        }
        if cycle.saturating_sub(self.now) >= self.used.len() as u64 / 2 {
            return cycle;
        }
        let mut begins = cycle;
        let mut left = units;
        while left != 0 {
            let kind = left.trailing_zeros() as usize;
            left &= left - 1;
            if let Some(count) = self.counts[kind] {
                begins = begins.max(self.take_one(kind, count, cycle));
            }
        }
        begins
    }
}
