//! `report`: how full the memory of running processes is, and what policies would do to it.

pub(crate) mod gather;
mod heat;
mod notes;

pub(crate) use heat::reasons;
pub use heat::{HeatRequest, heat_source};

use broadleaf_governor::{
    Kernel, KernelError, Linux, LivePages, ProcessId, Vitals, can_decide, can_decide_by_use,
};
use broadleaf_metrics::{LiveReport, REPORT_SCHEMA, UnseenProcess};
use broadleaf_report::{PageMap, printable, put_in_order};

use broadleaf_study::failure::Failure;
use broadleaf_study::names;
use broadleaf_study::provenance::provenance;

/// The policies that a survey asks if none are named.
const POLICIES: [&str; 5] = ["4k", "pop-64", "pop-256", "pop-461", "greedy"];

/// The processes of a survey.
#[derive(Clone, Copy, Debug)]
pub enum Scope<'a> {
    /// All processes that may be looked at, except this one.
    All,
    /// The processes of these numbers, each with a picture of its memory.
    Pids(&'a [u32]),
}

/// Processes that were looked at.
#[derive(Debug)]
pub struct ProcessSurvey {
    /// The processes, with what each policy would do to them.
    pub report: LiveReport,
    /// The memory of each process, if the survey named its processes.
    pub maps: Vec<PageMap>,
}

/// Looks at processes and asks policies what they would do. Each name of `policies` may hold
/// several, separated by commas. With `heat`, the use of the memory is watched first, and policies
/// may depend on it. Nothing else is changed: watching clears reference bits.
///
/// # Errors
/// If a policy is unknown or cannot decide on live processes, or a process does not exist.
pub fn survey(
    scope: Scope<'_>,
    policies: &[String],
    heat: Option<HeatRequest>,
) -> Result<ProcessSurvey, Failure> {
    let policies = deciding_policies(policies, heat.is_some())?;
    let mut linux = Linux::new();
    let processes = match scope {
        Scope::All => {
            let own = std::process::id();
            let mut processes = linux.all();
            processes.retain(|process| process.pid != own);
            processes
        }
        Scope::Pids(pids) => named(&mut linux, pids)?,
    };
    let all = matches!(scope, Scope::All);
    Ok(look(&mut linux, processes, &policies, all, heat))
}

/// The names of policies that can decide on live processes, each once.
fn deciding_policies(asked: &[String], by_use: bool) -> Result<Vec<String>, Failure> {
    let asked = asked.iter().flat_map(|asked| names::apart(asked));
    let mut asked: Vec<&str> = asked.collect();
    if asked.is_empty() {
        asked = POLICIES.to_vec();
    }
    let mut found = Vec::new();
    for name in asked {
        let name = deciding(name, by_use)?;
        if !found.contains(&name) {
            found.push(name);
        }
    }
    Ok(found)
}

/// The full name of a policy that can decide on live processes.
///
/// # Errors
/// [`Failure::Wrong`] if no policy has the name, or the policy needs values that cannot be seen of
/// live processes.
pub fn deciding_policy(name: &str) -> Result<String, Failure> {
    deciding(name, false)
}

/// The full name of a policy that can decide on live processes, by the use of blocks as well if
/// `by_use` is set.
fn deciding(name: &str, by_use: bool) -> Result<String, Failure> {
    let policy = names::policy(name)?;
    match by_use {
        true => can_decide_by_use(policy.as_ref()),
        false => can_decide(policy.as_ref()),
    }
    .map_err(Failure::wrong)?;
    Ok(policy.name())
}

/// The processes of these numbers, each once.
fn named(linux: &mut Linux, pids: &[u32]) -> Result<Vec<ProcessId>, Failure> {
    let mut found = Vec::new();
    for pid in pids {
        let process = linux.process(*pid);
        let living = process.filter(|process| linux.vitals(*process) != Err(KernelError::Gone));
        let process = living.ok_or_else(|| Failure::Wrong(notes::absent(*pid)))?;
        if !found.contains(&process) {
            found.push(process);
        }
    }
    Ok(found)
}

/// Looks at processes, and asks the policies what they would do.
fn look(
    linux: &mut Linux,
    processes: Vec<ProcessId>,
    policies: &[String],
    all: bool,
    heat: Option<HeatRequest>,
) -> ProcessSurvey {
    let machine = linux.machine();
    let mut report = LiveReport {
        schema: REPORT_SCHEMA.to_owned(),
        processes: Vec::new(),
        unseen: Vec::new(),
        notes: Vec::new(),
        governed: None,
        provenance: provenance(&policies.join("\n")),
    };
    let mut maps = Vec::new();
    let (mut forbidden, mut unwatched) = (Vec::new(), Vec::new());
    for process in processes {
        let (vitals, mut pages) = match seen(linux, process) {
            // A process that ended meanwhile. Kernel threads have no memory.
            Err((_, KernelError::Gone)) if all => continue,
            Ok((vitals, _)) | Err((vitals, _)) if all && vitals.rss_bytes == 0 => continue,
            Ok(seen) => seen,
            Err((vitals, no)) => {
                report.unseen.push(UnseenProcess {
                    pid: process.pid,
                    command: vitals.command,
                    reason: notes::reason(no, linux.describe(process).uid),
                });
                continue;
            }
        };
        if linux.describe(process).thp_forbidden == Some(true) {
            forbidden.push(format!("{} {}", process.pid, vitals.command));
        }
        let heat = heat.map(|heat| heat.watch(linux, process, &mut pages));
        let mut of_process = gather::process_report(process, &vitals, &pages, policies);
        match heat.transpose() {
            Ok(heat) => of_process.heat = heat,
            Err(reason) => unwatched.push(reason),
        }
        report.processes.push(of_process);
        if !all {
            maps.push(gather::page_map(&pages));
        }
    }
    let forecasts = report
        .processes
        .iter()
        .flat_map(|process| &process.policies);
    let most = forecasts
        .map(|forecast| forecast.would_promote)
        .max()
        .unwrap_or(0);
    report.notes = notes::all(linux, &machine, &forbidden, most);
    report.notes.extend(unwatched);
    if all {
        put_in_order(&mut report);
    }
    ProcessSurvey { report, maps }
}

/// The state of a process. On failure, what is known of it, and why there is no more.
fn seen(
    linux: &mut Linux,
    process: ProcessId,
) -> Result<(Vitals, LivePages), (Vitals, KernelError)> {
    let vitals = linux
        .vitals(process)
        .map_err(|no| (Vitals::default(), no))?;
    match linux.pages(process) {
        Ok(pages) => Ok((vitals, pages)),
        Err(no) => Err((vitals, no)),
    }
}

impl ProcessSurvey {
    /// Checks that at least one process could be looked at.
    ///
    /// # Errors
    /// [`Failure::Failed`] with the reason, if no process could be looked at.
    pub fn has_processes(&self) -> Result<(), Failure> {
        if !self.report.processes.is_empty() {
            return Ok(());
        }
        let Some(first) = self.report.unseen.first() else {
            return Err(Failure::failed(notes::no_process()));
        };
        let more = match self.report.unseen.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        Err(Failure::Failed(format!(
            "cannot look at process {} {}{more}: {}",
            first.pid,
            printable(&first.command),
            first.reason
        )))
    }
}
