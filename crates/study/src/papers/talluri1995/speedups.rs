//! Speedups from the misses of Appendix J and the run times of table 2-1.

use std::collections::BTreeMap;

use broadleaf_price::execution::{
    DEFAULT_PENALTY, MeasuredProgram, critical_penalty, normalised_speedup, weighted, weights,
};

use super::misses::{measured, thousands};
use crate::failure::Failure;

/// The penalty whose weights table I2-3 and table 2-3 keep for all penalties (decision 16).
pub(super) const WEIGHTS_OF_SENSITIVITY: f64 = 30.0;

/// The measured programs, and the misses of each TLB.
pub(super) struct Inputs {
    pub(super) programs: Vec<MeasuredProgram>,
    thousands: BTreeMap<&'static str, Vec<f64>>,
}

/// The figures of a column: one for each program, and their weighted average.
pub(super) struct ColumnFigures {
    pub(super) programs: Vec<f64>,
    pub(super) weighted: f64,
}

impl Inputs {
    pub(super) fn read() -> Result<Self, Failure> {
        Ok(Self {
            programs: measured()?,
            thousands: thousands()?,
        })
    }

    /// The misses of a TLB, for each program. `None` if Appendix J does not have the TLB.
    pub(super) fn misses(&self, tlb: &str) -> Option<Vec<f64>> {
        let thousands = self.thousands.get(tlb)?;
        Some(thousands.iter().map(|misses| 1000.0 * misses).collect())
    }

    /// The speedups of a TLB over a base, if Appendix J has both.
    pub(super) fn speedups(
        &self,
        base: &str,
        tlb: &str,
        penalty: f64,
        weights_of: f64,
    ) -> Option<ColumnFigures> {
        let (base, new) = (self.misses(base)?, self.misses(tlb)?);
        let each = self.programs.iter().zip(base.iter().zip(&new));
        let weights = weights(&self.programs, weights_of);
        Some(ColumnFigures {
            programs: each
                .map(|(program, (base, new))| program.speedup(*base, *new, penalty))
                .collect(),
            weighted: normalised_speedup(&self.programs, &weights, &base, &new, penalty),
        })
    }

    /// The critical miss penalties of preloading, as the misses of Appendix J give them.
    pub(super) fn critical(&self, without: &str, with: &str) -> Option<ColumnFigures> {
        let (without, with) = (self.misses(without)?, self.misses(with)?);
        let each = without.iter().zip(&with);
        let weights = weights(&self.programs, DEFAULT_PENALTY);
        let sum = |misses: &[f64]| weighted(&weights, misses.iter().copied());
        Some(ColumnFigures {
            programs: each
                .map(|(without, with)| critical_penalty(*without, *with))
                .collect::<Option<Vec<f64>>>()?,
            weighted: critical_penalty(sum(&without), sum(&with))?,
        })
    }
}
