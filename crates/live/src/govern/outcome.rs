//! The report of a governor, at its end.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use broadleaf_governor::{Governor, Linux, ProcessId, Usage};
use broadleaf_metrics::{
    Governed, LiveReport, ProcessReport, REPORT_SCHEMA, Stalls, UnseenProcess,
};
use broadleaf_policy::Refusal;
use broadleaf_report::{governed_summary, printable};

use super::GovernRequest;
use crate::survey::gather::process_report;
use broadleaf_study::provenance::provenance;

/// The meaning of the refusal `unreachable`, and the remedy.
const UNREACHABLE: &str = "unreachable: the kernel does not let this user change these blocks. \
    Either Broadleaf runs in a user namespace (as in a rootless container), where CAP_SYS_NICE \
    does not count for this; or the process belongs to another user or is not dumpable (it is \
    setuid, has file capabilities, or set PR_SET_DUMPABLE), which takes CAP_SYS_PTRACE as well";

/// The end of a governor.
pub(super) struct GovernEnd {
    /// The exit status of the program, if it was started here.
    pub(super) status: Option<ExitStatus>,
    /// The usage of the program, if it was started here.
    pub(super) usage: Option<Usage>,
    pub(super) elapsed: Duration,
    /// The obstacles on this machine.
    pub(super) notes: Vec<String>,
}

/// The report of a governor at its end.
pub(super) fn live_report(
    request: &GovernRequest,
    governor: &mut Governor<Linux>,
    ended: &GovernEnd,
) -> LiveReport {
    let governed = governed(request, governor, ended);
    let unseen = unseen(governor);
    let unreachable = is_unreachable(&governed).then(|| UNREACHABLE.to_owned());
    LiveReport {
        schema: REPORT_SCHEMA.to_owned(),
        processes: match request.with_processes {
            true => processes(governor),
            false => Vec::new(),
        },
        unseen,
        notes: ended.notes.iter().cloned().chain(unreachable).collect(),
        governed: Some(governed),
        provenance: provenance(&request.configuration),
    }
}

fn is_unreachable(governed: &Governed) -> bool {
    governed.refusals.contains_key(Refusal::Unreachable.name())
}

/// The text of a report of `run` or `attach`, for people. `max_added` is the limit on memory.
pub fn governed_text(report: &LiveReport, max_added: &str) -> String {
    let mut text = String::new();
    if let Some(governed) = &report.governed {
        text.push_str(&governed_summary(governed, max_added));
        if is_unreachable(governed) {
            text.push_str(&format!("broadleaf: {UNREACHABLE}\n"));
        }
    }
    for process in report.unseen.iter().take(NAMED) {
        let command = printable(&process.command);
        text.push_str(&format!(
            "broadleaf: process {} ({command}) was left out: {}\n",
            process.pid, process.reason
        ));
    }
    if report.unseen.len() > NAMED {
        let more = report.unseen.len() - NAMED;
        text.push_str(&format!("broadleaf: {more} more processes were left out\n"));
    }
    text
}

/// The most processes that the text names as left out.
const NAMED: usize = 8;

/// The processes that could not be looked at.
fn unseen(governor: &Governor<Linux>) -> Vec<UnseenProcess> {
    let all = governor.unseen().map(|(id, unseen)| UnseenProcess {
        pid: id.pid,
        command: unseen.command.clone(),
        reason: unseen.no.to_string(),
    });
    all.collect()
}

/// The live processes and the largest of those that have ended. Each is as it was last seen, with
/// what the policy would still do.
fn processes(governor: &Governor<Linux>) -> Vec<ProcessReport> {
    let ward = governor.ward();
    let policy = [ward.policy().name()];
    let all = ward.processes().chain(ward.departed());
    let unseen: BTreeSet<ProcessId> = governor.unseen().map(|(id, _)| id).collect();
    let seen = all.filter(|(id, ..)| !unseen.contains(id));
    seen.map(|(id, vitals, pages)| process_report(id, vitals, pages, &policy))
        .collect()
}

fn governed(
    request: &GovernRequest,
    governor: &mut Governor<Linux>,
    ended: &GovernEnd,
) -> Governed {
    let spent = governor.spent();
    let planned = governor.most_planned();
    let stalls = governor.stalls();
    let ward = governor.ward();
    let tally = ward.tally();
    let refusals = tally
        .refusals
        .iter()
        .map(|(reason, count)| (reason.name().to_owned(), count));
    Governed {
        policy: ward.policy().name(),
        dry_run: request.dry_run,
        promotions: if request.dry_run {
            planned.promotions
        } else {
            tally.promotions
        },
        demotions: tally.demotions,
        broken_by_programs: tally.broken_by_programs,
        refusals: refusals.collect(),
        added_bytes_peak: if request.dry_run {
            planned.added_bytes
        } else {
            tally.added_bytes_peak
        },
        added_bytes: ward.added_bytes(),
        charged_bytes: ward.charged_bytes(),
        returned_bytes: tally.returned_bytes,
        huge_bytes_peak: tally.huge_bytes_peak,
        governor_cpu_seconds: (spent.looking + spent.acting).as_secs_f64(),
        acting_cpu_seconds: spent.acting.as_secs_f64(),
        stalls: Stalls {
            count: stalls.count,
            p99_seconds: stalls.p99.as_secs_f64(),
            max_seconds: stalls.longest.as_secs_f64(),
            total_seconds: stalls.total.as_secs_f64(),
            allowed_seconds: request
                .budgets
                .longest_stall
                .map(|longest| longest.as_secs_f64()),
            too_long: stalls.too_long,
        },
        elapsed_seconds: ended.elapsed.as_secs_f64(),
        page_faults: ended.usage.map_or(ward.page_faults(), |usage| usage.faults),
        program_cpu_seconds: ended.usage.map(|usage| usage.cpu.as_secs_f64()),
        program_user_seconds: ended.usage.map(|usage| usage.user.as_secs_f64()),
        program_rss_bytes_peak: ended.usage.map(|usage| usage.rss_bytes_peak),
        ended_by_signal: ended.status.and_then(|status| status.signal()),
        exit_status: ended.status.map(|status| {
            status
                .code()
                .unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
        }),
    }
}
