//! Curves as a picture (SVG): one panel for each page size, one line for each policy.

use broadleaf_metrics::{CellResult, Comparison, Provenance};
use plotters::coord::ranged1d::Ranged;
use plotters::prelude::*;

use super::lines::{CurveLine, Lines, letter};
use super::sizes;
use crate::number::short;
use crate::recommendation::machines;

/// The width of the picture, and the height of a panel, in pixels.
const PANEL: (u32, u32) = (900, 480);
/// The height of the heading in pixels.
const HEADING: u32 = 56;
/// The number of points between two letters of a line.
const LETTERED: usize = 4;
/// The characters of a hash that a picture shows.
const SHOWN_HASH: usize = 23;

/// The reason for which a picture could not be drawn.
#[derive(Debug, thiserror::Error)]
#[error("drawing a picture: {0}")]
pub struct DrawError(String);

/// Returns the curves of a comparison as SVG: misses, and misses per access, against entries of
/// fully associative TLBs, on logarithmic scales. Policies with equal curves share a line. Each
/// line has a letter beside its colour.
///
/// # Errors
/// If no result has a curve.
pub fn curves_svg(comparison: &Comparison) -> Result<String, DrawError> {
    let results = &comparison.results;
    let panels: Vec<(String, Lines)> = sizes(results)
        .into_iter()
        .map(|size| {
            (
                size.short_name().to_string(),
                Lines::new(results, size.bytes()),
            )
        })
        .filter(|(_, lines)| !lines.lines.is_empty())
        .collect();
    if panels.is_empty() {
        return Err(DrawError("no result has a curve with misses".to_owned()));
    }
    let mut text = String::new();
    {
        let height = HEADING + PANEL.1 * panels.len() as u32;
        let root = SVGBackend::with_string(&mut text, (PANEL.0, height)).into_drawing_area();
        root.fill(&WHITE).map_err(failed)?;
        let (heading, rest) = root.split_vertically(HEADING);
        head(&heading, comparison).map_err(failed)?;
        for (area, (size, lines)) in rest.split_evenly((panels.len(), 1)).iter().zip(&panels) {
            let accesses = comparison.trace.accesses;
            panel(area, size, &lines.lines, results, accesses).map_err(failed)?;
        }
        root.present().map_err(failed)?;
    }
    Ok(text)
}

/// The error of a drawing call.
pub(crate) fn failed(error: impl std::fmt::Display) -> DrawError {
    DrawError(error.to_string())
}

/// A part of the picture.
pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
/// The failure of a drawing call.
pub(crate) type Failed<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

/// Writes the trace, the machines and the version above the panels.
fn head<'a>(area: &Area<'a>, comparison: &Comparison) -> Result<(), Failed<'a>> {
    let trace = &comparison.trace;
    let title = format!(
        "{}: {} accesses, on {}",
        trace.path,
        short(trace.accesses),
        machines(comparison).join(", ")
    );
    for (text, top, size) in [(title, 14, 16), (origin(comparison), 36, 12)] {
        let style = ("sans-serif", size).into_font().color(&BLACK);
        area.draw(&Text::new(text, (14, top), style))?;
    }
    Ok(())
}

/// Returns the origin of the figures of a picture: version, commit and hash of the trace.
pub(crate) fn origin(comparison: &Comparison) -> String {
    let Provenance {
        version, commit, ..
    } = &comparison.provenance;
    let hash: String = comparison.trace.hash.chars().take(SHOWN_HASH).collect();
    format!("broadleaf {version} ({commit}), trace {hash}")
}

fn panel<'a>(
    area: &Area<'a>,
    size: &str,
    lines: &[CurveLine],
    results: &[CellResult],
    accesses: u64,
) -> Result<(), Failed<'a>> {
    let curves: Vec<Vec<(f64, f64)>> = lines.iter().map(fully_associative).collect();
    let all = || curves.iter().flatten();
    let most_entries = all().map(|point| point.0).fold(2.0, f64::max);
    let most = all().map(|point| point.1).fold(1.0, f64::max) * 1.2;
    let least = all().map(|point| point.1).fold(most, f64::min) / 1.2;
    let all_accesses = accesses.max(1) as f64;
    let entries = || (1.0..most_entries).log_scale().base(2.0);
    let mut chart = ChartBuilder::on(area)
        .caption(
            format!("{size} pages: misses of fully associative TLBs"),
            ("sans-serif", 18),
        )
        .margin(14)
        .x_label_area_size(44)
        .y_label_area_size(80)
        .right_y_label_area_size(80)
        .build_cartesian_2d(entries(), (least..most).log_scale())?
        .set_secondary_coord(
            entries(),
            (least / all_accesses..most / all_accesses).log_scale(),
        );
    chart
        .configure_mesh()
        .x_desc("entries")
        .y_desc("misses")
        .x_label_formatter(&|entries| format!("{entries:.0}"))
        .y_label_formatter(&|misses| short(misses.round() as u64))
        .draw()?;
    chart
        .configure_secondary_axes()
        .y_desc("misses per access")
        .y_label_formatter(&|ratio| format!("{ratio:.0e}"))
        .draw()?;
    for (number, (line, curve)) in lines.iter().zip(&curves).enumerate() {
        let colour = colour(line, results);
        let style = colour.stroke_width(2);
        // A line has the letter of its first policy, as it has the colour.
        let letter = letter(line.first);
        chart
            .draw_series(LineSeries::new(curve.iter().copied(), style))?
            .label(format!("{letter} {}", line.policies.join(", ")))
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
        // Lines that lie on each other have their letters at different points.
        let first = number % LETTERED.min(curve.len().max(1));
        let lettered = curve.iter().skip(first).step_by(LETTERED);
        chart.draw_series(lettered.map(|point| {
            let font = ("sans-serif", 13).into_font().color(&colour);
            Text::new(letter.to_string(), *point, font)
        }))?;
    }
    legend(&mut chart)
}

/// Draws the names of a chart's lines.
pub(crate) fn legend<'a, X: Ranged, Y: Ranged>(
    chart: &mut ChartContext<'a, SVGBackend<'a>, Cartesian2d<X, Y>>,
) -> Result<(), Failed<'a>> {
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .label_font(("sans-serif", 12))
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK)
        .draw()
}

/// The colour of a line: that of its first result, in every panel. Neighbours among the results
/// differ in hue and in lightness.
fn colour(line: &CurveLine, results: &[CellResult]) -> HSLColor {
    let place = line.first;
    let hue = place as f64 / (results.len() + 1) as f64;
    let lightness = if place.is_multiple_of(2) { 0.36 } else { 0.54 };
    HSLColor(hue, 0.8, lightness)
}

/// Returns the entries and misses of fully associative TLBs.
fn fully_associative(line: &CurveLine) -> Vec<(f64, f64)> {
    let entries = line.entries();
    let points = entries.iter().filter_map(|&entries| {
        let misses = line.misses(entries, entries)?;
        Some((entries as f64, (misses as f64).max(1.0)))
    });
    points.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_metrics::{CurvePoint, TraceSummary};

    fn comparison(results: &[CellResult]) -> Comparison {
        let summary = TraceSummary {
            path: "perl.bl".to_owned(),
            accesses: 100_000,
            hash: "blake3:0123456789abcdef0123".to_owned(),
            ..TraceSummary::default()
        };
        let provenance = Provenance {
            version: "1.2.3".to_owned(),
            ..Provenance::default()
        };
        Comparison::new(summary, results.to_vec(), vec![], provenance)
    }

    #[test]
    fn a_panel_has_a_line_for_each_curve_and_its_policies() {
        let result = |policy: &str, factor: u64| CellResult {
            policy: policy.to_owned(),
            machine: "skylake".to_owned(),
            curve: Some(
                (0..6)
                    .map(|power| CurvePoint {
                        page_size: 4096,
                        sets: 1,
                        ways: 1 << power,
                        misses: factor * (1000 >> power),
                    })
                    .collect(),
            ),
            ..CellResult::default()
        };
        let results = [result("4k", 7), result("life-1e9", 7), result("greedy", 1)];
        let svg = curves_svg(&comparison(&results)).unwrap();
        assert!(
            svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"),
            "{svg}"
        );
        let texts = [
            "4k pages",
            "entries",
            "misses per access",
            "a 4k, life-1e9",
            "c greedy",
            "perl.bl: 100k accesses, on skylake",
            "broadleaf 1.2.3",
            "trace blake3:0123456789abcdef",
        ];
        for text in texts {
            assert!(svg.contains(text), "{text}");
        }
        assert!(svg.matches("<polyline").count() >= 2);
        let none = curves_svg(&comparison(&[CellResult::default()])).unwrap_err();
        assert!(none.to_string().contains("no result has a curve"), "{none}");
    }

    #[test]
    fn a_policy_has_one_colour_in_all_panels_and_policies_differ() {
        let result = |policy: &str, factor: u64, sizes: &[u64]| CellResult {
            policy: policy.to_owned(),
            curve: Some(
                sizes
                    .iter()
                    .flat_map(|size| {
                        (0..6).map(move |power| CurvePoint {
                            page_size: *size,
                            sets: 1,
                            ways: 1 << power,
                            misses: factor * (1000 >> power),
                        })
                    })
                    .collect(),
            ),
            ..CellResult::default()
        };
        let strokes = |results: &[CellResult]| -> Vec<String> {
            let svg = curves_svg(&comparison(results)).unwrap();
            let lines = svg.split("<polyline").skip(1);
            let stroke = |line: &str| line.split("stroke=\"").nth(1).map(|of| of[..7].to_owned());
            let mut strokes: Vec<String> = lines.filter_map(stroke).collect();
            // Axes are black.
            strokes.retain(|stroke| stroke != "#000000");
            strokes.sort();
            strokes.dedup();
            strokes
        };
        let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
        let numbered = names.iter().zip(1..);
        let results: Vec<CellResult> = numbered
            .map(|(name, factor)| match factor {
                1 => result(name, factor, &[4096]),
                _ => result(name, factor, &[4096, 1 << 21]),
            })
            .collect();
        assert_eq!(strokes(&results).len(), names.len());
    }
}
