//! `report`: how full the memory of running processes is, and what policies would do to it.

pub(crate) mod gather;
mod notes;

use broadleaf_governor::{Kernel, KernelError, Linux, LivePages, ProcessId, Vitals};
use broadleaf_metrics::{LiveReport, REPORT_SCHEMA, UnseenProcess};
use broadleaf_report::{PageMap, View, all_processes, printable, process_table, put_in_order};

use crate::args::{Report, TableOrJson};
use crate::terminal::shades;
use broadleaf_study::failure::Failure;
use broadleaf_study::names;
use broadleaf_study::output::{json, print};
use broadleaf_study::provenance::provenance;

/// What is asked unless policies are named.
const POLICIES: [&str; 5] = ["4k", "pop-64", "pop-256", "pop-461", "greedy"];

pub(crate) fn run(options: &Report, view: View) -> Result<(), Failure> {
    let policies = policies(&options.policy)?;
    let mut linux = Linux::new();
    let processes = if options.all {
        let own = std::process::id();
        let mut processes = linux.all();
        processes.retain(|process| process.pid != own);
        processes
    } else {
        named(&mut linux, &options.pid)?
    };
    let (report, maps) = look(&mut linux, processes, &policies, options.all);
    let nothing = nothing_seen(&report);
    match options.format {
        // The object is whole, with an empty list.
        TableOrJson::Json => {
            print(&json(&report)?)?;
            nothing
        }
        TableOrJson::Table if nothing.is_err() => nothing,
        TableOrJson::Table if options.all => print(&all_processes(&report, view)),
        TableOrJson::Table => print(&process_table(&report, &maps, shades(), view)),
    }
}

/// The names of policies that can decide on live processes, each once.
fn policies(asked: &[String]) -> Result<Vec<String>, Failure> {
    let asked = asked.iter().flat_map(|asked| names::apart(asked));
    let mut asked: Vec<&str> = asked.collect();
    if asked.is_empty() {
        asked = POLICIES.to_vec();
    }
    let mut found = Vec::new();
    for name in asked {
        let name = deciding(name)?;
        if !found.contains(&name) {
            found.push(name);
        }
    }
    Ok(found)
}

/// The full name of a policy that can decide on live processes.
///
/// # Errors
/// [`Failure::Wrong`] where there is none of that name, or it goes by what cannot be seen of them.
pub(crate) fn deciding(name: &str) -> Result<String, Failure> {
    let policy = names::policy(name)?;
    broadleaf_governor::can_decide(policy.as_ref()).map_err(Failure::wrong)?;
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
) -> (LiveReport, Vec<PageMap>) {
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
    let mut forbidden = Vec::new();
    for process in processes {
        let (vitals, pages) = match seen(linux, process) {
            // A process that has ended meanwhile; the kernel's own threads, which have no memory.
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
        let told = gather::process_report(process, &vitals, &pages, policies);
        report.processes.push(told);
        if !all {
            maps.push(gather::page_map(&pages));
        }
    }
    let told = report
        .processes
        .iter()
        .flat_map(|process| &process.policies);
    let most = told.map(|told| told.would_promote).max().unwrap_or(0);
    report.notes = notes::all(linux, &machine, &forbidden, most);
    if all {
        put_in_order(&mut report);
    }
    (report, maps)
}

/// What a process looks like; otherwise what is known of it, and why there is no more.
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

/// Fails where not one process could be looked at.
fn nothing_seen(report: &LiveReport) -> Result<(), Failure> {
    if !report.processes.is_empty() {
        return Ok(());
    }
    let Some(first) = report.unseen.first() else {
        return Err(Failure::failed(notes::no_process()));
    };
    let more = match report.unseen.len() - 1 {
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
