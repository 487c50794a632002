//! Curves as text: for each page size a plot of misses against entries, and for each policy a table of them by associativity.

mod canvas;
mod lines;
mod plot;
mod table;

use broadleaf_metrics::CellResult;
use broadleaf_units::PageSize;

use crate::grid::paragraph;
use crate::{Style, View};
pub(crate) use canvas::Canvas;
use lines::Lines;

/// What plots are drawn with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Glyphs {
    /// Letters and points.
    #[default]
    Ascii,
    /// Letters, and braille characters for what lies between them: eight points in each.
    Braille,
}

/// What the curves are.
const WHAT: &str = "Misses of TLBs that hold pages of one size alone: exact LRU, the low bits of the page number choose the set. \
    --format json has every point.";

/// The curves of `results`, or nothing where they have none. A policy's curve is the same on every machine, so it is shown once.
pub fn curves(results: &[CellResult], glyphs: Glyphs, view: View) -> String {
    let mut out = String::new();
    for size in sizes(results) {
        let lines = Lines::new(results, size.bytes());
        out.push_str(&section(&lines, size, glyphs, view));
    }
    if out.is_empty() {
        return out;
    }
    format!("{}{out}", paragraph(WHAT, Style::Faint, view))
}

/// The page sizes that there are curves of, smallest first.
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

/// All about one page size.
fn section(lines: &Lines<'_>, size: PageSize, glyphs: Glyphs, view: View) -> String {
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
