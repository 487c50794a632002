//! Main memory: a fixed latency, and banks that serve one access at a time.

use crate::counts::MemoryCounts;
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

/// Main memory.
#[derive(Debug)]
pub(crate) struct MainMemory {
    spec: MainMemorySpec,
    /// The time from which each bank is free.
    free: Vec<u64>,
    pub(crate) counts: MemoryCounts,
}

impl MainMemory {
    pub(crate) fn new(spec: MainMemorySpec) -> Self {
        Self {
            spec,
            free: vec![0; spec.banks],
            counts: MemoryCounts::default(),
        }
    }

    /// Takes the bank of a line from `time` on, or as soon as the bank is free. Returns the cycles
    /// of waiting.
    fn take_bank(&mut self, line: u64, time: u64) -> u64 {
        if self.free.is_empty() {
            return 0;
        }
        let bank = (line % self.free.len() as u64) as usize;
        let begin = time.max(self.free[bank]);
        self.free[bank] = begin.saturating_add(self.spec.bank_cycles);
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
