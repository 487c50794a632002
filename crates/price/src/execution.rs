//! Execution time from TLB misses (Talluri 1995, section 2.5).
//!
//! All TLBs are charged one miss penalty. Misses are numbers, not thousands of misses.

/// The clock cycle of Talluri's machine, a SuperSPARC of 40 MHz, in seconds.
pub const CYCLE: f64 = 25e-9;

/// The default miss penalty, in cycles.
pub const DEFAULT_PENALTY: f64 = 40.0;

/// A program, as measured on a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredProgram {
    /// The time of the run, in seconds.
    pub seconds: f64,
    /// The TLB misses of the run.
    pub misses: f64,
}

impl MeasuredProgram {
    /// The time of the run without TLB misses, in seconds.
    pub fn ideal_seconds(&self, penalty: f64) -> f64 {
        self.seconds - self.misses * penalty * CYCLE
    }

    /// The time of the run with this many misses, in seconds.
    pub fn seconds_with(&self, misses: f64, penalty: f64) -> f64 {
        self.ideal_seconds(penalty) + misses * penalty * CYCLE
    }

    /// The speedup of one number of misses over another.
    pub fn speedup(&self, base: f64, new: f64, penalty: f64) -> f64 {
        self.seconds_with(base, penalty) / self.seconds_with(new, penalty)
    }
}

/// The weight of each program in means: the inverse of its time without misses. The sum is 1.
pub fn weights(programs: &[MeasuredProgram], penalty: f64) -> Vec<f64> {
    let inverse = |program: &MeasuredProgram| 1.0 / program.ideal_seconds(penalty);
    let sum: f64 = programs.iter().map(inverse).sum();
    (programs.iter())
        .map(|program| inverse(program) / sum)
        .collect()
}

/// The weighted sum of values, one for each weight.
pub fn weighted(weights: &[f64], values: impl IntoIterator<Item = f64>) -> f64 {
    weights
        .iter()
        .zip(values)
        .map(|(of, value)| of * value)
        .sum()
}

/// The normalised speedup: the ratio of weighted execution times with the misses of one TLB and of
/// another. Each slice has an item for each program.
pub fn normalised_speedup(
    programs: &[MeasuredProgram],
    weights: &[f64],
    base: &[f64],
    new: &[f64],
    penalty: f64,
) -> f64 {
    let time = |misses: &[f64]| {
        let seconds = programs.iter().zip(misses);
        weighted(
            weights,
            seconds.map(|(program, misses)| program.seconds_with(*misses, penalty)),
        )
    };
    time(base) / time(new)
}

/// The critical miss penalty of preloading: the factor by which a handler that preloads may take
/// longer, until it loses. `None` if no miss is left with preloading.
pub fn critical_penalty(without_preloading: f64, with_preloading: f64) -> Option<f64> {
    (with_preloading > 0.0).then(|| without_preloading / with_preloading)
}
