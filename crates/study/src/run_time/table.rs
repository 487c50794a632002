//! The run time under a policy, estimated from a trace alone.
//!
//! A recording does not know how long the processor waits for a page walk. Twelve programs were
//! timed with base pages and with huge pages alone: one avoided walk saved 0 to 430 cycles. So the
//! result is a class and a wide range: an estimate, by the costs of [`super::cost`].

use broadleaf_machine::Machine;
use broadleaf_metrics::{CellResult, RunTime, RunTimeBasis, TraceSummary};

use super::cost::{SECOND_HIT, WalkCost, long_walks, lower_hits};

/// Returns the run time of `result`, relative to `baseline` on the same machine. Returns `None` if
/// the trace does not count instructions, or if its references are samples: the walks between two
/// samples are not known.
pub(super) fn run_time(
    result: &CellResult,
    baseline: &CellResult,
    trace: &TraceSummary,
    machine: &Machine,
) -> Option<RunTime> {
    if trace.instructions == 0 || trace.samples {
        return None;
    }
    let instructions = trace.instructions as f64;
    let walks = long_walks(baseline, machine) as f64;
    let avoided = walks - long_walks(result, machine) as f64;
    let hits_avoided = lower_hits(baseline) as f64 - lower_hits(result) as f64;
    let between = instructions / walks.max(1.0);
    let cost = WalkCost::new(trace.pages, machine);
    let gain = |at: usize| {
        let walk = cost.walk(between, at);
        // The range is as wide for a loss as for a gain.
        let hit = SECOND_HIT[if hits_avoided < 0.0 { 2 - at } else { at }];
        let saved = avoided * walk + hits_avoided * hit;
        let time = instructions * cost.instruction(at) + walks * (cost.data(between, at) + walk);
        saved / time
    };
    let mut gains = [gain(0), gain(1), gain(2)];
    gains.sort_by(f64::total_cmp);
    Some(RunTime::of_gains(gains, RunTimeBasis::Table))
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_metrics::RunTimeClass;
    use broadleaf_units::PageSize;

    fn skylake() -> Machine {
        broadleaf_machine::machine("skylake").expect("a machine")
    }

    /// A program with one walk in `between` instructions, and the result without any walk.
    fn all_avoided(between: u64, mebibytes: u64) -> RunTime {
        all_avoided_on(&skylake(), between, mebibytes)
    }

    fn all_avoided_on(machine: &Machine, between: u64, mebibytes: u64) -> RunTime {
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
        run_time(&CellResult::default(), &baseline, &trace, machine)
            .expect("instructions are counted")
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

    /// A guest on a server processor, with some of the loads that `probe` timed there.
    fn probed() -> Machine {
        let text = broadleaf_machine::machine_text("skylake");
        let mut text = text.expect("a machine").to_owned();
        for (span, page, dependent, independent) in [
            (4, "4k", 23.0, 2.0),
            (4, "2m", 23.0, 2.0),
            (32, "4k", 77.0, 28.2),
            (32, "2m", 52.4, 20.6),
            (128, "4k", 249.1, 47.4),
            (128, "2m", 105.4, 21.8),
            (256, "4k", 254.8, 54.4),
            (256, "2m", 150.6, 26.6),
        ] {
            text += &format!(
                "[[load-cycles]]\nspan = \"{span}M\"\npage = \"{page}\"\n\
                 dependent = {dependent:.1}\nindependent = {independent:.1}\n"
            );
        }
        Machine::from_toml(&text).expect("a machine")
    }

    /// Programs that were timed on the machine of [`probed`]: a list in random order, binary
    /// searches, transpositions, a balanced tree, jq. The gain of each is in the range by its
    /// loads.
    #[test]
    fn programs_are_in_the_ranges_by_the_loads_of_their_machine() {
        let machine = probed();
        for (between, mebibytes, percent, class) in [
            (11, 108, 21.8, RunTimeClass::Large),
            (40, 192, 12.4, RunTimeClass::Some),
            (7, 137, 30.8, RunTimeClass::Large),
            (86, 33, 13.8, RunTimeClass::Some),
            (24_603, 112, 0.0, RunTimeClass::None),
        ] {
            let found = all_avoided_on(&machine, between, mebibytes);
            let ratio = 1.0 / (1.0 - percent / 100.0);
            assert!(
                found.ratio_low - 0.01 <= ratio && ratio <= found.ratio_high,
                "{between} {mebibytes}: {found:?}"
            );
            assert_eq!(found.class, class, "{between} {mebibytes}: {found:?}");
        }
    }

    /// Loads over more memory take longer, and so do walks.
    #[test]
    fn the_cost_of_a_walk_follows_the_loads_of_the_machine() {
        let gain = |machine: &Machine, mebibytes| all_avoided_on(machine, 500, mebibytes).gain();
        assert!(gain(&probed(), 64) > 2.0 * gain(&probed(), 8));
        assert!(gain(&probed(), 64) < 0.5 * gain(&skylake(), 64));
    }

    /// Walks that only became shorter count as those that were avoided.
    #[test]
    fn fractured_superpages_gain_by_shorter_walks() {
        let mut machine = probed();
        machine.fractured = vec![PageSize::SIZE_2M];
        let trace = TraceSummary {
            instructions: 100_000_000,
            pages: 48 << 8,
            ..TraceSummary::default()
        };
        let with = |base: u64, huge: u64| {
            let mut result = CellResult {
                l1_misses: base + huge,
                l2_misses: base + huge,
                ..CellResult::default()
            };
            result.walks.add(PageSize::SIZE_4K, base);
            result.walks.add(PageSize::SIZE_2M, huge);
            result
        };
        let gain = |machine: &Machine, huge| {
            let (policy, base) = (with(1_000_000 - huge, huge), with(1_000_000, 0));
            run_time(&policy, &base, &trace, machine)
                .expect("instructions")
                .gain()
        };
        assert!(gain(&machine, 1_000_000) > 0.02);
        assert!((2.0 * gain(&machine, 500_000) - gain(&machine, 1_000_000)).abs() < 1e-9);
        assert_eq!(gain(&machine, 0), 0.0);
        // A TLB that holds superpages walks as far for them as for base pages.
        assert_eq!(gain(&probed(), 1_000_000), 0.0);
        // Without loads, shorter walks save the part of the cost that the machine's costs say.
        let whole = skylake();
        let fractured = Machine {
            fractured: vec![PageSize::SIZE_2M],
            ..skylake()
        };
        let run = |of: CellResult, machine| run_time(&of, &with(1_000_000, 0), &trace, machine);
        let [all, part] = [
            run(CellResult::default(), &whole)
                .expect("instructions")
                .gain(),
            run(with(0, 1_000_000), &fractured)
                .expect("instructions")
                .gain(),
        ];
        assert!(part > 0.0 && part < 0.6 * all, "{part} of {all}");
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
        let loss = run_time(&with(2000), &with(1000), &trace, &skylake()).unwrap();
        assert!(loss.ratio_low < loss.ratio && loss.ratio < loss.ratio_high);
        assert!(loss.ratio_high <= 1.0 && loss.class == RunTimeClass::None);
        let same = run_time(&with(1000), &with(1000), &trace, &skylake()).unwrap();
        assert_eq!([same.ratio_low, same.ratio, same.ratio_high], [1.0; 3]);
        assert!(run_time(&with(0), &with(1), &TraceSummary::default(), &skylake()).is_none());
        let samples = TraceSummary {
            samples: true,
            ..trace
        };
        assert!(run_time(&with(1000), &with(2000), &samples, &skylake()).is_none());
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
        let none = run_time(&CellResult::default(), &baseline, &trace, &skylake()).unwrap();
        assert_eq!(none.ratio_low, 1.0);
        assert!(none.ratio > 1.1 && none.ratio_high > none.ratio, "{none:?}");
    }
}
