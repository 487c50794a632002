//! Plots of TLB misses over time.

use broadleaf_metrics::{CellResult, MissSample};

use super::{Series, columns_of, plot};
use crate::curve::Canvas;
use crate::grid::paragraph;
use crate::number::{grouped, short};
use crate::{Glyphs, Style, View};

/// Renders the misses of all results with samples of them.
pub(super) fn misses(results: &[CellResult], accesses: u64, glyphs: Glyphs, view: View) -> String {
    let sampled: Vec<(&CellResult, &[MissSample])> = (results.iter())
        .filter_map(|result| Some((result, result.misses_over_time.as_deref()?)))
        .collect();
    if sampled.is_empty() {
        return String::new();
    }
    let columns = columns_of(view);
    let width = grouped(accesses.div_ceil(columns as u64));
    let mut out = paragraph(
        &format!(
            "Misses over time, from left to right: a character is {width} accesses wide, and its \
             height is the number of misses in them. The same scale holds for all policies; \
             --format json has every sample."
        ),
        Style::Faint,
        view,
    );
    let wide = Canvas::new(glyphs, columns, super::ROWS).dots().0;
    let series: Vec<[Series; 2]> = (sampled.iter())
        .map(|(_, samples)| {
            let of = |name: &str, of: fn(&MissSample) -> u64| Series {
                name: name.to_owned(),
                values: by_column(samples, of, accesses, columns, wide),
                text: Box::new(short),
            };
            [
                of("level 1 misses", |sample| sample.l1_misses),
                of("walks", |sample| sample.l2_misses),
            ]
        })
        .collect();
    for ((result, _), lines) in sampled.iter().zip(&series) {
        let heading = format!("{} on {}", result.policy, result.machine);
        out.push('\n');
        out.push_str(&paragraph(&heading, Style::Strong, view));
        for (at, line) in lines.iter().enumerate() {
            let most = series.iter().map(|lines| lines[at].highest()).max();
            out.push_str(&plot(line, most.unwrap_or(0), columns, glyphs, view));
        }
    }
    out
}

/// Returns the sum of a count in each character. The count of an interval is spread evenly over it.
fn by_column(
    samples: &[MissSample],
    of: fn(&MissSample) -> u64,
    accesses: u64,
    columns: usize,
    wide: usize,
) -> Vec<u64> {
    let mut sums = vec![0.0; columns];
    let column = accesses.max(1) as f64 / columns as f64;
    let mut from = 0;
    for sample in samples {
        let (begin, end) = (from as f64, sample.time as f64);
        let first = (begin / column) as usize;
        for (at, sum) in sums.iter_mut().enumerate().skip(first) {
            let low = begin.max(at as f64 * column);
            let high = end.min((at + 1) as f64 * column);
            if low >= high {
                break;
            }
            *sum += of(sample) as f64 * (high - low) / (end - begin);
        }
        from = sample.time;
    }
    let values = sums.into_iter().map(|sum: f64| sum.round() as u64);
    values.flat_map(|value| vec![value; wide]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_share_the_counts_of_intervals() {
        let sample = |time, l2_misses| MissSample {
            time,
            l2_misses,
            ..MissSample::default()
        };
        let samples = [sample(50, 10), sample(100, 30)];
        let of: fn(&MissSample) -> u64 = |sample| sample.l2_misses;
        assert_eq!(by_column(&samples, of, 100, 2, 1), [10, 30]);
        assert_eq!(by_column(&samples, of, 100, 4, 1), [5, 5, 15, 15]);
        assert_eq!(by_column(&samples, of, 100, 1, 2), [40, 40]);
    }

    #[test]
    fn results_without_samples_have_no_picture() {
        let results = [CellResult::default()];
        assert_eq!(misses(&results, 100, Glyphs::Ascii, View::default()), "");
        let sampled = [CellResult {
            policy: "4k".to_owned(),
            misses_over_time: Some(vec![MissSample {
                time: 100,
                l1_misses: 9,
                l2_misses: 3,
            }]),
            ..CellResult::default()
        }];
        let text = misses(&sampled, 100, Glyphs::Ascii, View::default());
        assert!(text.contains("4k on") && text.contains("walks"), "{text}");
    }
}
