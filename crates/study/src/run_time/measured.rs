//! The run time under a policy, from the program's own times at both ends.
//!
//! The recording holds the user time with base pages alone and with huge pages wherever they fit. A
//! policy between the two ends gets the share of the measured gain that it has of the avoided
//! walks, weighted by density. Random updates of 512 MiB with a quarter, a half and three quarters
//! of the blocks as huge pages gained 27, 52 and 70 percent of the whole gain.

use broadleaf_machine::Machine;
use broadleaf_metrics::{
    CellResult, FaultSeconds, RunTime, RunTimeBasis, RunTimeClass, SecondsRange,
};
use broadleaf_trace::MeasuredEnds;

use super::cost::{WalkCost, long_walks};
use super::density::WeighedCycles;
use super::faults::fault_seconds;
use crate::measured_ends::{EndsSummary, summary};

/// The policy whose walks are those of the end with huge pages.
pub(crate) const ALL_HUGE: &str = "greedy";

/// The part of a share by which the model may be wrong, for a policy between the ends.
const UNSURE: f64 = 0.1;

/// The share of the avoided walks up to which a policy is as good as an end.
const CLOSE: f64 = 0.01;

/// The replays and the measurement of both ends, on one machine.
pub(super) struct BothEnds<'a> {
    /// The machine.
    pub(super) machine: &'a Machine,
    /// The replay with base pages, in frames as those of the policy.
    pub(super) base: &'a CellResult,
    /// The replay with huge pages at the first touch of each block.
    pub(super) huge: &'a CellResult,
    /// The run times.
    pub(super) measured: &'a MeasuredEnds,
    /// The instructions of the trace; 0 if it does not count them.
    pub(super) instructions: u64,
    /// The pages of the trace.
    pub(super) pages: u64,
    /// Walks weighted by the density of the walks of their blocks.
    pub(super) weighed: &'a WeighedCycles,
}

impl BothEnds<'_> {
    /// Returns the run time under the policy of `result`. Returns `None` if the measurement says
    /// nothing about the policy.
    pub(super) fn run_time(&self, result: &CellResult) -> Option<RunTime> {
        let EndsSummary {
            gains,
            base_seconds,
            ..
        } = summary(self.measured)?;
        let [low, middle, high] = self.shares(result)?;
        // A loss at the end is shared out as a gain is.
        let all = [low, middle, high].map(|share| gains.map(|gain| share * gain));
        let ends = all.as_flattened();
        let least = ends.iter().copied().fold(f64::INFINITY, f64::min);
        let most = ends.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let middle = middle * gains[1];
        // Runs differ as much under any policy as at the ends. Base pages are what others are
        // compared with.
        let (below, above) = match result.policy == self.base.policy {
            true => (0.0, 0.0),
            false => (gains[1] - gains[0], gains[2] - gains[1]),
        };
        let gains = [least.min(middle - below), middle, most.max(middle + above)];
        let mut run_time = RunTime::of_gains(gains, RunTimeBasis::Measured);
        if gains[0] <= 0.0 && gains[2] >= 0.0 {
            // No difference that the machine of the measurement can show.
            run_time.class = RunTimeClass::None;
        }
        run_time.user_seconds = Some(SecondsRange {
            low: base_seconds * (1.0 - gains[2]),
            middle: base_seconds * (1.0 - gains[1]),
            high: base_seconds * (1.0 - gains[0]),
        });
        Some(run_time)
    }

    /// Returns true if the walks of a policy lie between those of the ends, so that their density
    /// matters.
    pub(super) fn is_between(&self, result: &CellResult) -> bool {
        share(self.walks(result)).is_some_and(|share| share > CLOSE && share < 1.0 - CLOSE)
    }

    /// Returns the share of the whole gain that a policy has: the least, the middle and the most.
    fn shares(&self, result: &CellResult) -> Option<[f64; 3]> {
        let counts = |result| counts(result, self.machine);
        let walks = self.walks(result);
        let has_no_superpage = result.promotions == 0 && walks[1] >= walks[0];
        if counts(result) == counts(self.base) || has_no_superpage {
            return Some([0.0; 3]);
        }
        if counts(result) == counts(self.huge) {
            return Some([1.0; 3]);
        }
        let by_walks = share(walks)?;
        let by_cycles = share(self.cycles(result))?;
        Some([
            by_walks.min(by_cycles) * (1.0 - UNSURE),
            by_cycles,
            by_walks.max(by_cycles) * (1.0 + UNSURE),
        ])
    }

    /// Returns the long walks with base pages, under a policy and with huge pages.
    fn walks(&self, result: &CellResult) -> [f64; 3] {
        [self.base, result, self.huge].map(|result| long_walks(result, self.machine) as f64)
    }

    /// Returns the cycles lost with base pages, under a policy and with huge pages. Walks have the
    /// weight of their density. If a replay did not weigh them by block, they have one weight.
    fn cycles(&self, result: &CellResult) -> [f64; 3] {
        let all = [self.base, result, self.huge];
        let base = &self.base.policy;
        let weighed = all.map(|one| self.weighed.of(&one.policy, &one.machine, base));
        match weighed {
            [Some(base), Some(between), Some(huge)] => [base, between, huge],
            _ => {
                let walks = long_walks(self.base, self.machine).max(1);
                let between = self.instructions as f64 / walks as f64;
                let cost = WalkCost::new(self.pages, self.machine);
                all.map(|one| cost.lost(one, self.machine, between))
            }
        }
    }

    /// Adds the system time under the policy of `result`, and the part of page faults in it. Adds
    /// nothing if a cost that the policy needs was not measured.
    pub(super) fn add_system_time(&self, result: &CellResult, run_time: &mut RunTime) {
        let Some((ends, costs)) =
            summary(self.measured).zip(fault_seconds(result, &self.measured.costs))
        else {
            return;
        };
        let [low, middle, high] = costs;
        let [at_least, at_median, at_most] = ends.base_system;
        let with = |base: f64, faults: FaultSeconds| (base - faults.saved + faults.paid).max(0.0);
        run_time.fault_seconds = Some(middle);
        run_time.system_seconds = Some(SecondsRange {
            low: with(at_least, low),
            middle: with(at_median, middle),
            high: with(at_most, high),
        });
    }
}

/// Returns the counts that decide whether two policies are equal to a TLB.
fn counts(result: &CellResult, machine: &Machine) -> [u64; 3] {
    let long = long_walks(result, machine);
    [result.l1_misses, result.whole_misses(), long]
}

/// Returns the place of a value between two ends, which come before and after it: 0 at the first, 1
/// at the second. A value beyond an end is at that end, since nothing was measured there. Returns
/// `None` if the ends are too close to divide the distance.
fn share([from, value, to]: [f64; 3]) -> Option<f64> {
    let distance = from - to;
    (distance.abs() > 0.001 * from.abs()).then(|| ((from - value) / distance).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_trace::{EndRun, FaultCosts};

    fn with(policy: &str, walks: u64) -> CellResult {
        CellResult {
            policy: policy.to_owned(),
            l1_misses: walks,
            l2_misses: walks,
            faults_saved: 4 * saved_by_block(policy),
            promotions: if policy == "4k" { 0 } else { 4 },
            ..CellResult::default()
        }
    }

    /// The faults that a block saves: those of the pages that are touched after the promotion.
    fn saved_by_block(policy: &str) -> i64 {
        match policy {
            "greedy" | "thp-always" | FIRST_TOUCH => 511,
            "pop-64" => 448,
            _ => 0,
        }
    }

    /// A policy that makes huge pages at first touches, and that no kernel has.
    const FIRST_TOUCH: &str = "promote if place == 0";

    /// The run time of a policy with `walks` walks, from equal rounds. Base pages have 1,000 walks,
    /// and huge pages none.
    fn found(policy: &str, walks: u64, huge_micros: u64) -> Option<RunTime> {
        found_in(policy, walks, [huge_micros; 3])
    }

    /// The run time from rounds in which base pages take two seconds.
    fn found_in(policy: &str, walks: u64, huge_micros: [u64; 3]) -> Option<RunTime> {
        let costs = FaultCosts {
            base_nanos: 1000,
            huge_nanos: 100_000,
            collapse_nanos: 500_000,
        };
        found_of(policy, walks, huge_micros, costs)
    }

    fn found_of(
        policy: &str,
        walks: u64,
        huge_micros: [u64; 3],
        costs: FaultCosts,
    ) -> Option<RunTime> {
        let run = |user_micros, system_micros| EndRun {
            user_micros,
            system_micros,
            ..EndRun::default()
        };
        let system = [90_000, 100_000, 110_000];
        let rounds = huge_micros.into_iter().zip(system);
        let rounds = rounds.map(|(huge, system)| [run(2_000_000, system), run(huge, 7)]);
        let measured = MeasuredEnds {
            rounds: rounds.collect(),
            costs,
        };
        let (base, huge) = (with("4k", 1000), with("greedy", 0));
        let machine = broadleaf_machine::machine("skylake").expect("a machine");
        let ends = BothEnds {
            machine: &machine,
            base: &base,
            huge: &huge,
            measured: &measured,
            instructions: 1_000_000,
            pages: 10_000,
            weighed: &WeighedCycles::default(),
        };
        let result = with(policy, walks);
        let mut run_time = ends.run_time(&result)?;
        ends.add_system_time(&result, &mut run_time);
        Some(run_time)
    }

    #[test]
    fn the_ends_are_what_was_measured() {
        let base = found("4k", 1000, 1_500_000).unwrap();
        assert_eq!([base.ratio_low, base.ratio, base.ratio_high], [1.0; 3]);
        let huge = found("greedy", 0, 1_500_000).unwrap();
        assert!((huge.ratio - 4.0 / 3.0).abs() < 1e-9 && huge.ratio_low == huge.ratio_high);
        assert_eq!(huge.class, RunTimeClass::Large);
        let seconds = huge.user_seconds.unwrap();
        assert!((seconds.middle - 1.5).abs() < 1e-9);
        let faults = huge.fault_seconds.unwrap();
        assert!(faults.saved == 0.0 && (faults.paid - 2e-3).abs() < 1e-9);
    }

    #[test]
    fn a_policy_between_the_ends_gets_its_share_of_the_gain() {
        let half = found("pop-256", 500, 1_500_000).unwrap();
        let seconds = half.user_seconds.unwrap();
        assert!((seconds.middle - 1.75).abs() < 1e-9, "{seconds:?}");
        assert!((seconds.low - 1.725).abs() < 1e-9 && (seconds.high - 1.775).abs() < 1e-9);
        assert_eq!(half.class, RunTimeClass::Some);
        // It copies the pages that are there.
        assert!((half.fault_seconds.unwrap().paid - 2e-3).abs() < 1e-9);
    }

    #[test]
    fn the_system_time_is_that_of_base_pages_with_other_page_faults() {
        let costs = |base_nanos, huge_nanos, collapse_nanos| FaultCosts {
            base_nanos,
            huge_nanos,
            collapse_nanos,
        };
        let of = |policy, walks, costs| {
            let found = found_of(policy, walks, [1_500_000; 3], costs).unwrap();
            let range = found.system_seconds?;
            Some([range.low, range.middle, range.high].map(|seconds| (seconds * 1e6).round()))
        };
        let all = costs(1000, 100_000, 500_000);
        // The spread of the rounds.
        let spread = Some([92_000.0, 100_000.0, 108_000.0]);
        assert_eq!(of("4k", 1000, all), spread);
        // 2,044 faults are saved, and four huge pages are made: at faults, or by copies.
        let [low, middle, high] = of("thp-always", 0, all).unwrap();
        assert_eq!(low, (92_000.0 - 2044.0 * 1.1 + 400.0_f64 * 0.9).round());
        assert_eq!(middle, 100_000.0 - 2044.0 + 400.0);
        // The daemon may make some of them later.
        assert_eq!(high, (108_000.0 - 2044.0 * 0.9 + 2000.0_f64 * 1.1).round());
        // This policy saves no fault and copies the pages that are there.
        assert_eq!(of("pop-256", 500, all).unwrap()[1], 102_000.0);
        // The governor copies what is there. It is late, and saves faults at best.
        let some_saved = of("pop-64", 500, all).unwrap();
        assert_eq!(
            some_saved[0],
            (92_000.0 - 1792.0 * 1.1 + 2000.0_f64 * 0.9).round()
        );
        assert_eq!(some_saved[1], 102_000.0);
        assert_eq!(some_saved[2], 110_200.0);
        // At best, first touches go as in the kernel.
        let none_saved = of(FIRST_TOUCH, 500, all).unwrap();
        assert_eq!(none_saved, [low, 102_000.0, 110_200.0]);
        // A cost that is not known gives no figure, unless it is of no use.
        assert_eq!(of("thp-always", 0, costs(0, 100_000, 1)), None);
        assert_eq!(of("thp-always", 0, costs(1000, 0, 500_000)), None);
        assert_eq!(of("pop-256", 500, costs(1000, 100_000, 0)), None);
        assert_eq!(
            of("pop-256", 500, costs(0, 0, 500_000)).unwrap()[1],
            102_000.0
        );
        assert_eq!(of("4k", 1000, costs(0, 0, 0)), spread);
    }

    /// Frames that do not lie side by side can make walks that neither end has.
    #[test]
    fn a_policy_beyond_an_end_has_the_time_of_that_end() {
        let most = found("linux", 200_000, 1_500_000).unwrap();
        assert_eq!([most.ratio_low, most.ratio, most.ratio_high], [1.0; 3]);
        let seconds = most.user_seconds.unwrap();
        assert_eq!([seconds.low, seconds.middle, seconds.high], [2.0; 3]);
    }

    /// Frames in another order miss at other times. Where both ends have the same walks, their
    /// distance says nothing about such a policy.
    #[test]
    fn a_policy_without_superpages_has_the_time_of_base_pages() {
        let measured = MeasuredEnds {
            rounds: vec![[2_000_000, 1_900_000].map(|user_micros| EndRun {
                user_micros,
                ..EndRun::default()
            })],
            ..MeasuredEnds::default()
        };
        let machine = broadleaf_machine::machine("skylake").expect("a machine");
        let ends = BothEnds {
            machine: &machine,
            base: &with("4k", 84),
            huge: &with("greedy", 84),
            measured: &measured,
            instructions: 1_000_000,
            pages: 78,
            weighed: &WeighedCycles::default(),
        };
        let of = |promotions| {
            ends.run_time(&CellResult {
                promotions,
                ..with("linux", 85)
            })
        };
        let none = of(0).expect("it has the time of base pages");
        assert_eq!(none.ratio, 1.0);
        assert_eq!(none.user_seconds.expect("it was measured").middle, 2.0);
        assert_eq!(of(1), None);
    }

    #[test]
    fn the_range_holds_the_spread_of_runs_wherever_the_policy_lies() {
        let rounds = [1_400_000, 1_500_000, 1_600_000];
        let seconds = |policy, walks| {
            let found = found_in(policy, walks, rounds).unwrap();
            let of = found.user_seconds.unwrap();
            [of.low, of.middle, of.high]
        };
        let [huge, none] = [seconds("greedy", 0), seconds("pop-512", 1000)];
        let spread = |of: [f64; 3]| [of[1] - of[0], of[2] - of[1]];
        let wide = spread(huge);
        assert!(wide[0] > 0.07 && wide[1] > 0.07, "{huge:?}");
        assert!((none[1] - 2.0).abs() < 1e-9);
        for (found, wanted) in spread(none).into_iter().zip(wide) {
            assert!((found - wanted).abs() < 1e-9, "{none:?}");
        }
        assert_eq!(seconds("4k", 1000), [2.0; 3]);
        let few = found_in("pop-256", 900, rounds).unwrap();
        assert_eq!(few.class, RunTimeClass::None, "{few:?}");
    }

    #[test]
    fn without_a_difference_there_is_no_gain() {
        let none = found("greedy", 0, 2_000_000).unwrap();
        assert_eq!(none.class, RunTimeClass::None);
        let slower = found("pop-256", 500, 2_200_000).unwrap();
        assert!(slower.ratio < 1.0 && slower.ratio_low < slower.ratio_high);
        assert_eq!(slower.class, RunTimeClass::None);
    }
}
