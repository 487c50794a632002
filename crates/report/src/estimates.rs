//! Estimates for a whole program, from a recording in windows.

use broadleaf_metrics::{CellResult, Estimate, WindowEstimates};

use crate::grid::{Grid, paragraph};
use crate::number::{percent, short};
use crate::{Align, Column, Style, Values, View};

/// Renders the estimates of results; an empty text without any.
pub(crate) fn estimates(results: &[CellResult], view: View) -> String {
    let all: Vec<(&CellResult, &WindowEstimates)> = (results.iter())
        .filter_map(|result| Some((result, result.estimates.as_ref()?)))
        .collect();
    let Some((_, first)) = all.first() else {
        return String::new();
    };
    let intervals = match first.windows.len() {
        1 => "one window, so no intervals".to_owned(),
        windows => format!("Student's intervals of 95 percent from {windows} windows"),
    };
    let heading = format!(
        "Estimates for {} accesses: {intervals}, without the first {} of each",
        short(first.accesses),
        percent(first.warm_up)
    );
    let mut grid = Grid::new()
        .column("policy", Align::Left)
        .column("machine", Align::Left)
        .column("L1 misses", Align::Right)
        .column("95% of", Align::Left)
        .column("L2 misses", Align::Right)
        .column("95% of", Align::Left)
        .column("walk cycles", Align::Right)
        .column("95% of", Align::Left);
    for (result, of) in &all {
        let figures = [&of.l1_misses, &of.l2_misses, &of.walk_cycles];
        let mut row = vec![result.policy.clone(), result.machine.clone()];
        for figure in figures {
            row.extend([short(figure.value.round() as u64), interval(figure)]);
        }
        grid.row(row);
    }
    format!(
        "\n{}{}",
        paragraph(&heading, Style::Strong, view),
        grid.render(view)
    )
}

fn interval(estimate: &Estimate) -> String {
    match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => {
            format!(
                "{} to {}",
                short(low.round() as u64),
                short(high.round() as u64)
            )
        }
        _ => "no interval".to_owned(),
    }
}

/// One estimate of several.
type OneEstimate = fn(&WindowEstimates) -> Estimate;

/// The columns of estimates: none if no result has them.
pub(crate) fn estimate_columns(results: &[CellResult]) -> Vec<Column> {
    if results.iter().all(|result| result.estimates.is_none()) {
        return Vec::new();
    }
    let column = |name: String, of: &dyn Fn(&WindowEstimates) -> Option<f64>| {
        let value = |result: &CellResult| result.estimates.as_ref().and_then(of);
        Column {
            name,
            values: Values::Ratio(results.iter().map(value).collect()),
        }
    };
    let mut columns = vec![
        column("estimated_accesses".to_owned(), &|of| {
            Some(of.accesses as f64)
        }),
        column("estimate_windows".to_owned(), &|of| {
            Some(of.windows.len() as f64)
        }),
        column("estimate_warm_up".to_owned(), &|of| Some(of.warm_up)),
    ];
    let figures: [(&str, OneEstimate); 3] = [
        ("l1_misses", |of| of.l1_misses),
        ("l2_misses", |of| of.l2_misses),
        ("walk_cycles", |of| of.walk_cycles),
    ];
    for (name, figure) in figures {
        let name = format!("estimated_{name}");
        columns.push(column(name.clone(), &|of| Some(figure(of).value)));
        columns.push(column(format!("{name}_low"), &|of| figure(of).low));
        columns.push(column(format!("{name}_high"), &|of| figure(of).high));
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_metrics::WindowCounts;

    fn result(windows: usize) -> CellResult {
        let counts = (0..windows).map(|at| WindowCounts {
            accesses: 1000,
            l1_misses: 10 + at as u64,
            ..WindowCounts::default()
        });
        CellResult {
            policy: "4k".to_owned(),
            estimates: WindowEstimates::of(1_000_000, 0.2, counts.collect()),
            ..CellResult::default()
        }
    }

    #[test]
    fn one_window_says_that_it_has_no_interval() {
        assert_eq!(estimates(&[CellResult::default()], View::default()), "");
        let text = estimates(&[result(1)], View::default());
        assert!(text.contains("one window, so no intervals"), "{text}");
        assert!(text.contains("no interval"), "{text}");
        let text = estimates(&[result(3)], View::default());
        assert!(
            text.contains("from 3 windows, without the first 20.0%"),
            "{text}"
        );
        assert!(text.contains(" to "), "{text}");
    }

    #[test]
    fn columns_have_values_where_there_are_estimates() {
        assert!(estimate_columns(&[CellResult::default()]).is_empty());
        let columns = estimate_columns(&[result(3), CellResult::default(), result(1)]);
        let named = |name: &str| {
            let column = columns.iter().find(|column| column.name == name);
            let values = &column.expect("a column").values;
            [0, 1, 2].map(|row| values.text(row))
        };
        assert_eq!(named("estimated_l1_misses"), ["11000", "", "10000"]);
        assert_eq!(named("estimate_windows"), ["3", "", "1"]);
        let low = named("estimated_l1_misses_low");
        assert!(!low[0].is_empty() && low[2].is_empty(), "{low:?}");
    }
}
