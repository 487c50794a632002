//! The counts of the TLBs of one core, or of all cores of a machine.

use super::Mmu;
use crate::recorded::is_kernels;
use broadleaf_pagetable::WalkCacheCounts;
use broadleaf_tlb::{Lookup, TlbCounts};
use broadleaf_units::PageNumber;

/// Lookups of the upper half of the addresses since counting began.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KernelLookups {
    /// Those that miss the first level.
    pub(crate) first_misses: u64,
    /// Of these, those that miss all levels.
    pub(crate) walks: u64,
}

impl KernelLookups {
    /// Counts the lookup of a page if it is the kernel's and was not found in the first level.
    #[inline]
    pub(crate) fn note(&mut self, page: PageNumber, found: Lookup) {
        if found != Lookup::First && is_kernels(page) {
            self.first_misses += 1;
            self.walks += u64::from(found == Lookup::Miss);
        }
    }
}

/// The lookups of TLBs since counting began.
#[derive(Clone, Debug, Default)]
pub(crate) struct TlbTotals {
    /// Lookups that miss the first level and hit the second.
    pub(crate) second_hits: u64,
    /// Lookups that miss two levels and hit the third.
    pub(crate) third_hits: u64,
    /// Walks by level of the page that is found.
    pub(crate) walks: Vec<u64>,
    /// The lookups of the kernel's addresses among these.
    pub(crate) kernel: KernelLookups,
    /// The other counts.
    pub(super) counts: TlbCounts,
    /// The counts of walk caches, if there are any.
    pub(super) walk_caches: Option<WalkCacheCounts>,
}

impl TlbTotals {
    /// The sum of the counts of cores.
    pub(crate) fn of<'m, 'a: 'm>(cores: impl IntoIterator<Item = &'m Mmu<'a>>) -> Self {
        let mut totals = Self::default();
        cores.into_iter().for_each(|core| totals.add(core));
        totals
    }

    fn add(&mut self, core: &Mmu<'_>) {
        self.second_hits += core.second_hits;
        self.third_hits += core.third_hits;
        self.kernel.first_misses += core.kernel.first_misses;
        self.kernel.walks += core.kernel.walks;
        self.walks.resize(core.walks.len(), 0);
        let walks = self.walks.iter_mut().zip(&core.walks);
        walks.for_each(|(sum, walks)| *sum += walks);
        self.counts = self.counts.plus(core.tlb_counts());
        if let Some(more) = core.walked.walk_cache_counts() {
            let counts = self.walk_caches.get_or_insert_default();
            *counts = counts.plus(more);
        }
    }

    /// All walks.
    pub(crate) fn all_walks(&self) -> u64 {
        self.walks.iter().sum()
    }
}
