//! The run time under a policy, estimated from a trace alone.
//!
//! A recording does not know how long the processor waits for a page walk. Twelve programs were
//! timed with base pages and with huge pages alone: one avoided walk saved 0 to 430 cycles. Walks
//! that are close together overlap, and are nearly free. Rare walks cost their full latency and
//! more, because the page table has left the caches. So the cost of a walk follows from the number
//! of instructions between walks, and the result is a class and a wide range: an estimate.

use broadleaf_metrics::{CellResult, RunTime, RunTimeBasis, TraceSummary};

/// The size of a base page in bytes.
const PAGE: f64 = 4096.0;

/// The most cycles that one walk costs: two reads of a page table in memory.
const MOST_OF_WALK: f64 = 450.0;

/// The most cycles of a hit in the second level of the TLB: 7 on Intel's server cores.
const SECOND_HIT: [f64; 3] = [0.0, 2.0, 7.0];

/// The cycles of an instruction without page walks: at the highest and lowest gain, and between.
/// The programs that were timed had 0.6 to 0.9 where walks were rare.
const INSTRUCTION: [f64; 3] = [1.2, 0.6, 0.45];

/// The cycles that the data of a page without a translation takes to arrive, besides the walk.
/// Such data is rarely in a near cache.
const DATA: [f64; 3] = [150.0, 45.0, 20.0];

/// The cost of a walk at the lowest and highest gain, in costs between.
const SPREAD: [f64; 3] = [1.0 / 3.0, 1.0, 3.0];

/// Below this number of instructions between walks, all walks may overlap and cost nothing.
const DENSE: f64 = 32.0;

/// The cycles that an independent load of a span of memory in MiB saves with huge pages: the base-2
/// logarithm of the span, and the cycles. Measured on one server processor; between, a line.
const INDEPENDENT: [(f64, f64); 6] = [
    (4.0, 0.0),
    (6.0, 4.0),
    (8.0, 17.0),
    (9.0, 29.0),
    (10.0, 40.0),
    (12.0, 80.0),
];

/// Returns the run time of `result`, relative to `baseline` on the same machine. Returns `None` if
/// the trace does not count instructions.
pub(super) fn run_time(
    result: &CellResult,
    baseline: &CellResult,
    trace: &TraceSummary,
) -> Option<RunTime> {
    if trace.instructions == 0 {
        return None;
    }
    let instructions = trace.instructions as f64;
    let walks = baseline.whole_misses() as f64;
    let avoided = walks - result.whole_misses() as f64;
    let hits = |result: &CellResult| result.l1_misses.saturating_sub(result.whole_misses()) as f64;
    let hits_avoided = hits(baseline) - hits(result);
    let between = instructions / walks.max(1.0);
    let gain = |at: usize| {
        let walk = cost_of_walk(between, trace.pages as f64 * PAGE, at);
        // The range is as wide for a loss as for a gain.
        let hit = SECOND_HIT[if hits_avoided < 0.0 { 2 - at } else { at }];
        let saved = avoided * walk + hits_avoided * hit;
        let time = instructions * INSTRUCTION[at] + walks * (DATA[at] + walk);
        saved / time
    };
    let mut gains = [gain(0), gain(1), gain(2)];
    gains.sort_by(f64::total_cmp);
    Some(RunTime::of_gains(gains, RunTimeBasis::Table))
}

/// Returns the cycles that a policy loses to walks and to hits below the first level of the TLB, in
/// the middle of the range. A walk costs what the density of the walks with base pages gives.
pub(super) fn lost_cycles(
    result: &CellResult,
    baseline: &CellResult,
    instructions: u64,
    pages: u64,
) -> f64 {
    let between = instructions as f64 / (baseline.whole_misses() as f64).max(1.0);
    let hits = result.l1_misses.saturating_sub(result.whole_misses());
    result.whole_misses() as f64 * middle_cost_of_walk(between, pages) + cycles_of_hits(hits)
}

/// Returns the cycles of a walk that comes so many instructions after the walk before, of a program
/// that touches so many pages, in the middle of the range.
pub(super) fn middle_cost_of_walk(between: f64, pages: u64) -> f64 {
    cost_of_walk(between.max(1.0), pages as f64 * PAGE, 1)
}

/// Returns the cycles of hits below the first level of the TLB, in the middle of the range. A hit
/// in a third level counts as one in the second.
pub(super) fn cycles_of_hits(hits: u64) -> f64 {
    hits as f64 * SECOND_HIT[1]
}

/// Returns the cycles of one walk, if there is one walk in `between` instructions of a program that
/// touches `bytes` of memory. `at` is 0 for the least, 1 for the middle and 2 for the most.
fn cost_of_walk(between: f64, bytes: f64, at: usize) -> f64 {
    if between < DENSE && at == 0 {
        return 0.0;
    }
    // Fitted to the twelve programs: 7 cycles at 18 instructions, 92 at 1,400, 235 at 6,400.
    let by_density = between.powf(0.62);
    let middle = by_density.max(independent(bytes));
    (middle * SPREAD[at]).min(MOST_OF_WALK)
}

/// Returns the cycles that an independent load saves with huge pages: [`INDEPENDENT`].
fn independent(bytes: f64) -> f64 {
    let span = (bytes / f64::from(1 << 20)).max(1.0).log2();
    let (first, last) = (INDEPENDENT[0], INDEPENDENT[INDEPENDENT.len() - 1]);
    if span <= first.0 {
        return first.1;
    }
    for pair in INDEPENDENT.windows(2) {
        let ((from, low), (to, high)) = (pair[0], pair[1]);
        if span <= to {
            return low + (high - low) * (span - from) / (to - from);
        }
    }
    last.1
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_metrics::RunTimeClass;

    /// A program with one walk in `between` instructions, and the result without any walk.
    fn all_avoided(between: u64, mebibytes: u64) -> RunTime {
        let trace = TraceSummary {
            instructions: 1_000_000_000,
            pages: mebibytes * 256,
            ..TraceSummary::default()
        };
        let baseline = CellResult {
            l1_misses: trace.instructions / between,
            l2_misses: trace.instructions / between,
            ..CellResult::default()
        };
        run_time(&CellResult::default(), &baseline, &trace).expect("instructions are counted")
    }

    /// The programs that were timed: instructions between walks, MiB, and the percent of user time
    /// that huge pages saved. The gain of each is in the range.
    #[test]
    fn the_programs_that_were_timed_are_in_their_ranges() {
        for (between, mebibytes, percent) in [
            (21, 512, 28.7),
            (16, 64, 0.0),
            (56, 95, 5.4),
            (18, 183, 19.2),
            (1400, 258, 10.3),
            (6400, 65, 6.1),
            (730, 189, 8.2),
            (4100, 253, 17.7),
            (224, 283, 10.9),
        ] {
            let found = all_avoided(between, mebibytes);
            let ratio = 1.0 / (1.0 - percent / 100.0);
            assert!(
                found.ratio_low <= ratio && ratio <= found.ratio_high,
                "{between} {mebibytes}: {found:?}"
            );
            assert!(found.ratio_low < found.ratio && found.ratio < found.ratio_high);
        }
    }

    #[test]
    fn rare_walks_are_no_gain_and_dense_ones_of_much_memory_are_a_large_one() {
        assert_eq!(all_avoided(160_000, 113).class, RunTimeClass::None);
        assert_eq!(all_avoided(1_000_000_000, 1).class, RunTimeClass::None);
        assert_eq!(all_avoided(1400, 258).class, RunTimeClass::Some);
        assert_eq!(all_avoided(21, 512).class, RunTimeClass::Large);
    }

    #[test]
    fn more_walks_than_with_base_pages_are_a_loss() {
        let trace = TraceSummary {
            instructions: 1_000_000,
            pages: 10_000,
            ..TraceSummary::default()
        };
        let with = |misses| CellResult {
            l1_misses: misses,
            l2_misses: misses,
            ..CellResult::default()
        };
        let loss = run_time(&with(2000), &with(1000), &trace).unwrap();
        assert!(loss.ratio_low < loss.ratio && loss.ratio < loss.ratio_high);
        assert!(loss.ratio_high <= 1.0 && loss.class == RunTimeClass::None);
        let same = run_time(&with(1000), &with(1000), &trace).unwrap();
        assert_eq!([same.ratio_low, same.ratio, same.ratio_high], [1.0; 3]);
        assert!(run_time(&with(0), &with(1), &TraceSummary::default()).is_none());
    }

    /// Hits in the second level alone are worth something.
    #[test]
    fn second_level_hits_count() {
        let trace = TraceSummary {
            instructions: 1_000_000,
            pages: 1000,
            ..TraceSummary::default()
        };
        let baseline = CellResult {
            l1_misses: 50_000,
            ..CellResult::default()
        };
        let none = run_time(&CellResult::default(), &baseline, &trace).unwrap();
        assert_eq!(none.ratio_low, 1.0);
        assert!(none.ratio > 1.1 && none.ratio_high > none.ratio, "{none:?}");
    }
}
