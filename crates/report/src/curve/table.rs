//! A table of misses by entries and associativity.

use super::lines::CurveLine;
use crate::grid::{Align, Grid};
use crate::number::{counted, grouped, short};
use crate::{Style, View};

/// The associativities with a column.
const WAYS: [u64; 5] = [1, 2, 4, 8, 16];

/// Renders one row for each number of entries, and one column for each associativity. Numbers are
/// shortened if the table does not fit the view.
pub(super) fn table(line: &CurveLine, view: View) -> String {
    let (rows, cut) = rows(line);
    let exact = grid(line, &rows, grouped);
    let fits = view.width.is_none_or(|width| exact.width() <= width);
    let grid = if fits {
        exact
    } else {
        grid(line, &rows, short)
    };
    let mut out = grid.render(View {
        width: None,
        ..view
    });
    if cut {
        out.push_str(&super::paragraph(
            "Larger ones miss as often.",
            Style::Faint,
            view,
        ));
    }
    out
}

/// Returns the numbers of entries to show, up to the point from which more entries save nothing.
/// The flag is true if some are left out.
fn rows(line: &CurveLine) -> (Vec<u64>, bool) {
    let mut rows = line.entries();
    let least = line.points.iter().map(|point| point.misses).min();
    let all_least = |from: u64| {
        let mut larger = line.points.iter().filter(|point| point.entries() >= from);
        larger.all(|point| Some(point.misses) == least)
    };
    let shown = rows.iter().position(|entries| all_least(*entries));
    let shown = shown.map_or(rows.len(), |last| last + 1);
    let cut = shown < rows.len();
    rows.truncate(shown);
    (rows, cut)
}

fn grid(line: &CurveLine, rows: &[u64], text: fn(u64) -> String) -> Grid {
    let mut grid = Grid::new().column("entries", Align::Right);
    for ways in WAYS {
        grid = grid.column(&counted(ways, "way"), Align::Right);
    }
    grid = grid.column("all ways", Align::Right);
    for &entries in rows {
        let misses = |ways| line.misses(entries, ways).map_or(String::new(), text);
        let mut row = vec![grouped(entries)];
        row.extend(WAYS.map(misses));
        row.push(misses(entries));
        grid.row(row);
    }
    grid
}
