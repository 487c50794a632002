//! The summary of a service, at its end.

use broadleaf_report::number::{grouped, size};
use broadleaf_report::{Align, Grid, View};

use super::account::GovernorCounts;
use super::wards::Wards;

/// A table with a line for each process that lives, and one for all processes that have ended of
/// one program under one policy.
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
    let mut row =
        |process: String, names: [&str; 2], counts: &GovernorCounts, made: u64, added: u64| {
            grid.row([
                process,
                names[0].to_owned(),
                names[1].to_owned(),
                grouped(made),
                grouped(counts.demotions),
                grouped(counts.broken_by_programs),
                size(added),
                format!("{:.2} s", (counts.looking + counts.acting).as_secs_f64()),
            ]);
        };
    for governed in &wards.governed {
        let names = [governed.command.as_str(), governed.care.policy.as_str()];
        let counts = governed.counts();
        let made = if dry {
            governed.governor.most_planned().promotions
        } else {
            counts.promotions
        };
        let added = governed.governor.ward().added_bytes();
        row(governed.id.to_string(), names, counts, made, added);
    }
    for (command, policy, counts) in wards.ended.iter() {
        row(
            "ended".to_owned(),
            [command, policy],
            counts,
            counts.promotions,
            0,
        );
    }
    if wards.governed.is_empty() && wards.ended.iter().next().is_none() {
        return "broadleaf: no process was governed\n".to_owned();
    }
    grid.render(view)
}
