//! Synthetic visits for tests and benchmarks. The same arguments give the same visits on every
//! machine.

use crate::visit::Visit;

pub use broadleaf_units::SplitMix64;

/// Sweeps `passes` times over `units` units from `first` on, with `loads` loads in each unit.
///
/// ```
/// let visits: Vec<_> = broadleaf_trace::synth::sequential(7, 3, 512, 2).collect();
/// assert_eq!(visits.len(), 6);
/// assert_eq!((visits[4].unit, visits[4].loads), (8, 512));
/// ```
pub fn sequential(
    first: u64,
    units: u64,
    loads: u32,
    passes: u64,
) -> impl Iterator<Item = Visit> + Clone {
    (0..passes).flat_map(move |_| (first..first + units).map(move |unit| of_loads(unit, loads)))
}

/// Makes `updates` updates of random units among `units` units from `first` on. An update is a load
/// and a store of the same address, as in the RandomAccess benchmark (GUPS; Luszczek et al. 2006).
pub fn updates(
    first: u64,
    units: u64,
    updates: u64,
    seed: u64,
) -> impl Iterator<Item = Visit> + Clone {
    let mut random = SplitMix64::new(seed);
    (0..updates).map(move |_| Visit {
        unit: first + random.below(units),
        loads: 1,
        stores: 1,
        loads_before_store: 1,
        ..Visit::default()
    })
}

/// Makes `loads` loads among `units` units from `first` on. The k-th most frequent unit has 1/k of
/// the probability of the most frequent unit (Zipf's law with exponent 1). Frequent units are
/// spread among the others.
///
/// The iterator keeps 8 bytes for each unit.
pub fn zipf(first: u64, units: u64, loads: u64, seed: u64) -> impl Iterator<Item = Visit> + Clone {
    let mut random = SplitMix64::new(seed);
    // Weights are integers, so that all machines draw the same units.
    const ONE: u64 = 1 << 32;
    let mut sum = 0;
    let sums: Vec<u64> = (1..=units)
        .map(|rank| {
            sum += (ONE / rank).max(1);
            sum
        })
        .collect();
    let step = coprime(units);
    (0..loads).map(move |_| {
        let drawn = random.below(sum);
        let rank = sums.partition_point(|&end| end <= drawn) as u64;
        let unit = first + ((u128::from(rank) * u128::from(step)) % u128::from(units)) as u64;
        of_loads(unit, 1)
    })
}

/// A number near the golden section of `units` that is coprime to `units`. Its multiples reach
/// every unit.
fn coprime(units: u64) -> u64 {
    let divisor = |mut a: u64, mut b: u64| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let golden = ((u128::from(units) * 0x9e37_79b9_7f4a_7c15) >> 64) as u64;
    (golden.max(1)..)
        .find(|&step| divisor(step, units) == 1)
        .unwrap_or(1)
}

const fn of_loads(unit: u64, loads: u32) -> Visit {
    Visit {
        unit,
        loads,
        stores: 0,
        loads_before_store: loads,
        instructions: 0,
        lead: crate::Lead::None,
        fetch: false,
        execution: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zipf_draws_the_first_of_four_about_half_the_time() {
        // 1 + 1/2 + 1/3 + 1/4 = 25/12: shares of 48, 24, 16 and 12 percent.
        let mut counts = [0u32; 4];
        for visit in zipf(10, 4, 100_000, 1) {
            counts[(visit.unit - 10) as usize] += 1;
        }
        counts.sort_unstable();
        for (count, share) in counts.into_iter().zip([12_000, 16_000, 24_000, 48_000]) {
            assert!(count.abs_diff(share) < 600, "{counts:?}");
        }
    }

    #[test]
    fn every_unit_is_reached() {
        for units in 1..50 {
            let step = coprime(units);
            let mut seen: Vec<u64> = (0..units).map(|rank| rank * step % units).collect();
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..units), "{units}");
            assert!(updates(3, units, 100, 9).all(|visit| (3..3 + units).contains(&visit.unit)));
        }
    }
}
