//! A metric: the description of one figure of a result, and the place of its value.

use crate::{CellResult, MemoryResult, TlbResult};
use broadleaf_units::PageSize;

/// A figure of a result.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// The name of the field.
    pub name: &'static str,
    /// The unit.
    pub unit: &'static str,
    /// The description, in one sentence.
    pub sentence: &'static str,
    /// True if lower values are better, false if higher values are better, `None` if neither.
    pub less_is_better: Option<bool>,
    /// The place of the value in a result. Columns of CSV and Parquet follow from it.
    pub figure: MetricFigure,
}

/// The place of a metric's value in a result.
#[derive(Clone, Copy, Debug)]
pub enum MetricFigure {
    /// A count that every result has.
    Count(fn(&CellResult) -> u64),
    /// A difference, which may be negative.
    Difference(fn(&CellResult) -> i64),
    /// A count that some results lack.
    Optional(fn(&CellResult) -> Option<u64>),
    /// A ratio that some results lack.
    Ratio(fn(&CellResult) -> Option<f64>),
    /// A word that some results lack.
    Word(fn(&CellResult) -> Option<&'static str>),
    /// A count of the frame-level model.
    OfMemory(fn(&MemoryResult) -> u64),
    /// A count of some TLBs.
    OfTlb(fn(&TlbResult) -> u64),
    /// The walks that found a page of this size. Results with walks of other sizes have columns for
    /// those too.
    Walks(PageSize),
    /// A field with parts: each has a column, and none has a field of its own.
    Parts(&'static [Metric]),
    /// A field with several figures, and without a column.
    Several,
    /// A figure of each sample, and not of a result.
    OfSample,
    /// A ratio of other figures, which some results lack. No result stores the ratio: JSON has it
    /// after the stored fields.
    Computed(fn(&CellResult) -> Option<f64>),
}

/// The value of a metric with one figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MetricValue {
    /// A count.
    Count(u64),
    /// A difference, which may be negative.
    Difference(i64),
    /// A ratio.
    Ratio(f64),
}

impl Metric {
    /// Returns the value in `result`, or `None` if the result lacks it or the metric has several
    /// figures.
    pub fn value(&self, result: &CellResult) -> Option<MetricValue> {
        use MetricFigure as Figure;
        match self.figure {
            Figure::Count(of) => Some(MetricValue::Count(of(result))),
            Figure::Difference(of) => Some(MetricValue::Difference(of(result))),
            Figure::Optional(of) => of(result).map(MetricValue::Count),
            Figure::Ratio(of) | Figure::Computed(of) => of(result).map(MetricValue::Ratio),
            Figure::OfMemory(of) => result.memory.as_ref().map(of).map(MetricValue::Count),
            Figure::OfTlb(of) => result.tlb.as_ref().map(of).map(MetricValue::Count),
            Figure::Walks(size) => Some(MetricValue::Count(result.walks.of(size))),
            Figure::Word(_) | Figure::Parts(_) | Figure::Several | Figure::OfSample => None,
        }
    }
}

/// Describes a figure whose lower values are better.
pub(crate) const fn cost(
    name: &'static str,
    unit: &'static str,
    sentence: &'static str,
    figure: MetricFigure,
) -> Metric {
    Metric {
        name,
        unit,
        sentence,
        less_is_better: Some(true),
        figure,
    }
}

/// Describes a figure whose higher values are better.
pub(crate) const fn gain(
    name: &'static str,
    unit: &'static str,
    sentence: &'static str,
    figure: MetricFigure,
) -> Metric {
    Metric {
        less_is_better: Some(false),
        ..cost(name, unit, sentence, figure)
    }
}

/// Describes a figure that is neither better nor worse.
pub(crate) const fn fact(
    name: &'static str,
    unit: &'static str,
    sentence: &'static str,
    figure: MetricFigure,
) -> Metric {
    Metric {
        less_is_better: None,
        ..cost(name, unit, sentence, figure)
    }
}
