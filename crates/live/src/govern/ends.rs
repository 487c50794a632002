//! Runs of a program with base pages, with huge pages, and under a policy, in turns.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use broadleaf_governor::{
    Allowance, Budgets, Counters, Observation, Ward, allow_only_advised, allow_thp, forbid_thp,
    ignore_thp_switches, touch_free_memory,
};
use broadleaf_metrics::RunFigures;
use broadleaf_policy::{Policy, parse};
use broadleaf_report::BASELINE;
use broadleaf_report::number::size;
use rustix::process::{Pid, Signal, kill_process};

use super::child::{ProgramSignals, cannot_wait, ending, governor_of, spawn};
use super::govern;
use super::host_memory::{TAKES_FREE_MEMORY, VIRTIO_DEVICES, takes_free_memory};
use super::kernel_setting::KernelSetting;
use super::limits::ManyFiles;
use super::run_input::RunInput;
use broadleaf_study::failure::Failure;
use broadleaf_study::watch::{Watch, Work};

/// The policy of the end with huge pages: a block becomes a huge page at its first resident page.
const ALL_HUGE: &str = "greedy";

/// The way in which a program runs.
#[derive(Clone, Copy)]
pub(super) enum Arm<'a> {
    /// Base pages alone.
    BasePages,
    /// Huge pages wherever they fit, whatever the program and the kernel's settings say. The
    /// governor makes them as soon as it sees a block. Under the setting, the kernel makes those
    /// that it can at a block's first page.
    HugePages(Option<KernelSetting>),
    /// Under a policy, as `run` does it. The function makes the ward.
    Governed(&'a dyn Fn() -> Result<Ward, Failure>),
    /// As the kernel makes huge pages under a setting.
    Kernel(KernelSetting),
    /// As the system is set.
    AsSet,
}

/// A program to run in several ways.
pub(super) struct Turns<'a> {
    /// The program and its arguments.
    pub(super) command: &'a [OsString],
    /// The standard input of each run.
    pub(super) input: RunInput,
    /// Receives signals while the program runs.
    pub(super) signals: &'static dyn ProgramSignals,
    /// Receives the progress.
    pub(super) watch: &'a dyn Watch,
}

/// The end of all runs: the figures of each arm, or the status of a program that a signal ended,
/// with the figures of the rounds before.
pub(super) enum TurnsEnd {
    /// For each arm, one run for each round.
    Figures(Vec<Vec<RunFigures>>),
    /// A signal from outside ended the program.
    Interrupted(ExitStatus, Vec<Vec<RunFigures>>),
}

impl Turns<'_> {
    /// Runs the program `rounds` times in each way, after one round that is dropped. Each run reads
    /// a file on standard input from the beginning. Other programs have no input. Standard output
    /// is thrown away.
    pub(super) fn take(&self, arms: &[Arm<'_>], rounds: u32) -> Result<TurnsEnd, Failure> {
        let mut all = vec![Vec::new(); arms.len()];
        let work = (u64::from(rounds) + 1) * arms.len() as u64;
        if self.input == RunInput::Unrepeatable {
            log::warn!(
                "the measured runs have no input: standard input is a pipe, which can be read \
                 once. If the program reads it, give the program a file"
            );
        }
        let host_takes_memory = takes_free_memory(Path::new(VIRTIO_DEVICES));
        if host_takes_memory {
            log::warn!("{TAKES_FREE_MEMORY}");
        }
        let mut most_resident = 0;
        let task = self.watch.begin("running", Work::Runs(work));
        let mut most_reserved = 0;
        // The first round fills caches and the host's memory.
        for round in 0..=rounds {
            for turn in 0..arms.len() {
                // The order changes from round to round, so that no arm always finds the warmer
                // machine.
                let at = match round % 2 {
                    0 => turn,
                    _ => arms.len() - 1 - turn,
                };
                allow_thp().map_err(|error| cannot("allow huge pages", &error))?;
                if host_takes_memory {
                    // Copies need huge pages beside the base pages.
                    touch_free_memory(2 * most_resident);
                }
                let figures = match self.once(arms[at]) {
                    Ok(OneRun::Figures(figures, reserved)) => {
                        most_reserved = most_reserved.max(reserved);
                        most_resident = most_resident.max(figures.rss_bytes_peak);
                        figures
                    }
                    other => {
                        let _ = allow_thp();
                        return match other? {
                            OneRun::Interrupted(status) => {
                                let rounds = round.saturating_sub(1) as usize;
                                all.iter_mut().for_each(|figures| figures.truncate(rounds));
                                log::warn!("interrupted after {rounds} whole rounds");
                                Ok(TurnsEnd::Interrupted(status, all))
                            }
                            OneRun::Figures(..) => unreachable!("it has its own branch"),
                        };
                    }
                };
                if round > 0 {
                    all[at].push(figures);
                } else if turn == 0 {
                    log::info!(
                        "{work} runs of the program: {rounds} rounds and one that is dropped, in \
                         {} ways; the first run took {:.1} s",
                        arms.len(),
                        figures.elapsed_seconds
                    );
                }
                task.set(0, 0);
            }
            if round == 0 && most_reserved > 0 {
                log::warn!(
                    "the program maps {} of reserved huge pages (hugetlbfs), which nothing splits. \
                     They are huge pages at the end with 4 KiB pages too, so no gain by them is \
                     measured. Reserved pages come from glibc.malloc.hugetlb=2, \
                     -XX:+UseLargePages or huge_pages=on",
                    size(most_reserved)
                );
            }
        }
        drop(task);
        let _ = allow_thp();
        Ok(TurnsEnd::Figures(all))
    }

    /// Runs the program once. Huge pages are allowed to this process before.
    fn once(&self, arm: Arm<'_>) -> Result<OneRun, Failure> {
        let mut command = Command::new(&self.command[0]);
        command
            .args(&self.command[1..])
            .stdin(
                self.input
                    .of_run()
                    .map_err(|error| cannot("read standard input", &error))?,
            )
            .stdout(Stdio::null());
        let ward = match arm {
            Arm::BasePages => {
                forbid_thp().map_err(|error| cannot("forbid huge pages", &error))?;
                ignore_thp_switches(&mut command);
                None
            }
            Arm::HugePages(_) => {
                ignore_thp_switches(&mut command);
                Some(all_huge()?)
            }
            Arm::Governed(ward) => {
                // Before Linux 6.18 there is no such setting, and that of the system applies.
                let _ = allow_only_advised();
                Some(ward()?)
            }
            Arm::Kernel(_) => Some(onlooker()?),
            Arm::AsSet => None,
        };
        let mut counters = Counters::of_children();
        let began = Instant::now();
        let handed_over = self.signals.hand_over();
        // The switch is changed only while signals are for the program, so that it is set back.
        let switched = match arm {
            Arm::Kernel(setting) | Arm::HugePages(Some(setting)) => {
                let what = format!("set its switch to {}", setting.name());
                Some(setting.apply().map_err(|error| cannot(&what, &error))?)
            }
            _ => None,
        };
        let looks_only = matches!(arm, Arm::Kernel(_));
        let child = spawn(command)?;
        handed_over.started(child.id());
        let mut stop = Stop::of(&child);
        let mut reserved = 0;
        let (status, spent) = if let Some(ward) = ward {
            let mut governor = governor_of(&child, ward, looks_only)?;
            let _many = ManyFiles::allowed();
            let ended = ending(child, self.signals);
            let mut status = None;
            govern(
                &mut governor,
                |ticked| reserved = reserved.max(reserved_bytes(&ticked.seen)),
                |wait| {
                    status = ended.recv_timeout(wait).ok();
                    stop.look(self.watch);
                    status.is_some()
                },
            );
            let status = match status {
                Some(status) => status,
                None => stop.wait(&ended, self.watch)?,
            };
            (
                status,
                Some((governor.spent(), governor.ward().tally().clone())),
            )
        } else {
            let ended = ending(child, self.signals);
            (stop.wait(&ended, self.watch)?, None)
        };
        drop(switched);
        drop(handed_over);
        let elapsed = began.elapsed();
        let (status, usage) = status.map_err(cannot_wait)?;
        let interrupts = [Signal::INT, Signal::TERM, Signal::HUP].map(Signal::as_raw);
        if status
            .signal()
            .is_some_and(|signal| interrupts.contains(&signal))
        {
            return Ok(OneRun::Interrupted(status));
        }
        if !status.success() {
            return Err(Failure::Failed(format!(
                "{}: it failed ({status}), so its figures are meaningless",
                self.command[0].display()
            )));
        }
        let figures = RunFigures {
            elapsed_seconds: elapsed.as_secs_f64(),
            cpu_seconds: usage.cpu.as_secs_f64(),
            user_seconds: usage.user.as_secs_f64(),
            system_seconds: usage.cpu.saturating_sub(usage.user).as_secs_f64(),
            page_faults: usage.faults,
            rss_bytes_peak: usage.rss_bytes_peak,
            governor_cpu_seconds: (spent.as_ref())
                .map(|(spent, _)| (spent.looking + spent.acting).as_secs_f64()),
            acting_cpu_seconds: (spent.as_ref()).map(|(spent, _)| spent.acting.as_secs_f64()),
            huge_bytes_peak: spent.as_ref().map(|(_, tally)| tally.huge_bytes_peak),
            promotions: spent.as_ref().map(|(_, tally)| tally.promotions),
            tlb_misses: counters.tlb_misses(),
            cycles: counters.cycles(),
        };
        Ok(OneRun::Figures(figures, reserved))
    }
}

/// Ends a program once its study shall stop.
struct Stop {
    program: Option<Pid>,
}

impl Stop {
    /// The time between two looks.
    const EVERY: Duration = Duration::from_millis(100);

    fn of(child: &Child) -> Self {
        let id = i32::try_from(child.id()).ok();
        Self {
            program: id.and_then(Pid::from_raw),
        }
    }

    /// Asks the program to end, once, if the study shall stop.
    fn look(&mut self, watch: &dyn Watch) {
        if watch.is_stopped()
            && let Some(program) = self.program.take()
        {
            // A program that ended meanwhile needs no signal.
            let _ = kill_process(program, Signal::TERM);
        }
    }

    /// Waits for the program's end.
    fn wait<T>(&mut self, ended: &Receiver<T>, watch: &dyn Watch) -> Result<T, Failure> {
        loop {
            match ended.recv_timeout(Self::EVERY) {
                Ok(end) => return Ok(end),
                Err(RecvTimeoutError::Timeout) => self.look(watch),
                Err(error) => return Err(Failure::failed(error)),
            }
        }
    }
}

/// The end of one run.
enum OneRun {
    /// The figures, and the most bytes of reserved huge pages that were mapped, if a governor
    /// looked.
    Figures(RunFigures, u64),
    Interrupted(ExitStatus),
}

/// The bytes of mappings of reserved huge pages, in the processes whose memory was read.
fn reserved_bytes(seen: &Observation) -> u64 {
    let pages = seen.processes.iter().filter_map(|one| one.pages.as_ref());
    let mappings = pages.flat_map(|pages| &pages.mappings);
    let reserved = mappings.filter(|mapping| mapping.is_reserved());
    reserved.map(|mapping| mapping.end - mapping.start).sum()
}

/// A ward that makes all huge pages that fit, soon after the first page of a block is resident.
fn all_huge() -> Result<Ward, Failure> {
    Ok(prompt_ward(parse(ALL_HUGE).map_err(Failure::failed)?))
}

/// A ward that makes the huge pages that a policy wants, soon and without limits.
pub(super) fn prompt_ward(policy: Box<dyn Policy>) -> Ward {
    let budgets = Budgets {
        added: Allowance::Unlimited,
        pressure: 10_000,
        cpu: 10_000,
        stall: 10_000,
        longest_stall: None,
        interval: Duration::from_millis(10),
        ..Budgets::DEFAULT
    };
    Ward::new(policy, budgets)
}

/// A ward that only looks, so that the huge pages that the kernel makes are seen.
fn onlooker() -> Result<Ward, Failure> {
    let policy = parse(BASELINE).map_err(Failure::failed)?;
    let budgets = Budgets {
        interval: Duration::from_millis(50),
        ..Budgets::DEFAULT
    };
    Ok(Ward::new(policy, budgets))
}

fn cannot(what: &str, error: &std::io::Error) -> Failure {
    Failure::Failed(format!("the kernel does not {what}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_governor::{LiveBacking, LiveMapping, LivePages, ProcessId, ProcessSeen};

    #[test]
    fn mappings_of_reserved_huge_pages_are_counted() {
        let mapping = |(name, backing): (&str, LiveBacking)| LiveMapping {
            start: 0,
            end: 4 << 20,
            backing,
            writable: true,
            congruent: true,
            name: name.to_owned(),
            inode: 0,
            offset: 0,
        };
        let names = [
            ("", LiveBacking::Anonymous),
            ("[vdso]", LiveBacking::Other),
            ("/dev/nvidia0", LiveBacking::Other),
            ("/memfd:buffers (deleted)", LiveBacking::Shmem),
            ("/anon_hugepage (deleted)", LiveBacking::Other),
            ("/dev/hugepages/pool", LiveBacking::Other),
            ("/mnt/hugetlbfs/pool", LiveBacking::Other),
            ("/memfd:hugetlb (deleted)", LiveBacking::Other),
        ];
        let pages = LivePages {
            mappings: names.map(mapping).to_vec(),
            ..LivePages::default()
        };
        let process = |pages| ProcessSeen {
            id: ProcessId { pid: 1, started: 1 },
            vitals: Default::default(),
            headroom: None,
            pages,
        };
        let seen = Observation {
            at: Duration::ZERO,
            machine: Default::default(),
            processes: vec![process(Some(pages)), process(None)],
        };
        assert_eq!(reserved_bytes(&seen), 4 * (4 << 20));
    }
}
