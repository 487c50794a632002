//! Comparisons as text for people, and as the formats of other programs.

use broadleaf_metrics::Comparison;
use broadleaf_policy::Refusal;
use broadleaf_report::{
    Glyphs, View, WithReferences, comparison_table, comparisons, curves, curves_svg, design_space,
    matrix_svg, means_table, over_time, write_csv, write_curves_csv, write_curves_parquet,
    write_parquet,
};

use super::ComparisonAnswer;
use crate::failure::Failure;
use crate::output::json;

/// The format of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparisonFormat {
    /// Text for people, with a recommendation.
    Table,
    /// One object.
    Json,
    /// One row for each trace, policy and machine; of curves, one for each point.
    Csv,
    /// The columns of CSV, typed, as Apache Parquet.
    Parquet,
    /// A picture of curves, or of the matrix of policies by machines.
    Svg,
}

/// The form that a comparison's reader asked for.
#[derive(Clone, Copy, Debug)]
pub struct Rendering {
    /// The format.
    pub format: ComparisonFormat,
    /// Rows of CSV and Parquet are the points of curves.
    pub of_curves: bool,
    /// Plots the use of memory over time below a table.
    pub over_time: bool,
    /// The characters of plots.
    pub glyphs: Glyphs,
    /// The width and the colours of tables.
    pub view: View,
}

impl Rendering {
    /// Returns the bytes of answers in this form.
    ///
    /// # Errors
    /// If the answers have no such form: curves that no picture can show, a figure without JSON.
    pub fn bytes(&self, answers: &[ComparisonAnswer]) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        let refusals: Vec<&str> = Refusal::ALL.iter().map(|refusal| refusal.name()).collect();
        let all: Vec<WithReferences<'_>> = answers
            .iter()
            .map(ComparisonAnswer::with_references)
            .collect();
        let owned = || all.iter().map(|(comparison, _)| (*comparison).clone());
        match self.format {
            ComparisonFormat::Table => {
                let mut texts: Vec<String> =
                    answers.iter().map(|answer| self.text(answer)).collect();
                if all.len() > 1 {
                    texts.push(means_table(&comparisons(&all), self.view));
                }
                bytes = texts.join("\n").into_bytes();
            }
            ComparisonFormat::Json => {
                bytes = match &all[..] {
                    [(comparison, _)] => json(comparison)?,
                    several => json(&comparisons(several))?,
                }
                .into_bytes();
            }
            ComparisonFormat::Svg if !self.of_curves => {
                for (comparison, references) in &all {
                    let picture = matrix_svg(comparison, references).map_err(Failure::wrong)?;
                    bytes.extend(picture.into_bytes());
                }
            }
            ComparisonFormat::Svg => {
                for (comparison, _) in &all {
                    let picture = curves_svg(comparison).map_err(Failure::wrong)?;
                    bytes.extend(picture.into_bytes());
                }
            }
            ComparisonFormat::Csv => {
                let comparisons: Vec<Comparison> = owned().collect();
                match self.of_curves {
                    true => write_curves_csv(&comparisons, &mut bytes),
                    false => write_csv(&comparisons, &refusals, &mut bytes),
                }
                .map_err(Failure::failed)?;
            }
            ComparisonFormat::Parquet => {
                let comparisons: Vec<Comparison> = owned().collect();
                match self.of_curves {
                    true => write_curves_parquet(&comparisons, &mut bytes),
                    false => write_parquet(&comparisons, &refusals, &mut bytes),
                }
                .map_err(Failure::failed)?;
            }
        }
        Ok(bytes)
    }

    /// One answer for people.
    fn text(&self, answer: &ComparisonAnswer) -> String {
        let comparison = &answer.comparison;
        let mut text = design_space(comparison, self.glyphs, self.view);
        if text.is_empty() {
            text = answer.table(self.view);
        }
        let mut pictures = vec![curves(&comparison.results, self.glyphs, self.view)];
        if self.over_time {
            let accesses = comparison.trace.accesses;
            let results = &comparison.results;
            pictures.push(over_time(results, accesses, self.glyphs, self.view));
        }
        for picture in pictures.iter().filter(|picture| !picture.is_empty()) {
            text.push('\n');
            text.push_str(picture);
        }
        text
    }
}

impl ComparisonAnswer {
    /// The answer as a table.
    pub fn table(&self, view: View) -> String {
        self.with_context(|comparison, context| comparison_table(comparison, context, view))
    }
}
