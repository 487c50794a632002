//! Means of a sweep as a picture (SVG): a panel for each figure, a line for each group of cells.

use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

use crate::curve::{Area, DrawError, Failed, failed, legend};
use crate::number::short;

/// The width of the picture, and the height of a panel, in pixels.
const PANEL: (u32, u32) = (900, 420);
/// The height of the heading in pixels.
const HEADING: u32 = 30;
/// The room to the right of the last place, for the names of lines, as a part of all places.
const LEGEND: f64 = 0.35;
/// From this ratio of the largest mean to the smallest on, the axis is logarithmic.
const LOGARITHMIC: f64 = 100.0;

/// The means of one figure.
#[derive(Clone, Debug, PartialEq)]
pub struct MeansPanel {
    /// The name of the figure, whose unit is that of its column.
    pub figure: String,
    /// Each group's name, and its mean at each place of the axis; `None` where it has no cell.
    pub lines: Vec<(String, Vec<Option<f64>>)>,
}

/// Returns means as SVG. `axis` names the horizontal axis, and `places` the values on it. `origin`
/// names the cells behind the means. The axis of a figure is logarithmic if its means differ by a
/// factor of 100.
///
/// # Errors
/// If no figure has a mean.
pub fn means_svg(
    panels: &[MeansPanel],
    axis: &str,
    places: &[String],
    origin: &str,
) -> Result<String, DrawError> {
    let has_mean = |panel: &&MeansPanel| {
        let mut all = panel.lines.iter().flat_map(|(_, means)| means);
        all.any(Option::is_some)
    };
    let panels: Vec<&MeansPanel> = panels.iter().filter(has_mean).collect();
    if panels.is_empty() {
        return Err(failed("no cell has a number in these columns"));
    }
    let mut text = String::new();
    {
        let size = (PANEL.0, HEADING + PANEL.1 * panels.len() as u32);
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        root.fill(&WHITE).map_err(failed)?;
        let (heading, panels_area) = root.split_vertically(HEADING);
        let style = ("sans-serif", 12).into_font().color(&BLACK);
        let text = Text::new(origin, (14, 12), style);
        heading.draw(&text).map_err(failed)?;
        for (area, panel) in panels_area
            .split_evenly((panels.len(), 1))
            .iter()
            .zip(panels)
        {
            draw(area, panel, axis, places).map_err(failed)?;
        }
        root.present().map_err(failed)?;
    }
    Ok(text)
}

fn draw<'a>(
    area: &Area<'a>,
    panel: &MeansPanel,
    axis: &str,
    places: &[String],
) -> Result<(), Failed<'a>> {
    let all = panel.lines.iter().flat_map(|(_, means)| means).flatten();
    let most = all.clone().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = all.copied().fold(f64::INFINITY, f64::min);
    if least > 0.0 && most >= LOGARITHMIC * least {
        let range = (least / 1.5..most * 1.5).log_scale();
        return draw_along(area, panel, axis, places, range);
    }
    let (least, most) = (least.min(0.0), most.max(0.0));
    let room = ((most - least) * 0.08).max(f64::MIN_POSITIVE);
    draw_along(area, panel, axis, places, least..most + room)
}

/// Draws a panel with this vertical axis.
fn draw_along<'a, Y>(
    area: &Area<'a>,
    panel: &MeansPanel,
    axis: &str,
    places: &[String],
    means: Y,
) -> Result<(), Failed<'a>>
where
    Y: AsRangedCoord<Value = f64>,
    Y::CoordDescType: ValueFormatter<f64>,
{
    let right = places.len() as f64 * (1.0 + LEGEND) - 0.5;
    let mut chart = ChartBuilder::on(area)
        .caption(format!("mean {}", panel.figure), ("sans-serif", 18))
        .margin(14)
        .x_label_area_size(44)
        .y_label_area_size(80)
        .build_cartesian_2d(-0.5..right, means)?;
    let are_numbers = places.iter().all(|place| is_number(place));
    let place = |at: &f64| {
        let is_on_place = (at - at.round()).abs() < 1e-6;
        let name = is_on_place.then(|| places.get(at.round() as usize));
        name.flatten().cloned().unwrap_or_default()
    };
    chart
        .configure_mesh()
        .x_desc(axis)
        .x_labels(3 * places.len() + 1)
        .x_label_formatter(&place)
        .y_label_formatter(&|mean| number(*mean))
        .draw()?;
    for (at, (name, means)) in panel.lines.iter().enumerate() {
        let colour = colour(at, panel.lines.len());
        let points = || {
            let all = means.iter().enumerate();
            all.filter_map(|(at, mean)| Some((at as f64, (*mean)?)))
        };
        // Names such as those of machines have no order, and no line joins them.
        let line = points().filter(|_| are_numbers);
        chart
            .draw_series(LineSeries::new(line, colour.stroke_width(2)))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
        chart.draw_series(points().map(|point| Circle::new(point, 3, colour.filled())))?;
    }
    legend(&mut chart)
}

/// A number of an axis: small ones with their fraction or their power of ten.
fn number(mean: f64) -> String {
    match mean {
        1000.0.. => short(mean.round() as u64),
        _ if mean != 0.0 && mean.abs() < 0.01 => format!("{mean:.0e}"),
        _ => format!("{mean:.3}")
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned(),
    }
}

/// Returns true if a place of the axis is a number, with its unit after it.
fn is_number(place: &str) -> bool {
    place.starts_with(|first: char| first.is_ascii_digit())
}

/// The colour of a line. Neighbours differ in hue and in lightness.
fn colour(at: usize, lines: usize) -> HSLColor {
    let lightness = if at.is_multiple_of(2) { 0.36 } else { 0.54 };
    HSLColor(at as f64 / (lines + 1) as f64, 0.8, lightness)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_figure_has_a_panel_and_each_group_a_line() {
        let panel = |figure: &str, first: Option<f64>| MeansPanel {
            figure: figure.to_owned(),
            lines: vec![
                ("pop<64>".to_owned(), vec![first, Some(2000.0), None]),
                ("4k".to_owned(), vec![first, first, first]),
            ],
        };
        let places = ["50%", "100%", "200%"].map(str::to_owned);
        let panels = [
            panel("l2_misses", Some(4e6)),
            panel("tlbmcpi", Some(0.25)),
            MeansPanel {
                figure: "faults".to_owned(),
                lines: vec![("4k".to_owned(), vec![None; 3])],
            },
        ];
        let origin = "6 cells of broadleaf 1.2.3";
        let svg = means_svg(&panels, "memory_size", &places, origin).expect("a picture");
        assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
        for text in [
            "mean l2_misses",
            "mean tlbmcpi",
            origin,
            "memory_size",
            "pop&lt;64&gt;",
            "50%",
            "200%",
        ] {
            assert!(svg.contains(text), "{text}: {svg}");
        }
        assert!(!svg.contains("mean faults"), "a figure without a mean");
        // A point for each mean: two and three, in two panels.
        assert_eq!(svg.matches("<circle").count(), 10);
        let lines = |places: &[String]| {
            let svg = means_svg(&panels[..1], "x", places, origin).expect("a picture");
            svg.matches("stroke-width=\"2\"").count()
        };
        // The key has a line for each group as well.
        let machines = ["skylake", "zen4", "native"].map(str::to_owned);
        assert!(lines(&places) > lines(&machines), "names are not joined");
        let nothing =
            means_svg(&panels[2..], "memory_size", &places, origin).expect_err("no picture");
        assert!(nothing.to_string().contains("no cell"), "{nothing}");
    }

    /// The heights of the points of one line.
    fn heights(means: &[f64]) -> Vec<i64> {
        let line = means.iter().copied().map(Some).collect();
        let panel = MeansPanel {
            figure: "l2_misses".to_owned(),
            lines: vec![("4k".to_owned(), line)],
        };
        let places: Vec<String> = (0..means.len()).map(|place| place.to_string()).collect();
        let svg = means_svg(&[panel], "x", &places, "").expect("a picture");
        let points = svg.split("<circle").skip(1);
        let height = |point: &str| {
            let value = point.split("cy=\"").nth(1)?;
            value.split('"').next()?.parse().ok()
        };
        points.filter_map(height).collect()
    }

    #[test]
    fn means_that_differ_much_have_a_logarithmic_axis() {
        let [first, second, third] = heights(&[1.0, 1000.0, 1e6])[..] else {
            panic!("three points");
        };
        assert!(((first - second) - (second - third)).abs() <= 1);
        // Small differences, and zeros, have an axis from zero on.
        let [first, second, third] = heights(&[0.0, 1000.0, 1e6])[..] else {
            panic!("three points");
        };
        assert!(first - second <= 1 && second - third > 100);
    }

    #[test]
    fn numbers_of_the_axis_are_short() {
        let all = [0.0, 2e-5, 0.25, 12.0, 999.5, 4e6].map(number);
        assert_eq!(all, ["0", "2e-5", "0.25", "12", "999.5", "4.00M"]);
    }
}
