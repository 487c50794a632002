//! One matrix for several machines: a row for each policy, a column for each machine.

use broadleaf_metrics::{CellResult, Comparison};

use crate::advice::{BASELINE, added_share};
use crate::grid::paragraph;
use crate::number::{percent, ratio, short};
use crate::recommendation::{Context, machines, of_machine};
use crate::{Align, Cell, Grid, Style, View};

/// The number of machines from which on there is a matrix in place of tables.
const FEWEST: usize = 3;

/// Renders the walk cycles of all policies on all machines, and the recommendation for each
/// machine. Returns `None` if tables show more: for few machines, or with the figures of limited
/// memory.
pub(crate) fn matrix(comparison: &Comparison, context: &Context<'_>, view: View) -> Option<String> {
    let machines = machines(comparison);
    let memory = comparison.memory.as_ref();
    let is_limited = memory.is_some_and(|memory| memory.bytes.is_some());
    if machines.len() < FEWEST || is_limited {
        return None;
    }
    let chosen = |machine: &str| {
        let advice = comparison.advice.iter().find(|one| one.machine == machine);
        advice.map_or("", |advice| advice.policy.as_str())
    };
    let mut grid = Grid::new().column("policy", Align::Left).keys(1);
    for machine in &machines {
        grid = grid.column(machine, Align::Right);
    }
    grid = grid.column("added %", Align::Right);
    let mut baselines = vec![Cell::from(format!("{BASELINE}: walk cycles"))];
    baselines.extend(machines.iter().map(|machine| {
        let baseline = context.reference(BASELINE, machine);
        Cell::from(baseline.map_or(String::new(), |result| short(result.walk_cycles)))
    }));
    baselines.push(Cell::default());
    grid.row(baselines);
    for first in of_machine(comparison, machines[0]) {
        let policy = &first.policy;
        let mut row = vec![Cell::from(policy.clone())];
        for machine in &machines {
            let result = of_machine(comparison, machine)
                .into_iter()
                .find(|result| result.policy == *policy);
            let baseline = context.reference(BASELINE, machine);
            row.push(cell(result, baseline, chosen(machine) == policy));
        }
        let added = context.reference(BASELINE, machines[0]);
        let added = added.map(|baseline| percent(added_share(first, baseline)));
        row.push(added.unwrap_or_default().into());
        grid.row(row);
    }
    let mut out = String::from("Walk cycles, divided by those of 4k on the same machine:\n");
    out.push_str(&grid.render(view));
    out.push_str(&paragraph(
        "> chosen on this machine. More figures of each cell, such as misses: --format csv or \
         json. The table of one machine: --machine NAME. This matrix as a picture: --format svg",
        Style::Faint,
        view,
    ));
    for advice in &comparison.advice {
        let text = format!("{}: {}", advice.machine, advice.sentence);
        out.push('\n');
        out.push_str(&paragraph(&text, Style::Strong, view));
    }
    Some(out)
}

fn cell(result: Option<&CellResult>, baseline: Option<&CellResult>, is_chosen: bool) -> Cell {
    let (Some(result), Some(baseline)) = (result, baseline) else {
        return Cell::default();
    };
    let text = ratio(result.walk_cycles, baseline.walk_cycles);
    Cell {
        text: if is_chosen { format!("> {text}") } else { text },
        style: if is_chosen {
            Style::Strong
        } else {
            Style::Plain
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_metrics::{Provenance, Recommendation, TraceSummary};

    #[test]
    fn four_machines_are_one_matrix_that_fits_eighty_columns() {
        let names = ["skylake", "zen4", "neoverse-n1", "golden-cove"];
        let result = |policy: &str, machine: &str, walk_cycles| CellResult {
            policy: policy.to_owned(),
            machine: machine.to_owned(),
            walk_cycles,
            peak_resident_pages: 100,
            ..CellResult::default()
        };
        let all = |policy, cycles| names.map(|machine| result(policy, machine, cycles));
        let references = all("4k", 1000);
        let results = [all("4k", 1000), all("greedy", 250)].concat();
        let mut comparison = Comparison::new(
            TraceSummary::default(),
            results,
            vec![],
            Provenance::default(),
        );
        comparison.advice = vec![Recommendation {
            machine: "zen4".to_owned(),
            policy: "greedy".to_owned(),
            sentence: "Choose greedy.".to_owned(),
            ..Recommendation::default()
        }];
        let context = Context {
            references: &references,
            can_be_run: &|_| true,
            by_walks: &[],
        };
        let view = View {
            width: Some(80),
            ..View::default()
        };
        let text = matrix(&comparison, &context, view).expect("a matrix");
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert!(
            text.contains("> x0.25") && text.contains("zen4: Choose greedy."),
            "{text}"
        );
        let heads = text
            .lines()
            .find(|line| line.starts_with("policy"))
            .expect("heads");
        assert!(names.iter().all(|name| heads.contains(name)), "{heads}");
        comparison.results.truncate(2);
        assert!(matrix(&comparison, &context, view).is_none());
    }
}
