//! The figures of a table of their own, for machines with caches.

use broadleaf_metrics::{CacheResult, CellResult, MetricValue, metric};

use crate::figure::{Figure, count};

fn caches(result: &CellResult, of: fn(&CacheResult) -> u64) -> u64 {
    result.caches.as_ref().map_or(0, of)
}

/// The value of a metric that is a ratio, in thousandths.
fn thousandths(result: &CellResult, name: &str) -> Option<i64> {
    match metric(name)?.value(result)? {
        MetricValue::Ratio(ratio) => Some((ratio * 1000.0).round() as i64),
        _ => None,
    }
}

/// A column of ratios. `sign` is 1 if less is better, and -1 if more is.
fn ratios<'a>(
    heading: &'static str,
    leave_out_first: u8,
    name: &'static str,
    sign: i64,
) -> Figure<'a> {
    Figure {
        heading,
        leave_out_first,
        rank: Some(Box::new(move |result| {
            thousandths(result, name).map(|ratio| sign * ratio)
        })),
        text: Box::new(move |result, _| {
            let ratio = thousandths(result, name);
            ratio.map_or(String::new(), |ratio| {
                format!("{:.3}", ratio as f64 / 1000.0)
            })
        }),
    }
}

/// Returns the columns. Without counts of instructions, a trace has no cycles.
pub(crate) fn cache_figures<'a>(results: &[&CellResult]) -> Vec<Figure<'a>> {
    let has_cycles = |result: &&CellResult| caches(result, |caches| caches.instructions) > 0;
    let mut figures = Vec::new();
    if results.iter().any(has_cycles) {
        figures.extend([
            count("cycles", 0, |result| {
                caches(result, |caches| caches.cycles.unwrap_or(0))
            }),
            count("serial cycles", 3, |result| {
                caches(result, |caches| caches.serial_cycles.unwrap_or(0))
            }),
            ratios("IPC", 0, "ipc", -1),
            ratios("cache MPKI", 0, "llc_mpki", 1),
            ratios("TLB MPKI", 0, "tlb_mpki", 1),
        ]);
    }
    figures.extend([
        count("lines read", 1, |result| {
            caches(result, |caches| caches.memory_reads)
        }),
        count("lines written", 2, |result| {
            caches(result, |caches| caches.memory_writes)
        }),
    ]);
    figures
}
