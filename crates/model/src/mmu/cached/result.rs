//! The counts of a machine with caches.

use super::{CachedCores, TimedCore};
use crate::mmu::Mmu;
use broadleaf_cache::CacheCounts;
use broadleaf_metrics::{CacheLevelResult, CacheResult, CoreResult};

impl CachedCores {
    /// The counts since [`Self::begin`]. `tlbs` are the TLBs of the cores that have run, by number.
    pub(crate) fn result(&self, tlbs: &[Option<&Mmu<'_>>]) -> CacheResult {
        let counts = self.hierarchy.counts();
        let mut levels = vec![CacheLevelResult::default(); self.hierarchy.levels()];
        for core in 0..self.cores.len() {
            let of_core = self.levels(&counts, core);
            let sums = levels.iter_mut().zip(&of_core);
            sums.for_each(|(sum, level)| sum.add(level));
        }
        let clocks = || self.cores.iter().map(|core| &core.clock);
        let instructions = clocks().map(|clock| clock.instructions()).sum();
        let is_known = instructions > 0;
        let cycles = clocks().map(|clock| clock.cycles()).max();
        let serial = clocks().map(|clock| clock.serial_cycles()).max();
        let several = self.cores.len() > 1;
        let cores = (0..self.cores.len()).filter(|_| several);
        CacheResult {
            instructions,
            cycles: cycles.filter(|_| is_known),
            serial_cycles: serial.filter(|_| is_known),
            mispredicted_branches: clocks().map(|clock| clock.mispredicted()).sum(),
            levels,
            memory_reads: counts.memory.reads,
            memory_writes: counts.memory.writes,
            memory_wait_cycles: counts.memory.waited,
            last_level_lines: counts.occupancy.iter().sum(),
            cores: cores
                .map(|core| self.one_core(core, &counts, tlbs.get(core).copied().flatten()))
                .collect(),
        }
    }

    fn levels(&self, counts: &CacheCounts, core: usize) -> Vec<CacheLevelResult> {
        let levels = counts.cores[core].levels[..self.hierarchy.levels()].iter();
        let result = |level: &broadleaf_cache::LevelCounts| CacheLevelResult {
            hits: level.hits,
            misses: level.misses,
            written_back: level.written_back,
            prefetched: level.prefetched,
        };
        levels.map(result).collect()
    }

    /// The counts of one core since [`Self::begin`]. `tlb` is the core's TLBs.
    pub(crate) fn core_result(&self, core: usize, tlb: Option<&Mmu<'_>>) -> CoreResult {
        if core >= self.cores.len() {
            return CoreResult::default();
        }
        self.one_core(core, &self.hierarchy.counts(), tlb)
    }

    fn one_core(&self, core: usize, counts: &CacheCounts, tlb: Option<&Mmu<'_>>) -> CoreResult {
        let of_core = &counts.cores[core];
        let TimedCore {
            clock,
            walk_cycles,
            shootdowns,
            ..
        } = &self.cores[core];
        let instructions = clock.instructions();
        CoreResult {
            core,
            instructions,
            cycles: (instructions > 0).then(|| clock.cycles()),
            levels: self.levels(counts, core),
            walks: tlb.map_or(0, |tlb| tlb.walks.iter().sum()),
            walk_cycles: *walk_cycles,
            last_level_lines: counts.occupancy[core],
            last_level_lines_peak: counts.occupancy_peak[core],
            lines_lost_to: of_core.lost_to[..self.cores.len()].to_vec(),
            transfers: of_core.transfers,
            shootdowns_sent: shootdowns[0],
            shootdowns_received: shootdowns[1],
        }
    }
}
