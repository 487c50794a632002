//! `attach`: processes that run already.

use std::time::{Duration, Instant};

use broadleaf_governor::{Governor, Kernel, KernelError, Linux, ProcessId, ProcessTree};
use broadleaf_metrics::LiveReport;

use super::journal::JournalNotes;
use super::limits::ManyFiles;
use super::outcome::{GovernEnd, live_report};
use super::{GovernRequest, govern};
use crate::obstacles::obstacles;
use crate::use_of_blocks;
use broadleaf_study::failure::Failure;

/// A governor of processes that run already.
pub struct Attached<'a> {
    request: &'a GovernRequest,
    governor: Governor<Linux>,
    journal: JournalNotes,
    began: Instant,
}

impl<'a> Attached<'a> {
    /// Finds the processes of these numbers, and begins the journal. Obstacles on this machine are
    /// noted.
    ///
    /// # Errors
    /// If an obstacle is fatal, a process does not exist or cannot be looked at, or the journal
    /// cannot be written.
    pub fn new(request: &'a GovernRequest, pids: &[u32]) -> Result<Self, Failure> {
        for obstacle in obstacles(true, request.dry_run) {
            if obstacle.is_fatal() {
                return Err(Failure::failed(obstacle));
            }
            log::warn!("{obstacle}");
        }
        let mut kernel = use_of_blocks::kernel(request.policy.as_ref());
        let roots = pids.iter().map(|pid| root(&mut kernel, *pid));
        let roots: Vec<ProcessId> = roots.collect::<Result<_, _>>()?;
        let ward = request.ward()?;
        let began = Instant::now();
        let journal = JournalNotes::begin(request, &[])?;
        let governor = Governor::new(kernel, ward, ProcessTree::of(roots), request.dry_run);
        Ok(Self {
            request,
            governor,
            journal,
            began,
        })
    }

    /// Governs the processes until all have ended, `time` is over, or `wait` returns true. `wait`
    /// waits for at most the given time, and returns true if the caller wants an end.
    pub fn govern(
        mut self,
        time: Option<Duration>,
        wait: &mut dyn FnMut(Duration) -> bool,
    ) -> LiveReport {
        let until = time.map(|time| self.began + time);
        let _many = ManyFiles::allowed();
        govern(
            &mut self.governor,
            |ticked| self.journal.note(ticked),
            |time| {
                let left = until.map(|until| until.saturating_duration_since(Instant::now()));
                let time = left.map_or(time, |left| time.min(left));
                wait(time) || left.is_some_and(|left| left <= time)
            },
        );
        let ended = GovernEnd {
            status: None,
            usage: None,
            elapsed: self.began.elapsed(),
            notes: Vec::new(),
        };
        live_report(self.request, &mut self.governor, &ended)
    }
}

/// The process of a number, if it can be looked at.
fn root(kernel: &mut Linux, pid: u32) -> Result<ProcessId, Failure> {
    let process = kernel
        .process(pid)
        .ok_or_else(|| Failure::Wrong(format!("there is no process {pid}")))?;
    match kernel.pages(process) {
        Ok(_) => {}
        Err(KernelError::Gone) => {
            return Err(Failure::Wrong(format!("process {pid} has just ended")));
        }
        Err(KernelError::NotAllowed) => {
            return Err(Failure::Failed(format!(
                "process {pid} cannot be looked at: {}. Looking at it needs the same user, or \
                CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH",
                KernelError::NotAllowed
            )));
        }
        Err(no) => {
            return Err(Failure::Failed(format!(
                "process {pid} cannot be looked at: {no}"
            )));
        }
    }
    if kernel.describe(process).thp_forbidden == Some(true) {
        log::warn!(
            "superpages are forbidden to process {pid} (prctl PR_SET_THP_DISABLE), by itself or \
            by what started it: none can be made there"
        );
    }
    Ok(process)
}
