//! Advice as text, in any of its formats.

use std::num::NonZero;

use broadleaf_metrics::RangeAdvice;
use broadleaf_report::{
    NO_SITES, View, cbmm, flame_graph, folded, madvise, perf_script, range_table,
};

use super::mosalloc;
use super::places::TracePlaces;
use crate::failure::Failure;
use crate::output::json;

/// The default number of ranges in the table.
const ROWS: usize = 20;

/// A format of advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdviceFormat {
    /// Text for people.
    Table,
    /// One object.
    Json,
    /// A call of `madvise(2)` for each range, in C.
    Madvise,
    /// A profile for CBMM's kernel.
    Cbmm,
    /// A layout for Mosalloc.
    Mosalloc,
    /// The call stacks of the allocations that gain, one a line.
    Folded,
    /// The same stacks as a flame graph, in SVG.
    Flamegraph,
    /// The same stacks as `perf script` prints them.
    Perf,
}

/// Returns the best `top` ranges as text, with notes on the limits of the format.
///
/// # Errors
/// [`Failure::Failed`] if the format needs allocation sites and the trace has none.
pub fn advice_text(
    advice: &RangeAdvice,
    places: &TracePlaces,
    format: AdviceFormat,
    top: Option<NonZero<usize>>,
    view: View,
) -> Result<(String, Vec<String>), Failure> {
    let all = match format {
        AdviceFormat::Table => ROWS,
        _ => usize::MAX,
    };
    let most = top.map_or(all, NonZero::get);
    let text = match format {
        AdviceFormat::Table => range_table(advice, most, view),
        AdviceFormat::Json => {
            let mut best = advice.clone();
            best.keep_best(most);
            json(&best)?
        }
        AdviceFormat::Madvise => madvise(advice, most),
        // These formats count the ranges that they can express.
        AdviceFormat::Cbmm => return Ok(cbmm(advice, most)),
        AdviceFormat::Mosalloc => return Ok(mosalloc::layout(advice, places, most)),
        AdviceFormat::Folded | AdviceFormat::Flamegraph | AdviceFormat::Perf => {
            if !places.has_sites() {
                return Err(Failure::failed(NO_SITES));
            }
            let mut best = advice.clone();
            best.sites.truncate(most);
            match format {
                AdviceFormat::Folded => folded(&best),
                AdviceFormat::Perf => perf_script(&best),
                _ => flame_graph(&best).map_err(Failure::failed)?,
            }
        }
    };
    Ok((text, Vec::new()))
}
