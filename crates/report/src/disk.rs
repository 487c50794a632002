//! Where the disk outweighs what page sizes save: what to say in place of that they hardly matter.

use broadleaf_metrics::{CellResult, MemoryAsked};

use crate::BASELINE;
use crate::number::{percent, size};

/// From which share of the cycles of walks and faults on the disk is said to be nearly all of them.
const NEARLY_ALL: f64 = 0.9;

/// Which share of the cycles that a result loses to walks and faults is waiting for pages from the disk.
fn share(result: &CellResult, asked: &MemoryAsked) -> f64 {
    let (Some(memory), Some(cost)) = (&result.memory, asked.costs.get("disk")) else {
        return 0.0;
    };
    let pages = memory
        .swapped_in_pages
        .saturating_add(memory.file_pages_read);
    let waited = pages.saturating_mul(*cost).min(memory.fault_cycles);
    let lost = memory.fault_cycles.saturating_add(result.walk_cycles);
    waited as f64 / lost.max(1) as f64
}

/// Whether nearly all cycles that a result loses to walks and faults are waiting for the disk.
pub fn is_mostly_disk(result: &CellResult, asked: &MemoryAsked) -> bool {
    share(result, asked) >= NEARLY_ALL
}

/// Why page sizes save next to nothing where the disk is nearly all that the program waits for under `4k`, whose result is `baseline`.
pub(crate) fn instead_of_page_sizes(baseline: &CellResult, asked: &MemoryAsked) -> Option<String> {
    if !is_mostly_disk(baseline, asked) {
        return None;
    }
    let share = percent(share(baseline, asked));
    let there = asked
        .bytes
        .map(|bytes| (bytes as f64 * (1.0 - asked.occupied)) as u64);
    let sentence = match (asked.footprint_bytes, there) {
        (Some(wanted), Some(there)) if wanted > there => format!(
            "Memory is too small for this program: {BASELINE} holds {} at its peak where it can, and there is {}, which is {} too little. \
             {share} of the cycles of walks and faults are waiting for the disk, and no page size changes much of that. Stay with {BASELINE}.",
            size(wanted),
            size(there),
            size(wanted - there),
        ),
        _ => format!(
            "The disk outweighs page sizes here: {share} of the cycles of walks and faults are waiting for it. --files memory leaves out what \
             is read of files at first. Stay with {BASELINE}.",
        ),
    };
    Some(sentence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_metrics::MemoryResult;

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
    fn memory_that_is_too_small_is_told_by_how_much() {
        let told = |asked: &MemoryAsked| instead_of_page_sizes(&result(1), asked).unwrap();
        let mut small = asked(Some(3 << 20), Some(4 << 20));
        let text = told(&small);
        assert!(text.contains("holds 4.00 MiB at its peak"), "{text}");
        assert!(
            text.contains("there is 3.00 MiB, which is 1.00 MiB too little"),
            "{text}"
        );
        small.occupied = 0.5;
        assert!(told(&small).contains("2.50 MiB too little"));
        for enough in [asked(Some(4 << 20), Some(4 << 20)), asked(None, None)] {
            let text = told(&enough);
            assert!(
                text.starts_with("The disk outweighs page sizes here: 9"),
                "{text}"
            );
        }
        assert_eq!(instead_of_page_sizes(&result(0), &small), None);
    }
}
