//! The matrix of policies by machines as a picture (SVG): a row for each policy, a column for each
//! machine.

use broadleaf_metrics::{CellResult, Comparison};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::advice::BASELINE;
use crate::curve::{DrawError, failed, origin};
use crate::number::{ratio, short};
use crate::recommendation::{machines, of_machine};

/// The size of a cell in pixels.
const CELL: (i32, i32) = (116, 36);
/// The width of the policies' names, and the height of the caption and the machines' names.
const HEADS: (i32, i32) = (190, 124);
/// The least width of the picture in pixels: the lines of the caption fit.
const LEAST_WIDTH: u32 = 560;
/// The free space around the matrix in pixels.
const MARGIN: i32 = 14;
const FONT: &str = "sans-serif";
/// The meaning of a cell.
const KEY: &str =
    "Walk cycles, and their ratio to those of 4k. Darker: more, by column. Framed: chosen.";
/// The width of the frame of a chosen cell in pixels.
const FRAME: u32 = 2;

/// Returns a matrix as SVG. Each cell has the walk cycles of a policy on a machine, as a number and
/// divided by those of 4 KiB pages. Darker cells have more of them, and a frame shows the policy
/// that is chosen for the machine. `references` has the results of 4 KiB pages.
///
/// # Errors
/// If there is no result.
pub fn matrix_svg(comparison: &Comparison, references: &[CellResult]) -> Result<String, DrawError> {
    let machines = machines(comparison);
    let mut policies: Vec<&str> = Vec::new();
    for result in &comparison.results {
        if !policies.contains(&result.policy.as_str()) {
            policies.push(&result.policy);
        }
    }
    if policies.is_empty() {
        return Err(failed("there is no result"));
    }
    let size = (
        HEADS.0 + CELL.0 * machines.len() as i32 + 2 * MARGIN,
        HEADS.1 + CELL.1 * policies.len() as i32 + 2 * MARGIN,
    );
    let mut text = String::new();
    {
        let width = size.0.unsigned_abs().max(LEAST_WIDTH);
        let size = (width, size.1.unsigned_abs());
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        root.fill(&WHITE).map_err(failed)?;
        let write = |text: &str, at: (i32, i32), size: u32, place: HPos| {
            let style = (FONT, size).into_font().color(&BLACK);
            let style = style.pos(Pos::new(place, VPos::Center));
            root.draw(&Text::new(text.to_owned(), at, style))
                .map_err(failed)
        };
        let lines = [
            (format!("Walk cycles of {}", comparison.trace.path), 16),
            (KEY.to_owned(), 12),
            (origin(comparison), 12),
        ];
        for ((line, size), top) in lines.iter().zip([12, 36, 54]) {
            write(line, (MARGIN, MARGIN + top), *size, HPos::Left)?;
        }
        for (row, policy) in policies.iter().enumerate() {
            let middle = HEADS.1 + CELL.1 * row as i32 + CELL.1 / 2;
            write(policy, (MARGIN, middle), 13, HPos::Left)?;
        }
        for (column, machine) in machines.iter().enumerate() {
            let left = HEADS.0 + CELL.0 * column as i32;
            let middle = left + CELL.0 / 2;
            write(machine, (middle, HEADS.1 - 14), 13, HPos::Center)?;
            let is_baseline = |one: &&CellResult| one.policy == BASELINE && one.machine == *machine;
            let baseline = references.iter().find(is_baseline);
            let results = of_machine(comparison, machine);
            let most = results.iter().copied().chain(baseline);
            let most = most.map(|one| one.walk_cycles).max().unwrap_or(0);
            let advice = comparison.advice.iter().find(|one| one.machine == *machine);
            for (row, policy) in policies.iter().enumerate() {
                let Some(result) = results.iter().find(|one| one.policy == *policy) else {
                    continue;
                };
                let top = HEADS.1 + CELL.1 * row as i32;
                let corners = [(left, top), (left + CELL.0 - 2, top + CELL.1 - 2)];
                let fill = shade(result.walk_cycles, most).filled();
                root.draw(&Rectangle::new(corners, fill)).map_err(failed)?;
                if advice.is_some_and(|advice| advice.policy == *policy) {
                    let frame = BLACK.stroke_width(FRAME);
                    root.draw(&Rectangle::new(corners, frame)).map_err(failed)?;
                }
                let count = short(result.walk_cycles);
                write(&count, (middle, top + 11), 13, HPos::Center)?;
                if let Some(baseline) = baseline {
                    let part = ratio(result.walk_cycles, baseline.walk_cycles);
                    write(&part, (middle, top + 25), 11, HPos::Center)?;
                }
            }
        }
        root.present().map_err(failed)?;
    }
    Ok(text)
}

/// The colour of a cell: from nearly white for none to light orange for the most, so that black
/// text stays readable.
fn shade(cycles: u64, most: u64) -> RGBColor {
    let part = match most {
        0 => 0.0,
        most => cycles as f64 / most as f64,
    };
    // Walk cycles differ by factors, and equal steps of the root show small parts too.
    let part = part.clamp(0.0, 1.0).sqrt();
    let mix = |from: f64, to: f64| (from + (to - from) * part).round() as u8;
    RGBColor(mix(246.0, 253.0), mix(248.0, 174.0), mix(250.0, 107.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_metrics::{Provenance, Recommendation, TraceSummary};

    fn result(policy: &str, machine: &str, walk_cycles: u64) -> CellResult {
        CellResult {
            policy: policy.to_owned(),
            machine: machine.to_owned(),
            walk_cycles,
            ..CellResult::default()
        }
    }

    #[test]
    fn each_cell_has_its_walk_cycles_and_their_part() {
        let references = [result("4k", "zen<4>", 2000), result("4k", "skylake", 8000)];
        let results = vec![
            result("greedy", "zen<4>", 500),
            result("greedy", "skylake", 8000),
            result("pop-64", "skylake", 0),
        ];
        let summary = TraceSummary {
            path: "a&b.bl".to_owned(),
            ..TraceSummary::default()
        };
        let mut comparison = Comparison::new(summary, results, vec![], Provenance::default());
        comparison.advice = vec![Recommendation {
            machine: "zen<4>".to_owned(),
            policy: "greedy".to_owned(),
            ..Recommendation::default()
        }];
        let svg = matrix_svg(&comparison, &references).expect("a picture");
        assert!(
            svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"),
            "{svg}"
        );
        let texts = [
            "Walk cycles of a&amp;b.bl",
            "their ratio to those of 4k",
            "broadleaf ",
            "zen&lt;4&gt;",
            "greedy",
            "500",
            "x0.25",
            "8.00k",
            "x1.00",
            "x0",
        ];
        for text in texts {
            assert!(svg.contains(text), "{text}: {svg}");
        }
        // The ground, one for each result, and the frame of the chosen one.
        assert_eq!(svg.matches("<rect").count(), 5);
        assert_ne!(shade(0, 10), shade(10, 10));
        let nothing = Comparison::new(
            TraceSummary::default(),
            vec![],
            vec![],
            Provenance::default(),
        );
        let refused = matrix_svg(&nothing, &[]).expect_err("no picture");
        assert!(refused.to_string().contains("no result"), "{refused}");
    }
}
