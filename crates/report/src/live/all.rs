//! A table of all processes, one on each line.

use broadleaf_metrics::{LiveReport, ProcessReport};

use super::{ending, forecast, order_of, paragraph, share, total};
use crate::next::answer_text;
use crate::number::{grouped, size};
use crate::printable;
use crate::{Align, Cell, Grid, Style, View, live_answer};

/// The width to which a narrow view cuts a command.
const SHORTEST_COMMAND: usize = 8;

/// Renders the effect of a policy on each process, in the order of the report, with the sum of all.
/// Processes that could not be read and the notes follow, and then the commands to type now.
pub fn all_processes(report: &LiveReport, view: View) -> String {
    let mut out = String::new();
    let policy = order_of(report).unwrap_or_default();
    let mut processes: Vec<&ProcessReport> = report.processes.iter().collect();
    let count = processes.len();
    processes.retain(|process| total(process.blocks) > 0);
    let mut grid = Grid::new()
        .column("pid", Align::Right)
        .cut_column("command", SHORTEST_COMMAND)
        .column("resident", Align::Right)
        .column("in superpages", Align::Right)
        .column("blocks", Align::Right)
        .column("would promote", Align::Right)
        .column("memory added", Align::Right)
        .column("then in superpages", Align::Right)
        .keys(2);
    for process in &processes {
        grid.row(row(
            [process.pid.to_string(), printable(&process.command)],
            &figures(&[process], policy),
            Style::Plain,
        ));
    }
    let together = match processes.len() {
        1 => "1 process".to_owned(),
        count => format!("{} processes", grouped(count as u64)),
    };
    grid.row(row(
        [String::new(), together],
        &figures(&processes, policy),
        Style::Strong,
    ));
    let what = format!("What {policy} would do now, with as much memory as there is:");
    out.push_str(&paragraph(&what, Style::Plain, view));
    out.push_str(&grid.render(view));
    let others = count - processes.len();
    if others > 0 {
        let text = format!(
            "{} more hold no block of 2 MiB that lies wholly in one mapping.",
            grouped(others as u64)
        );
        out.push_str(&paragraph(&text, Style::Faint, view));
    }
    out + &ending(report, view) + &answer_text(&live_answer(report, &[]), view)
}

/// Sums over processes.
#[derive(Clone, Copy, Debug, Default)]
struct ProcessSums {
    rss: u64,
    huge: u64,
    blocks: u64,
    promoted: u64,
    added: u64,
    covered: u64,
}

fn figures(processes: &[&ProcessReport], policy: &str) -> ProcessSums {
    let mut sum = ProcessSums::default();
    for process in processes {
        sum.rss += process.rss_bytes;
        sum.huge += process.huge_bytes;
        sum.blocks += total(process.blocks);
        if let Some(forecast) = forecast(process, policy) {
            sum.promoted += forecast.would_promote;
            sum.added += forecast.added_bytes;
            sum.covered += forecast.covered_bytes;
        }
    }
    sum
}

fn row(names: [String; 2], sum: &ProcessSums, style: Style) -> Vec<Cell> {
    let figures = [
        size(sum.rss),
        share(sum.huge, sum.rss),
        grouped(sum.blocks),
        grouped(sum.promoted),
        size(sum.added),
        share(sum.covered, sum.rss),
    ];
    let texts = names.into_iter().chain(figures);
    texts.map(|text| Cell { text, style }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::put_in_order;
    use super::super::testing::{process, report};
    use super::*;

    #[test]
    fn the_most_covered_process_comes_first_and_all_are_added_up() {
        let mut small = process(3, 1);
        small.blocks = Default::default();
        let mut report = report(vec![process(41, 1), process(42, 3), small]);
        put_in_order(&mut report);
        let text = all_processes(&report, View::default());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "What pop-256 would do now, with as much memory as there is:"
        );
        assert!(lines[3].starts_with(" 42  redis-server"), "{text}");
        assert!(lines[4].starts_with(" 41  redis-server"), "{text}");
        assert!(
            lines[5].starts_with("     2 processes   16.0 MiB"),
            "{text}"
        );
        assert_eq!(
            lines[6],
            "1 more hold no block of 2 MiB that lies wholly in one mapping."
        );
        assert_eq!(lines[7], "Not looked at: 9 init: not yours");
    }

    #[test]
    fn without_pop_256_the_last_policy_decides() {
        let mut one = process(1, 1);
        one.policies.retain(|forecast| forecast.policy != "pop-256");
        assert_eq!(order_of(&report(vec![one])), Some("4k"));
        assert_eq!(order_of(&report(vec![])), None);
    }
}
