//! The summary of a service, at its end.

use broadleaf_report::number::{grouped, size};
use broadleaf_report::{Align, Grid, View};

use super::account::GovernorCounts;
use super::wards::Wards;

/// A line of the summary.
struct SummaryLine<'a> {
    /// The process, or `None` for all processes of the program that have ended.
    pid: Option<u32>,
    command: &'a str,
    policy: &'a str,
    counts: &'a GovernorCounts,
    /// Blocks that became superpages, or that would have.
    promotions: u64,
    added_bytes: u64,
}

/// A line for each process that lives, and one for all processes that have ended of one program
/// under one policy.
fn lines(wards: &Wards, dry: bool) -> impl Iterator<Item = SummaryLine<'_>> {
    let living = wards.governed.iter().map(move |governed| {
        let counts = governed.counts();
        SummaryLine {
            pid: Some(governed.id.pid),
            command: &governed.command,
            policy: &governed.care.policy,
            counts,
            promotions: if dry {
                governed.governor.most_planned().promotions
            } else {
                counts.promotions
            },
            added_bytes: governed.governor.ward().added_bytes(),
        }
    });
    let ended = wards.ended.iter();
    living.chain(ended.map(|(command, policy, counts)| SummaryLine {
        pid: None,
        command,
        policy,
        counts,
        promotions: counts.promotions,
        added_bytes: 0,
    }))
}

/// The lines as a table.
pub(super) fn summary(wards: &Wards, dry: bool, view: View) -> String {
    let promoted = if dry { "would be promoted" } else { "promoted" };
    let mut grid = Grid::new()
        .column("process", Align::Right)
        .column("command", Align::Left)
        .column("policy", Align::Left)
        .column(promoted, Align::Right)
        .column("demoted", Align::Right)
        .column("demoted by the program", Align::Right)
        .column("added", Align::Right)
        .column("processor", Align::Right);
    let mut is_empty = true;
    for line in lines(wards, dry) {
        is_empty = false;
        grid.row([
            line.pid
                .map_or_else(|| "ended".to_owned(), |pid| pid.to_string()),
            line.command.to_owned(),
            line.policy.to_owned(),
            grouped(line.promotions),
            grouped(line.counts.demotions),
            grouped(line.counts.broken_by_programs),
            size(line.added_bytes),
            format!("{:.2} s", cpu_seconds(line.counts)),
        ]);
    }
    if is_empty {
        return "broadleaf: no process was governed\n".to_owned();
    }
    grid.render(view)
}

/// Logs each line as a record.
pub(super) fn log(wards: &Wards, dry: bool) {
    for line in lines(wards, dry) {
        log::info!(
            event = "summary", pid = line.pid, command = line.command, policy = line.policy,
            dry_run = dry, promotions = line.promotions, demotions = line.counts.demotions,
            broken_by_programs = line.counts.broken_by_programs, added_bytes = line.added_bytes,
            governor_cpu_seconds = cpu_seconds(line.counts);
            "the service has ended"
        );
    }
}

fn cpu_seconds(counts: &GovernorCounts) -> f64 {
    (counts.looking + counts.acting).as_secs_f64()
}
