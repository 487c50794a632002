//! What the processor counts of a program, where it counts at all.

use perf_event::events::{Cache, CacheId, CacheOp, CacheResult, Hardware};
use perf_event::{Builder, Counter};

/// Counters of what this process starts from here on. Virtual machines often have none.
#[derive(Debug, Default)]
pub struct Counters {
    tlb_misses: Option<Counter>,
    cycles: Option<Counter>,
}

impl Counters {
    /// Begins to count.
    pub fn of_children() -> Self {
        let tlb = Cache {
            which: CacheId::DTLB,
            operation: CacheOp::READ,
            result: CacheResult::MISS,
        };
        let begun = |builder: &mut Builder<'_>| {
            // A kernel that allows no counting of itself allows that of programs.
            let mut counter = builder
                .observe_self()
                .any_cpu()
                .inherit(true)
                .exclude_kernel(true)
                .build()
                .ok()?;
            counter.enable().ok()?;
            Some(counter)
        };
        Self {
            tlb_misses: begun(&mut Builder::new(tlb)),
            cycles: begun(&mut Builder::new(Hardware::CPU_CYCLES)),
        }
    }

    /// Loads whose page was in no TLB.
    pub fn tlb_misses(&mut self) -> Option<u64> {
        self.tlb_misses.as_mut()?.read().ok()
    }

    /// Cycles.
    pub fn cycles(&mut self) -> Option<u64> {
        self.cycles.as_mut()?.read().ok()
    }
}
