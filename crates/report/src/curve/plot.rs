//! A plot of misses against entries, both on logarithmic scales, with one line for each curve.

use super::Glyphs;
use super::canvas::Canvas;
use super::lines::CurveLine;
use crate::grid::{Align, Cell, Grid};
use crate::number::short;
use crate::{Style, View};

/// The number of rows of a plot.
const ROWS: usize = 16;
/// The number of rows between two labels of misses.
const LABELLED: usize = 5;
/// The width of the widest label and the axis.
const LABEL: usize = 8;
/// The maximum width of a plot.
const WIDEST: usize = 100;
/// The width of a plot if the width of the output is unknown.
const USUAL: usize = 80;

/// Renders a plot of at least one line, with a legend.
pub(super) fn plot(lines: &[CurveLine], glyphs: Glyphs, view: View) -> String {
    let curves: Vec<Vec<(u32, f64)>> = lines.iter().map(fully_associative).collect();
    let all = || curves.iter().flatten();
    let ticks = all().map(|(power, _)| *power).max().unwrap_or(0) as usize;
    let highest = all().map(|(_, misses)| *misses).fold(0.0, f64::max);
    let lowest = all().map(|(_, misses)| *misses).fold(highest, f64::min);
    let width = view.width.unwrap_or(USUAL).min(WIDEST);
    let step = (width.saturating_sub(LABEL + 4) / ticks.max(1)).clamp(1, 8);

    let mut canvas = Canvas::new(glyphs, ticks * step + 1, ROWS);
    let (wide, high) = canvas.dots();
    let x_of = |power: u32| power as usize * step * wide;
    let y_of = |misses: f64| {
        let fallen = (highest - misses) / (highest - lowest).max(f64::MIN_POSITIVE);
        (fallen * (ROWS * high - 1) as f64).round() as usize
    };
    for (number, (line, curve)) in lines.iter().zip(&curves).enumerate() {
        for pair in curve.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            let (start, end) = (x_of(from.0), x_of(to.0));
            let mut before = y_of(from.1);
            for x in start..=end {
                let way = (x - start) as f64 / (end - start).max(1) as f64;
                let y = y_of(from.1 + (to.1 - from.1) * way);
                // Steep parts have no gaps, because misses never rise.
                for y in (before + usize::from(y > before)).min(y)..=y {
                    canvas.dot(number, x, y);
                }
                before = y;
            }
        }
        for (power, misses) in curve {
            canvas.value(number, line.letter, x_of(*power), y_of(*misses));
        }
    }

    let mut out = String::new();
    for row in 0..ROWS {
        let fallen = row as f64 / (ROWS - 1) as f64;
        let misses = (highest - (highest - lowest) * fallen).exp2().round() as u64;
        let labelled = row % LABELLED == 0 && (row == 0 || lowest < highest);
        let label = if labelled {
            short(misses)
        } else {
            String::new()
        };
        let drawn = canvas.row(row, step, view.paint);
        out.push_str(format!("{label:>6} |{drawn}").trim_end());
        out.push('\n');
    }
    out.push_str(&axis(ticks, step));
    out.push('\n');
    out.push_str(&legend(lines, view));
    out
}

/// Returns the logarithms of entries and misses.
fn fully_associative(line: &CurveLine) -> Vec<(u32, f64)> {
    let entries = line.entries();
    let points = entries.iter().filter_map(|&entries| {
        let misses = line.misses(entries, entries)?;
        Some((entries.ilog2(), (misses as f64).max(1.0).log2()))
    });
    points.collect()
}

/// Returns the horizontal axis, with the numbers of entries.
fn axis(ticks: usize, step: usize) -> String {
    // The widest label is "4096". One blank separates two labels.
    let each = 5_usize.div_ceil(step);
    let mut line = String::from("       +");
    let mut labels = " ".repeat(LABEL);
    for tick in 0..=ticks {
        let mark = if tick == 0 { "-" } else { "+" };
        line.push_str(&format!("{mark:-<step$}"));
        if tick % each == 0 {
            let at = LABEL + tick * step;
            labels.push_str(&" ".repeat(at - labels.len()));
            labels.push_str(&(1_u64 << tick).to_string());
        }
    }
    let line = line.trim_end_matches('-');
    format!("{line}\n{labels}\n")
}

fn legend(lines: &[CurveLine], view: View) -> String {
    let mut grid = Grid::new()
        .column("", Align::Right)
        .column("", Align::Left)
        .column("", Align::Left);
    for (number, line) in lines.iter().enumerate() {
        let letter = Cell {
            text: line.letter.to_string(),
            style: Style::Line(number),
        };
        grid.row([Cell::from(""), letter, line.policies.join(", ").into()]);
    }
    grid.render(view)
}
