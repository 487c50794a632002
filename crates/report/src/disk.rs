//! Programs that wait mostly for the disk: warnings, and peaks that are low because pages were
//! evicted.

use broadleaf_metrics::{CellResult, MemoryAsked, MemoryResult};

use crate::BASELINE;
use crate::number::{percent, size};

/// The share of the cycles of walks and faults from which on waits for the disk count as nearly
/// all.
const NEARLY_ALL: f64 = 0.9;
/// Waits of fewer cycles per access hardly slow a program, even if its walks and faults cost less.
const SHORT_WAITS: f64 = 0.1;

/// Returns the share of the cycles of walks and faults that a result spends waiting for pages from
/// the disk.
fn share(result: &CellResult, asked: &MemoryAsked) -> f64 {
    let faults = (result.memory.as_ref()).map_or(0, |memory| memory.fault_cycles);
    let lost = faults.saturating_add(result.walk_cycles);
    waited(result, asked) as f64 / lost.max(1) as f64
}

/// Returns the cycles that a result spends waiting for pages from the disk.
fn waited(result: &CellResult, asked: &MemoryAsked) -> u64 {
    let (Some(memory), Some(cost)) = (&result.memory, asked.costs.get("disk")) else {
        return 0;
    };
    let pages = memory
        .swapped_in_pages
        .saturating_add(memory.file_pages_read);
    pages.saturating_mul(*cost).min(memory.fault_cycles)
}

/// Returns true if a result spends nearly all cycles of walks and faults waiting for the disk.
pub fn is_mostly_disk(result: &CellResult, asked: &MemoryAsked) -> bool {
    share(result, asked) >= NEARLY_ALL
}

/// Returns a warning if the program waits mostly for the disk under `4k`, whose result is
/// `baseline`. Memory is large enough in this case. A program that reads a few pages of files and
/// then computes gets no warning.
pub(crate) fn disk_outweighs(baseline: &CellResult, asked: &MemoryAsked) -> Option<String> {
    let are_long = waited(baseline, asked) as f64 >= SHORT_WAITS * baseline.accesses as f64;
    (are_long && is_mostly_disk(baseline, asked)).then(|| {
        format!(
            "The disk outweighs page sizes here: {} of the cycles of walks and faults are spent \
            waiting for the disk. With --memory, --files memory leaves out first reads of files.",
            percent(share(baseline, asked)),
        )
    })
}

/// Returns a warning if memory is smaller than the footprint of `4k` and the program waits mostly
/// for the disk. No other policy changes this warning.
pub(crate) fn memory_is_too_small(baseline: &CellResult, asked: &MemoryAsked) -> Option<String> {
    let wanted = asked.footprint_bytes?;
    let there = (asked.bytes? as f64 * (1.0 - asked.occupied)) as u64;
    if wanted <= there || !is_mostly_disk(baseline, asked) {
        return None;
    }
    Some(format!(
        "Memory is too small for this program: {BASELINE} would hold {} at its peak, and there is \
        {}, which is {} too little. {} of the cycles of walks and faults are spent waiting for the \
        disk.",
        size(wanted),
        size(there),
        size(wanted - there),
        percent(share(baseline, asked)),
    ))
}

/// Returns true if a result's peak is lower than the baseline's because pages leave memory and come
/// back. The result then reads more from the disk than the baseline. Such a peak saves nothing.
pub(crate) fn is_lower_by_eviction(result: &CellResult, baseline: &CellResult) -> bool {
    let (Some(memory), Some(of_baseline)) = (&result.memory, &baseline.memory) else {
        return false;
    };
    let is_lower = result.peak_resident_pages < baseline.peak_resident_pages;
    let reads = |memory: &MemoryResult| (memory.swapped_in_pages, memory.file_pages_read);
    let (of_swap, of_files) = reads(memory);
    let (least_of_swap, least_of_files) = reads(of_baseline);
    is_lower && (of_swap > least_of_swap || of_files > least_of_files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(swapped_in_pages: u64) -> CellResult {
        CellResult {
            walk_cycles: 10_000,
            memory: Some(MemoryResult {
                swapped_in_pages,
                fault_cycles: swapped_in_pages * 300_000 + 20_000,
                ..MemoryResult::default()
            }),
            ..CellResult::default()
        }
    }

    fn asked(bytes: Option<u64>, footprint_bytes: Option<u64>) -> MemoryAsked {
        MemoryAsked {
            bytes,
            footprint_bytes,
            costs: [("disk".to_owned(), 300_000)].into(),
            ..MemoryAsked::default()
        }
    }

    #[test]
    fn nearly_all_is_nine_tenths() {
        let asked = asked(Some(1 << 20), None);
        assert!(is_mostly_disk(&result(1), &asked));
        assert!(!is_mostly_disk(&result(0), &asked));
        let mut other = result(1);
        other.walk_cycles = 14_000;
        assert!(!is_mostly_disk(&other, &asked));
        assert!(!is_mostly_disk(&CellResult::default(), &asked));
    }

    #[test]
    fn a_warning_says_by_how_much_memory_is_too_small() {
        let warning = |asked: &MemoryAsked| {
            let warning = memory_is_too_small(&result(1), asked);
            warning
                .or_else(|| disk_outweighs(&result(1), asked))
                .unwrap()
        };
        let mut small = asked(Some(3 << 20), Some(4 << 20));
        let text = warning(&small);
        assert!(text.contains("would hold 4.00 MiB at its peak"), "{text}");
        assert!(
            text.contains("there is 3.00 MiB, which is 1.00 MiB too little"),
            "{text}"
        );
        small.occupied = 0.5;
        assert!(warning(&small).contains("2.50 MiB too little"));
        for enough in [asked(Some(4 << 20), Some(4 << 20)), asked(None, None)] {
            let text = warning(&enough);
            assert!(
                text.starts_with("The disk outweighs page sizes here: 9"),
                "{text}"
            );
        }
        assert_eq!(memory_is_too_small(&result(0), &small), None);
        assert_eq!(disk_outweighs(&result(0), &small), None);
        // A first read of a file is no wait of a program that computes for long.
        let after = |accesses| {
            let with = CellResult {
                accesses,
                ..result(1)
            };
            disk_outweighs(&with, &asked(None, None)).is_some()
        };
        assert!(after(3_000_000) && !after(3_100_000));
    }

    #[test]
    fn a_peak_is_low_by_eviction_if_more_is_read_back() {
        let with = |peak_resident_pages, swapped_in_pages| CellResult {
            peak_resident_pages,
            ..result(swapped_in_pages)
        };
        let baseline = with(100, 5);
        assert!(is_lower_by_eviction(&with(90, 6), &baseline));
        assert!(!is_lower_by_eviction(&with(90, 5), &baseline));
        assert!(!is_lower_by_eviction(&with(100, 6), &baseline));
        let mut reads_files = with(90, 5);
        if let Some(memory) = &mut reads_files.memory {
            memory.file_pages_read = 1;
        }
        assert!(is_lower_by_eviction(&reads_files, &baseline));
        assert!(!is_lower_by_eviction(&CellResult::default(), &baseline));
    }
}
