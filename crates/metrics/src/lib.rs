//! Counters with a name, a unit and a sentence, and the result record.
//!
//! A result is plain data: what was counted, for which policy and machine, on which trace, by which build. It knows
//! nothing of the engine that counted it, so a table or a page is drawn from it wherever it came from.
#![forbid(unsafe_code)]

mod catalogue;
mod curve;
mod live;
mod memory;
mod memory_catalogue;
mod ranges;
mod record;
mod replayed;
mod tlbmcpi;
mod walks;

pub use catalogue::{METRICS, Metric, all_metrics, metric};
pub use curve::CurvePoint;
pub use live::{
    BASELINE_SCHEMA, BaselineReport, BlockCounts, Governed, LiveReport, PolicyForecast,
    PopulationBar, ProcessReport, REPORT_SCHEMA, RunFigures, Stalls, UnseenProcess,
};
pub use memory::{MemoryAsked, MemoryResult, MemorySample, RanBefore};
pub use memory_catalogue::{MEMORY_METRICS, SAMPLE_METRICS, TLBMCPI_METRICS};
pub use ranges::{ADVICE_SCHEMA, AdvisedMapping, AdvisedRange, BackingName, RangeAdvice};
pub use record::{
    COMPARE_SCHEMA, CellResult, Comparison, Provenance, Recommendation, TraceSummary,
};
pub use replayed::{REPLAY_SCHEMA, Replayed, ReplayedPolicy};
pub use tlbmcpi::Tlbmcpi;
pub use walks::Walks;
