//! The columns of the table of ranges.

use super::{process_of, size_in_full};
use crate::Align;
use crate::number::{grouped, grouped_signed, percent, short, short_signed, size};
use crate::printable;
use broadleaf_metrics::{AdvisedRange, BackingName, RangeAdvice};

/// The text of a range. `true` asks for all digits.
type RangeText<'a> = Box<dyn Fn(&AdvisedRange, bool) -> String + 'a>;

/// A column of the table of ranges.
pub(super) struct RangeColumn<'a> {
    pub(super) heading: &'static str,
    pub(super) align: Align,
    /// The order in which columns are left out: the largest first, and 0 never.
    pub(super) leave_out_first: u8,
    /// The text of each range.
    pub(super) text: RangeText<'a>,
}

/// Returns all columns with contents.
pub(super) fn columns(advice: &RangeAdvice) -> Vec<RangeColumn<'_>> {
    let figure = |heading, leave_out_first, of: fn(&AdvisedRange) -> u64| RangeColumn {
        heading,
        align: Align::Right,
        leave_out_first,
        text: Box::new(move |range, exact| count(of(range), exact)),
    };
    let words = |heading, of: fn(&AdvisedRange) -> String| RangeColumn {
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
    columns.push(RangeColumn {
        heading: "of 4k",
        align: Align::Right,
        leave_out_first: 2,
        text: Box::new(move |range, _| percent(range.walk_cycles_spared as f64 / all as f64)),
    });
    columns.push(figure("faults spared", 4, |range| range.faults_spared));
    columns.push(RangeColumn {
        heading: "added",
        align: Align::Right,
        leave_out_first: 1,
        text: Box::new(|range, _| size(range.added_bytes)),
    });
    columns.push(RangeColumn {
        heading: "gained",
        align: Align::Right,
        leave_out_first: 0,
        text: Box::new(|range, exact| match exact {
            true => grouped_signed(range.cycles_gained),
            false => short_signed(range.cycles_gained),
        }),
    });
    columns.push(RangeColumn {
        heading: "per KiB",
        align: Align::Right,
        leave_out_first: 5,
        text: Box::new(|range, _| decimal(range.gained_per_kib)),
    });
    columns.push(RangeColumn {
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

/// Formats a number that may be a fraction, with about three digits.
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

pub(super) fn lies_in(range: &AdvisedRange) -> String {
    let Some(mapping) = &range.mapping else {
        return "not recorded".to_owned();
    };
    let what = match (mapping.backing, &mapping.path) {
        (BackingName::File, Some(path)) => {
            format!("{} + {:#x},", printable(path), mapping.offset.unwrap_or(0))
        }
        (BackingName::StaticData, Some(path)) => format!("static data of {},", printable(path)),
        (backing, _) => backing.words().to_owned(),
    };
    format!("{what} {}", span(mapping.start, mapping.end))
}
