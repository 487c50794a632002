//! Advice by range as a table.

use super::columns::{Column, columns};
use super::{NOTHING_PAYS, plain};
use crate::grid::wrap;
use crate::number::{grouped, ratio, size, size_signed};
use crate::{Grid, Style, View, added_bytes};
use broadleaf_metrics::{AdvisedRange, CellResult, MemoryResult, RangeAdvice};

/// How narrow the last column may be, which is wrapped: the bounds of a mapping fit.
const NARROWEST: usize = 30;

/// The ranges, what all of them come to together, and how to take the figures.
pub fn range_table(advice: &RangeAdvice, view: View) -> String {
    let mut out = heading(advice, view);
    out.push('\n');
    if advice.ranges.is_empty() {
        out.push_str(&paragraph(NOTHING_PAYS, Style::Strong, view));
    } else {
        out.push_str(&ranges(advice, view));
        if advice.ranges_left_out > 0 {
            let text = format!("and {} more", grouped(advice.ranges_left_out));
            out.push_str(&paragraph(&text, Style::Faint, view));
        }
        out.push('\n');
        if let Some((without, with)) = advice.replayed() {
            out.push_str(&paragraph(&together(without, with), Style::Strong, view));
            out.push('\n');
        }
        out.push_str(&paragraph(&caution(advice.exact), Style::Faint, view));
    }
    for note in &advice.notes {
        out.push_str(&paragraph(&format!("Note: {note}"), Style::Faint, view));
    }
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
        view.paint.apply(Style::Strong, &plain(&trace.path)),
        paragraph(&held, Style::Plain, view),
        paragraph(&advice.memory.sentence(size), Style::Plain, view),
        paragraph(
            &format!("{} on {}", advice.policy, advice.machine),
            Style::Plain,
            view
        ),
    )
}

fn ranges(advice: &RangeAdvice, view: View) -> String {
    let mut columns = columns(advice);
    let (mut exact, mut left_out) = (true, Vec::new());
    let last = |range| {
        columns
            .last()
            .map(|column| (column.text)(range, true).chars().count())
    };
    let widest = advice.ranges.iter().filter_map(last).max().unwrap_or(0);
    let grid = loop {
        let grid = grid(&advice.ranges, &columns, exact);
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

fn grid(ranges: &[AdvisedRange], columns: &[Column<'_>], exact: bool) -> Grid {
    let mut grid = Grid::new();
    for column in columns {
        grid = grid.column(column.heading, column.align);
    }
    for range in ranges {
        grid.row(columns.iter().map(|column| (column.text)(range, exact)));
    }
    grid
}

/// What all ranges come to, as replayed.
fn together(without: &CellResult, with: &CellResult) -> String {
    let fault_cycles = |result: &CellResult| {
        let cycles = |memory: &MemoryResult| memory.fault_cycles;
        grouped(result.memory.as_ref().map_or(0, cycles))
    };
    let added = added_bytes(with, without);
    let memory = match added {
        0 => "no more memory at the peak".to_owned(),
        _ => format!("{} of memory more at the peak", size_signed(added)),
    };
    format!(
        "All together, as replayed: {} walks instead of {}, {} cycles of walks instead of {} ({}); {} page faults instead of {}, {} cycles of faults instead of {}; {memory}.",
        grouped(with.l2_misses),
        grouped(without.l2_misses),
        grouped(with.walk_cycles),
        grouped(without.walk_cycles),
        ratio(with.walk_cycles, without.walk_cycles),
        grouped(with.page_faults),
        grouped(without.page_faults),
        fault_cycles(with),
        fault_cycles(without),
    )
}

/// How far the figures of ranges can be taken.
fn caution(exact: bool) -> String {
    let counted = "What a range spares is counted as if there were no other superpages: all together may spare less than the sum, or more.";
    if exact {
        return counted.to_owned();
    }
    format!(
        "{counted} Counted is for a fully associative TLB with as many entries as this machine's, so that here it is an estimate; what is said of all together is not."
    )
}

fn paragraph(text: &str, style: Style, view: View) -> String {
    let lines = wrap(text, view.width.unwrap_or(usize::MAX));
    let painted = lines
        .iter()
        .map(|line| format!("{}\n", view.paint.apply(style, line)));
    painted.collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{advice, heap, lying_in};
    use super::*;
    use broadleaf_metrics::BackingName;

    #[test]
    fn a_table_has_a_row_for_each_range_and_says_what_all_come_to() {
        let text = range_table(
            &advice(vec![
                heap(),
                lying_in(BackingName::File, 0x200_0000_0000, 1),
            ]),
            View::default(),
        );
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "sort.bl");
        assert_eq!(lines[3], "offline(cycles=all,sizes=2m) on small");
        let cells = |line: &str| -> Vec<String> {
            let cells = line.split("  ").map(str::trim);
            cells
                .filter(|cell| !cell.is_empty())
                .map(str::to_owned)
                .collect()
        };
        assert_eq!(
            cells(lines[7]),
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
            cells(lines[8])[6..],
            [
                "0 B",
                "-7",
                "-<0.01",
                "free",
                "/data/x*/y + 0x201000, 0x1fffffff000-0x20000203000"
            ]
        );
        assert_eq!(
            lines[10],
            "All together, as replayed: 1,000 walks instead of 2,000, 30,000 cycles of walks instead of 60,000 (x0.50); 240 page faults instead of 1,000, 480,000 cycles of faults instead of 2,000,000; 304 KiB of memory more at the peak."
        );
        assert!(
            text.ends_with("all together may spare less than the sum, or more.\nNote: a note\n")
        );
    }

    #[test]
    fn a_narrow_view_leaves_out_what_matters_least() {
        let view = View {
            width: Some(100),
            ..View::default()
        };
        let text = range_table(&advice(vec![heap()]), view);
        assert!(text.lines().all(|line| line.len() <= 100), "{text}");
        assert!(
            text.contains("No room for: per KiB added, per KiB"),
            "{text}"
        );
        assert!(text.contains("1.02M"), "{text}");
    }

    #[test]
    fn nothing_is_a_sentence_and_several_processes_are_a_column() {
        let nothing = range_table(&advice(vec![]), View::default());
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
            ranges_left_out: 1200,
            ..advice(vec![heap(), other])
        };
        let text = range_table(&several, View::default());
        assert!(text.contains("\n41 sort  0x400000"), "{text}");
        assert!(text.contains("\n1        0x400000"), "{text}");
        assert!(text.contains("\nand 1,200 more\n") && text.contains("an estimate"));
    }
}
