//! Pictures of memory and of TLB misses over time: a few small plots for each policy and machine.

mod misses;

use broadleaf_metrics::{CellResult, MemoryResult, MemorySample};

use crate::advice::{ended, page_bytes};
use crate::curve::Canvas;
use crate::grid::paragraph;
use crate::number::{grouped, short, size};
use crate::{Glyphs, Style, View};
use misses::misses;

/// The number of rows of a plot.
const ROWS: usize = 3;
/// The width of the labels before the axis.
const LABEL: usize = 18;
/// The maximum width of a plot.
const WIDEST: usize = 100;
/// The width if the width of the output is unknown.
const USUAL: usize = 80;

/// Renders the pictures of `results` of a trace with this number of accesses: of memory that is
/// limited, otherwise of misses. Returns an empty text without samples. Equal quantities have equal
/// scales.
pub fn over_time(results: &[CellResult], accesses: u64, glyphs: Glyphs, view: View) -> String {
    let mut out = misses(results, accesses, glyphs, view);
    out.push_str(&memory(results, accesses, glyphs, view));
    out
}

fn memory(results: &[CellResult], accesses: u64, glyphs: Glyphs, view: View) -> String {
    let limited: Vec<(&CellResult, &MemoryResult)> = (results.iter())
        .filter(|result| result.misses_over_time.is_none())
        .filter_map(|result| Some((result, result.memory.as_ref()?)))
        .collect();
    if limited.is_empty() {
        return String::new();
    }
    let columns = columns_of(view);
    let mut out = paragraph(
        &format!(
            "Over time, from left to right: a character is {} accesses wide. \
            Faults and traffic with the disk are those of each. \
            The same scale holds for all policies; --format json has every sample.",
            grouped(accesses.div_ceil(columns as u64))
        ),
        Style::Faint,
        view,
    );
    let wide = Canvas::new(glyphs, columns, ROWS).dots().0;
    let series: Vec<Vec<Series>> = (limited.iter())
        .map(|(result, memory)| series(result, memory, accesses, columns, wide))
        .collect();
    for (of, (result, _)) in limited.iter().enumerate() {
        let end = ended(result).map_or(String::new(), |after| {
            format!(
                ", until memory was used up after {} accesses",
                grouped(after)
            )
        });
        let heading = format!("{} on {}{end}", result.policy, result.machine);
        out.push('\n');
        out.push_str(&paragraph(&heading, Style::Strong, view));
        for (at, line) in series[of].iter().enumerate() {
            let most = series.iter().map(|lines| lines[at].highest()).max();
            out.push_str(&plot(line, most.unwrap_or(0), columns, glyphs, view));
        }
    }
    out
}

/// The characters of a plot's width.
fn columns_of(view: View) -> usize {
    let width = view.width.unwrap_or(USUAL).min(WIDEST);
    width.saturating_sub(LABEL + 2).max(8)
}

/// One quantity of one result.
struct Series {
    name: String,
    /// The values by column of dots, up to the end of the result.
    values: Vec<u64>,
    text: Box<dyn Fn(u64) -> String>,
}

impl Series {
    fn highest(&self) -> u64 {
        self.values.iter().copied().max().unwrap_or(0)
    }
}

fn series(
    result: &CellResult,
    memory: &MemoryResult,
    accesses: u64,
    columns: usize,
    wide: usize,
) -> Vec<Series> {
    let page = page_bytes(result);
    let dots = columns * wide;
    let samples = &memory.over_time;
    let bytes = move |pages: u64| size(pages * page);
    let level = |name: &str, of: &dyn Fn(&MemorySample) -> u64| Series {
        name: name.to_owned(),
        values: levels(samples, of, accesses, dots),
        text: Box::new(bytes),
    };
    let largest = memory.page_sizes.keys().max().copied().unwrap_or(page);
    let order = (largest / page.max(1)).max(1).ilog2() as u8;
    let contiguous = move |sample: &MemorySample| {
        let extents = sample.free_contiguity.get(&order).copied().unwrap_or(0);
        extents << order
    };
    let disk = |sample: &MemorySample| {
        sample.swapped_out_pages
            + sample.swapped_in_pages
            + sample.file_pages_read
            + sample.file_pages_written
    };
    vec![
        level("resident", &|sample| sample.resident_pages),
        level("bloat", &|sample| sample.bloat_pages),
        level(&format!("free {} pages", short_size(largest)), &contiguous),
        Series {
            name: "faults".to_owned(),
            values: rates(
                samples,
                &|sample| sample.page_faults,
                accesses,
                columns,
                wide,
            ),
            text: Box::new(short),
        },
        Series {
            name: "disk".to_owned(),
            values: rates(samples, &disk, accesses, columns, wide),
            text: Box::new(bytes),
        },
    ]
}

/// Returns the short name of a page size: `2m`, `64k`.
fn short_size(bytes: u64) -> String {
    broadleaf_units::PageSize::from_bytes(bytes)
        .map_or(bytes.to_string(), |size| size.short_name().to_string())
}

/// Returns the number of columns of dots that the samples reach, of `dots` for `accesses` accesses.
fn reach(samples: &[MemorySample], accesses: u64, dots: usize) -> usize {
    let last = samples.last().map_or(0, |sample| sample.time);
    let share = last as f64 / accesses.max(1) as f64;
    ((share * dots as f64).ceil() as usize).clamp(usize::from(!samples.is_empty()), dots)
}

/// Returns the time at which a column of dots begins.
fn begins(column: usize, accesses: u64, dots: usize) -> u64 {
    (accesses as u128 * column as u128 / dots as u128) as u64
}

/// Returns the highest value in each column of dots, or the latest value for a column without a
/// sample.
fn levels(
    samples: &[MemorySample],
    of: &dyn Fn(&MemorySample) -> u64,
    accesses: u64,
    dots: usize,
) -> Vec<u64> {
    let reach = reach(samples, accesses, dots);
    let value = |column: usize| {
        let (from, to) = (
            begins(column, accesses, dots),
            begins(column + 1, accesses, dots),
        );
        // The last sample is of the end.
        let inside = samples
            .iter()
            .filter(|sample| sample.time >= from && (sample.time < to || column + 1 == reach));
        inside.map(of).max().unwrap_or_else(|| {
            let before = samples.iter().rev().find(|sample| sample.time < from);
            before.or(samples.first()).map_or(0, of)
        })
    };
    (0..reach).map(value).collect()
}

/// Returns the count in each character. Counts are spread evenly between two samples.
fn rates(
    samples: &[MemorySample],
    of: &dyn Fn(&MemorySample) -> u64,
    accesses: u64,
    columns: usize,
    wide: usize,
) -> Vec<u64> {
    let until = |time: u64| {
        let mut before = (0, 0);
        for sample in samples {
            let here = (sample.time, of(sample));
            if here.0 >= time {
                let share = (time - before.0) as f64 / (here.0 - before.0).max(1) as f64;
                return before.1 as f64 + here.1.saturating_sub(before.1) as f64 * share;
            }
            before = here;
        }
        before.1 as f64
    };
    let value = |column: usize| {
        let from = until(begins(column, accesses, columns));
        (until(begins(column + 1, accesses, columns)) - from).round() as u64
    };
    let values = (0..reach(samples, accesses, columns)).map(value);
    values.flat_map(|value| vec![value; wide]).collect()
}

fn plot(series: &Series, most: u64, columns: usize, glyphs: Glyphs, view: View) -> String {
    if series.highest() == 0 {
        return format!("  {:<width$}| none\n", series.name, width = LABEL - 3);
    }
    let mut canvas = Canvas::new(glyphs, columns, ROWS);
    let height = ROWS * canvas.dots().1;
    for (x, &value) in series.values.iter().enumerate() {
        // A value above zero is visible.
        let share = value as f64 / most.max(1) as f64;
        let filled = ((share * height as f64).round() as usize).max(usize::from(value > 0));
        for y in height - filled..height {
            canvas.dot(0, x, y);
        }
    }
    let labels = [
        series.name.clone(),
        format!("to {}", (series.text)(series.highest())),
        String::new(),
    ];
    let mut out = String::new();
    for (row, label) in labels.iter().enumerate().take(ROWS) {
        let drawn = canvas.row(row, 1, view.paint);
        out.push_str(format!("  {label:<width$}|{drawn}", width = LABEL - 3).trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests;
