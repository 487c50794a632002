//! The units of a core: how many operations of a kind begin in a cycle.

use crate::{UNITS, UnitSet};

/// The cycles in which operations may begin, at most, after the present one.
const AHEAD: usize = 1 << 13;

/// The operations that began or will begin, by cycle.
#[derive(Clone, Debug)]
pub(crate) struct Units {
    kinds: [Option<Kind>; UNITS],
}

/// The units of one kind.
#[derive(Clone, Debug)]
struct Kind {
    count: u8,
    /// By cycle modulo [`AHEAD`]: the cycle, and the operations that begin in it.
    used: Box<[(u64, u8)]>,
    /// No unit is free from the cycle of the last question up to this one.
    full_until: u64,
}

impl Kind {
    fn free(&self, cycle: u64) -> bool {
        match self.used[cycle as usize % AHEAD] {
            (of, used) if of == cycle => used < self.count,
            _ => true,
        }
    }

    /// Takes a unit in the first cycle from `cycle` on that has one free. `now` never falls.
    fn take(&mut self, now: u64, cycle: u64) -> u64 {
        self.full_until = self.full_until.max(now);
        while !self.free(self.full_until) {
            self.full_until += 1;
        }
        let mut at = cycle.max(self.full_until);
        while !self.free(at) {
            at += 1;
        }
        let used = &mut self.used[at as usize % AHEAD];
        *used = match *used {
            (of, used) if of == at => (at, used + 1),
            _ => (at, 1),
        };
        at
    }
}

impl Units {
    /// Idle units. `None` for a kind of which there are always enough.
    pub(crate) fn new(counts: [Option<u8>; UNITS]) -> Self {
        Self {
            kinds: counts.map(|count| {
                Some(Kind {
                    count: count?,
                    used: vec![(u64::MAX, 0); AHEAD].into(),
                    full_until: 0,
                })
            }),
        }
    }

    /// Takes units for an operation that is ready in a cycle. Returns the cycle in which it begins.
    /// `now` is the present cycle, which never falls. An operation that is ready far ahead takes
    /// none.
    pub(crate) fn take(&mut self, units: UnitSet, now: u64, cycle: u64) -> u64 {
        if cycle - now.min(cycle) >= AHEAD as u64 / 2 {
            return cycle;
        }
        let mut begins = cycle;
        let mut left = units;
        while left != 0 {
            let kind = left.trailing_zeros() as usize;
            left &= left - 1;
            if let Some(kind) = &mut self.kinds[kind] {
                begins = begins.max(kind.take(now, cycle));
            }
        }
        begins
    }
}
