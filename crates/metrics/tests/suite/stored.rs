//! Result records are read as they were written.

use broadleaf_metrics::CellResult;

use crate::common::whole_result;

/// Whole results come back, those without the optional parts too, and to the last bit of a
/// fraction.
#[test]
fn what_was_written_is_read() {
    let whole = whole_result();
    let (tlb, memory) = (whole.tlb.clone(), whole.memory.clone());
    for (tlb, memory) in [
        (None, None),
        (tlb.clone(), None),
        (None, memory.clone()),
        (tlb, memory),
    ] {
        let mut result = CellResult {
            tlb,
            memory,
            // The counts of caches are metrics: a host keeps them apart.
            caches: None,
            ..whole.clone()
        };
        if let Some(memory) = &mut result.memory {
            memory.times_offline = Some(0.1 + 0.2);
        }
        let json = serde_json::to_string(&result).expect("text");
        let read: CellResult = serde_json::from_str(&json).expect("a result");
        assert_eq!(read, result, "{json}");
    }
}
