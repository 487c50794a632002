//! Recordings of the programs, and their replays under all designs.

use std::ops::ControlFlow;
use std::path::Path;
use std::thread::{Builder, JoinHandle};

use broadleaf_model::{Files, MemoryLimits, Outcome, Plan, Source};
use broadleaf_price::execution::{CYCLE, DEFAULT_PENALTY, MeasuredProgram};
use broadleaf_record::scratch::{Purpose, Scratch};

use super::designs::{DESIGNS, POLICIES};
use super::programs::{PROGRAMS, RecordedProgram};
use crate::failure::{Failure, reason};
use crate::papers::PaperSetting;
use crate::papers::recorded::recording;
use crate::source::Trace;
use crate::{machines, names};

/// A program that was replayed.
pub(super) struct DesignResults {
    pub(super) program: &'static RecordedProgram,
    pub(super) command: String,
    pub(super) references: u64,
    /// The size of the memory that the program touched, in bytes.
    pub(super) touched: u64,
    /// The TLB misses of each design.
    pub(super) misses: Vec<u64>,
}

/// The results, and the programs that the computer lacks, each with a missing file.
#[derive(Default)]
pub(super) struct AllResults {
    pub(super) runs: Vec<DesignResults>,
    pub(super) missing: Vec<(&'static RecordedProgram, &'static str)>,
}

/// A program that is being replayed.
struct StartedReplay {
    program: &'static RecordedProgram,
    command: String,
    references: u64,
    replays: JoinHandle<Result<Vec<Outcome>, Failure>>,
}

/// Records each program of the scale. Programs are replayed while the next ones are recorded.
pub(super) fn all(setting: &PaperSetting) -> Result<AllResults, Failure> {
    let work = Scratch::new(Purpose::Work)
        .map_err(|error| Failure::Failed(format!("a folder for recordings: {}", reason(&error))))?;
    let mut all = AllResults::default();
    let mut started = Vec::new();
    for program in PROGRAMS
        .iter()
        .filter(|program| program.is_in(setting.scale))
    {
        if let Some(file) = program.lacks() {
            log::warn!(
                "{} is left out: there is no {file}; install {}",
                program.name,
                program.packages
            );
            all.missing.push((program, file));
            continue;
        }
        started.push(begin(setting, program, work.path())?);
    }
    let bar = setting
        .watch
        .begin("replaying", crate::watch::Work::Runs(started.len() as u64));
    for (number, started) in started.into_iter().enumerate() {
        all.runs.push(started.finish()?);
        bar.set(0, number as u64 + 1);
    }
    Ok(all)
}

fn begin(
    setting: &PaperSetting,
    program: &'static RecordedProgram,
    work: &Path,
) -> Result<StartedReplay, Failure> {
    let command = program.command(setting.scale, work)?;
    let shown: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
    let shown = shown.join(" ");
    // Other papers give the same programs other work.
    let name = format!("talluri1995-{}", program.name);
    let (mut trace, references) = recording(setting, &name, command, work)?;
    let thread = Builder::new().name(name);
    let replays = thread
        .spawn(move || {
            POLICIES
                .iter()
                .map(|policy| replay(&mut trace, references, policy))
                .collect()
        })
        .map_err(|error| Failure::failed(format!("a thread: {}", reason(&error))))?;
    Ok(StartedReplay {
        program,
        command: shown,
        references,
        replays,
    })
}

/// Replays a trace under one policy, for the designs that are compared under it.
fn replay(trace: &mut Trace, references: u64, policy: &str) -> Result<Outcome, Failure> {
    let designs = DESIGNS.iter().filter(|design| design.policy == policy);
    let grids: Vec<String> = designs.map(|design| design.grid.to_owned()).collect();
    let limits = MemoryLimits {
        files: Files::InMemory,
        ..MemoryLimits::none()
    };
    let plan = Plan::within_one_memory(
        vec![names::policy(policy)?],
        machines::machines(&grids)?,
        limits,
    );
    let plan = plan.map_err(Failure::failed)?.on_threads(1);
    // A replay reads on from where the last one ended.
    trace.rewind().map_err(Failure::failed)?;
    let mut go_on = |_| ControlFlow::Continue(());
    let outcome = broadleaf_accel::run(trace, &plan, &mut go_on)
        .map_err(|error| Failure::failed(format!("{}: {error}", trace.name())))?;
    match outcome.trace.accesses == references {
        true => Ok(outcome),
        false => Err(Failure::failed(format!(
            "{}: {} of {references} references were replayed",
            trace.name(),
            outcome.trace.accesses
        ))),
    }
}

impl StartedReplay {
    fn finish(self) -> Result<DesignResults, Failure> {
        let name = self.program.name;
        let replays = self.replays.join();
        let outcomes =
            replays.map_err(|_| Failure::failed(format!("the replay of {name} stopped")))??;
        let mut misses = Vec::new();
        let mut touched = 0;
        for design in &DESIGNS {
            let mut cells = outcomes.iter().flat_map(|outcome| &outcome.results);
            let cell = cells
                .find(|cell| cell.machine == design.grid && cell.policy == design.policy)
                .ok_or_else(|| Failure::failed(format!("{name} has no {}", design.name)))?;
            misses.push(cell.l2_misses);
            touched = touched.max(cell.touched_pages << 12);
        }
        Ok(DesignResults {
            program: self.program,
            command: self.command,
            references: self.references,
            touched,
            misses,
        })
    }
}

impl DesignResults {
    /// The place of a design among the results.
    pub(super) fn place(design: &str) -> usize {
        let place = DESIGNS.iter().position(|known| known.name == design);
        place.unwrap_or_default()
    }

    /// The misses of a design.
    pub(super) fn of(&self, design: &str) -> u64 {
        self.misses[Self::place(design)]
    }

    /// The misses in a thousand references.
    pub(super) fn rate(&self, design: usize) -> f64 {
        1000.0 * self.misses[design] as f64 / self.references.max(1) as f64
    }

    /// The program on the thesis's machine: each reference takes the same number of cycles, and
    /// each miss of the reference TLB the thesis's penalty.
    pub(super) fn measured(&self, cycles_per_access: f64) -> MeasuredProgram {
        let misses = self.misses[0] as f64;
        let ideal = self.references as f64 * cycles_per_access;
        MeasuredProgram {
            seconds: (ideal + misses * DEFAULT_PENALTY) * CYCLE,
            misses,
        }
    }
}
