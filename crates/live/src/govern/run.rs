//! `run`: a program that is started under a policy.

use std::ffi::OsString;
use std::process::ExitStatus;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Instant;

use broadleaf_governor::{
    Governor, Linux, Obstacle, ProcessTree, Usage, Ward, allow_only_advised, wait_for,
};
use broadleaf_metrics::LiveReport;

use super::child::{ProgramSignals, cannot_wait, ending, governor_of, start};
use super::journal::JournalNotes;
use super::limits::ManyFiles;
use super::outcome::{GovernEnd, live_report};
use super::{GovernRequest, govern};
use crate::obstacles::obstacles;
use broadleaf_study::failure::Failure;

/// A program that was run.
#[derive(Debug)]
pub struct RunEnd {
    /// The exit status of the program.
    pub status: ExitStatus,
    /// The governor's actions.
    pub report: LiveReport,
    /// False if an obstacle on this machine left the program without a governor.
    pub was_governed: bool,
}

/// Runs a program and the processes that it starts under a policy. If an obstacle on this machine
/// is fatal, the program runs without a governor. `command` is the program and its arguments.
///
/// # Errors
/// If the program cannot be started or waited for, or the journal cannot be written.
pub fn run(
    request: &GovernRequest,
    command: &[OsString],
    signals: &'static dyn ProgramSignals,
) -> Result<RunEnd, Failure> {
    let ward = request.ward()?;
    let obstacles = noted_obstacles(request);
    if obstacles.iter().any(|obstacle| obstacle.is_fatal()) {
        return run_ungoverned(request, command, signals, ward, &obstacles);
    }
    let began = Instant::now();
    if !request.dry_run {
        // Before Linux 6.18 this fails, and an obstacle has said what follows from it.
        let _ = allow_only_advised();
    }
    let mut journal = JournalNotes::begin(request, command)?;
    let handed_over = signals.hand_over();
    let child = start(command)?;
    handed_over.started(child.id());
    let mut governor = governor_of(&child, ward, request.dry_run)?;
    let _many = ManyFiles::allowed();
    let ended = ending(child, signals);
    let mut status = None;
    govern(
        &mut governor,
        |ticked| journal.note(ticked),
        |wait| match ended.recv_timeout(wait) {
            Ok(outcome) => {
                status = Some(outcome);
                true
            }
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => true,
        },
    );
    let (status, usage) = match status {
        Some(status) => status,
        None => ended.recv().map_err(Failure::failed)?,
    }
    .map_err(cannot_wait)?;
    handed_over.ended();
    let ended = end(status, usage, began);
    if !request.dry_run {
        note_living(&mut governor);
    }
    Ok(RunEnd {
        status,
        report: live_report(request, &mut governor, &ended),
        was_governed: true,
    })
}

/// Returns the obstacles on this machine, and notes each.
pub(super) fn noted_obstacles(request: &GovernRequest) -> Vec<Obstacle> {
    let obstacles = obstacles(false, request.dry_run);
    for obstacle in &obstacles {
        log::warn!("{obstacle}");
    }
    obstacles
}

fn run_ungoverned(
    request: &GovernRequest,
    command: &[OsString],
    signals: &'static dyn ProgramSignals,
    ward: Ward,
    obstacles: &[Obstacle],
) -> Result<RunEnd, Failure> {
    let began = Instant::now();
    log::warn!("{} runs without a governor", command[0].display());
    let handed_over = signals.hand_over();
    let child = start(command)?;
    handed_over.started(child.id());
    let (status, usage) =
        wait_for(child.id(), |_| signals.program_stopped()).map_err(cannot_wait)?;
    handed_over.ended();
    if request.journal.is_some() {
        log::warn!("no journal is written, for nothing was governed");
    }
    let mut nothing = Governor::new(Linux::new(), ward, ProcessTree::default(), true);
    let ended = GovernEnd {
        notes: obstacles.iter().map(ToString::to_string).collect(),
        ..end(status, usage, began)
    };
    Ok(RunEnd {
        status,
        report: live_report(request, &mut nothing, &ended),
        was_governed: false,
    })
}

fn end(status: ExitStatus, usage: Usage, began: Instant) -> GovernEnd {
    GovernEnd {
        status: Some(status),
        usage: Some(usage),
        elapsed: began.elapsed(),
        notes: Vec::new(),
    }
}

/// Notes which processes live on. Nothing makes superpages in them any more, not even the kernel.
fn note_living(governor: &mut Governor<Linux>) {
    let living = governor.living();
    if living.is_empty() {
        return;
    }
    let pids: Vec<String> = living.iter().map(ToString::to_string).collect();
    let pids = pids.join(" ");
    log::warn!(
        "processes that the program started are still running: {pids}. Nothing makes superpages \
        in them now. To continue: broadleaf attach {pids}"
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::govern::{HandedOver, governed_text, live_policy};
    use broadleaf_governor::Budgets;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// Counts the programs that were started, and of those the ones that ended.
    static STARTED: AtomicU32 = AtomicU32::new(0);
    static ENDED: AtomicU32 = AtomicU32::new(0);

    struct CountedProgram;

    impl ProgramSignals for CountedProgram {
        fn hand_over(&self) -> Box<dyn HandedOver> {
            Box::new(Self)
        }

        fn program_stopped(&self) {}
    }

    impl HandedOver for CountedProgram {
        fn started(&self, _: u32) {
            STARTED.fetch_add(1, Ordering::SeqCst);
        }

        fn ended(self: Box<Self>) {
            ENDED.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_library_runs_a_program_and_gets_its_status_and_a_report() {
        let request = GovernRequest {
            policy: live_policy("pop-64").expect("it can decide on live processes"),
            budgets: Budgets::DEFAULT,
            dry_run: true,
            journal: None,
            with_processes: false,
            configuration: String::new(),
        };
        let command = ["sh", "-c", "exit 7"].map(OsString::from);
        let end = run(&request, &command, &CountedProgram).expect("sh is there");
        assert_eq!(end.status.code(), Some(7));
        let governed = end.report.governed.as_ref().expect("a governor's report");
        assert_eq!(governed.exit_status, Some(7));
        assert_eq!(governed.policy, "pop-64");
        let text = governed_text(&end.report, "10%");
        assert!(text.contains("ended with exit status 7"), "{text}");
        let programs = [&STARTED, &ENDED].map(|count| count.load(Ordering::SeqCst));
        assert_eq!(programs, [1, 1]);
    }

    #[test]
    fn policies_that_need_what_live_processes_do_not_show_are_refused() {
        let refused = live_policy("foresight")
            .err()
            .map(|error| error.to_string());
        let refused = refused.expect("the future of a live process is not known");
        assert!(refused.contains("can be run"), "{refused}");
        assert!(live_policy("nosuch").is_err());
    }
}
