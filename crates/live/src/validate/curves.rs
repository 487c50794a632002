//! Miss rates over the accesses of a run: predicted, and measured by counters.

use std::path::PathBuf;
use std::str::FromStr;

use broadleaf_metrics::{CellResult, MissRateCurve, MissSample};
use broadleaf_study::failure::{Failure, reason};
use broadleaf_study::output::shown;
use broadleaf_study::perf_counters::{CounterCurve, counters};

/// The number of points of the mean filter (Zhu 2018, section 4.3).
const WINDOW: usize = 77;

/// A file of counters that were read over time while a program ran under a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountersFile {
    /// The setting, by name.
    pub setting: String,
    /// The output of `perf stat -I MILLISECONDS -x,`.
    pub path: PathBuf,
}

impl FromStr for CountersFile {
    type Err = String;

    /// Reads `SETTING=FILE`, or `FILE` for the setting `never`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (setting, path) = text.split_once('=').unwrap_or(("never", text));
        match path.is_empty() {
            true => Err("no file is named after the setting".to_owned()),
            false => Ok(Self {
                setting: setting.to_owned(),
                path: PathBuf::from(path),
            }),
        }
    }
}

impl CountersFile {
    /// Reads the counters.
    ///
    /// # Errors
    /// If the file cannot be read or holds no counters.
    pub fn read(&self) -> Result<CounterCurve, Failure> {
        let name = shown(&self.path);
        let text = std::fs::read_to_string(&self.path)
            .map_err(|error| Failure::Wrong(format!("{name}: {}", reason(&error))))?;
        counters(&text).map_err(|error| Failure::Wrong(format!("{name}: {error}")))
    }
}

/// Compares counters with the misses of a result over time. Returns `None` if the result has none.
pub(super) fn curve_of(
    file: &CountersFile,
    counted: &CounterCurve,
    result: &CellResult,
) -> Option<MissRateCurve> {
    let model = result.misses_over_time.as_deref()?;
    let all = counted.samples.last()?.time;
    let accesses = model.last()?.time as f64;
    let mut measured = Vec::new();
    let mut predicted = Vec::new();
    let mut before = 0.0;
    for sample in &counted.samples {
        if sample.accesses == 0.0 {
            continue;
        }
        measured.push([sample.time, rate(sample.walks, sample.accesses)]);
        // The same share of the accesses, so that runs of other lengths compare.
        let [from, to] = [before, sample.time].map(|time| time / all * accesses);
        let walks = walks_until(model, to) - walks_until(model, from);
        predicted.push([to, rate(walks, to - from)]);
        before = sample.time;
    }
    let walks: f64 = counted.samples.iter().map(|sample| sample.walks).sum();
    let (measured, predicted) = (smooth(&measured), smooth(&predicted));
    Some(MissRateCurve {
        setting: file.setting.clone(),
        file: shown(&file.path),
        events: counted.events.clone(),
        left_out: counted.left_out,
        whole: [
            rate(walks, all),
            rate(walks_until(model, accesses), accesses),
        ],
        factor: factor(&measured, &predicted),
        measured,
        predicted,
    })
}

/// The misses for each 1,000 accesses.
fn rate(misses: f64, accesses: f64) -> f64 {
    1000.0 * misses / accesses.max(1.0)
}

/// The misses of the model up to a number of accesses. Those of an interval are spread evenly.
fn walks_until(samples: &[MissSample], time: f64) -> f64 {
    let (mut from, mut walks) = (0.0, 0.0);
    for sample in samples {
        let (to, of) = (sample.time as f64, sample.l2_misses as f64);
        if to >= time {
            return walks + of * (time - from).max(0.0) / (to - from).max(1.0);
        }
        (from, walks) = (to, walks + of);
    }
    walks
}

/// The mean of the [`WINDOW`] points around each point, or of those that there are.
fn smooth(points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let around = WINDOW / 2;
    let mean = |at: usize| {
        let window = &points[at.saturating_sub(around)..points.len().min(at + around + 1)];
        window.iter().map(|[_, rate]| rate).sum::<f64>() / window.len() as f64
    };
    (0..points.len())
        .map(|at| [points[at][0], mean(at)])
        .collect()
}

/// The mean distance of two curves on a logarithmic scale, as a factor.
fn factor(measured: &[[f64; 2]], predicted: &[[f64; 2]]) -> Option<f64> {
    let both = measured.iter().zip(predicted);
    let distances: Vec<f64> = both
        .filter(|([_, one], [_, other])| *one > 0.0 && *other > 0.0)
        .map(|([_, one], [_, other])| (one / other).ln().abs())
        .collect();
    let mean = distances.iter().sum::<f64>() / distances.len() as f64;
    (!distances.is_empty()).then(|| mean.exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A result with many misses in the first half of its accesses, and few in the second.
    fn modelled() -> CellResult {
        let sample = |at: u64| MissSample {
            time: (at + 1) * 1000,
            l1_misses: 100,
            l2_misses: if at < 500 { 80 } else { 2 },
        };
        CellResult {
            misses_over_time: Some((0..1000).map(sample).collect()),
            ..CellResult::default()
        }
    }

    /// Counters that a processor exactly like the model would have, in intervals of other lengths.
    /// Code misses once in 1,000 accesses, and is counted in every third interval.
    fn counted(model: &CellResult) -> String {
        let samples = model.misses_over_time.as_deref().unwrap();
        let mut text = String::new();
        let mut before = 0.0;
        for at in 1..=400 {
            let time = f64::from(at) * 2500.0;
            let walks = walks_until(samples, time) - walks_until(samples, before);
            let code = 2.5;
            text.push_str(&format!(
                "{at}.0,1500,,L1-dcache-loads,1,100.00,,\n{at}.0,1000,,L1-dcache-stores,1,100.00,,\n\
                 {at}.0,{},,dTLB-load-misses,1,100.00,,\n",
                walks + code
            ));
            text.push_str(&match at % 3 {
                0 => format!("{at}.0,{code},,iTLB-load-misses,1,33.00,,\n"),
                _ => format!("{at}.0,<not counted>,,iTLB-load-misses,0,0.00,,\n"),
            });
            before = time;
        }
        text
    }

    fn file() -> CountersFile {
        CountersFile {
            setting: "never".to_owned(),
            path: PathBuf::from("counters.csv"),
        }
    }

    /// Counters made from the model give the model's own curve.
    #[test]
    fn counters_of_the_model_itself_lie_on_its_curve() {
        let model = modelled();
        let counted = counters(&counted(&model)).unwrap();
        let curve = curve_of(&file(), &counted, &model).unwrap();
        assert_eq!(curve.measured.len(), 400);
        assert!(
            (curve.factor.unwrap() - 1.0).abs() < 1e-6,
            "{:?}",
            curve.factor
        );
        let [measured, predicted] = curve.whole;
        assert!((measured - 41.0).abs() < 1e-6 && (predicted - 41.0).abs() < 1e-6);
        // Away from the step, the filter leaves both levels as they are.
        assert!((curve.measured[50][1] - 80.0).abs() < 1e-6);
        assert!((curve.measured[350][1] - 2.0).abs() < 1e-6);
    }

    /// A processor that misses twice as often is a factor of two away.
    #[test]
    fn the_factor_is_the_mean_distance() {
        let model = modelled();
        let mut counted = counters(&counted(&model)).unwrap();
        for sample in &mut counted.samples {
            sample.walks *= 2.0;
        }
        let curve = curve_of(&file(), &counted, &model).unwrap();
        assert!((curve.factor.unwrap() - 2.0).abs() < 1e-6);
        assert_eq!(curve_of(&file(), &counted, &CellResult::default()), None);
    }

    #[test]
    fn a_single_spike_is_spread_over_the_window() {
        let mut points = vec![[0.0, 0.0]; 200];
        points[100][1] = 77.0;
        let smoothed = smooth(&points);
        assert_eq!([62, 138].map(|at| smoothed[at][1]), [1.0; 2]);
        assert_eq!([61, 139].map(|at| smoothed[at][1]), [0.0; 2]);
    }
}
