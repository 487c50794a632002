//! Recordings of the programs, and their replays in all worlds.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use broadleaf_model::{Outcome, Plan, Source};
use broadleaf_price::execution::{CYCLE, DEFAULT_PENALTY, MeasuredProgram};
use broadleaf_record::scratch::{Purpose, Scratch};
use broadleaf_units::PageSize;

use super::counts::{CountsFile, DesignCounts, WorldCounts};
use super::designs::DESIGNS;
use super::programs::PROGRAMS;
use super::worlds::{World, are_whole, worlds};
use crate::compare::available_threads;
use crate::failure::{Failure, reason};
use crate::papers::PaperSetting;
use crate::papers::programs::RecordedProgram;
use crate::papers::recorded::{RecordedDetail, open, recorded};
use crate::watch::Work;
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
    worlds: Vec<WorldCounts>,
}

/// The results, and the programs that the computer lacks, each with a missing file.
#[derive(Default)]
pub(super) struct AllResults {
    pub(super) runs: Vec<DesignResults>,
    pub(super) missing: Vec<(&'static RecordedProgram, &'static str)>,
}

/// A program that was recorded, with the counts so far.
struct RecordedRun {
    program: &'static RecordedProgram,
    command: String,
    path: PathBuf,
    references: u64,
    file: CountsFile,
    counts: Vec<WorldCounts>,
}

/// A program to replay in one world, and then in others.
struct ReplayTask {
    program: usize,
    path: PathBuf,
    worlds: Vec<usize>,
    /// The peak of base pages, if it is known.
    peak: Option<u64>,
}

/// The counts of a program in a world.
type Counted = Result<(usize, WorldCounts), Failure>;

/// The replays of all programs, on a thread for each processor.
struct Replays {
    worlds: Vec<(World, Vec<&'static str>)>,
    tasks: Mutex<Receiver<ReplayTask>>,
    /// The accesses that each thread has replayed.
    accesses: Vec<AtomicU64>,
    /// Set if a replay or a recording failed.
    stops: AtomicBool,
}

/// Records each program of the scale. Programs are replayed while the next ones are recorded.
pub(super) fn all(setting: &PaperSetting) -> Result<AllResults, Failure> {
    let work = Scratch::new(Purpose::Work)
        .map_err(|error| Failure::Failed(format!("a folder for recordings: {}", reason(&error))))?;
    let (send, tasks) = channel();
    let (counted, results) = channel();
    let replays = Replays {
        worlds: worlds(),
        tasks: Mutex::new(tasks),
        accesses: (0..available_threads())
            .map(|_| AtomicU64::new(0))
            .collect(),
        stops: AtomicBool::new(false),
    };
    std::thread::scope(|scope| {
        for accesses in &replays.accesses {
            let (replays, counted) = (&replays, counted.clone());
            scope.spawn(move || replays.work(accesses, &counted));
        }
        drop(counted);
        let all = record_all(setting, &replays, work.path(), send, &results);
        // The threads end, and the scope with them, if a step failed.
        replays.stops.fetch_or(all.is_err(), Ordering::Relaxed);
        all
    })
}

/// Records the programs, and collects the counts of their replays.
fn record_all(
    setting: &PaperSetting,
    replays: &Replays,
    work: &Path,
    tasks: Sender<ReplayTask>,
    results: &Receiver<Counted>,
) -> Result<AllResults, Failure> {
    let mut missing = Vec::new();
    let mut runs: Vec<RecordedRun> = Vec::new();
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
            missing.push((program, file));
            continue;
        }
        let run = record(setting, program, work)?;
        for task in replays.tasks_of(runs.len(), &run) {
            let sent = tasks.send(task);
            sent.map_err(|_| Failure::failed("the replays stopped"))?;
        }
        runs.push(run);
        while let Ok(result) = results.try_recv() {
            note(&mut runs, replays.worlds.len(), result?)?;
        }
    }
    // The threads end when no task is left.
    drop(tasks);
    collect(setting, replays, &mut runs, results)?;
    let runs: Result<Vec<DesignResults>, Failure> =
        runs.into_iter().map(DesignResults::of).collect();
    Ok(AllResults {
        runs: runs?,
        missing,
    })
}

/// Records a program, and reads the counts that an earlier run kept.
fn record(
    setting: &PaperSetting,
    program: &'static RecordedProgram,
    work: &Path,
) -> Result<RecordedRun, Failure> {
    let command = program.command(setting.scale, work)?;
    let shown: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
    let shown = shown.join(" ");
    // Other papers and other scales give the same programs other work.
    let name = format!(
        "talluri1995-{}-{}",
        program.name,
        program.work_at(setting.scale)
    );
    let path = recorded(setting, RecordedDetail::Pages, &name, command, work)?;
    let (_, references) = open(&path)?;
    let file = CountsFile::beside(&path);
    let mut counts = file.read();
    counts.retain(|world| world.references == references && are_whole(world));
    Ok(RecordedRun {
        program,
        command: shown,
        references,
        counts,
        file,
        path,
    })
}

/// Adds the counts of a program to those before, and keeps all of them in its file.
fn note(
    runs: &mut [RecordedRun],
    worlds: usize,
    (program, counts): (usize, WorldCounts),
) -> Result<(), Failure> {
    let run = &mut runs[program];
    if counts.references != run.references {
        return Err(Failure::failed(format!(
            "{}: {} of {} references were replayed",
            run.program.name, counts.references, run.references
        )));
    }
    run.counts.push(counts);
    run.file.write(&run.counts)?;
    if run.counts.len() == worlds {
        let whole = runs.iter().filter(|run| run.counts.len() == worlds);
        let whole = whole.count();
        let name = runs[program].program.name;
        log::info!("{name} is replayed: {whole} programs are done");
    }
    Ok(())
}

/// Waits for the counts that are missing, and shows the progress.
fn collect(
    setting: &PaperSetting,
    replays: &Replays,
    runs: &mut [RecordedRun],
    results: &Receiver<Counted>,
) -> Result<(), Failure> {
    let worlds = replays.worlds.len();
    let before: u64 = replays.accesses();
    let left = |run: &RecordedRun| run.references * (worlds - run.counts.len()) as u64;
    let left: u64 = runs.iter().map(left).sum();
    let bar = setting.watch.begin("replaying", Work::Accesses(left));
    while runs.iter().any(|run| run.counts.len() < worlds) {
        match results.recv_timeout(Duration::from_millis(200)) {
            Ok(result) => note(runs, worlds, result?)?,
            Err(RecvTimeoutError::Timeout) => bar.set(0, replays.accesses() - before),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::failed("a replay ended without its counts"));
            }
        }
    }
    Ok(())
}

impl Replays {
    /// The accesses that were replayed so far.
    fn accesses(&self) -> u64 {
        let each = self.accesses.iter();
        each.map(|accesses| accesses.load(Ordering::Relaxed)).sum()
    }

    /// The replays that a program lacks. Worlds with short memory follow the world of base pages.
    fn tasks_of(&self, program: usize, run: &RecordedRun) -> Vec<ReplayTask> {
        let counted = |world: &World| {
            let name = world.name();
            run.counts.iter().find(|counts| counts.world == name)
        };
        let lacking = |worlds: Vec<usize>| {
            let lacks = |number: &usize| counted(&self.worlds[*number].0).is_none();
            worlds.into_iter().filter(lacks).collect::<Vec<usize>>()
        };
        let all = || 0..self.worlds.len();
        let is_short = |number: &usize| self.worlds[*number].0.is_short();
        let first = [0].into_iter().chain(all().filter(is_short)).collect();
        let alone = all().skip(1).filter(|number| !is_short(number));
        let groups = [first].into_iter().chain(alone.map(|number| vec![number]));
        let peak = counted(&self.worlds[0].0).map(peak_of);
        groups
            .map(lacking)
            .filter(|worlds| !worlds.is_empty())
            .map(|worlds| ReplayTask {
                program,
                path: run.path.clone(),
                worlds,
                peak,
            })
            .collect()
    }

    /// Takes tasks until none is left.
    fn work(&self, accesses: &AtomicU64, counted: &Sender<Counted>) {
        loop {
            let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
            let Ok(task) = tasks.recv() else {
                return;
            };
            drop(tasks);
            if self.stops.load(Ordering::Relaxed) {
                return;
            }
            let mut peak = task.peak;
            for number in &task.worlds {
                let result = self.replay(&task.path, *number, peak.unwrap_or(0), accesses);
                if let Ok(counts) = &result {
                    peak = peak.or(Some(peak_of(counts)));
                }
                let failed = result.is_err();
                let sent = counted.send(result.map(|counts| (task.program, counts)));
                if failed || sent.is_err() || self.stops.load(Ordering::Relaxed) {
                    return;
                }
            }
        }
    }

    /// Replays a recording in one world.
    fn replay(
        &self,
        path: &Path,
        number: usize,
        peak: u64,
        replayed: &AtomicU64,
    ) -> Result<WorldCounts, Failure> {
        let (world, grids) = &self.worlds[number];
        let grids: Vec<String> = grids.iter().map(|grid| (*grid).to_owned()).collect();
        let plan = Plan::within_one_memory(
            vec![names::policy(world.policy)?],
            machines::machines(&grids)?,
            world.limits(peak),
        );
        let plan = plan.map_err(Failure::failed)?.on_threads(1);
        let (mut trace, _) = open(path)?;
        let before = replayed.load(Ordering::Relaxed);
        let mut go_on = |state: broadleaf_model::ReplayProgress| {
            replayed.store(before + state.accesses, Ordering::Relaxed);
            match self.stops.load(Ordering::Relaxed) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        };
        trace.rewind().map_err(Failure::failed)?;
        let outcome: Outcome = broadleaf_accel::run(&mut trace, &plan, &mut go_on)
            .map_err(|error| Failure::failed(format!("{}: {error}", trace.name())))?;
        replayed.store(before + outcome.trace.accesses, Ordering::Relaxed);
        let mut memories = (outcome.results.iter()).filter_map(|cell| cell.memory.as_ref());
        if let Some(access) = memories.find_map(|memory| memory.out_of_memory_after) {
            return Err(Failure::failed(format!(
                "{}: {} used up memory at access {access}",
                trace.name(),
                world.name()
            )));
        }
        Ok(WorldCounts::of(&world.name(), &outcome.results))
    }
}

/// The peak of a world's pages, in bytes.
const fn peak_of(counts: &WorldCounts) -> u64 {
    counts.peak_resident_pages * PageSize::SIZE_4K.bytes()
}

impl DesignResults {
    fn of(run: RecordedRun) -> Result<Self, Failure> {
        let mut results = Self {
            program: run.program,
            command: run.command,
            references: run.references,
            touched: 0,
            misses: Vec::new(),
            worlds: run.counts,
        };
        for design in &DESIGNS {
            let world = World::plentiful(design.policy);
            results
                .misses
                .push(results.counts(world, design.grid)?.misses);
        }
        let pages = results.worlds.iter().map(|world| world.touched_pages);
        results.touched = pages.max().unwrap_or(0) * PageSize::SIZE_4K.bytes();
        Ok(results)
    }

    /// The counts of a world.
    pub(super) fn world(&self, world: World) -> Result<&WorldCounts, Failure> {
        let name = world.name();
        let found = self.worlds.iter().find(|counts| counts.world == name);
        found.ok_or_else(|| {
            let program = self.program.name;
            Failure::failed(format!("{program} was not replayed under {name}"))
        })
    }

    /// The counts of a TLB in a world.
    pub(super) fn counts(&self, world: World, grid: &str) -> Result<&DesignCounts, Failure> {
        self.world(world)?.design(grid).ok_or_else(|| {
            let program = self.program.name;
            Failure::failed(format!("{program} was not replayed with {grid}"))
        })
    }

    /// The place of a design among the results.
    pub(super) fn place(design: &str) -> usize {
        let place = DESIGNS.iter().position(|known| known.name == design);
        place.unwrap_or_default()
    }

    /// The misses of a design.
    pub(super) fn of_design(&self, design: &str) -> u64 {
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
