//! From what was counted to results and notes.

use crate::cell::{Cell, Translation};
use crate::stream::Stream;
use broadleaf_metrics::{CellResult, TraceSummary, Walks};
use broadleaf_units::PageSize;

/// The trace, as far as the engine knows it.
pub(crate) fn summary(stream: &Stream) -> TraceSummary {
    TraceSummary {
        pages: stream.spaces.touched_pages(),
        ..stream.summary.clone()
    }
}

/// A cell's results, one for each machine; `base_faults` are the page faults of the policy `4k`.
pub(crate) fn results(cell: &Cell<'_>, stream: &Stream, base_faults: u64) -> Vec<CellResult> {
    let counters = cell.memory.counters();
    let totals = cell.memory.totals();
    let of_policy = CellResult {
        policy: cell.policy.name(),
        accesses: stream.summary.accesses,
        page_faults: counters.page_faults,
        faults_saved: base_faults
            .cast_signed()
            .saturating_sub_unsigned(counters.page_faults),
        promotions: counters.promotions,
        demotions: counters.demotions,
        extra_zeroed_pages: totals.extra_zeroed_pages,
        extra_disk_read_pages: totals.extra_disk_read_pages,
        false_dirty_pages: totals.false_dirty_pages,
        touched_pages: stream.spaces.touched_pages(),
        resident_pages: counters.resident,
        peak_resident_pages: counters.peak_resident,
        regions: stream.spaces.regions(),
        refusals: cell
            .refusals()
            .map(|(reason, count)| (reason.name().to_string(), count))
            .collect(),
        ..CellResult::default()
    };
    cell.translations
        .iter()
        .map(|translation| on_machine(&of_policy, translation))
        .collect()
}

fn on_machine(of_policy: &CellResult, translation: &Translation<'_>) -> CellResult {
    let found = [
        (PageSize::SIZE_4K, translation.base_walks),
        (PageSize::SIZE_2M, translation.super_walks),
    ];
    let mut walks = Walks::new();
    let mut walk_cycles = 0;
    for (size, count) in found {
        walks.add(size, count);
        // A plan has no machine without these sizes, and a machine no size without a cost.
        walk_cycles += count * translation.machine.costs.of(size).unwrap_or(0);
    }
    CellResult {
        machine: translation.machine.name.clone(),
        l1_misses: translation.first_missed,
        l2_misses: walks.total(),
        walks,
        walk_cycles,
        ..of_policy.clone()
    }
}

/// What a reader of the numbers has to know about the trace.
pub(crate) fn notes(stream: &Stream) -> Vec<String> {
    let mut notes = Vec::new();
    let untold: Vec<String> = stream
        .spaces
        .untold()
        .map(|space| space.0.to_string())
        .collect();
    if !untold.is_empty() {
        let which = match untold.as_slice() {
            _ if !stream.summary.events => "no mapping events".to_string(),
            [one] => format!("no mapping events of address space {one}"),
            many => format!("no mapping events of address spaces {}", many.join(", ")),
        };
        notes.push(format!(
            "{which}: every block is taken for anonymous memory of an object that is large enough"
        ));
    }
    if !stream.kernel_references && stream.summary.accesses > 0 {
        notes.push("user-mode references only".to_string());
    }
    match stream.misplaced {
        0 => {}
        1 => notes.push(
            "1 mapping stands elsewhere modulo 2 MiB than the kernel would have put it".to_string(),
        ),
        count => {
            notes.push(format!(
                "{count} mappings stand elsewhere modulo 2 MiB than the kernel would have put them"
            ));
        }
    }
    notes
}
