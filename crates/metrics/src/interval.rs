//! Confidence intervals of means.

use crate::mean;

/// The quantiles of Student's distribution for intervals of 95 percent, by degrees of freedom from
/// 1.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// The quantile of Student's distribution for intervals of 95 percent; `None` without a degree of
/// freedom.
pub(crate) fn student(freedom: usize) -> Option<f64> {
    // Beyond the table, its last value is at most four percent too wide.
    let at = freedom.min(STUDENT.len()).checked_sub(1)?;
    Some(STUDENT[at])
}

/// A mean with its confidence interval of 95 percent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanInterval {
    /// The mean.
    pub mean: f64,
    /// Half the width of the interval. `None` for a single value, which has no spread.
    pub half_width: Option<f64>,
}

impl MeanInterval {
    /// The mean of independent values, with Student's interval. `None` without a value.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mean = mean(values)?;
        let freedom = values.len() - 1;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let half_width = (freedom > 0).then(|| {
            let deviation = (squares / freedom as f64).sqrt();
            student(freedom).unwrap_or_default() * deviation / (values.len() as f64).sqrt()
        });
        Some(Self { mean, half_width })
    }

    /// Returns true if the interval lies above zero.
    pub fn is_above_zero(&self) -> bool {
        self.half_width.is_some_and(|half| self.mean > half)
    }
}

/// The rank correlation of pairs of values (Spearman). Equal values have the mean of their ranks.
/// `None` for fewer than two pairs, or if all values of a side are equal.
pub fn rank_correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    let of = |side: fn(&(f64, f64)) -> f64| ranks(&pairs.iter().map(side).collect::<Vec<f64>>());
    let (one, other) = (of(|pair| pair.0), of(|pair| pair.1));
    let middle = (pairs.len() as f64 + 1.0) / 2.0;
    let product = |left: &[f64], right: &[f64]| -> f64 {
        let both = left.iter().zip(right);
        both.map(|(left, right)| (left - middle) * (right - middle))
            .sum()
    };
    let spread = (product(&one, &one) * product(&other, &other)).sqrt();
    (spread > 0.0).then(|| product(&one, &other) / spread)
}

/// The ranks of values, from 1.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count();
        let equal = values.iter().filter(|other| *other == value).count();
        below as f64 + (equal as f64 + 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_mean_is_students() {
        assert_eq!(MeanInterval::of(&[]), None);
        let one = MeanInterval::of(&[3.0]).unwrap();
        assert_eq!((one.mean, one.half_width), (3.0, None));
        assert!(!one.is_above_zero());
        // The deviation of 1, 2 and 3 is 1.
        let three = MeanInterval::of(&[1.0, 2.0, 3.0]).unwrap();
        let half = three.half_width.unwrap();
        assert!((half - 4.303 / 3.0_f64.sqrt()).abs() < 1e-9);
        assert!(!three.is_above_zero());
        assert!(MeanInterval::of(&[2.0, 2.1, 1.9]).unwrap().is_above_zero());
    }

    #[test]
    fn ranks_of_equal_values_are_their_mean() {
        assert_eq!(rank_correlation(&[(1.0, 10.0)]), None);
        assert_eq!(rank_correlation(&[(1.0, 3.0), (2.0, 3.0)]), None);
        let same = [(1.0, 10.0), (2.0, 20.0), (5.0, 21.0)];
        assert_eq!(rank_correlation(&same), Some(1.0));
        let turned = [(1.0, 3.0), (2.0, 2.0), (3.0, 1.0)];
        assert_eq!(rank_correlation(&turned), Some(-1.0));
        assert_eq!(ranks(&[5.0, 1.0, 5.0]), [2.5, 1.0, 2.5]);
    }
}
