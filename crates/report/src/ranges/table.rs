//! Advice by range as a table.

use super::{NOTHING_PAYS, plain, process_of, size_in_full};
use crate::grid::wrap;
use crate::number::{
    grouped, grouped_signed, percent, ratio, short, short_signed, size, size_signed,
};
use crate::{Align, Grid, Style, View, added_bytes};
use broadleaf_metrics::{AdvisedRange, BackingName, CellResult, MemoryResult, RangeAdvice};

/// A column.
struct Column<'a> {
    heading: &'static str,
    align: Align,
    /// 0 for what is never left out; otherwise the larger, the earlier it goes.
    leave_out_first: u8,
    /// The text of a range; `true` asks for every digit.
    text: Box<dyn Fn(&AdvisedRange, bool) -> String + 'a>,
}

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
    let grid = loop {
        let grid = grid(&advice.ranges, &columns, exact);
        // The last column is wrapped, and needs some room.
        if view.width.is_none_or(|width| grid.width() <= width) {
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

fn columns(advice: &RangeAdvice) -> Vec<Column<'_>> {
    let figure = |heading, leave_out_first, of: fn(&AdvisedRange) -> u64| Column {
        heading,
        align: Align::Right,
        leave_out_first,
        text: Box::new(move |range, exact| count(of(range), exact)),
    };
    let words = |heading, of: fn(&AdvisedRange) -> String| Column {
        heading,
        align: Align::Left,
        leave_out_first: 0,
        text: Box::new(move |range, _| of(range)),
    };
    let all = advice
        .replayed()
        .map_or(0, |(without, _)| without.walk_cycles);
    let mut columns = Vec::new();
    if advice.spaces > 1 {
        columns.push(words("process", process_of));
    }
    columns.push(words("range", |range| span(range.start, range.end)));
    columns.push(words("superpages", |range| {
        format!(
            "{} x {}",
            range.superpages,
            size_in_full(range.superpage_bytes)
        )
    }));
    columns.push(figure("walks spared", 3, |range| range.walks_spared));
    columns.push(figure("walk cycles", 0, |range| range.walk_cycles_spared));
    columns.push(Column {
        heading: "of 4k",
        align: Align::Right,
        leave_out_first: 2,
        text: Box::new(move |range, _| percent(range.walk_cycles_spared as f64 / all as f64)),
    });
    columns.push(figure("faults spared", 4, |range| range.faults_spared));
    columns.push(Column {
        heading: "added",
        align: Align::Right,
        leave_out_first: 1,
        text: Box::new(|range, _| size(range.added_bytes)),
    });
    columns.push(Column {
        heading: "gained",
        align: Align::Right,
        leave_out_first: 0,
        text: Box::new(|range, exact| match exact {
            true => grouped_signed(range.cycles_gained),
            false => short_signed(range.cycles_gained),
        }),
    });
    columns.push(Column {
        heading: "per KiB",
        align: Align::Right,
        leave_out_first: 5,
        text: Box::new(|range, _| decimal(range.gained_per_kib)),
    });
    columns.push(Column {
        heading: "per KiB added",
        align: Align::Right,
        leave_out_first: 6,
        text: Box::new(|range, _| {
            range
                .gained_per_added_kib
                .map_or("free".to_owned(), decimal)
        }),
    });
    columns.push(words("lies in", lies_in));
    columns
}

fn count(value: u64, exact: bool) -> String {
    if exact { grouped(value) } else { short(value) }
}

/// A number that may be a fraction, with three digits or so.
fn decimal(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        tiny if tiny < 0.005 => format!("{}<0.01", if value < 0.0 { "-" } else { "" }),
        small if small < 9.995 => format!("{value:.2}"),
        middle if middle < 999.5 => format!("{value:.0}"),
        _ => short_signed(value as i64),
    }
}

fn span(start: u64, end: u64) -> String {
    format!("{start:#x}-{end:#x}")
}

fn lies_in(range: &AdvisedRange) -> String {
    let Some(mapping) = &range.mapping else {
        return "not recorded".to_owned();
    };
    let what = match (mapping.backing, &mapping.path) {
        (BackingName::File, Some(path)) => {
            format!("{} + {:#x},", plain(path), mapping.offset.unwrap_or(0))
        }
        (backing, _) => backing.words().to_owned(),
    };
    format!("{what} {}", span(mapping.start, mapping.end))
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
