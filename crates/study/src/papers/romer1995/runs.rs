//! One run of every program under every policy, for all tables.

use std::collections::BTreeMap;

use broadleaf_metrics::CellResult;
use broadleaf_model::{LeftCharges, Outcome};

use super::policies::{MACHINE, POLICIES, memory};
use super::programs::PROGRAMS;
use super::real;
use crate::failure::Failure;
use crate::papers::generated::GeneratedTrace;
use crate::papers::replay::PaperReplay;
use crate::papers::{PaperSetting, Scale};

/// The result of a program under a policy.
#[derive(Clone, Debug, Default)]
pub(super) struct PolicyResult {
    pub(super) misses: u64,
    /// Cycles of misses.
    pub(super) walking: u64,
    /// Cycles of charging them.
    pub(super) bookkeeping: u64,
    /// Cycles of promotions; zero with pages of one size.
    pub(super) copying: u64,
    /// The peak of base pages held.
    pub(super) peak_pages: u64,
    /// The base pages held at the end, by the size in bytes of the mapping pages.
    pub(super) pages: BTreeMap<u64, u64>,
    /// The pages held at the end, as frames count them.
    pub(super) resident_pages: u64,
}

impl PolicyResult {
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

/// A program with its results under each policy.
#[derive(Debug)]
pub(super) struct ProgramRun {
    /// The program of the paper, or the name of a recording that represents none.
    pub(super) program: &'static str,
    /// True for a recording of a real program.
    pub(super) recorded: bool,
    pub(super) accesses: u64,
    pub(super) instructions: u64,
    by_policy: BTreeMap<&'static str, PolicyResult>,
    /// The charges of pieces that OFFLINE does not promote.
    pub(super) left: Vec<LeftCharges>,
}

impl ProgramRun {
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
            .map(|((name, _), result)| Ok((*name, PolicyResult::of(result)?)))
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

    /// The owner of the figures.
    pub(super) const fn whose(&self) -> &'static str {
        if self.recorded { "recorded" } else { "kernel" }
    }

    /// The result under a policy, if there is one.
    pub(super) fn under(&self, policy: &str) -> Option<&PolicyResult> {
        self.by_policy.get(policy)
    }

    /// TLBMCPI (section 3) of this number of cycles.
    pub(super) fn per_instruction(&self, cycles: u64) -> f64 {
        cycles as f64 / self.instructions.max(1) as f64
    }

    /// TLBMCPI under a policy.
    pub(super) fn tlbmcpi(&self, policy: &str) -> Option<f64> {
        let measured = self.under(policy)?;
        Some(self.per_instruction(measured.cycles()))
    }

    /// The estimated total of cycles under a policy.
    pub(super) fn time(&self, setting: &PaperSetting, policy: &str) -> Option<f64> {
        let accesses = self.accesses as f64 * setting.cycles_per_access;
        Some(accesses + self.under(policy)?.cycles() as f64)
    }

    /// The speedup over base pages alone, in percent.
    pub(super) fn improvement(&self, setting: &PaperSetting, policy: &str) -> Option<f64> {
        let base = self.time(setting, "4k")?;
        Some(100.0 * (1.0 - self.time(setting, policy)? / base.max(1.0)))
    }

    /// The remaining share of the misses at 4 KiB, in percent.
    pub(super) fn misses_left(&self, policy: &str) -> Option<f64> {
        let base = self.under("4k")?.misses.max(1);
        Some(100.0 * self.under(policy)?.misses as f64 / base as f64)
    }

    /// The excess of peak memory over base pages alone, in percent.
    pub(super) fn memory_overhead(&self, policy: &str) -> Option<f64> {
        let base = self.under("4k")?.peak_pages.max(1) as f64;
        Some(100.0 * (self.under(policy)?.peak_pages as f64 / base - 1.0))
    }
}

/// All programs of this scale.
pub(super) fn all(setting: &PaperSetting) -> Result<Vec<ProgramRun>, Failure> {
    let scale = setting.scale;
    let mut runs = Vec::new();
    for program in PROGRAMS {
        let trace = GeneratedTrace::new(move || program.say(scale));
        let outcome = replay(setting, program.name, &policies()).generated(trace)?;
        runs.push(ProgramRun::of(program.name, false, &outcome)?);
    }
    if scale == Scale::Full {
        runs.extend(real::all(setting)?);
    }
    Ok(runs)
}

/// The compared policies, by their catalogue names.
pub(super) fn policies() -> Vec<&'static str> {
    POLICIES.iter().map(|(_, policy)| *policy).collect()
}

/// A replay under all policies.
pub(super) fn replay<'a>(
    setting: &PaperSetting,
    doing: &'a str,
    policies: &'a [&'a str],
) -> PaperReplay<'a> {
    PaperReplay {
        watch: setting.watch,
        doing,
        machine: MACHINE,
        policies,
        limits: memory(),
        interim: Vec::new(),
    }
}
