//! Records for the tests of this folder.

use broadleaf_metrics::{
    ADVICE_SCHEMA, AdvisedMapping, AdvisedRange, BackingName, CellResult, MemoryAsked,
    MemoryResult, Provenance, RangeAdvice, Recommendation, TraceSummary,
};

/// Returns two superpages in the heap. Half of the second superpage is added memory.
pub(super) fn heap() -> AdvisedRange {
    AdvisedRange {
        space: 0,
        pid: Some(41),
        command: vec!["/usr/bin/sort".to_owned()],
        start: 0x40_0000,
        end: 0x80_0000,
        superpage_bytes: 2 << 20,
        superpages: 2,
        mapping: Some(AdvisedMapping {
            backing: BackingName::Heap,
            start: 0x20_0000,
            end: 0x90_0000,
            ..AdvisedMapping::default()
        }),
        walks_spared: 1234,
        walk_cycles_spared: 37_020,
        faults_spared: 766,
        added_bytes: 1 << 20,
        cycles_gained: 1_024_000,
        gained_per_kib: 250.0,
        gained_per_added_kib: Some(1000.0),
    }
}

/// Returns superpages of a mapping with that backing.
pub(super) fn lying_in(backing: BackingName, start: u64, superpages: u64) -> AdvisedRange {
    let end = start + (superpages << 21);
    AdvisedRange {
        start,
        end,
        superpages,
        mapping: Some(AdvisedMapping {
            backing,
            start: start - 0x1000,
            end: end + 0x3000,
            path: (backing == BackingName::File).then(|| "/data/x*/y".to_owned()),
            offset: (backing == BackingName::File).then_some(0x20_1000),
        }),
        walks_spared: 10,
        walk_cycles_spared: 300,
        added_bytes: 0,
        cycles_gained: -7,
        gained_per_kib: -0.002,
        gained_per_added_kib: None,
        ..heap()
    }
}

/// Returns advice of these ranges.
pub(super) fn advice(ranges: Vec<AdvisedRange>) -> RangeAdvice {
    let result = |policy: &str, walk_cycles, page_faults| CellResult {
        policy: policy.to_owned(),
        machine: "small".to_owned(),
        l2_misses: walk_cycles / 30,
        walk_cycles,
        page_faults,
        peak_resident_pages: 1000 - page_faults / 10,
        memory: Some(MemoryResult {
            base_page_bytes: 4096,
            fault_cycles: page_faults * 2000,
            ..MemoryResult::default()
        }),
        ..CellResult::default()
    };
    let mut advice = RangeAdvice {
        schema: ADVICE_SCHEMA.to_owned(),
        trace: TraceSummary {
            path: "sort.bl".to_owned(),
            accesses: 5000,
            loads: 3000,
            stores: 2000,
            pages: 768,
            ..TraceSummary::default()
        },
        policy: "offline(cycles=all,sizes=2m)".to_owned(),
        machine: "small".to_owned(),
        exact: true,
        memory: MemoryAsked {
            start: "empty".to_owned(),
            files: "disk".to_owned(),
            ..MemoryAsked::default()
        },
        spaces: 1,
        ranked_by: "gain".to_owned(),
        ranges,
        ranges_left_out: 0,
        maps: Vec::new(),
        sites: Vec::new(),
        results: vec![
            result("4k", 60_000, 1000),
            result("offline(cycles=all,sizes=2m)", 30_000, 240),
        ],
        damage: None,
        notes: vec!["a note".to_owned()],
        provenance: Provenance {
            version: "0.1.0".to_owned(),
            ..Provenance::default()
        },
        advice: Recommendation::default(),
    };
    advice.advice = super::verdict(&advice, None);
    advice
}
