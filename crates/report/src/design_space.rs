//! Design spaces: the misses of many TLBs against their chip areas.

use crate::curve::Canvas;
use crate::number::grouped;
use crate::{Align, Cell, Glyphs, Grid, Style, View};
use broadleaf_metrics::CellResult;
use std::collections::BTreeSet;

/// The size of a plot, in characters.
const COLUMNS: usize = 60;
const ROWS: usize = 16;

/// The letters of designs on and off the Pareto front.
const ON_FRONT: char = 'o';
const OFF_FRONT: char = '.';

/// A TLB with its area and the walks that it needs.
#[derive(Clone, Copy, Debug)]
struct DesignPoint<'a> {
    result: &'a CellResult,
    area: f64,
    /// True if no smaller or equal TLB walks less, and no TLB of the same area walks as little.
    is_on_front: bool,
}

/// Renders a table and a plot for each policy whose TLBs have areas: misses of the last level
/// against the area in register-bit equivalents (Talluri 1995, section 2.1). A mark shows the
/// Pareto front: the TLBs that no smaller TLB beats. Empty if no result has an area.
pub fn design_space(results: &[CellResult], glyphs: Glyphs, view: View) -> String {
    let mut out = String::new();
    let mut known = BTreeSet::new();
    for result in results {
        if !known.insert(&result.policy) {
            continue;
        }
        let points = points(results.iter().filter(|other| other.policy == result.policy));
        if points.is_empty() {
            continue;
        }
        if !out.is_empty() {
            out.push('\n');
        }
        let heading = format!("{}: misses against area", result.policy);
        out.push_str(&view.paint.apply(Style::Strong, &heading));
        out.push('\n');
        out.push_str(&table(&points, view));
        out.push_str(&plot(&points, glyphs, view));
    }
    out
}

/// The designs with an area, the smallest first.
fn points<'a>(results: impl Iterator<Item = &'a CellResult>) -> Vec<DesignPoint<'a>> {
    let with_area = results.filter_map(|result| {
        let area = result.tlb.as_ref()?.area_rbe?;
        Some(DesignPoint {
            result,
            area,
            is_on_front: false,
        })
    });
    let mut points: Vec<DesignPoint<'a>> = with_area.collect();
    let misses = |point: &DesignPoint<'_>| point.result.walks.total();
    points.sort_by(|one, other| {
        one.area
            .total_cmp(&other.area)
            .then_with(|| misses(one).cmp(&misses(other)))
    });
    let mut least = u64::MAX;
    for point in &mut points {
        point.is_on_front = misses(point) < least;
        least = least.min(misses(point));
    }
    points
}

fn table(points: &[DesignPoint<'_>], view: View) -> String {
    let mut grid = Grid::new()
        .column("", Align::Left)
        .cut_column("TLB", 24)
        .column("area (rbe)", Align::Right)
        .column("misses", Align::Right)
        .column("of lookups", Align::Right)
        .column("subblock misses", Align::Right);
    for point in points {
        let (result, misses) = (point.result, point.result.walks.total());
        let style = match point.is_on_front {
            true => Style::Best,
            false => Style::Plain,
        };
        let share = misses as f64 * 100.0 / result.accesses.max(1) as f64;
        let subblock = result.tlb.as_ref().map_or(0, |tlb| tlb.subblock_misses);
        let text = [
            if point.is_on_front { "*" } else { "" }.to_owned(),
            result.machine.clone(),
            grouped(point.area.round() as u64),
            grouped(misses),
            format!("{share:.4}%"),
            grouped(subblock),
        ];
        grid.row(text.map(|text| Cell { text, style }));
    }
    grid.render(view) + "* no smaller TLB misses less (Pareto front)\n"
}

/// Misses against area, both on logarithmic scales.
fn plot(points: &[DesignPoint<'_>], glyphs: Glyphs, view: View) -> String {
    if points.len() < 3 {
        return String::new();
    }
    let misses = |point: &DesignPoint<'_>| (point.result.walks.total().max(1) as f64).ln();
    let across = LogScale::of(points.iter().map(|point| point.area.ln()));
    let up = LogScale::of(points.iter().map(misses));
    let mut canvas = Canvas::new(glyphs, COLUMNS, ROWS);
    let (wide, high) = canvas.dots();
    for point in points {
        let (line, letter) = match point.is_on_front {
            true => (1, ON_FRONT),
            false => (0, OFF_FRONT),
        };
        let x = across.place(point.area.ln(), COLUMNS * wide);
        let y = ROWS * high - 1 - up.place(misses(point), ROWS * high);
        canvas.value(line, letter, x, y);
    }
    let mut out = String::new();
    let label = |value: f64| grouped(value.exp().round() as u64);
    let width = label(up.most).len().max(label(up.least).len());
    for row in 0..ROWS {
        let label = match row {
            0 => label(up.most),
            _ if row == ROWS - 1 => label(up.least),
            _ => String::new(),
        };
        let cells = canvas.row(row, 1, view.paint);
        out.push_str(format!("{label:>width$} |{cells}").trim_end());
        out.push('\n');
    }
    let (least, most) = (label(across.least), label(across.most));
    let gap = COLUMNS.saturating_sub(least.len() + most.len());
    out.push_str(&format!("{:width$} +{}\n", "", "-".repeat(COLUMNS)));
    out.push_str(&format!(
        "{:width$}  {least}{}{most}\n",
        "",
        " ".repeat(gap)
    ));
    out.push_str(&format!(
        "{:width$}  area in rbe, misses upwards; {ON_FRONT} Pareto front, {OFF_FRONT} others\n",
        ""
    ));
    out
}

/// A logarithmic scale: the logarithms of its ends.
struct LogScale {
    least: f64,
    most: f64,
}

impl LogScale {
    fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        Self {
            least: values.clone().fold(f64::INFINITY, f64::min),
            most: values.fold(f64::NEG_INFINITY, f64::max),
        }
    }

    /// The place of a logarithm among `count` places.
    fn place(&self, value: f64, count: usize) -> usize {
        let span = (self.most - self.least).max(f64::MIN_POSITIVE);
        let place = (value - self.least) / span * (count - 1) as f64;
        (place.round() as usize).min(count - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Paint;
    use broadleaf_metrics::{TlbResult, Walks};
    use broadleaf_units::PageSize;

    fn result(machine: &str, area_rbe: f64, misses: u64) -> CellResult {
        let mut walks = Walks::new();
        walks.add(PageSize::SIZE_4K, misses);
        CellResult {
            policy: "4k".to_owned(),
            machine: machine.to_owned(),
            accesses: 100_000,
            walks,
            tlb: Some(TlbResult {
                area_rbe: Some(area_rbe),
                ..TlbResult::default()
            }),
            ..CellResult::default()
        }
    }

    fn view() -> View {
        View {
            width: None,
            paint: Paint::Plain,
        }
    }

    #[test]
    fn the_front_has_the_designs_that_no_smaller_one_beats() {
        let results = [
            result("large", 400.0, 10),
            result("small", 100.0, 1000),
            result("wasteful", 300.0, 2000),
            result("middle", 200.0, 100),
            result("equal", 250.0, 100),
        ];
        let text = design_space(&results, Glyphs::Ascii, view());
        let marked = text.lines().filter(|line| line.starts_with("*  "));
        let marked: Vec<&str> = marked
            .filter_map(|line| line.split_whitespace().nth(1))
            .collect();
        assert_eq!(marked, ["small", "middle", "large"]);
        let plotted = text.lines().filter_map(|line| line.split_once('|'));
        let cells: String = plotted.map(|(_, cells)| cells).collect();
        assert_eq!(cells.matches(ON_FRONT).count(), 3, "{text}");
        assert_eq!(cells.matches(OFF_FRONT).count(), 2, "{text}");
    }

    #[test]
    fn results_without_an_area_have_no_design_space() {
        assert_eq!(
            design_space(&[CellResult::default()], Glyphs::Ascii, view()),
            ""
        );
    }
}
