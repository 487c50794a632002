//! Estimates for a whole program, from windows of it.

use serde::{Deserialize, Serialize};

use crate::interval::student;

/// An estimate of a count for a whole program, with its confidence interval of 95 percent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// The lower end of the interval, at least 0; `None` for one window, which has no spread.
    pub low: Option<f64>,
    /// The upper end of the interval.
    pub high: Option<f64>,
}

/// The counts of one window, after its warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowCounts {
    /// The number of the address space.
    pub space: u32,
    /// The number of the window in its process, from 0.
    pub window: u64,
    /// Accesses of the process before the window, recorded or not.
    pub start: u64,
    /// Accesses of the window after its warm-up.
    pub accesses: u64,
    /// Lookups that missed the first level.
    pub l1_misses: u64,
    /// Lookups that missed all levels.
    pub l2_misses: u64,
    /// The cost of walks, in cycles.
    pub walk_cycles: u64,
    /// Those of `l2_misses` that the program may not have: first references of a window to a page,
    /// before the window referred to as many pages as the TLB holds.
    pub open_l2_misses: u64,
    /// The cost of these walks, in cycles.
    pub open_walk_cycles: u64,
}

/// Estimates for a whole program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WindowEstimates {
    /// The accesses that the estimates are for: those of all processes from their first window on.
    pub accesses: u64,
    /// The share of each window that was left out, so that TLBs warm up.
    pub warm_up: f64,
    /// Lookups that miss the first level.
    pub l1_misses: Estimate,
    /// Lookups that miss all levels.
    pub l2_misses: Estimate,
    /// The cost of walks, in cycles.
    pub walk_cycles: Estimate,
    /// The counts of each window.
    pub windows: Vec<WindowCounts>,
}

impl WindowEstimates {
    /// Estimates from the counts of windows. `None` if the windows have no access.
    pub fn of(accesses: u64, warm_up: f64, windows: Vec<WindowCounts>) -> Option<Self> {
        let ratio = |count: &dyn Fn(&WindowCounts) -> u64| {
            let pairs: Vec<(f64, f64)> = (windows.iter())
                .filter(|window| window.accesses > 0)
                .map(|window| (count(window) as f64, window.accesses as f64))
                .collect();
            Estimate::of_ratio(&pairs, accesses as f64)
        };
        let of = |all: fn(&WindowCounts) -> u64, open: fn(&WindowCounts) -> u64| {
            let least = ratio(&|window| all(window) - open(window).min(all(window)))?;
            Some(Estimate::between(least, ratio(&all)?))
        };
        Some(Self {
            accesses,
            warm_up,
            l1_misses: of(|window| window.l1_misses, |_| 0)?,
            l2_misses: of(|window| window.l2_misses, |window| window.open_l2_misses)?,
            walk_cycles: of(
                |window| window.walk_cycles,
                |window| window.open_walk_cycles,
            )?,
            windows,
        })
    }
}

impl Estimate {
    /// The estimate of all counts, with an interval from the low end of the least counts on.
    fn between(least: Self, most: Self) -> Self {
        Self {
            low: least.low,
            ..most
        }
    }

    /// The ratio estimator (Cochran 1977, section 6.4): counts and accesses of windows, for `total`
    /// accesses. Windows count as a random sample of the program, and the interval is Student's. It
    /// is not made smaller for the share of the program that the windows hold.
    pub fn of_ratio(windows: &[(f64, f64)], total: f64) -> Option<Self> {
        let counts: f64 = windows.iter().map(|window| window.0).sum();
        let accesses: f64 = windows.iter().map(|window| window.1).sum();
        if accesses <= 0.0 {
            return None;
        }
        let (ratio, number) = (counts / accesses, windows.len() as f64);
        let value = ratio * total;
        let half = student(windows.len() - 1).map(|quantile| {
            let residuals = windows.iter().map(|window| window.0 - ratio * window.1);
            let squares: f64 = residuals.map(|residual| residual * residual).sum();
            let deviation = (squares / (number - 1.0)).sqrt();
            quantile * deviation / number.sqrt() / (accesses / number) * total
        });
        Some(Self {
            value,
            low: half.map(|half| (value - half).max(0.0)),
            high: half.map(|half| value + half),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_of_one_length_have_the_interval_of_a_mean() {
        // Means of 1, 2 and 3 misses for 10 accesses; the deviation is 1.
        let windows = [(1.0, 10.0), (2.0, 10.0), (3.0, 10.0)];
        let estimate = Estimate::of_ratio(&windows, 1000.0).unwrap();
        assert!((estimate.value - 200.0).abs() < 1e-9);
        let half = 4.303 / 3.0_f64.sqrt() * 100.0;
        assert!((estimate.high.unwrap() - 200.0 - half).abs() < 1e-9);
        assert_eq!(estimate.low, Some(0.0));
    }

    #[test]
    fn a_short_last_window_weighs_less() {
        let windows = [(10.0, 100.0), (10.0, 100.0), (1.0, 10.0)];
        let estimate = Estimate::of_ratio(&windows, 2100.0).unwrap();
        assert!((estimate.value - 210.0).abs() < 1e-9);
        let width = estimate.high.unwrap() - estimate.low.unwrap();
        assert!(width < 1e-9, "all windows have one rate: {width}");
    }

    #[test]
    fn open_misses_widen_the_interval_downwards() {
        let window = |open_l2_misses| WindowCounts {
            accesses: 10,
            l2_misses: 6,
            open_l2_misses,
            ..WindowCounts::default()
        };
        let of = |open| WindowEstimates::of(100, 0.2, vec![window(open); 3]).unwrap();
        let known = of(0).l2_misses;
        assert_eq!(
            (known.low, known.value, known.high),
            (Some(60.0), 60.0, Some(60.0))
        );
        let open = of(4).l2_misses;
        assert_eq!(
            (open.low, open.value, open.high),
            (Some(20.0), 60.0, Some(60.0))
        );
    }

    #[test]
    fn one_window_has_no_interval_and_none_has_no_estimate() {
        let one = Estimate::of_ratio(&[(3.0, 10.0)], 100.0).unwrap();
        assert_eq!((one.value, one.low, one.high), (30.0, None, None));
        assert_eq!(Estimate::of_ratio(&[], 100.0), None);
        assert_eq!(WindowEstimates::of(100, 0.2, Vec::new()), None);
    }
}
