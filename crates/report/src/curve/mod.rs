//! Curves as text: for each page size a plot of misses against entries, and for each policy a table
//! of misses by associativity.

mod canvas;
mod lines;
mod long;
mod plot;
mod svg;
mod table;

use broadleaf_metrics::CellResult;
use broadleaf_units::PageSize;

use crate::grid::paragraph;
use crate::{Style, View};
pub(crate) use canvas::Canvas;
use lines::Lines;
pub use long::{write_curves_csv, write_curves_parquet};
pub(crate) use svg::{Area, Failed, failed, legend, origin};
pub use svg::{DrawError, curves_svg};

/// The characters of plots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Glyphs {
    /// Letters and points.
    #[default]
    Ascii,
    /// Letters for values, and braille characters for the lines between. A braille character has
    /// eight dots.
    Braille,
}

/// The description of the curves.
const CAPTION: &str = "Misses of TLBs that hold pages of one size alone: exact LRU, the low bits \
                       of the page number choose the set. --format json has every point.";

/// Returns the curves of `results`, or an empty text without curves. A policy's curve is shown once
/// if it is equal on all machines.
pub fn curves(results: &[CellResult], glyphs: Glyphs, view: View) -> String {
    let mut out = String::new();
    for size in sizes(results) {
        let lines = Lines::new(results, size.bytes());
        out.push_str(&section(&lines, size, glyphs, view));
    }
    if out.is_empty() {
        return out;
    }
    format!("{}{out}", paragraph(CAPTION, Style::Faint, view))
}

/// Returns the page sizes with curves, smallest first.
fn sizes(results: &[CellResult]) -> Vec<PageSize> {
    let points = results.iter().filter_map(|result| result.curve.as_ref());
    let mut sizes: Vec<PageSize> = points
        .flatten()
        .filter_map(|point| PageSize::from_bytes(point.page_size))
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Renders the section of one page size.
fn section(lines: &Lines, size: PageSize, glyphs: Glyphs, view: View) -> String {
    let name = size.short_name();
    let mut out = String::new();
    if !lines.lines.is_empty() {
        out.push('\n');
        let heading = format!("{name} pages: misses against entries, fully associative");
        out.push_str(&paragraph(&heading, Style::Strong, view));
        out.push_str(&plot::plot(&lines.lines, glyphs, view));
    }
    if !lines.without.is_empty() {
        out.push('\n');
        let text = format!("Without {name} pages: {}", lines.without.join(", "));
        out.push_str(&paragraph(&text, Style::Plain, view));
    }
    for line in &lines.lines {
        out.push('\n');
        let heading = format!(
            "{name} pages: misses by associativity under {}",
            line.policies.join(", ")
        );
        out.push_str(&paragraph(&heading, Style::Strong, view));
        out.push_str(&table::table(line, view));
    }
    out
}

#[cfg(test)]
mod tests;
