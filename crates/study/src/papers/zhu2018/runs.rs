//! Recordings of the programs, and their replays.

use std::ops::ControlFlow;
use std::path::Path;

use broadleaf_metrics::CellResult;
use broadleaf_model::{Outcome, Plan, ReplayProgress, Source as _, StepsWanted};
use broadleaf_record::scratch::{Purpose, Scratch};

use super::block_uses::block_uses;
use super::curves::{CURVE_POLICIES, EndedCurves, MissCurve, listener};
use super::kept::{KeptResults, ResultsFile};
use super::policies::{FREEBSD, GREEDY, POP_64, replayed};
use super::programs::PROGRAMS;
use crate::compare::available_threads;
use crate::failure::{Failure, reason};
use crate::names;
use crate::papers::PaperSetting;
use crate::papers::programs::RecordedProgram;
use crate::papers::recorded::{RecordedDetail, open, recorded};
use crate::watch::Work;

/// The thesis's machine.
pub(super) const MACHINE: &str = "skylake";
/// The machines with one DTLB for both page sizes (6.4).
pub(super) const UNIFIED: [&str; 2] = ["skylake-unified-64", "skylake-unified-96"];
/// The policies on these machines.
pub(super) const UNIFIED_POLICIES: [&str; 2] = [FREEBSD, POP_64];
/// The programs of chapter 4, whose misses are drawn over time.
const DRAWN: [&str; 2] = ["429.mcf", "605.mcf"];
/// The program of the thesis's comparison of DTLBs.
pub(super) const COMPARED: &str = "605.mcf";

/// A program with its results.
pub(super) struct ZhuRun {
    pub(super) program: &'static RecordedProgram,
    pub(super) results: KeptResults,
}

/// All results.
#[derive(Default)]
pub(super) struct ZhuRuns {
    pub(super) runs: Vec<ZhuRun>,
    /// The programs that this computer lacks, each with a missing file.
    pub(super) missing: Vec<(&'static RecordedProgram, &'static str)>,
}

impl ZhuRun {
    /// The result of a policy on the thesis's machine.
    pub(super) fn of(&self, policy: &str) -> Option<&CellResult> {
        let mut cells = self.results.cells.iter();
        cells.find(|cell| cell.policy == policy)
    }

    /// A figure of a policy.
    pub(super) fn figure(&self, policy: &str, figure: impl Fn(&CellResult) -> u64) -> Option<f64> {
        self.of(policy).map(|cell| figure(cell) as f64)
    }

    /// A figure of a policy, divided by that of FreeBSD.
    pub(super) fn to_freebsd(
        &self,
        policy: &str,
        figure: impl Fn(&CellResult) -> u64,
    ) -> Option<f64> {
        let freebsd = self.figure(FREEBSD, &figure).filter(|one| *one > 0.0)?;
        Some(self.figure(policy, figure)? / freebsd)
    }

    /// The reservations of all kinds that the program touched.
    pub(super) fn reservations(&self) -> f64 {
        let promoted = |cell: &CellResult| cell.promotions;
        self.figure(GREEDY, promoted).unwrap_or_default()
    }

    /// The reservations of files that the program touched.
    pub(super) fn file_reservations(&self) -> f64 {
        let promoted = |cell: &CellResult| cell.promotions;
        self.figure(super::policies::FILES, promoted)
            .unwrap_or_default()
    }

    /// The reservations of anonymous and of shared memory that the program touched.
    pub(super) fn anonymous_reservations(&self) -> f64 {
        self.reservations() - self.file_reservations()
    }
}

/// Records and replays each program of the scale.
pub(super) fn all(setting: &PaperSetting) -> Result<ZhuRuns, Failure> {
    let work = Scratch::new(Purpose::Work)
        .map_err(|error| Failure::Failed(format!("a folder for recordings: {}", reason(&error))))?;
    let mut all = ZhuRuns::default();
    let of_scale = PROGRAMS.iter();
    for program in of_scale.filter(|program| program.is_in(setting.scale)) {
        if let Some(file) = program.lacks() {
            log::warn!(
                "{} is left out: there is no {file}; install {}",
                program.name,
                program.packages
            );
            all.missing.push((program, file));
            continue;
        }
        all.runs.push(run(setting, program, work.path())?);
    }
    if all.runs.is_empty() {
        let packages: Vec<&str> = all.missing.iter().map(|(one, _)| one.packages).collect();
        let packages = packages.join(" ");
        return Err(Failure::Failed(format!(
            "no program of zhu2018 is installed: install {packages}"
        )));
    }
    Ok(all)
}

/// Records a program, and replays what an earlier run did not.
fn run(
    setting: &PaperSetting,
    program: &'static RecordedProgram,
    work: &Path,
) -> Result<ZhuRun, Failure> {
    // Other papers and other scales give the same programs other work.
    let name = format!(
        "zhu2018-{}-{}",
        program.name,
        program.work_at(setting.scale)
    );
    let folder = setting.folder.as_deref().unwrap_or(work);
    let expected = folder.join(format!("{name}.bl"));
    let file = ResultsFile::beside(&expected);
    let mut results = match expected.exists() {
        true => file.read(),
        false => KeptResults::default(),
    };
    let mut command = Vec::new();
    if results.command.is_empty() {
        command = program.command(setting.scale, work)?;
        let shown: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
        results.command = shown.join(" ");
    }
    let path = recorded(setting, RecordedDetail::Pages, &name, command, work)?;
    let (_, references) = open(&path)?;
    if results.references != references {
        results = KeptResults {
            command: results.command,
            references,
            ..KeptResults::default()
        };
        file.write(&mut results)?;
    }
    let replay = RunReplay {
        setting,
        name: program.name,
        path: &path,
        references,
    };
    if results.cells.is_empty() {
        let policies: Vec<&str> = replayed().collect();
        results.cells = replay.cells(&policies, &[MACHINE])?;
        file.write(&mut results)?;
    }
    if results.blocks.is_empty() {
        results.blocks = block_uses(&mut open(&path)?.0)?;
        file.write(&mut results)?;
    }
    if results.unified.is_empty() && program.represents == COMPARED {
        results.unified = replay.cells(&UNIFIED_POLICIES, &UNIFIED)?;
        file.write(&mut results)?;
    }
    if results.curves.is_empty() && DRAWN.contains(&program.represents) {
        results.curves = replay.curves()?;
        file.write(&mut results)?;
    }
    if setting.folder.is_none() {
        // The disk need not hold all recordings at the same time.
        let _ = std::fs::remove_file(&path);
    }
    Ok(ZhuRun { program, results })
}

/// The replays of a recording.
pub(super) struct RunReplay<'a> {
    pub(super) setting: &'a PaperSetting,
    pub(super) name: &'a str,
    pub(super) path: &'a Path,
    pub(super) references: u64,
}

impl RunReplay<'_> {
    fn plan(&self, policies: &[&str], machines: &[&str]) -> Result<Plan, Failure> {
        let policies = policies.iter().map(|name| names::policy(name));
        let machines = machines.iter().map(|name| names::machine(name));
        let plan = Plan::new(
            policies.collect::<Result<_, Failure>>()?,
            machines.collect::<Result<_, Failure>>()?,
        );
        Ok(plan
            .map_err(Failure::failed)?
            .on_threads(available_threads()))
    }

    fn of(&self, plan: &Plan) -> Result<Outcome, Failure> {
        let doing = format!("replaying {}", self.name);
        let bar = (self.setting.watch).begin(&doing, Work::Accesses(self.references));
        let mut show = |state: ReplayProgress| {
            bar.set(0, state.accesses);
            ControlFlow::Continue(())
        };
        let (mut trace, _) = open(self.path)?;
        trace.rewind().map_err(Failure::failed)?;
        let outcome = broadleaf_accel::run(&mut trace, plan, &mut show);
        outcome.map_err(|error| Failure::failed(format!("{}: {error}", self.name)))
    }

    /// The results of policies on machines.
    pub(super) fn cells(
        &self,
        policies: &[&str],
        machines: &[&str],
    ) -> Result<Vec<CellResult>, Failure> {
        let outcome = self.of(&self.plan(policies, machines)?)?;
        if outcome.trace.accesses != self.references {
            return Err(Failure::failed(format!(
                "{}: {} of {} references were replayed",
                self.name, outcome.trace.accesses, self.references
            )));
        }
        Ok(outcome.results)
    }

    /// The misses over time.
    fn curves(&self) -> Result<Vec<MissCurve>, Failure> {
        let ended = EndedCurves::default();
        let (curves, references) = (EndedCurves::clone(&ended), self.references);
        let plan = self.plan(&CURVE_POLICIES, &[MACHINE])?;
        let plan = plan.with_listeners(StepsWanted::EachVisit, move |policy, _| {
            Some(listener(policy, references, &curves))
        });
        self.of(&plan)?;
        let ended = ended
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        Ok(ended.clone())
    }
}
