//! Hardware counters of a program, if the processor has any.

use perf_event::events::{Cache, CacheId, CacheOp, CacheResult, Hardware};
use perf_event::{Builder, Counter};

/// Hardware counters of the programs that this process starts from now on. Virtual machines often
/// have none.
#[derive(Debug, Default)]
pub struct Counters {
    tlb_misses: Option<Counter>,
    cycles: Option<Counter>,
}

impl Counters {
    /// Starts the counters.
    pub fn of_children() -> Self {
        let begun = |builder: &mut Builder<'_>| {
            // A kernel may allow the counting of programs though it does not allow counting in the
            // kernel.
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
            tlb_misses: begun(&mut Builder::new(TLB_MISSES)),
            cycles: begun(&mut Builder::new(Hardware::CPU_CYCLES)),
        }
    }

    /// Returns the number of loads that missed all TLBs.
    pub fn tlb_misses(&mut self) -> Option<u64> {
        self.tlb_misses.as_mut()?.read().ok()
    }

    /// Returns the number of cycles.
    pub fn cycles(&mut self) -> Option<u64> {
        self.cycles.as_mut()?.read().ok()
    }
}

/// Loads that missed the data TLBs.
const TLB_MISSES: Cache = Cache {
    which: CacheId::DTLB,
    operation: CacheOp::READ,
    result: CacheResult::MISS,
};

/// Starts a counter of the calling thread's loads that missed the data TLBs, if the processor has
/// such a counter.
pub(crate) fn own_tlb_misses() -> Option<Counter> {
    let mut counter = Builder::new(TLB_MISSES)
        .observe_self()
        .any_cpu()
        .exclude_kernel(true)
        .build()
        .ok()?;
    counter.enable().ok()?;
    Some(counter)
}
