//! The result record of mixes: programs that share a machine.

use crate::{CellResult, CoreResult, Provenance};
use serde::Serialize;

/// The name and version of the schema of [`MixComparison`].
pub const MIX_SCHEMA: &str = "broadleaf.mix/1";

/// The result of `compare --together`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MixComparison {
    /// [`MIX_SCHEMA`].
    pub schema: String,
    /// The programs, by core.
    pub programs: Vec<MixedTrace>,
    /// The instructions of each program before the mix began.
    pub skipped: u64,
    /// The instructions of each program after these that ran and were not counted.
    pub warming: u64,
    /// The instructions of each program that are counted; `None` for the rest of its trace.
    pub work: Option<u64>,
    /// The policy under which each program ran alone, for the ratios.
    pub alone_policy: String,
    /// Each program alone on each machine, with all caches to itself.
    pub alone: Vec<AloneResult>,
    /// One result for each policy and machine.
    pub results: Vec<MixResult>,
    /// Remarks that a reader of the numbers needs.
    pub notes: Vec<String>,
    /// The origin of the result.
    pub provenance: Provenance,
}

/// A program of a mix.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MixedTrace {
    /// The name in tables: the file's name without its ending, and a number if it repeats.
    pub name: String,
    /// The path of the trace.
    pub path: String,
    /// The hash of the trace.
    pub hash: String,
    /// Its accesses.
    pub accesses: u64,
}

/// A program alone on a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AloneResult {
    /// The machine's name.
    pub machine: String,
    /// The program's name.
    pub program: String,
    /// Its counts.
    #[serde(flatten)]
    pub counts: CoreResult,
}

/// A mix under one policy on one machine. All ratios of cycles are estimates of an interval model.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MixResult {
    /// The policy's name.
    pub policy: String,
    /// The machine's name.
    pub machine: String,
    /// The sum of the programs' speedups (Snavely and Tullsen 2000). Chen 2014, equation 6, calls
    /// it System_Throughput.
    pub weighted_speedup: Option<f64>,
    /// The harmonic mean of the programs' speedups (Luo and others 2001): throughput and fairness
    /// in one figure.
    pub harmonic_speedup: Option<f64>,
    /// The largest speedup divided by the smallest (Chen 2014, equation 7): 1 is fair.
    pub unfairness: Option<f64>,
    /// The programs, by core.
    pub programs: Vec<MixedProgram>,
    /// The counts of the whole machine until the last program had done its work.
    pub whole: CellResult,
}

/// One program of a mix, when it had done its work.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MixedProgram {
    /// Its name.
    pub program: String,
    /// Instructions of a cycle in the mix.
    pub ipc: Option<f64>,
    /// Instructions of a cycle alone, with base pages and all caches.
    pub ipc_alone: Option<f64>,
    /// The ratio of the two: below 1, the program is slower in the mix. Chen 2014, equation 5,
    /// calls this ratio its Slowdown.
    pub speedup: Option<f64>,
    /// Misses of the last level for each thousand instructions: data, walks and instructions.
    pub llc_mpki: Option<[f64; 3]>,
    /// Page walks for each thousand instructions.
    pub tlb_mpki: Option<f64>,
    /// How often the program began again, so that others had its load.
    pub again: u64,
    /// Its counts.
    #[serde(flatten)]
    pub counts: CoreResult,
}

impl MixedProgram {
    /// A program by its counts in the mix and alone.
    pub fn new(program: &str, counts: CoreResult, alone: Option<&CoreResult>, again: u64) -> Self {
        let thousands = counts.instructions as f64 / 1000.0;
        let is_known = counts.instructions > 0;
        let per_thousand = |events: u64| events as f64 / thousands;
        let ipc_alone = alone.and_then(CoreResult::ipc);
        let ipc = counts.ipc();
        Self {
            program: program.to_owned(),
            ipc,
            ipc_alone,
            speedup: ipc.zip(ipc_alone).map(|(shared, alone)| shared / alone),
            llc_mpki: is_known.then(|| counts.last_level_misses().map(per_thousand)),
            tlb_mpki: is_known.then(|| per_thousand(counts.walks)),
            again,
            counts,
        }
    }
}

impl MixResult {
    /// A mix by its programs. Ratios are there if all programs have them.
    pub fn new(whole: CellResult, programs: Vec<MixedProgram>) -> Self {
        let speedups: Option<Vec<f64>> = programs.iter().map(|one| one.speedup).collect();
        let speedups = speedups.filter(|all| !all.is_empty() && all.iter().all(|one| *one > 0.0));
        let count = programs.len() as f64;
        let of = |fold: fn(&[f64]) -> f64| speedups.as_deref().map(fold);
        Self {
            policy: whole.policy.clone(),
            machine: whole.machine.clone(),
            weighted_speedup: of(|all| all.iter().sum()),
            harmonic_speedup: of(|all| all.iter().map(|one| one.recip()).sum::<f64>())
                .map(|sum| count / sum),
            unfairness: of(|all| {
                let most = all.iter().copied().fold(0.0, f64::max);
                most / all.iter().copied().fold(f64::INFINITY, f64::min)
            }),
            programs,
            whole,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(cycles: u64) -> CoreResult {
        CoreResult {
            instructions: 1000,
            cycles: Some(cycles),
            walks: 5,
            ..CoreResult::default()
        }
    }

    #[test]
    fn ratios_of_a_mix() {
        let alone = counts(1000);
        let programs = [1000, 2000, 4000]
            .map(|cycles| MixedProgram::new("p", counts(cycles), Some(&alone), 0));
        assert_eq!(programs[1].speedup, Some(0.5));
        assert_eq!(programs[1].tlb_mpki, Some(5.0));
        let mix = MixResult::new(CellResult::default(), programs.into());
        assert_eq!(mix.weighted_speedup, Some(1.75));
        assert_eq!(mix.harmonic_speedup, Some(3.0 / 7.0));
        assert_eq!(mix.unfairness, Some(4.0));
        let unknown = MixedProgram::new("p", counts(0), Some(&alone), 0);
        let mix = MixResult::new(CellResult::default(), vec![unknown]);
        assert_eq!(mix.weighted_speedup, None);
    }
}
