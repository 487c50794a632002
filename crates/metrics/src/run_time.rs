//! The change of a program's run time under a policy.

use serde::{Deserialize, Serialize};

/// The least share of the time with base pages that counts as a gain: "some".
pub const SOME_GAIN: f64 = 0.03;
/// The share of the time with base pages from which on a gain is large.
pub const LARGE_GAIN: f64 = 0.15;

/// A program's run time with base pages, divided by the run time under a policy. The time is user
/// time: page faults and zeroing are system time, which has figures of its own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunTime {
    /// The class of the gain, by [`RunTime::ratio`].
    pub class: RunTimeClass,
    /// The lowest ratio that is likely.
    pub ratio_low: f64,
    /// The ratio in the middle of the range.
    pub ratio: f64,
    /// The highest ratio that is likely.
    pub ratio_high: f64,
    /// The origin of the ratios.
    pub basis: RunTimeBasis,
    /// The user time under the policy; absent without a measurement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_seconds: Option<SecondsRange>,
    /// The system time under the policy; absent without a measurement, or without the costs of page
    /// faults.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_seconds: Option<SecondsRange>,
    /// The change of the system time by page faults; absent as [`RunTime::system_seconds`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault_seconds: Option<FaultSeconds>,
}

/// The class of a gain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunTimeClass {
    /// Less than [`SOME_GAIN`] of the time.
    #[default]
    None,
    /// Between the two.
    Some,
    /// More than [`LARGE_GAIN`] of the time.
    Large,
}

/// The origin of a run-time ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunTimeBasis {
    /// A table of costs, the same for all programs. The trace alone is known.
    Table,
    /// The program's own times with base pages and with huge pages, which the recording holds.
    Measured,
}

/// A number of seconds that is known as a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SecondsRange {
    /// The lowest value that is likely.
    pub low: f64,
    /// The value in the middle.
    pub middle: f64,
    /// The highest value that is likely.
    pub high: f64,
}

/// The system time that page sizes change, by the costs of faults that were measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FaultSeconds {
    /// The seconds of the faults of base pages that the policy saves.
    pub saved: f64,
    /// The seconds of making huge pages: zeroing included.
    pub paid: f64,
}

impl RunTimeClass {
    /// Returns the class of a gain: the saved share of the time with base pages.
    pub fn of_gain(share: f64) -> Self {
        match share {
            share if share >= LARGE_GAIN => Self::Large,
            share if share >= SOME_GAIN => Self::Some,
            _ => Self::None,
        }
    }

    /// Returns the name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Some => "some",
            Self::Large => "large",
        }
    }
}

impl RunTimeBasis {
    /// Returns the name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Measured => "measured",
        }
    }
}

impl RunTime {
    /// Makes a run time from the saved shares of the time with base pages: the least, the middle
    /// and the most. A negative share is a loss.
    pub fn of_gains([low, middle, high]: [f64; 3], basis: RunTimeBasis) -> Self {
        // No policy makes a program infinitely fast.
        let ratio = |share: f64| 1.0 / (1.0 - share.min(0.99));
        Self {
            class: RunTimeClass::of_gain(middle),
            ratio_low: ratio(low),
            ratio: ratio(middle),
            ratio_high: ratio(high),
            basis,
            user_seconds: None,
            system_seconds: None,
            fault_seconds: None,
        }
    }

    /// Returns the saved share of the time with base pages, in the middle of the range.
    pub fn gain(&self) -> f64 {
        1.0 - 1.0 / self.ratio
    }
}

/// Returns the tenth percentile, the median and the ninetieth percentile. Between two values, the
/// percentile lies on the line between them. Returns `None` without a value.
pub fn percentiles(values: &[f64]) -> Option<[f64; 3]> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    Some([0.1, 0.5, 0.9].map(|part| {
        let at = part * last as f64;
        let (below, above) = (values[at.floor() as usize], values[at.ceil() as usize]);
        below + (above - below) * at.fract()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_begin_at_three_and_fifteen_percent() {
        let class = |share| RunTimeClass::of_gain(share).name();
        assert_eq!([-0.2, 0.0, 0.029].map(class), ["none"; 3]);
        assert_eq!([0.03, 0.149].map(class), ["some"; 2]);
        assert_eq!([0.15, 0.6].map(class), ["large"; 2]);
    }

    #[test]
    fn percentiles_lie_between_the_values() {
        assert_eq!(percentiles(&[]), None);
        assert_eq!(percentiles(&[3.0]), Some([3.0; 3]));
        let eleven: Vec<f64> = (0..=10).rev().map(f64::from).collect();
        assert_eq!(percentiles(&eleven), Some([1.0, 5.0, 9.0]));
        let [low, middle, high] = percentiles(&[1.0, 2.0]).unwrap();
        assert!((low - 1.1).abs() < 1e-9 && middle == 1.5 && (high - 1.9).abs() < 1e-9);
    }

    #[test]
    fn a_saved_share_is_a_ratio_of_times() {
        let run_time = RunTime::of_gains([0.0, 0.2, 0.5], RunTimeBasis::Table);
        let ratios = [run_time.ratio_low, run_time.ratio, run_time.ratio_high];
        assert_eq!(ratios, [1.0, 1.25, 2.0]);
        assert_eq!(run_time.class, RunTimeClass::Large);
        assert!((run_time.gain() - 0.2).abs() < 1e-12);
        let json = serde_json::to_string(&run_time).unwrap();
        assert!(
            json.starts_with(r#"{"class":"large","ratio_low":1.0,"#),
            "{json}"
        );
        assert!(json.ends_with(r#""basis":"table"}"#), "{json}");
    }
}
