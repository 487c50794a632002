//! What a governor did, told at its end.

use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use broadleaf_governor::{Governor, Linux, ProcessId, Usage};
use broadleaf_metrics::{
    Governed, LiveReport, ProcessReport, REPORT_SCHEMA, Stalls, UnseenProcess,
};
use broadleaf_policy::Refusal;
use broadleaf_report::{governed_summary, printable};

use crate::args::{Govern, TableOrJson};
use crate::commands::report::gather::process_report;
use broadleaf_study::failure::Failure;
use broadleaf_study::output::{Access, Output, json};
use broadleaf_study::provenance::provenance;

/// What it means that the kernel refused a process.
const UNREACHABLE: &str = "unreachable: the kernel does not let this user change these blocks. Either Broadleaf runs in a user namespace (as in a rootless \
     container), where CAP_SYS_NICE does not count for this; or the process belongs to another user or is not dumpable (it is setuid, has file \
     capabilities, or set PR_SET_DUMPABLE), which takes CAP_SYS_PTRACE as well";

/// How it ended.
pub(super) struct Ended {
    /// The program's own end, where it was started here.
    pub(super) status: Option<ExitStatus>,
    /// What the program took, where it was started here.
    pub(super) usage: Option<Usage>,
    pub(super) elapsed: Duration,
    /// What stood in the way.
    pub(super) notes: Vec<String>,
}

/// Where what was done is told: found out before anything is done, so that a file that exists is refused in time.
pub(super) struct Where(pub(super) Option<Output>);

impl Where {
    pub(super) fn of(options: &Govern) -> Result<Self, Failure> {
        let absolute = |path: &Option<PathBuf>| {
            path.as_ref()
                .and_then(|path| std::path::absolute(path).ok())
        };
        if options.journal.is_some() && absolute(&options.journal) == absolute(&options.output) {
            return Err(Failure::wrong(
                "the journal and the report cannot be the same file",
            ));
        }
        let wanted = options.output.is_some() || options.format == TableOrJson::Json;
        let output = wanted
            .then(|| Output::create(options.output.as_deref(), options.force, Access::Everyone))
            .transpose()?;
        Ok(Self(output))
    }
}

/// Tells what was done.
pub(super) fn tell(
    options: &Govern,
    place: Where,
    governor: &mut Governor<Linux>,
    ended: &Ended,
) -> Result<(), Failure> {
    let governed = governed(options, governor, ended);
    let unseen = unseen(governor);
    let unreachable = governed.refusals.contains_key(Refusal::Unreachable.name());
    let text = match options.format {
        TableOrJson::Table => {
            let mut text = governed_summary(&governed, &options.max_added.to_string());
            if unreachable {
                text.push_str(&format!("broadleaf: {UNREACHABLE}\n"));
            }
            for process in unseen.iter().take(NAMED) {
                let command = printable(&process.command);
                text.push_str(&format!(
                    "broadleaf: process {} ({command}) was left out: {}\n",
                    process.pid, process.reason
                ));
            }
            if unseen.len() > NAMED {
                let more = unseen.len() - NAMED;
                text.push_str(&format!("broadleaf: and so were {more} more\n"));
            }
            text
        }
        TableOrJson::Json => {
            let report = LiveReport {
                schema: REPORT_SCHEMA.to_owned(),
                processes: processes(governor),
                unseen,
                notes: ended
                    .notes
                    .iter()
                    .cloned()
                    .chain(unreachable.then(|| UNREACHABLE.to_owned()))
                    .collect(),
                governed: Some(governed),
                provenance: provenance(&format!("{options:?}")),
            };
            json(&report)?
        }
    };
    print(place, &text)
}

/// How many processes that were left out are named where people read.
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

/// Prints it.
pub(super) fn print(place: Where, text: &str) -> Result<(), Failure> {
    let Some(mut out) = place.0 else {
        crate::say::text(text);
        return Ok(());
    };
    out.write_all(text.as_bytes())
        .map_err(|error| Failure::writing(out.name(), &error))?;
    out.finish()
}

/// The processes that live, and the largest of those that have ended, each as it was last seen, with what the policy would still do.
fn processes(governor: &Governor<Linux>) -> Vec<ProcessReport> {
    let ward = governor.ward();
    let policy = [ward.policy().name()];
    let all = ward.processes().chain(ward.departed());
    let unseen: BTreeSet<ProcessId> = governor.unseen().map(|(id, _)| id).collect();
    let seen = all.filter(|(id, ..)| !unseen.contains(id));
    seen.map(|(id, vitals, pages)| process_report(id, vitals, pages, &policy))
        .collect()
}

fn governed(options: &Govern, governor: &mut Governor<Linux>, ended: &Ended) -> Governed {
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
        dry_run: options.dry_run,
        promotions: if options.dry_run {
            planned.promotions
        } else {
            tally.promotions
        },
        demotions: tally.demotions,
        broken_by_programs: tally.broken_by_programs,
        refusals: refusals.collect(),
        added_bytes_peak: if options.dry_run {
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
            allowed_seconds: options
                .max_stall
                .longest
                .map(|longest| longest.as_secs_f64()),
            too_long: stalls.too_long,
        },
        elapsed_seconds: ended.elapsed.as_secs_f64(),
        page_faults: ended.usage.map_or(ward.page_faults(), |usage| usage.faults),
        program_cpu_seconds: ended.usage.map(|usage| usage.cpu.as_secs_f64()),
        program_rss_bytes_peak: ended.usage.map(|usage| usage.rss_bytes_peak),
        ended_by_signal: ended.status.and_then(|status| status.signal()),
        exit_status: ended.status.map(|status| {
            status
                .code()
                .unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
        }),
    }
}
