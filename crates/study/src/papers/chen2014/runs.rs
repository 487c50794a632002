//! Recordings of the programs, each program alone, and the mixes under all schemes.

use std::path::{Path, PathBuf};

use broadleaf_metrics::{CoreResult, MixResult, MixedProgram};
use broadleaf_model::MixWork;
use broadleaf_record::scratch::{Purpose, Scratch};
use broadleaf_report::BASELINE;

use super::programs::{PROGRAMS, program_for};
use super::published::{PublishedMix, mixes};
use super::schemes::{alone_in, original_machine, schemes};
use crate::failure::{Failure, reason};
use crate::mix::{MixRun, MixRunning, MixedPart, run_all};
use crate::papers::programs::RecordedProgram;
use crate::papers::recorded::{RecordedDetail, open, recorded};
use crate::papers::{PaperSetting, Scale};

/// The shares of the last level in which each program runs alone, in eighths (figure 3).
pub(super) const SHARES: [u32; 4] = [1, 2, 4, 8];

/// The loss of IPC that a program's share may cost, in percent.
const TOLERATED_LOSS: f64 = 2.0;

/// A program that was recorded.
pub(super) struct RecordedAlone {
    pub(super) program: &'static RecordedProgram,
    pub(super) command: String,
    pub(super) instructions: u64,
    pub(super) accesses: u64,
    part: MixedPart,
    /// The program alone with base pages and the whole last level.
    alone: CoreResult,
    /// The IPC alone in each share of the last level.
    pub(super) ipc_in: [f64; 4],
}

impl RecordedAlone {
    /// The share of the last level that the program needs, in eighths: the least share that loses
    /// at most [`TOLERATED_LOSS`] of the IPC in the whole.
    pub(super) fn need(&self) -> u32 {
        let whole = self.ipc_in[SHARES.len() - 1];
        let is_enough = |(ipc, _): &(&f64, &u32)| **ipc >= whole * (1.0 - TOLERATED_LOSS / 100.0);
        let mut shares = self.ipc_in.iter().zip(&SHARES);
        shares.find(is_enough).map_or(8, |(_, eighths)| *eighths)
    }
}

/// A mix under all schemes.
pub(super) struct MixedSchemes {
    pub(super) mix: PublishedMix,
    /// Our programs, by core.
    pub(super) programs: Vec<&'static str>,
    /// Their needs, in eighths.
    pub(super) needs: Vec<u32>,
    /// The result of each scheme.
    pub(super) schemes: Vec<MixResult>,
}

/// All results.
pub(super) struct ChenRuns {
    pub(super) programs: Vec<RecordedAlone>,
    /// The programs that this computer lacks, each with a missing file.
    pub(super) missing: Vec<(&'static RecordedProgram, &'static str)>,
    pub(super) mixes: Vec<MixedSchemes>,
    /// The instructions of each program that count.
    pub(super) counted: u64,
}

/// The instructions that warm the caches, and those that count.
const fn window(scale: Scale) -> [u64; 2] {
    match scale {
        Scale::Tiny => [100_000, 1_000_000],
        Scale::Quick => [1_000_000, 3_000_000],
        Scale::Full => [10_000_000, 50_000_000],
    }
}

/// Records the programs, and runs them alone and in mixes.
pub(super) fn all(setting: &PaperSetting) -> Result<ChenRuns, Failure> {
    let work = Scratch::new(Purpose::Work)
        .map_err(|error| Failure::Failed(format!("a folder for recordings: {}", reason(&error))))?;
    let [warming, counted] = window(setting.scale);
    let (mut programs, mut missing) = (Vec::new(), Vec::new());
    let of_scale = PROGRAMS.iter();
    for program in of_scale.filter(|program| program.is_in(setting.scale)) {
        if let Some(file) = program.lacks() {
            log::warn!(
                "{} is left out, with its mixes: there is no {file}; install {}",
                program.name,
                program.packages
            );
            missing.push((program, file));
            continue;
        }
        programs.push(record(setting, program, work.path(), warming, counted)?);
    }
    run_alone(setting, &mut programs)?;
    let mixes = run_mixes(setting, &programs)?;
    Ok(ChenRuns {
        programs,
        missing,
        mixes,
        counted,
    })
}

/// Records a program. Its counts begin after three fifths of its instructions.
fn record(
    setting: &PaperSetting,
    program: &'static RecordedProgram,
    work: &Path,
    warming: u64,
    counted: u64,
) -> Result<RecordedAlone, Failure> {
    let command = program.command(setting.scale, work)?;
    let shown: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
    let shown = shown.join(" ");
    let name = format!(
        "chen2014-{}-{}",
        program.name,
        program.work_at(setting.scale)
    );
    let path: PathBuf = recorded(setting, RecordedDetail::Lines, &name, command, work)?;
    let (trace, accesses) = open(&path)?;
    let instructions = trace.totals().map_or(0, |totals| totals.instructions);
    let skipped = instructions / 5 * 3;
    if instructions < skipped + warming + counted {
        return Err(Failure::failed(format!(
            "{} ran {instructions} instructions, too few to count {counted}",
            program.name
        )));
    }
    Ok(RecordedAlone {
        program,
        command: shown,
        instructions,
        accesses,
        part: MixedPart {
            path,
            work: MixWork {
                skipped,
                warming,
                counted: Some(counted),
            },
        },
        alone: CoreResult::default(),
        ipc_in: [0.0; 4],
    })
}

/// The setting of all replays: memory never runs short.
fn running<'a>(setting: &PaperSetting) -> MixRunning<'a> {
    MixRunning {
        limits: None,
        max_accesses: None,
        threads: None,
        watch: setting.watch,
    }
}

/// Runs each program alone, with base pages and in each share of the last level.
fn run_alone(setting: &PaperSetting, programs: &mut [RecordedAlone]) -> Result<(), Failure> {
    let machine = original_machine()?;
    let policies = [BASELINE.to_owned()]
        .into_iter()
        .chain(SHARES.map(alone_in))
        .collect::<Vec<String>>();
    let runs: Vec<MixRun> = programs
        .iter()
        .flat_map(|program| {
            let part = std::slice::from_ref(&program.part);
            let each = policies.iter();
            each.map(|policy| MixRun::new(&machine, policy, part))
        })
        .collect();
    let outcomes = run_all(&runs, &running(setting))?;
    for (program, outcomes) in programs.iter_mut().zip(outcomes.chunks(policies.len())) {
        let mut alone = outcomes.iter().filter_map(|one| one.programs.first());
        program.alone = alone.next().cloned().unwrap_or_default();
        for (ipc, counts) in program.ipc_in.iter_mut().zip(alone) {
            *ipc = counts.ipc().unwrap_or_default();
        }
    }
    Ok(())
}

/// Runs the mixes whose programs were all recorded.
fn run_mixes(
    setting: &PaperSetting,
    programs: &[RecordedAlone],
) -> Result<Vec<MixedSchemes>, Failure> {
    let recorded = |represented: &str| {
        let program = program_for(represented)?;
        let is_it = |one: &&RecordedAlone| one.program.name == program.name;
        programs.iter().find(is_it)
    };
    let mut of_mixes: Vec<(PublishedMix, Vec<&RecordedAlone>)> = Vec::new();
    for mix in mixes()? {
        let programs: Option<Vec<_>> = mix.programs.into_iter().map(recorded).collect();
        of_mixes.extend(programs.map(|programs| (mix, programs)));
    }
    let mut runs = Vec::new();
    for (_, programs) in &of_mixes {
        let needs: Vec<u32> = programs.iter().map(|one| one.need()).collect();
        let parts: Vec<MixedPart> = programs.iter().map(|one| one.part.clone()).collect();
        for scheme in schemes(setting.scale) {
            let policy = scheme.policy(&needs);
            runs.push(MixRun::new(&scheme.machine()?, &policy, &parts));
        }
    }
    let mut outcomes = run_all(&runs, &running(setting))?.into_iter();
    let count = schemes(setting.scale).count();
    let results = of_mixes.into_iter().map(|(mix, programs)| {
        let of_scheme = outcomes.by_ref().take(count).map(|outcome| {
            let counts = programs.iter().zip(outcome.programs).zip(outcome.again);
            let programs = counts.map(|((one, counts), again)| {
                MixedProgram::new(one.program.name, counts, Some(&one.alone), again)
            });
            let programs = programs.collect();
            MixResult::new(outcome.whole, programs)
        });
        MixedSchemes {
            mix,
            programs: programs.iter().map(|one| one.program.name).collect(),
            needs: programs.iter().map(|one| one.need()).collect(),
            schemes: of_scheme.collect(),
        }
    });
    Ok(results.collect())
}
