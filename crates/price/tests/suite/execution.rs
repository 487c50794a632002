//! Execution time from misses.

use broadleaf_price::execution::{
    CYCLE, DEFAULT_PENALTY, MeasuredProgram, critical_penalty, normalised_speedup, weights,
};

/// Table 2-2: compress runs for 99 seconds with 21,347 thousand misses, 77.65 seconds without.
const COMPRESS: MeasuredProgram = MeasuredProgram {
    seconds: 99.0,
    misses: 21_347_000.0,
};
const GCC: MeasuredProgram = MeasuredProgram {
    seconds: 118.0,
    misses: 2_440_000.0,
};

#[test]
fn time_without_misses() {
    assert!((40.0 * CYCLE - 1e-6).abs() < 1e-18);
    assert!((COMPRESS.ideal_seconds(DEFAULT_PENALTY) - 77.653).abs() < 1e-9);
    // Table 2-4: 72.32 seconds if a miss takes 50 cycles.
    assert!((COMPRESS.ideal_seconds(50.0) - 72.316).abs() < 0.001);
    assert!((COMPRESS.seconds_with(0.0, 40.0) - 77.653).abs() < 1e-9);
}

/// Without misses, compress would be faster by 1.27 (table 2-2).
#[test]
fn speedup_of_one_program() {
    let speedup = COMPRESS.speedup(COMPRESS.misses, 0.0, DEFAULT_PENALTY);
    assert!((speedup - 1.27).abs() < 0.005);
}

#[test]
fn weights_are_inverse_times_and_sum_to_one() {
    let weights = weights(&[COMPRESS, GCC], DEFAULT_PENALTY);
    assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    assert!((weights[0] / weights[1] - 115.56 / 77.653).abs() < 1e-9);
}

/// The weights make each program's time without misses count the same.
#[test]
fn normalised_speedup_is_a_ratio_of_weighted_times() {
    let programs = [COMPRESS, GCC];
    let weights = weights(&programs, DEFAULT_PENALTY);
    let base = programs.map(|program| program.misses);
    let speedup = normalised_speedup(&programs, &weights, &base, &[0.0, 0.0], DEFAULT_PENALTY);
    let mean = (99.0 / 77.653 + 118.0 / 115.56) / 2.0;
    assert!((speedup - mean).abs() < 1e-9);
    let same = normalised_speedup(&programs, &weights, &base, &base, DEFAULT_PENALTY);
    assert!((same - 1.0).abs() < 1e-12);
}

#[test]
fn critical_penalty_is_a_ratio_of_misses() {
    assert_eq!(critical_penalty(300.0, 100.0), Some(3.0));
    assert_eq!(critical_penalty(300.0, 0.0), None);
}
