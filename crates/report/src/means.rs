//! The means of several traces' ratios.

use broadleaf_metrics::{
    COMPARISONS_SCHEMA, CellResult, Comparison, Comparisons, RatioMeans, geometric_mean, mean,
};

use crate::advice::{BASELINE, added_share};
use crate::grid::paragraph;
use crate::number::percent;
use crate::{Align, Grid, Style, View};

/// A trace's comparison, with the results of [`BASELINE`] on each machine.
pub type WithReferences<'a> = (&'a Comparison, &'a [CellResult]);

/// Puts the comparisons of several traces together.
pub fn comparisons(all: &[WithReferences<'_>]) -> Comparisons {
    let mut means = Vec::new();
    for result in all.first().map_or(&[][..], |(first, _)| &first.results) {
        means.push(ratio_means(&result.policy, &result.machine, all));
    }
    Comparisons {
        schema: COMPARISONS_SCHEMA.to_owned(),
        comparisons: all
            .iter()
            .map(|(comparison, _)| (*comparison).clone())
            .collect(),
        means,
    }
}

fn ratio_means(policy: &str, machine: &str, all: &[WithReferences<'_>]) -> RatioMeans {
    let (mut cycles, mut added, mut times) = (Vec::new(), Vec::new(), Vec::new());
    for (comparison, references) in all {
        let is_it = |result: &&CellResult| result.policy == policy && result.machine == machine;
        let is_base = |result: &&CellResult| result.policy == BASELINE && result.machine == machine;
        let result = comparison.results.iter().find(is_it);
        let base = references.iter().find(is_base);
        let (Some(result), Some(base)) = (result, base) else {
            continue;
        };
        if base.walk_cycles > 0 {
            cycles.push(result.walk_cycles as f64 / base.walk_cycles as f64);
        }
        if base.peak_resident_pages > 0 {
            added.push(added_share(result, base));
        }
        times.extend(result.run_time.map(|run_time| run_time.ratio));
    }
    RatioMeans {
        policy: policy.to_owned(),
        machine: machine.to_owned(),
        traces: cycles.len() as u64,
        walk_cycles_mean: mean(&cycles),
        walk_cycles_geometric_mean: geometric_mean(&cycles),
        added_share_mean: mean(&added),
        run_time_ratio_geometric_mean: geometric_mean(&times),
    }
}

/// Renders the means as a table.
pub fn means_table(comparisons: &Comparisons, view: View) -> String {
    let mut grid = Grid::new()
        .column("policy", Align::Left)
        .column("machine", Align::Left)
        .column("walk cycles, mean", Align::Right)
        .column("geometric mean", Align::Right)
        .column("added %, mean", Align::Right)
        .column("times as fast", Align::Right)
        .keys(2);
    let ratio = |value: Option<f64>| value.map_or(String::new(), |value| format!("x{value:.3}"));
    for means in &comparisons.means {
        grid.row([
            means.policy.clone(),
            means.machine.clone(),
            ratio(means.walk_cycles_mean),
            ratio(means.walk_cycles_geometric_mean),
            means.added_share_mean.map_or(String::new(), percent),
            ratio(means.run_time_ratio_geometric_mean),
        ]);
    }
    let heading = format!(
        "Means of {} traces. Walk cycles are divided by those of 4k on the same trace, added \
         memory is a share of that of 4k, and times as fast is the geometric mean of the middle of \
         each run-time range:",
        comparisons.comparisons.len()
    );
    paragraph(&heading, Style::Strong, view) + &grid.render(view)
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_metrics::{Provenance, TraceSummary};

    fn compared(base: u64, other: u64) -> Comparison {
        let result = |policy: &str, walk_cycles| CellResult {
            policy: policy.to_owned(),
            machine: "m".to_owned(),
            walk_cycles,
            peak_resident_pages: if policy == BASELINE { 100 } else { 110 },
            ..CellResult::default()
        };
        Comparison::new(
            TraceSummary::default(),
            vec![result(BASELINE, base), result("greedy", other)],
            vec![],
            Provenance::default(),
        )
    }

    #[test]
    fn ratios_are_averaged_and_not_counts() {
        let traces = [
            compared(1_000_000, 500_000),
            compared(10, 20),
            compared(0, 0),
        ];
        let all: Vec<WithReferences<'_>> = traces
            .iter()
            .map(|one| (one, one.results.as_slice()))
            .collect();
        let together = comparisons(&all);
        let greedy = &together.means[1];
        assert_eq!((greedy.policy.as_str(), greedy.traces), ("greedy", 2));
        assert_eq!(greedy.walk_cycles_mean, Some(1.25));
        assert!((greedy.walk_cycles_geometric_mean.unwrap() - 1.0).abs() < 1e-12);
        assert!((greedy.added_share_mean.unwrap() - 0.1).abs() < 1e-12);
        assert_eq!(greedy.run_time_ratio_geometric_mean, None);
        let text = means_table(&together, View::default());
        assert!(
            text.contains("Means of 3 traces.") && text.contains("x1.250"),
            "{text}"
        );
    }
}
