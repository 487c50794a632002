//! Main memory: a fixed latency, and banks that serve one access at a time.

use crate::counts::MemoryCounts;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

/// The description of main memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MainMemorySpec {
    /// The cycles of a read.
    pub latency: u64,
    /// The number of banks. Neighbouring lines lie in neighbouring banks. 0: any number of accesses
    /// run at a time.
    pub banks: usize,
    /// The cycles for which an access keeps its bank.
    pub bank_cycles: u64,
}

/// The accesses that a bank remembers: the last ones in time.
const MOST_REMEMBERED: usize = 32;

/// Main memory.
#[derive(Debug)]
pub(crate) struct MainMemory {
    spec: MainMemorySpec,
    /// The times at which accesses of each bank begin, in order. No two overlap.
    busy: Vec<VecDeque<u64>>,
    pub(crate) counts: MemoryCounts,
}

impl MainMemory {
    pub(crate) fn new(spec: MainMemorySpec) -> Self {
        Self {
            spec,
            busy: vec![VecDeque::new(); spec.banks],
            counts: MemoryCounts::default(),
        }
    }

    /// Takes the bank of a line for the first time from `time` on that is long enough. Returns the
    /// cycles of waiting.
    ///
    /// Accesses do not come in the order of time: one core can be ahead of another one, and a walk
    /// can begin late. An access waits for those alone whose time it would overlap.
    fn take_bank(&mut self, line: u64, time: u64) -> u64 {
        if self.busy.is_empty() {
            return 0;
        }
        let cycles = self.spec.bank_cycles;
        let bank = (line % self.busy.len() as u64) as usize;
        let busy = &mut self.busy[bank];
        // Most accesses come after all others.
        if (busy.back()).is_none_or(|last| last.saturating_add(cycles) <= time) {
            busy.push_back(time);
            if busy.len() > MOST_REMEMBERED {
                busy.pop_front();
            }
            return 0;
        }
        let mut at = busy.partition_point(|begin| begin.saturating_add(cycles) <= time);
        let mut begin = time;
        while let Some(other) = busy.get(at)
            && begin.saturating_add(cycles) > *other
        {
            begin = other.saturating_add(cycles);
            at += 1;
        }
        busy.insert(at, begin);
        if busy.len() > MOST_REMEMBERED {
            busy.pop_front();
        }
        begin - time
    }

    /// Reads a line. Returns the cycles until the line arrives.
    pub(crate) fn read(&mut self, line: u64, time: u64) -> u64 {
        let waited = self.take_bank(line, time);
        self.counts.reads += 1;
        self.counts.waited += waited;
        waited + self.spec.latency
    }

    /// Writes a line. No access waits for it, except for its bank.
    pub(crate) fn write(&mut self, line: u64, time: u64) {
        self.counts.writes += 1;
        self.take_bank(line, time);
    }
}
