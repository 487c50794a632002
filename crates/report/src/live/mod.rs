//! Reports on live processes: the populations of their blocks, their superpages, and the effect of
//! policies.

mod all;
mod bars;
mod heat;
mod map;
mod process;
#[cfg(test)]
mod testing;

pub use all::all_processes;
pub use heat::heat_map;
pub use map::{MappedBlocks, PageMap, Shades};
pub use process::process_table;

use broadleaf_metrics::{BlockCounts, LiveReport, PolicyForecast, ProcessReport};

use crate::grid::paragraph;
use crate::number::percent;
use crate::{Style, View};

/// The preferred policy for the order of processes.
pub const IN_ORDER_BY: &str = "pop-256";

/// Returns the policy for the order of processes: [`IN_ORDER_BY`], or the last policy of the
/// report.
pub fn order_of(report: &LiveReport) -> Option<&str> {
    let policies = &report.processes.first()?.policies;
    let known = (policies.iter()).find(|forecast| forecast.policy == IN_ORDER_BY);
    known
        .or_else(|| policies.last())
        .map(|forecast| forecast.policy.as_str())
}

/// Returns the forecast of a policy for a process.
fn forecast<'a>(process: &'a ProcessReport, policy: &str) -> Option<&'a PolicyForecast> {
    let mut forecasts = process.policies.iter();
    forecasts.find(|forecast| forecast.policy == policy)
}

/// Sorts the processes: the process of which the policy of [`order_of`] would cover most comes
/// first.
pub fn put_in_order(report: &mut LiveReport) {
    let Some(policy) = order_of(report).map(str::to_owned) else {
        return;
    };
    let covered = |process: &ProcessReport| {
        forecast(process, &policy).map_or(0, |forecast| forecast.covered_bytes)
    };
    (report.processes).sort_by_key(|process| (std::cmp::Reverse(covered(process)), process.pid));
}

const fn total(blocks: BlockCounts) -> u64 {
    blocks.anonymous + blocks.shmem + blocks.file
}

/// Returns a share in percent.
fn share(part: u64, whole: u64) -> String {
    percent(part as f64 / whole as f64)
}

/// Returns the processes that could not be read, and the notes.
fn ending(report: &LiveReport, view: View) -> String {
    let mut out = String::new();
    let mut reasons: Vec<&str> = Vec::new();
    for unseen in &report.unseen {
        if !reasons.contains(&unseen.reason.as_str()) {
            reasons.push(&unseen.reason);
        }
    }
    for reason in reasons {
        let of_reason = report
            .unseen
            .iter()
            .filter(|unseen| unseen.reason == reason);
        let names: Vec<String> = of_reason
            .map(|unseen| {
                format!("{} {}", unseen.pid, unseen.command)
                    .trim_end()
                    .to_owned()
            })
            .collect();
        let text = format!("Not looked at: {}: {reason}", some_of(&names));
        out.push_str(&paragraph(&text, Style::Faint, view));
    }
    for note in &report.notes {
        out.push_str(&paragraph(&format!("Note: {note}"), Style::Faint, view));
    }
    out
}

/// Returns the first names, and the number of the others.
fn some_of(names: &[String]) -> String {
    const FIRST: usize = 8;
    match names.len().checked_sub(FIRST) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..FIRST].join(", ")),
    }
}
