//! Shared code of the tests: a result with all parts.

use broadleaf_metrics::{
    CacheLevelResult, CacheResult, CellResult, CurvePoint, FaultSeconds, MemoryResult,
    MemorySample, RunTime, RunTimeBasis, SecondsRange, TlbResult, Tlbmcpi, Walks,
};
use broadleaf_units::PageSize;

/// Returns a result with all parts. No two figures are equal, so that a test can distinguish them.
pub(crate) fn whole_result() -> CellResult {
    let mut last = 1000;
    let mut next = || {
        last += 1;
        last
    };
    let mut walks = Walks::new();
    walks.add(PageSize::SIZE_4K, next());
    walks.add(PageSize::SIZE_2M, next());
    let tlb = TlbResult {
        l3_misses: next(),
        block_misses: next(),
        subblock_misses: next(),
        table_reads: next(),
        modified_faults: next(),
        marked_pages: next(),
        extra_probes: next(),
        victim_hits: next(),
        prefetch_hits: next(),
        walk_entry_hits: next(),
        walk_reads: next(),
        walk_cache_hits: Some(next()),
        table_nodes: Some(next()),
        table_most_nodes: Some(next()),
        table_lines: Some(next()),
        table_bytes: Some(next()),
        table_bytes_peak: Some(next()),
        table_level_bytes: vec![next()],
        synonym_updates: Some(next()),
        synonym_lines: Some(next()),
        synonym_bytes: Some(next()),
        synonym_bytes_peak: Some(next()),
        synonym_split: Some(next()),
        scatter_cycles: Some(next()),
        configuration_bits: Some(next()),
        area_rbe: Some(7984.5),
    };
    let mut level = || CacheLevelResult {
        hits: [next(), next(), next()],
        misses: [next(), next(), next()],
        written_back: next(),
        prefetched: next(),
    };
    let levels = vec![level(), level(), level()];
    let caches = CacheResult {
        instructions: 700,
        cycles: Some(next()),
        serial_cycles: Some(next()),
        mispredicted_branches: Some(next()),
        levels,
        memory_reads: next(),
        memory_writes: next(),
        memory_wait_cycles: next(),
        last_level_lines: next(),
        cores: Vec::new(),
    };
    let memory = MemoryResult {
        base_page_bytes: next(),
        write_faults: next(),
        peak_superpage_pages: next(),
        swapped_out_pages: next(),
        swapped_in_pages: next(),
        file_pages_read: next(),
        read_around_pages: next(),
        file_pages_written: next(),
        unsaved_file_pages: next(),
        cache_hits: next(),
        reservations: next(),
        reservations_broken: next(),
        extents_refused: next(),
        kernel_l1_misses: Some(next()),
        kernel_walks: Some(next()),
        part_filled_superpages_broken: Some(next()),
        other_colour_pages: Some(next()),
        foreign_colour_pages: Some(next()),
        scattered_superpages: Some(next()),
        frames_beside_scattered: Some(next()),
        copied_bytes: next(),
        migrated_pages: next(),
        zeroed_pages: next(),
        zeroed_ahead_pages: next(),
        fault_cycles: next(),
        worst_fault_cycles: next(),
        daemon_cycles: next(),
        promotion_cycles: next(),
        copy_cycles: next(),
        bookkeeping_cycles: next(),
        in_swap_pages: next(),
        page_sizes: [(4096, 1)].into(),
        free_contiguity: [(9, 1)].into(),
        tlbmcpi: Tlbmcpi::new([1, 2, 3], 100),
        times_offline: Some(1.5),
        out_of_memory_after: Some(next()),
        over_time: vec![MemorySample::default()],
        ..MemoryResult::default()
    };
    let run_time = RunTime {
        user_seconds: Some(SecondsRange {
            low: 1.25,
            middle: 1.5,
            high: 1.75,
        }),
        system_seconds: Some(SecondsRange {
            low: 0.25,
            middle: 0.5,
            high: 0.75,
        }),
        fault_seconds: Some(FaultSeconds {
            saved: 0.125,
            paid: 0.0625,
        }),
        ..RunTime::of_gains([0.1, 0.2, 0.3], RunTimeBasis::Measured)
    };
    CellResult {
        run_time: Some(run_time),
        accesses: next(),
        l1_misses: next(),
        l2_misses: next(),
        walks,
        walk_cycles: next(),
        page_faults: next(),
        faults_saved: -5,
        promotions: next(),
        demotions: next(),
        extra_zeroed_pages: next(),
        extra_disk_read_pages: next(),
        false_dirty_pages: next(),
        false_dirty_pages_anonymous: next(),
        false_dirty_pages_file: next(),
        clean_pages_in_superpages: next(),
        clean_pages_in_superpages_anonymous: next(),
        clean_pages_in_superpages_file: next(),
        touched_pages: next(),
        touched_pages_anonymous: next(),
        touched_pages_file: next(),
        resident_pages: next(),
        peak_resident_pages: next(),
        regions: next(),
        regions_anonymous: next(),
        regions_file: next(),
        refusals: [("too_young".to_owned(), 3)].into(),
        curve: Some(vec![CurvePoint {
            page_size: 4096,
            sets: 1,
            ways: 64,
            misses: 7,
        }]),
        tlb: Some(tlb),
        caches: Some(caches),
        memory: Some(memory),
        ..CellResult::default()
    }
}
