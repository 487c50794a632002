//! The cycles of loads that were measured on a machine, by the memory that they go over.

use crate::structure::page_size;
use broadleaf_units::{PageSize, size};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// The cycles of one load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadCycles {
    /// The cycles if each load needs the result of the one before: their latency.
    pub dependent: f64,
    /// The cycles if loads overlap as far as the processor lets them.
    pub independent: f64,
}

/// Loads of one line of each base page of a span of memory, in random order, by the size of the
/// pages and by the bytes of the span. The values are tenths of cycles: dependent and independent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadTable(BTreeMap<PageSize, BTreeMap<u64, [u64; 2]>>);

impl LoadTable {
    /// Returns true if nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The sizes of pages with measured loads. Each has the shortest and the longest span in bytes.
    pub fn spans(&self) -> impl Iterator<Item = (PageSize, u64, u64)> {
        let each = self.0.iter();
        each.filter_map(|(page, spans)| {
            let (first, last) = (spans.first_key_value()?, spans.last_key_value()?);
            Some((*page, *first.0, *last.0))
        })
    }

    /// The cycles of a load that goes over `bytes` of pages of a size. Between two measured spans,
    /// the cycles lie on a line over the logarithm of the bytes; beyond the ends, they are those of
    /// the end. `None` if no such pages were measured.
    pub fn of(&self, page: PageSize, bytes: u64) -> Option<LoadCycles> {
        let spans = self.0.get(&page)?;
        let below = spans.range(..=bytes).next_back();
        let above = spans.range(bytes..).next();
        let (below, above) = (below.or(above)?, above.or(below)?);
        let log = |bytes: u64| (bytes.max(1) as f64).log2();
        let (from, to) = (log(*below.0), log(*above.0));
        let part = match to > from {
            true => (log(bytes) - from) / (to - from),
            false => 0.0,
        };
        let at = |which: usize| {
            let [low, high] = [below, above].map(|(_, cycles)| cycles[which] as f64 / TENTHS);
            low + part * (high - low)
        };
        Some(LoadCycles {
            dependent: at(0),
            independent: at(1),
        })
    }
}

/// The tenths of a cycle.
const TENTHS: f64 = 10.0;

/// The most cycles of one load.
const MOST_CYCLES: f64 = 100_000.0;

/// One row of a description.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoadText {
    span: Spanned<String>,
    page: Spanned<String>,
    dependent: Spanned<f64>,
    independent: Spanned<f64>,
}

/// Reads the rows.
///
/// # Errors
/// The place in the text, and the reason.
pub(crate) fn load_table(rows: &[Spanned<LoadText>]) -> Result<LoadTable, (usize, String)> {
    let mut table = LoadTable::default();
    for row in rows {
        let LoadText {
            span,
            page,
            dependent,
            independent,
        } = row.get_ref();
        let bytes = size(span.get_ref())
            .filter(|bytes| *bytes > 0)
            .ok_or_else(|| {
                let message = "a span is a number of bytes such as \"16M\"".to_owned();
                (span.span().start, message)
            })?;
        let wrong = |message: String| (page.span().start, message);
        let page = page_size(page.get_ref()).map_err(wrong)?;
        let cycles = [tenths(dependent)?, tenths(independent)?];
        if table
            .0
            .entry(page)
            .or_default()
            .insert(bytes, cycles)
            .is_some()
        {
            let message = format!(
                "loads over {} of {} pages are given twice",
                span.get_ref(),
                page.short_name()
            );
            return Err((row.span().start, message));
        }
    }
    Ok(table)
}

/// A number of cycles in tenths.
fn tenths(cycles: &Spanned<f64>) -> Result<u64, (usize, String)> {
    let value = *cycles.get_ref();
    if !(0.0..=MOST_CYCLES).contains(&value) {
        let message = format!("a load takes 0 to {MOST_CYCLES} cycles");
        return Err((cycles.span().start, message));
    }
    Ok((value * TENTHS).round() as u64)
}
