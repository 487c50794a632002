//! Every program under every policy, once: what all tables look at.

use std::collections::BTreeMap;

use broadleaf_metrics::CellResult;
use broadleaf_model::{LeftCharges, Outcome};

use super::policies::{MACHINE, POLICIES, memory};
use super::programs::PROGRAMS;
use super::real;
use crate::failure::Failure;
use crate::papers::generated::Generated;
use crate::papers::replay::Replay;
use crate::papers::{Scale, Setting};

/// What a program came to under a policy.
#[derive(Clone, Debug, Default)]
pub(super) struct Measured {
    pub(super) misses: u64,
    /// Cycles of misses.
    pub(super) walking: u64,
    /// Cycles of charging them.
    pub(super) bookkeeping: u64,
    /// Cycles of promotions; none with pages of one size.
    pub(super) copying: u64,
    /// The most base pages that were held at a time.
    pub(super) peak_pages: u64,
    /// How many base pages were held at the end, by the size in bytes of the pages that map them.
    pub(super) pages: BTreeMap<u64, u64>,
    /// The same as the frames count it.
    pub(super) resident_pages: u64,
}

impl Measured {
    fn of(result: &CellResult) -> Result<Self, Failure> {
        let memory = result.memory.as_ref();
        let memory = memory.ok_or_else(|| Failure::failed("a replay without memory"))?;
        Ok(Self {
            misses: result.l2_misses,
            walking: result.walk_cycles,
            bookkeeping: memory.bookkeeping_cycles,
            copying: memory.copy_cycles,
            peak_pages: result.peak_resident_pages,
            pages: memory.page_sizes.clone(),
            resident_pages: result.resident_pages,
        })
    }

    /// All cycles in service of the TLB.
    pub(super) fn cycles(&self) -> u64 {
        self.walking + self.bookkeeping + self.copying
    }
}

/// A program, and what it came to under each policy.
#[derive(Debug)]
pub(super) struct Run {
    /// The program of the paper, or that of a recording that stands for none.
    pub(super) program: &'static str,
    /// Whether a real program was recorded.
    pub(super) recorded: bool,
    pub(super) accesses: u64,
    pub(super) instructions: u64,
    by_policy: BTreeMap<&'static str, Measured>,
    /// The charges of pieces that OFFLINE does not promote.
    pub(super) left: Vec<LeftCharges>,
}

impl Run {
    pub(super) fn of(
        program: &'static str,
        recorded: bool,
        outcome: &Outcome,
    ) -> Result<Self, Failure> {
        Ok(Self {
            recorded,
            ..Self::under_these(program, &POLICIES, outcome)?
        })
    }

    /// A kernel under these policies, given as pairs of the name in tables and the policy's name.
    pub(super) fn under_these(
        program: &'static str,
        policies: &[(&'static str, &'static str)],
        outcome: &Outcome,
    ) -> Result<Self, Failure> {
        let cells = policies.iter().zip(&outcome.results);
        let by_policy: Result<_, Failure> = cells
            .map(|((name, _), result)| Ok((*name, Measured::of(result)?)))
            .collect();
        Ok(Self {
            program,
            recorded: false,
            accesses: outcome.trace.accesses,
            instructions: outcome.trace.instructions,
            by_policy: by_policy?,
            left: (outcome.choices.first()).map_or_else(Vec::new, |choice| choice.left.clone()),
        })
    }

    /// Whose figures these are.
    pub(super) const fn whose(&self) -> &'static str {
        if self.recorded { "recorded" } else { "kernel" }
    }

    /// Under a policy, if there is such a one.
    pub(super) fn under(&self, policy: &str) -> Option<&Measured> {
        self.by_policy.get(policy)
    }

    /// TLBMCPI (section 3), of so many cycles.
    pub(super) fn per_instruction(&self, cycles: u64) -> f64 {
        cycles as f64 / self.instructions.max(1) as f64
    }

    /// TLBMCPI under a policy.
    pub(super) fn tlbmcpi(&self, policy: &str) -> Option<f64> {
        let measured = self.under(policy)?;
        Some(self.per_instruction(measured.cycles()))
    }

    /// All that it takes under a policy, in cycles: an estimate.
    pub(super) fn time(&self, setting: &Setting, policy: &str) -> Option<f64> {
        let accesses = self.accesses as f64 * setting.cycles_per_access;
        Some(accesses + self.under(policy)?.cycles() as f64)
    }

    /// By how many percent it is faster than with base pages alone.
    pub(super) fn improvement(&self, setting: &Setting, policy: &str) -> Option<f64> {
        let base = self.time(setting, "4k")?;
        Some(100.0 * (1.0 - self.time(setting, policy)? / base.max(1.0)))
    }

    /// Which part of the misses at 4 KiB is left, in percent.
    pub(super) fn misses_left(&self, policy: &str) -> Option<f64> {
        let base = self.under("4k")?.misses.max(1);
        Some(100.0 * self.under(policy)?.misses as f64 / base as f64)
    }

    /// By how many percent more memory is held at the peak than with base pages alone.
    pub(super) fn memory_overhead(&self, policy: &str) -> Option<f64> {
        let base = self.under("4k")?.peak_pages.max(1) as f64;
        Some(100.0 * (self.under(policy)?.peak_pages as f64 / base - 1.0))
    }
}

/// Every program of this scale.
pub(super) fn all(setting: &Setting) -> Result<Vec<Run>, Failure> {
    let scale = setting.scale;
    let mut runs = Vec::new();
    for program in PROGRAMS {
        let trace = Generated::new(move || program.say(scale));
        let outcome = replay(setting, program.name, &policies()).generated(trace)?;
        runs.push(Run::of(program.name, false, &outcome)?);
    }
    if scale == Scale::Full {
        runs.extend(real::all(setting)?);
    }
    Ok(runs)
}

/// What is compared, as the catalogue calls it.
pub(super) fn policies() -> Vec<&'static str> {
    POLICIES.iter().map(|(_, policy)| *policy).collect()
}

/// A replay under all of them.
pub(super) fn replay<'a>(setting: &Setting, doing: &'a str, policies: &'a [&'a str]) -> Replay<'a> {
    Replay {
        watch: setting.watch,
        doing,
        machine: MACHINE,
        policies,
        limits: memory(),
        interim: Vec::new(),
    }
}
