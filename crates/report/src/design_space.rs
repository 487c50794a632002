//! Design spaces: the misses of many TLBs against their chip areas.

use crate::curve::Canvas;
use crate::grid::paragraph;
use crate::number::{counted, grouped, size};
use crate::table::notes;
use crate::{Align, Cell, Glyphs, Grid, Style, View};
use broadleaf_metrics::{CellResult, Comparison};
use std::collections::BTreeSet;

/// The size of a plot, in characters.
const COLUMNS: usize = 60;
const ROWS: usize = 16;

/// The letters of designs on and off the Pareto front.
const ON_FRONT: char = 'o';
const OFF_FRONT: char = '.';

/// The legend of a table.
const FRONT: &str = "* any smaller TLB misses more (Pareto front)";

/// The sentence for rows without an area.
const UNPRICED: &str = "- no area: the formulas lack this kind of entry (`broadleaf list tlbs \
                        --area` lists the kinds)";

/// A TLB with its area and the walks that it needs.
#[derive(Clone, Copy, Debug)]
struct DesignPoint<'a> {
    result: &'a CellResult,
    area: f64,
    /// True if no smaller or equal TLB walks less, and no TLB of the same area walks as little.
    is_on_front: bool,
}

/// Renders a table and a plot for each policy whose TLBs have areas: misses of the last level
/// against the area in register-bit equivalents (Talluri 1995, section 2.2). A mark shows the
/// Pareto front: the TLBs that no smaller TLB beats. The advice and the notes of the comparison
/// follow. Empty if no result has an area.
pub fn design_space(comparison: &Comparison, glyphs: Glyphs, view: View) -> String {
    let results = &comparison.results;
    let mut out = String::new();
    let mut known = BTreeSet::new();
    for result in results {
        if !known.insert(&result.policy) {
            continue;
        }
        let (points, unpriced) =
            points(results.iter().filter(|other| other.policy == result.policy));
        if points.is_empty() {
            continue;
        }
        if !out.is_empty() {
            out.push('\n');
        }
        let heading = format!("{}: misses against area", result.policy);
        out.push_str(&view.paint.apply(Style::Strong, &heading));
        out.push('\n');
        out.push_str(&table(&points, &unpriced, view));
        out.push_str(&plot(&points, glyphs, view));
    }
    let after = advice(comparison, view) + &notes(comparison, view);
    if !out.is_empty() && !after.is_empty() {
        out.push('\n');
        out.push_str(&after);
    }
    out
}

/// The nodes and lines that walks read, and the most bytes of the page tables.
fn of_table(result: &CellResult) -> Option<[u64; 3]> {
    let tlb = result.tlb.as_ref()?;
    Some([tlb.table_nodes?, tlb.table_lines?, tlb.table_bytes_peak?])
}

/// The designs with an area, the smallest first, and the results without an area.
fn points<'a>(
    results: impl Iterator<Item = &'a CellResult>,
) -> (Vec<DesignPoint<'a>>, Vec<&'a CellResult>) {
    let (mut points, mut unpriced): (Vec<DesignPoint<'a>>, _) = (Vec::new(), Vec::new());
    for result in results {
        match result.tlb.as_ref().and_then(|tlb| tlb.area_rbe) {
            Some(area) => points.push(DesignPoint {
                result,
                area,
                is_on_front: false,
            }),
            None => unpriced.push(result),
        }
    }
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
    (points, unpriced)
}

fn table(points: &[DesignPoint<'_>], unpriced: &[&CellResult], view: View) -> String {
    let mut grid = Grid::new()
        .column("", Align::Left)
        .cut_column("TLB", 24)
        .column("area (rbe)", Align::Right)
        .column("misses", Align::Right)
        .column("of accesses", Align::Right)
        .column("subblock misses", Align::Right);
    let mut results = points
        .iter()
        .map(|point| point.result)
        .chain(unpriced.iter().copied());
    let has_tables = results.any(|result| of_table(result).is_some());
    if has_tables {
        grid = grid
            .column("nodes a walk", Align::Right)
            .column("lines a walk", Align::Right)
            .column("tables at most", Align::Right);
    }
    let mut row = |mark: &str, result: &CellResult, area: String, style| {
        let misses = result.walks.total();
        let share = misses as f64 * 100.0 / result.accesses.max(1) as f64;
        let subblock = result.tlb.as_ref().map_or(0, |tlb| tlb.subblock_misses);
        let mut text = vec![
            mark.to_owned(),
            result.machine.clone(),
            area,
            grouped(misses),
            format!("{share:.4}%"),
            grouped(subblock),
        ];
        if has_tables {
            let cells = of_table(result).map(|[nodes, lines, bytes]| {
                let a_walk = |count: u64| format!("{:.2}", count as f64 / misses.max(1) as f64);
                [a_walk(nodes), a_walk(lines), size(bytes)]
            });
            text.extend(cells.unwrap_or([const { String::new() }; 3]));
        }
        grid.row(text.into_iter().map(|text| Cell { text, style }));
    };
    for point in points {
        let (mark, style) = match point.is_on_front {
            true => ("*", Style::Best),
            false => ("", Style::Plain),
        };
        row(
            mark,
            point.result,
            grouped(point.area.round() as u64),
            style,
        );
    }
    for result in unpriced {
        row("", result, "-".to_owned(), Style::Plain);
    }
    let mut out = grid.render(view);
    out.push_str(&paragraph(FRONT, Style::Faint, view));
    if !unpriced.is_empty() {
        out.push_str(&paragraph(UNPRICED, Style::Faint, view));
    }
    out
}

/// Renders the advice: the sentence if all machines have one, or else the number of TLBs for each
/// policy.
fn advice(comparison: &Comparison, view: View) -> String {
    let Some((first, others)) = comparison.advice.split_first() else {
        return String::new();
    };
    if others.iter().all(|other| other.sentence == first.sentence) {
        return paragraph(&first.sentence, Style::Strong, view);
    }
    let mut policies: Vec<(&str, u64)> = Vec::new();
    for one in &comparison.advice {
        match policies
            .iter_mut()
            .find(|(policy, _)| *policy == one.policy)
        {
            Some((_, count)) => *count += 1,
            None => policies.push((&one.policy, 1)),
        }
    }
    let all = if policies.len() == 1 { "all " } else { "" };
    let counts = policies.iter();
    let counts = counts
        .map(|(policy, count)| format!("the policy {policy} on {all}{}", counted(*count, "TLB")));
    let counts: Vec<String> = counts.collect();
    let text = format!(
        "Advice: {}. --format json has the reason for each TLB. For {}: {}",
        counts.join(", "),
        first.machine,
        first.sentence
    );
    paragraph(&text, Style::Strong, view)
}

/// Misses against area, both on logarithmic scales.
fn plot(points: &[DesignPoint<'_>], glyphs: Glyphs, view: View) -> String {
    let misses = |point: &DesignPoint<'_>| (point.result.walks.total().max(1) as f64).ln();
    let across = LogScale::of(points.iter().map(|point| point.area.ln()));
    let up = LogScale::of(points.iter().map(misses));
    // A plot of two points, or of a line, shows no more than the table.
    if points.len() < 3 || across.is_flat() || up.is_flat() {
        return String::new();
    }
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

    /// Returns true if all values are equal.
    fn is_flat(&self) -> bool {
        self.least == self.most
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
    use broadleaf_metrics::{Provenance, Recommendation, TlbResult, TraceSummary, Walks};
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

    fn comparison(results: impl Into<Vec<CellResult>>, notes: &[&str]) -> Comparison {
        let notes = notes.iter().map(|note| (*note).to_owned()).collect();
        let (trace, provenance) = (TraceSummary::default(), Provenance::default());
        Comparison::new(trace, results.into(), notes, provenance)
    }

    fn render(comparison: &Comparison) -> String {
        let view = View {
            width: None,
            paint: Paint::Plain,
        };
        design_space(comparison, Glyphs::Ascii, view)
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
        let text = render(&comparison(results, &[]));
        let marked = text.lines().filter(|line| line.starts_with("*  "));
        let marked: Vec<&str> = marked
            .filter_map(|line| line.split_whitespace().nth(1))
            .collect();
        assert_eq!(marked, ["small", "middle", "large"]);
        let plotted = text.lines().filter_map(|line| line.split_once('|'));
        let cells: String = plotted.map(|(_, cells)| cells).collect();
        assert_eq!(cells.matches(ON_FRONT).count(), 3, "{text}");
        assert_eq!(cells.matches(OFF_FRONT).count(), 2, "{text}");
        assert!(text.contains("  of accesses  "), "{text}");
    }

    #[test]
    fn designs_of_one_area_or_of_equal_misses_have_no_plot() {
        let plots = |designs: [(f64, u64); 3]| {
            let results = designs.map(|(area, misses)| result("design", area, misses));
            render(&comparison(results, &[])).contains("area in rbe, misses upwards")
        };
        assert!(plots([(100.0, 10), (200.0, 9), (300.0, 9)]));
        assert!(!plots([(100.0, 10), (100.0, 9), (100.0, 8)]));
        assert!(!plots([(100.0, 10), (200.0, 10), (300.0, 10)]));
    }

    #[test]
    fn a_result_without_an_area_has_a_row_outside_the_front() {
        let mut unpriced = result("unpriced", 0.0, 1);
        unpriced.tlb = None;
        let results = [
            unpriced,
            result("large", 400.0, 10),
            result("small", 100.0, 1000),
            result("middle", 200.0, 100),
        ];
        let text = render(&comparison(results, &[]));
        let row = text.lines().find(|line| line.contains("unpriced"));
        let cells: Vec<&str> = row.expect("a row").split_whitespace().collect();
        assert_eq!(cells, ["unpriced", "-", "1", "0.0010%", "0"]);
        assert!(text.contains("\n- no area: "), "{text}");
        let plotted = text.lines().filter_map(|line| line.split_once('|'));
        let cells: String = plotted.map(|(_, cells)| cells).collect();
        assert_eq!(cells.matches([ON_FRONT, OFF_FRONT]).count(), 3, "{text}");
        let priced = render(&comparison([result("small", 100.0, 1000)], &[]));
        assert!(!priced.contains("- no area: "), "{priced}");
    }

    #[test]
    fn advice_and_notes_follow_the_tables() {
        let mut comparison = comparison([result("small", 100.0, 1000)], &["A note."]);
        assert!(render(&comparison).ends_with("\n\nNote: A note.\n"));
        let advice = |machine: &str, policy: &str, sentence: &str| Recommendation {
            machine: machine.to_owned(),
            policy: policy.to_owned(),
            sentence: sentence.to_owned(),
            run_time: None,
            page_faults: None,
            commands: vec![],
        };
        comparison.advice = vec![advice("one", "4k", "Stay."), advice("two", "4k", "Stay.")];
        assert!(render(&comparison).ends_with("\n\nStay.\nNote: A note.\n"));
        comparison.advice[1] = advice("two", "foxtrot", "Choose foxtrot.");
        let text = render(&comparison);
        assert!(
            text.contains("\nAdvice: the policy 4k on 1 TLB, the policy foxtrot on 1 TLB. "),
            "{text}"
        );
    }

    #[test]
    fn results_without_an_area_have_no_design_space() {
        assert_eq!(
            render(&comparison([CellResult::default()], &["A note."])),
            ""
        );
    }
}
