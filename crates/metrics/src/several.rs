//! Comparisons of several traces, and the means of their ratios.

use crate::Comparison;
use serde::Serialize;

/// The name and version of the schema of [`Comparisons`].
pub const COMPARISONS_SCHEMA: &str = "broadleaf.comparisons/1";

/// The result of `compare` for several traces.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparisons {
    /// [`COMPARISONS_SCHEMA`].
    pub schema: String,
    /// One comparison for each trace, in the requested order.
    pub comparisons: Vec<Comparison>,
    /// The means over all traces, for each policy and machine.
    pub means: Vec<RatioMeans>,
}

/// The means of a policy's ratios to the policy `4k`, on one machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RatioMeans {
    /// The policy's name.
    pub policy: String,
    /// The machine's name.
    pub machine: String,
    /// The number of traces in the means of walk cycles: those with walks under `4k`.
    pub traces: u64,
    /// The arithmetic mean of the walk cycles, each divided by those of `4k`.
    pub walk_cycles_mean: Option<f64>,
    /// The geometric mean of the walk cycles, each divided by those of `4k`; 0 if a policy has no
    /// walk cycles on one trace.
    pub walk_cycles_geometric_mean: Option<f64>,
    /// The arithmetic mean of the memory added at the peak, each as a share of that of `4k`.
    pub added_share_mean: Option<f64>,
    /// The geometric mean of the run-time ratios, over the traces that have one.
    pub run_time_ratio_geometric_mean: Option<f64>,
}

/// Returns the arithmetic mean, or `None` without a value.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the geometric mean, or `None` without a value.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    mean(&logarithms).map(f64::exp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_of_ratios() {
        assert_eq!(mean(&[]), None);
        assert_eq!(mean(&[1.0, 3.0]), Some(2.0));
        let half_and_double = geometric_mean(&[0.5, 2.0]).unwrap();
        assert!((half_and_double - 1.0).abs() < 1e-12);
        assert_eq!(geometric_mean(&[0.0, 2.0]), Some(0.0));
        assert_eq!(geometric_mean(&[]), None);
    }
}
