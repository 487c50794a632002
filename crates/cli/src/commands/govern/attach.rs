//! `attach`: processes that run already.

use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use broadleaf_governor::{Governor, Kernel, KernelError, Linux, ProcessTree};

use super::journal::Notes;
use super::limits::ManyFiles;
use super::outcome::{Ended, Where, tell};
use super::{govern, obstacles, say, ward};
use crate::args::Attach;
use crate::interrupt::Asked;
use broadleaf_study::failure::Failure;

pub(crate) fn run(options: &Attach) -> Result<(), Failure> {
    let ward = ward(&options.govern)?;
    let place = Where::of(&options.govern)?;
    for obstacle in obstacles(true, options.govern.dry_run) {
        if obstacle.is_fatal() {
            return Err(Failure::failed(obstacle));
        }
        say(obstacle);
    }
    let mut kernel = Linux::new();
    let mut roots = Vec::with_capacity(options.pids.len());
    for pid in &options.pids {
        let process = kernel
            .process(*pid)
            .ok_or_else(|| Failure::Wrong(format!("there is no process {pid}")))?;
        match kernel.pages(process) {
            Ok(_) => {}
            Err(KernelError::Gone) => {
                return Err(Failure::Wrong(format!("process {pid} has just ended")));
            }
            Err(KernelError::NotAllowed) => {
                return Err(Failure::Failed(format!(
                    "process {pid} cannot be looked at: {}. It takes the same user, or CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH",
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
            say(format_args!(
                "superpages are forbidden to process {pid} (prctl PR_SET_THP_DISABLE), by itself or by what started it: none can be made there"
            ));
        }
        roots.push(process);
    }
    let began = Instant::now();
    let until = options
        .seconds
        .map(|seconds| began + Duration::from_secs_f64(seconds));
    let mut journal = Notes::begin(&options.govern, ward.policy(), &[])?;
    let mut governor = Governor::new(kernel, ward, ProcessTree::of(roots), options.govern.dry_run);
    let asked = Asked::new();
    let _many = ManyFiles::allowed();
    govern(
        &mut governor,
        |ticked| journal.note(ticked),
        |wait| {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let wait = left.map_or(wait, |left| wait.min(left));
            match asked.wait(wait) {
                Err(RecvTimeoutError::Timeout) => left.is_some_and(|left| left <= wait),
                Ok(()) | Err(RecvTimeoutError::Disconnected) => true,
            }
        },
    );
    let ended = Ended {
        status: None,
        usage: None,
        elapsed: began.elapsed(),
        notes: Vec::new(),
    };
    tell(&options.govern, place, &mut governor, &ended)
}
