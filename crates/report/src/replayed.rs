//! The result of a replayed journal, for people.

use crate::next::what_to_type;
use crate::number::{counted, grouped, size};
use crate::page::replay_choice;
use crate::{Align, Grid, Style, View, paragraph, replay_answer};
use broadleaf_metrics::Replayed;

/// Returns the sentence that compares the decisions with those of the journal.
pub fn replay_verdict(replayed: &Replayed) -> String {
    let ticks = format!(
        "{} in {:.1} s",
        counted(replayed.ticks, "tick"),
        replayed.elapsed_seconds
    );
    match &replayed.difference {
        None => format!("{ticks}: each decision is the same again."),
        Some(difference) => format!("{ticks}: NOT the same again. {difference}"),
    }
}

/// Renders a line that compares the decisions, a table of policies, and the commands to type now.
pub fn replay_table(replayed: &Replayed, view: View) -> String {
    let verdict = replay_verdict(replayed);
    let mut grid = Grid::new()
        .column("policy", Align::Left)
        .column("allowed", Align::Right)
        .column("promoted", Align::Right)
        .column("demoted", Align::Right)
        .column("demoted by the program", Align::Right)
        .column("huge at most", Align::Right)
        .column("added at most", Align::Right)
        .column("added at the end", Align::Right)
        .column("refused", Align::Right);
    for row in &replayed.policies {
        let name = match row.estimated {
            true => row.policy.clone(),
            false => format!("{} (recorded)", row.policy),
        };
        grid.row([
            name,
            row.max_added.clone(),
            grouped(row.promotions),
            grouped(row.demotions),
            grouped(row.broken_by_programs),
            size(row.huge_bytes_peak),
            size(row.added_bytes_peak),
            size(row.added_bytes),
            grouped(row.refusals.values().sum()),
        ]);
    }
    let mut text = format!("{verdict}\n\n{}", grid.render(view));
    if replayed.policies.iter().any(|row| row.estimated) {
        text.push('\n');
        text.push_str(&paragraph(
            "A policy without \"(recorded)\" is an estimate: it assumes that programs behave as \
            recorded, and that every superpage that was not tried can be made.",
            Style::Plain,
            view,
        ));
    }
    if replayed.dry_run {
        text.push('\n');
        text.push_str(&paragraph(
            "The recorded run only said what it would do, so it made none.",
            Style::Plain,
            view,
        ));
    }
    if let Some(choice) = replay_choice(replayed) {
        text.push('\n');
        text.push_str(&paragraph(&choice, Style::Strong, view));
    }
    text + &what_to_type("", &replay_answer(replayed).commands, view)
}
