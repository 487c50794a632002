//! Miss ratios over the accesses of a program (figures 4.4 to 4.12): the simulated curves.

use std::sync::{Arc, Mutex, PoisonError};

use broadleaf_model::{SlowLookups, Step, StepListener};
use serde::{Deserialize, Serialize};

use super::policies::{BASE, FREEBSD};
use super::runs::ZhuRuns;
use crate::papers::{Table, none};

/// The windows of a curve.
const WINDOWS: u64 = 400;
/// The windows of the mean filter (figure 4.12).
const FILTER: usize = 77;

/// The policies of the curves: superpages disabled and enabled.
pub(super) const CURVE_POLICIES: [&str; 2] = [BASE, FREEBSD];

/// The misses of a policy in each window of accesses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MissCurve {
    pub(super) policy: String,
    accesses: u64,
    /// The lookups that missed the DTLB, by window.
    dtlb: Vec<u64>,
    /// The lookups that missed the STLB too, by window.
    stlb: Vec<u64>,
}

/// The curves of the policies whose replay ended.
pub(super) type EndedCurves = Arc<Mutex<Vec<MissCurve>>>;

/// A listener that fills a curve.
struct CurveListener {
    curve: MissCurve,
    ended: EndedCurves,
}

/// A listener to the replay of a policy, for a trace of `accesses` accesses.
pub(super) fn listener(policy: &str, accesses: u64, ended: &EndedCurves) -> Box<dyn StepListener> {
    Box::new(CurveListener {
        curve: MissCurve {
            policy: policy.to_owned(),
            accesses,
            dtlb: vec![0; WINDOWS as usize],
            stlb: vec![0; WINDOWS as usize],
        },
        ended: Arc::clone(ended),
    })
}

impl StepListener for CurveListener {
    fn step(&mut self, step: &Step, slow: SlowLookups) {
        let walks = slow.walks;
        let misses = slow.second_hits + slow.third_hits + walks;
        if misses == 0 {
            return;
        }
        // A visit counts in the window in which it begins.
        let whole = u128::from(self.curve.accesses.max(1));
        let window = u128::from(step.visit.time) * u128::from(WINDOWS) / whole;
        let window = (window as usize).min(self.curve.dtlb.len() - 1);
        self.curve.dtlb[window] += misses;
        self.curve.stlb[window] += walks;
    }

    fn end(&mut self) {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.push(std::mem::take(&mut self.curve));
    }
}

impl MissCurve {
    /// The miss ratios of each window: those of the DTLB, and those of the STLB.
    fn ratios(&self) -> [Vec<f64>; 2] {
        let each = (self.accesses as f64 / WINDOWS as f64).max(1.0);
        [&self.dtlb, &self.stlb].map(|misses| {
            let ratios = misses.iter().map(|misses| *misses as f64 / each);
            ratios.collect()
        })
    }
}

/// The mean of each value and its neighbours: as many on each side as there are, and at most half
/// of the filter.
fn filtered(values: &[f64]) -> Vec<f64> {
    let half = FILTER / 2;
    let mean = |at: usize| {
        let around = &values[at.saturating_sub(half)..(at + half + 1).min(values.len())];
        around.iter().sum::<f64>() / around.len() as f64
    };
    (0..values.len()).map(mean).collect()
}

/// The curves of the program that represents a program of the thesis.
pub(super) fn table(all: &ZhuRuns, represents: &str) -> Table {
    let figures = match represents {
        "429.mcf" => "Figures 4.4 and 4.5",
        _ => "Figures 4.6, 4.7 and 4.12",
    };
    let text = format!(
        "The simulated curves of the program for {represents}: miss ratios in {WINDOWS} windows of \
         accesses, without superpages and under FreeBSD's policy. The last columns are STLB ratios \
         through a mean filter of {FILTER} windows. The measured curves need hardware counters of \
         the same run."
    );
    let columns = [
        "window",
        "accesses",
        "DTLB: 4K-user",
        "DTLB: FreeBSD",
        "STLB: 4K-user",
        "STLB: FreeBSD",
        "STLB filtered: 4K-user",
        "STLB filtered: FreeBSD",
        "measured",
    ];
    let title = format!("{figures}: miss ratios over accesses");
    let mut table = Table::new(&title, text, &columns);
    table.only_in_files = true;
    let run = (all.runs.iter()).find(|run| run.program.represents == represents);
    let curves = run.map_or(&[][..], |run| &run.results.curves);
    let of = |policy: &str| curves.iter().find(|curve| curve.policy == policy);
    let (Some(base), Some(freebsd)) = (of(BASE), of(FREEBSD)) else {
        return table;
    };
    let [base_dtlb, base_stlb] = base.ratios();
    let [dtlb, stlb] = freebsd.ratios();
    let columns = [base_dtlb, dtlb, base_stlb.clone(), stlb.clone()];
    let columns = columns.into_iter();
    let columns: Vec<Vec<f64>> = columns
        .chain([filtered(&base_stlb), filtered(&stlb)])
        .collect();
    for window in 0..WINDOWS {
        let after = u128::from(base.accesses) * u128::from(window + 1) / u128::from(WINDOWS);
        let first = [window.to_string(), after.to_string()];
        let ratios = (columns.iter()).map(|column| format!("{:.3e}", column[window as usize]));
        table.row(first.into_iter().chain(ratios).chain([none()]));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_stays_and_a_step_becomes_a_ramp() {
        assert_eq!(filtered(&[2.0; 5]), [2.0; 5]);
        let step: Vec<f64> = (0..200).map(|at| f64::from(at >= 100)).collect();
        let smooth = filtered(&step);
        assert_eq!(smooth[61], 0.0);
        assert!((smooth[62] - 1.0 / 77.0).abs() < 1e-12);
        assert!((smooth[100] - 39.0 / 77.0).abs() < 1e-12);
        assert_eq!(smooth[138], 1.0);
    }
}
