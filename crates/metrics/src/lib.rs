//! Metrics with a name, a unit and a description, and the result record.
//!
//! A result is plain data: the counts, the policy, the machine, the trace and the build. Results do
//! not depend on the engine that counted, so any source of results gives the same tables and pages.
#![forbid(unsafe_code)]

mod answer;
mod caches;
mod catalogue;
mod curve;
mod heat;
mod interval;
mod live;
mod live_tables;
mod map;
mod memory;
mod metric;
mod mix;
mod probed;
mod ranges;
mod record;
mod replayed;
mod run_time;
mod service;
mod several;
mod sites;
mod tlb;
mod tlbmcpi;
mod trapped;
mod validation;
mod walks;
mod windows;

pub use answer::{
    ANSWER_SCHEMA, PAPER_SCHEMA, PageAnswer, PaperRecord, PaperTable, PaperVerdict, Recommendation,
    SuggestedCommand,
};
pub use caches::{CacheLevelResult, CacheResult, CoreResult};
pub use catalogue::{
    CACHE_METRICS, MEMORY_METRICS, METRICS, SAMPLE_METRICS, TLB_METRICS, TLBMCPI_METRICS,
    all_metrics, metric,
};
pub use curve::{CurvePoint, MachineSummary, MissSample, StructureSummary};
pub use heat::{BlockUse, HeatReport, MappingUse};
pub use interval::{MeanInterval, rank_correlation};
pub use live::{
    BASELINE_SCHEMA, BaselineReport, BlockCounts, Governed, LiveReport, PolicyForecast,
    PopulationBar, ProcessReport, REPORT_SCHEMA, RunFigures, Stalls, UnseenProcess,
};
pub use live_tables::{KernelTable, LiveSynonyms, LiveTable, LiveTables, TABLES_SCHEMA};
pub use map::{AddressMap, MapBlock, MapDecision, MapMapping, MapRow, WalkNode};
pub use memory::{MemoryAsked, MemoryResult, MemorySample, RanBefore};
pub use metric::{Metric, MetricFigure, MetricValue};
pub use mix::{AloneResult, MIX_SCHEMA, MixComparison, MixResult, MixedProgram, MixedTrace};
pub use probed::{PROBE_SCHEMA, Probed, ProbedFigure, ProbedSpan, ProbedValue};
pub use ranges::{ADVICE_SCHEMA, AdvisedMapping, AdvisedRange, BackingName, RangeAdvice};
pub use record::{COMPARE_SCHEMA, CellResult, Comparison, Provenance, TraceSummary};
pub use replayed::{REPLAY_SCHEMA, Replayed, ReplayedPolicy};
pub use run_time::{
    FaultSeconds, LARGE_GAIN, RunTime, RunTimeBasis, RunTimeClass, SOME_GAIN, SecondsRange,
    percentiles,
};
pub use service::{PickedAction, PickedForecast, PickedReport, SERVICE_SCHEMA, ServiceListing};
pub use several::{COMPARISONS_SCHEMA, Comparisons, RatioMeans, geometric_mean, mean};
pub use sites::{AdvisedFrame, AdvisedSite};
pub use tlb::TlbResult;
pub use tlbmcpi::Tlbmcpi;
pub use trapped::{TRAP_SCHEMA, Trapped};
pub use validation::{
    ChangeCheck, MeasuredSetting, MissRateCurve, OrderCheck, PredictedSetting, VALIDATION_SCHEMA,
    ValidatedSetting, ValidationReport, WholePrediction,
};
pub use walks::Walks;
pub use windows::{Estimate, WindowCounts, WindowEstimates};
