//! A table of advice by range.

use super::columns::{RangeColumn, columns};
use super::sites::site_table;
use super::together::{caution, left_out, order, together, whole};
use crate::grid::paragraph;
use crate::next::what_to_type;
use crate::number::{grouped, size};
use crate::{Grid, Style, View};
use broadleaf_metrics::{AdvisedRange, RangeAdvice};

/// The minimum width of the last column, which is wrapped. The bounds of a mapping fit.
const NARROWEST: usize = 30;

/// Renders the answer, and the best `most` of the ranges that gain alone. Notes follow: ranges that
/// are left out, the gain of all ranges together, and the meaning of the figures. Commands end it.
pub fn range_table(advice: &RangeAdvice, most: usize, view: View) -> String {
    let answer = &advice.advice;
    let mut out = paragraph(&answer.sentence, Style::Strong, view);
    if let Some(run_time) = &answer.run_time {
        out.push_str(&paragraph(run_time, Style::Plain, view));
    }
    let notes = advice.notes.iter();
    let notes = notes.map(|note| paragraph(&format!("Note: {note}"), Style::Faint, view));
    let notes: String = notes.collect();
    if advice.ranges.is_empty() {
        out.push_str(&notes);
        out.push_str(&what_to_type("", &answer.commands, view));
        return out;
    }
    out.push_str(&format!("\n{}\n", heading(advice, view)));
    out.push_str(&paragraph(&order(&advice.ranked_by), Style::Plain, view));
    let mut shown: Vec<&AdvisedRange> = advice.ranges.iter().collect();
    shown.retain(|range| range.cycles_gained > 0);
    let gaining = shown.len();
    shown.truncate(most);
    if !shown.is_empty() {
        out.push_str(&ranges(advice, &shown, view));
    }
    for text in left_out(shown.len(), gaining, advice.ranges.len()) {
        out.push_str(&paragraph(&text, Style::Faint, view));
    }
    out.push('\n');
    out.push_str(&site_table(advice, most, view));
    if let Some((without, with)) = advice.replayed() {
        out.push_str(&paragraph(&together(without, with), Style::Strong, view));
        out.push_str(&paragraph(&whole(without, with), Style::Strong, view));
        out.push('\n');
    }
    out.push_str(&paragraph(&caution(advice.exact), Style::Faint, view));
    out.push_str(&notes);
    out.push_str(&what_to_type("", &answer.commands, view));
    out
}

fn heading(advice: &RangeAdvice, view: View) -> String {
    let trace = &advice.trace;
    let held = format!(
        "{} accesses ({} loads, {} stores) to {} ({} pages)",
        grouped(trace.accesses),
        grouped(trace.loads),
        grouped(trace.stores),
        size(trace.pages * 4096),
        grouped(trace.pages),
    );
    format!(
        "{}\n{}{}{}",
        view.paint.apply(Style::Strong, &trace.path),
        paragraph(&held, Style::Plain, view),
        paragraph(&advice.memory.sentence(size), Style::Plain, view),
        paragraph(
            &format!("{} on {}", advice.policy, advice.machine),
            Style::Plain,
            view
        ),
    )
}

fn ranges(advice: &RangeAdvice, shown: &[&AdvisedRange], view: View) -> String {
    let mut columns = columns(advice);
    let (mut exact, mut left_out) = (true, Vec::new());
    let last = |range: &&AdvisedRange| {
        columns
            .last()
            .map(|column| (column.text)(range, true).chars().count())
    };
    let widest = shown.iter().filter_map(last).max().unwrap_or(0);
    let grid = loop {
        let grid = grid(shown, &columns, exact);
        let narrowest = grid.width() - widest.saturating_sub(NARROWEST);
        if view.width.is_none_or(|width| narrowest <= width) {
            break grid;
        }
        if exact {
            exact = false;
            continue;
        }
        let least = (0..columns.len()).max_by_key(|at| columns[*at].leave_out_first);
        match least.filter(|at| columns[*at].leave_out_first > 0) {
            Some(least) => left_out.push(columns.remove(least).heading),
            None => break grid,
        }
    };
    let mut out = grid.render(view);
    if !left_out.is_empty() {
        let text = format!(
            "No room for: {}. A wider terminal shows them, and so does --format json",
            left_out.join(", ")
        );
        out.push_str(&paragraph(&text, Style::Faint, view));
    }
    out
}

fn grid(ranges: &[&AdvisedRange], columns: &[RangeColumn<'_>], exact: bool) -> Grid {
    let mut grid = Grid::new();
    for column in columns {
        grid = grid.column(column.heading, column.align);
    }
    for range in ranges {
        grid.row(columns.iter().map(|column| (column.text)(range, exact)));
    }
    grid
}

#[cfg(test)]
mod tests {
    use super::super::NOTHING_PAYS;
    use super::super::testing::{advice, heap, lying_in};
    use super::*;
    use broadleaf_metrics::BackingName;

    #[test]
    fn a_table_has_a_row_for_each_range_and_says_what_all_come_to() {
        let text = range_table(
            &advice(vec![
                heap(),
                AdvisedRange {
                    cycles_gained: 7,
                    gained_per_kib: 0.002,
                    ..lying_in(BackingName::File, 0x200_0000_0000, 1)
                },
            ]),
            20,
            View::default(),
        );
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[2], "sort.bl");
        assert_eq!(lines[5], "offline(cycles=all,sizes=2m) on small");
        let cells = |line: &str| -> Vec<String> {
            let cells = line.split("  ").map(str::trim);
            cells
                .filter(|cell| !cell.is_empty())
                .map(str::to_owned)
                .collect()
        };
        assert_eq!(
            cells(lines[10]),
            [
                "0x400000-0x800000",
                "2 x 2 MiB",
                "1,234",
                "37,020",
                "61.7%",
                "766",
                "1.00 MiB",
                "1,024,000",
                "250",
                "1.00k",
                "heap 0x200000-0x900000"
            ]
        );
        assert_eq!(
            cells(lines[11])[6..],
            [
                "0 B",
                "7",
                "<0.01",
                "free",
                "/data/x*/y + 0x201000, 0x1fffffff000-0x20000203000"
            ]
        );
        assert_eq!(
            lines[13],
            "All together, as replayed: 1,000 walks instead of 2,000, 30,000 cycles of walks \
             instead of 60,000 (x0.50); 240 page faults instead of 1,000, 480,000 cycles of \
             faults instead of 2,000,000; 304 KiB of memory more at the peak."
        );
        assert_eq!(
            lines[14],
            "Whole gain: 1,550,000 cycles of walks and faults: walks save 30,000, and faults save \
            1,520,000. Superpages save 50.0% of the walk cycles of base pages."
        );
        assert!(
            text.ends_with("may save more or less than the sum of their figures.\nNote: a note\n")
        );
    }

    #[test]
    fn every_heading_is_explained_and_there_is_no_other() {
        let several = RangeAdvice {
            spaces: 2,
            ..advice(vec![heap()])
        };
        let shown: Vec<&str> = (columns(&several).iter())
            .map(|column| column.heading)
            .collect();
        let explained = crate::RANGE_HEADINGS.iter().map(|heading| heading.name);
        assert_eq!(shown, explained.collect::<Vec<_>>());
    }

    #[test]
    fn a_narrow_view_leaves_out_the_least_important_columns() {
        let view = View {
            width: Some(100),
            ..View::default()
        };
        let text = range_table(&advice(vec![heap()]), 20, view);
        assert!(text.lines().all(|line| line.len() <= 100), "{text}");
        assert!(
            text.contains("No room for: per KiB added, per KiB"),
            "{text}"
        );
        assert!(text.contains("1.02M"), "{text}");
    }

    #[test]
    fn nothing_is_a_sentence_and_several_processes_are_a_column() {
        let nothing = range_table(&advice(vec![]), 20, View::default());
        assert!(nothing.contains(NOTHING_PAYS) && !nothing.contains("together"));
        let other = AdvisedRange {
            space: 1,
            pid: None,
            command: vec![],
            ..heap()
        };
        let several = RangeAdvice {
            spaces: 2,
            exact: false,
            ..advice(vec![heap(), other])
        };
        let text = range_table(&several, 20, View::default());
        assert!(text.contains("\n41 sort  0x400000"), "{text}");
        assert!(text.contains("\n1        0x400000"), "{text}");
        assert!(
            text.contains("are estimates") && !text.contains("left out"),
            "{text}"
        );
    }

    #[test]
    fn ranges_that_are_left_out_are_counted_and_those_without_gain_have_no_row() {
        let loses = |start| lying_in(BackingName::Anonymous, start, 1);
        let gaining = vec![heap(); 1203];
        let few = [gaining.clone(), vec![loses(0x200_0000_0000)]].concat();
        let text = range_table(&advice(few), 3, View::default());
        assert_eq!(text.matches("\n0x400000-").count(), 3, "{text}");
        assert!(!text.contains("0x20000000000"), "{text}");
        assert!(
            text.contains(
                "\nThe table shows the best 3 of 1,203 ranges. --top 1203 shows all.\n\
                 1 range is left out: alone, "
            ),
            "{text}"
        );
        let none = vec![loses(0x200_0000_0000), loses(0x300_0000_0000)];
        let text = range_table(&advice(none), 3, View::default());
        assert!(text.contains("\n2 ranges are left out: alone, "), "{text}");
        assert!(!text.contains("superpages  walks"), "{text}");
    }
}
