//! Miss rates over accesses, predicted and measured, on a logarithmic scale.

use broadleaf_metrics::MissRateCurve;

use crate::curve::Canvas;
use crate::number::short;
use crate::{Glyphs, Style, View, paragraph};

/// The rows of a plot.
const ROWS: usize = 12;
/// The width of the labels before the axis.
const LABEL: usize = 10;
/// The width if the width of the output is unknown, and the most.
const USUAL: usize = 80;
const WIDEST: usize = 100;
/// The letters of the measured curve and the predicted one.
const LETTERS: [char; 2] = ['m', 'p'];

/// Renders the curves of one setting, with what they share.
pub(super) fn miss_rates(curve: &MissRateCurve, glyphs: Glyphs, view: View) -> String {
    let heading = format!(
        "Misses of all levels for each 1,000 accesses with {}, over the accesses of the run: m \
         measured ({}), p predicted.",
        curve.setting, curve.file
    );
    let mut out = paragraph(&heading, Style::Plain, view);
    let lines = [&curve.measured, &curve.predicted];
    let rates = lines.iter().flat_map(|points| points.iter());
    let above: Vec<f64> = rates
        .map(|[_, rate]| *rate)
        .filter(|rate| *rate > 0.0)
        .collect();
    let low = above.iter().copied().fold(f64::INFINITY, f64::min).log10();
    let high = above
        .iter()
        .copied()
        .fold(f64::NEG_INFINITY, f64::max)
        .log10();
    if above.is_empty() {
        out.push_str(&paragraph(
            "No miss was counted or predicted.",
            Style::Plain,
            view,
        ));
        return out;
    }
    // A flat curve lies in the middle of one decade.
    let (low, high) = match high - low < 0.1 {
        true => (low - 0.5, high + 0.5),
        false => (low, high),
    };
    let width = view.width.unwrap_or(USUAL).min(WIDEST);
    let columns = width.saturating_sub(LABEL + 2).max(8);
    let mut canvas = Canvas::new(glyphs, columns, ROWS);
    let (wide, tall) = canvas.dots();
    let (dots, height) = (columns * wide, ROWS * tall);
    for (line, points) in lines.iter().enumerate() {
        let all = points.last().map_or(1.0, |[accesses, _]| accesses.max(1.0));
        for [accesses, rate] in points.iter().filter(|[_, rate]| *rate > 0.0) {
            let x = (accesses / all * (dots - 1) as f64).round() as usize;
            let share = (rate.log10() - low) / (high - low);
            let y = ((1.0 - share) * (height - 1) as f64).round() as usize;
            canvas.value(line, LETTERS[line], x.min(dots - 1), y.min(height - 1));
        }
    }
    for row in 0..ROWS {
        let label = match row {
            0 => format!("{:.3}", 10f64.powf(high)),
            row if row + 1 == ROWS => format!("{:.3}", 10f64.powf(low)),
            _ => String::new(),
        };
        let drawn = canvas.row(row, 1, view.paint);
        out.push_str(format!("{label:>LABEL$} |{drawn}").trim_end());
        out.push('\n');
    }
    let [measured, predicted] = curve.whole;
    let accesses = |points: &[[f64; 2]]| points.last().map_or(0, |[accesses, _]| *accesses as u64);
    let distance = curve.factor.map_or(String::new(), |factor| {
        format!(" On average the curves are a factor of {factor:.2} apart.")
    });
    let left_out = match curve.left_out {
        0 => String::new(),
        count => format!(" {count} intervals had no counts and were left out."),
    };
    out.push_str(&paragraph(
        &format!(
            "In all, {measured:.3} measured in {} accesses and {predicted:.3} predicted in \
             {}.{distance}{left_out}",
            short(accesses(&curve.measured)),
            short(accesses(&curve.predicted)),
        ),
        Style::Plain,
        view,
    ));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_curves_are_drawn_on_a_logarithmic_scale() {
        let points = |rates: [f64; 3]| {
            let all = rates.iter().enumerate();
            all.map(|(at, rate)| [(at + 1) as f64 * 1e6, *rate])
                .collect()
        };
        let curve = MissRateCurve {
            setting: "never".to_owned(),
            file: "c.csv".to_owned(),
            measured: points([100.0, 1.0, 0.01]),
            predicted: points([10.0, 1.0, 0.01]),
            whole: [33.67, 3.67],
            factor: Some(2.15),
            ..MissRateCurve::default()
        };
        let text = miss_rates(&curve, Glyphs::Ascii, View::default());
        let rows: Vec<&str> = text.lines().filter(|line| line.contains(" |")).collect();
        assert_eq!(rows.len(), ROWS, "{text}");
        assert!(
            rows[0].starts_with("   100.000 |") && rows[0].contains('m'),
            "{text}"
        );
        // One decade below the top.
        assert!(rows[3].contains('p'), "{text}");
        assert!(rows[ROWS - 1].starts_with("     0.010 |"), "{text}");
        assert!(text.contains("a factor of 2.15 apart"), "{text}");
        let nothing = miss_rates(&MissRateCurve::default(), Glyphs::Ascii, View::default());
        assert!(nothing.contains("No miss was counted"), "{nothing}");
    }
}
