//! A program under a policy, compared with the same program without a policy.

use crate::number::{grouped, size};
use crate::{Align, Grid, Style, View, paragraph};
use broadleaf_metrics::{BaselineReport, RunFigures};

/// A figure of a run: its name, its value, and its text. Less is better.
type Figure = (
    &'static str,
    fn(&RunFigures) -> Option<f64>,
    fn(f64) -> String,
);

const FIGURES: [Figure; 6] = [
    (
        "processor time",
        |run| Some(run.cpu_seconds),
        |value| format!("{value:.3} s"),
    ),
    (
        "elapsed",
        |run| Some(run.elapsed_seconds),
        |value| format!("{value:.3} s"),
    ),
    (
        "most memory",
        |run| Some(run.rss_bytes_peak as f64),
        |value| size(value as u64),
    ),
    (
        "page faults",
        |run| Some(run.page_faults as f64),
        |value| grouped(value as u64),
    ),
    (
        "TLB misses",
        |run| run.tlb_misses.map(|count| count as f64),
        |value| grouped(value as u64),
    ),
    (
        "cycles",
        |run| run.cycles.map(|count| count as f64),
        |value| grouped(value as u64),
    ),
];

/// Renders a table of medians with the minimum and maximum, and of the quotients of each round.
pub fn baseline_table(report: &BaselineReport, view: View) -> String {
    let rounds = report.with.len();
    let mut grid = Grid::new()
        .column("", Align::Left)
        .column("without", Align::Right)
        .column(&report.policy, Align::Right)
        .column("with / without", Align::Right);
    for (name, of, written) in FIGURES {
        let all = |runs: &[RunFigures]| runs.iter().map(of).collect::<Option<Vec<f64>>>();
        let (Some(with), Some(without)) = (all(&report.with), all(&report.without)) else {
            continue;
        };
        let quotients: Vec<f64> = with
            .iter()
            .zip(&without)
            .map(|(with, without)| with / without.max(f64::MIN_POSITIVE))
            .collect();
        grid.row([
            name.to_owned(),
            spread(without, written),
            spread(with, written),
            spread(quotients, |value| format!("{value:.3}")),
        ]);
    }
    let huge_peaks = report.with.iter().filter_map(|run| run.huge_bytes_peak);
    let (Some(governor), Some(huge)) = (
        median(
            report
                .with
                .iter()
                .filter_map(|run| run.governor_cpu_seconds),
        ),
        low_median(huge_peaks),
    ) else {
        return grid.render(view);
    };
    let counted = if report.with.iter().any(|run| run.tlb_misses.is_some()) {
        ""
    } else {
        "The processor counts no TLB misses here."
    };
    let notes = [
        format!(
            "{rounds} rounds, in turns; medians, and from the least to the most. \
            Quotients are of the two runs of a round."
        ),
        format!(
            "In superpages at most: {} (median of {rounds} runs). \
            The governor took {governor:.3} s of a processor (median).",
            size(huge)
        ),
        counted.to_owned(),
    ];
    let notes = notes.iter().filter(|note| !note.is_empty());
    let notes: String = notes
        .map(|note| paragraph(note, Style::Plain, view))
        .collect();
    format!("{}\n{notes}", grid.render(view))
}

/// Returns the median, with the minimum and maximum if there are several values.
fn spread(values: Vec<f64>, written: fn(f64) -> String) -> String {
    let middle = median(values.iter().copied()).map_or(String::new(), written);
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if values.len() < 2 {
        middle
    } else {
        format!("{middle} [{} .. {}]", written(least), written(most))
    }
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        even if even % 2 == 0 => Some(f64::midpoint(values[middle - 1], values[middle])),
        _ => Some(values[middle]),
    }
}

/// Returns the median, or the lower of the two values in the middle. The result is one of the
/// values.
fn low_median(values: impl Iterator<Item = u64>) -> Option<u64> {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values.get(values.len().saturating_sub(1) / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_spreads() {
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), Some(2.0));
        assert_eq!(median([4.0, 1.0, 2.0, 3.0].into_iter()), Some(2.5));
        assert_eq!(median(std::iter::empty()), None);
        assert_eq!(low_median([20, 18].into_iter()), Some(18));
        assert_eq!(low_median([20, 18, 22].into_iter()), Some(20));
        assert_eq!(low_median(std::iter::empty()), None);
        let seconds = |value: f64| format!("{value:.1}");
        assert_eq!(spread(vec![3.0, 1.0, 2.0], seconds), "2.0 [1.0 .. 3.0]");
        assert_eq!(spread(vec![3.0], seconds), "3.0");
    }
}
