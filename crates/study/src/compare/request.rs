//! The request for a comparison.

use std::num::NonZero;
use std::path::Path;

use broadleaf_machine::Machine;

use super::AskedPolicies;
use crate::cache::TraceCache;
use crate::explained::ShowPlan;
use crate::memory::MemoryRequest;
use crate::watch::Watch;

/// The share of each window that warms TLBs up, unless the user gave another.
pub const WARM_UP: f64 = 0.2;

/// A request for a comparison.
pub struct Request<'a> {
    /// The trace: a file, or `-` for standard input.
    pub trace: &'a Path,
    /// Reads a damaged trace up to the damage.
    pub keep_going: bool,
    /// The maximum number of accesses to read; `None` derives a limit from the trace's size.
    pub max_accesses: Option<u64>,
    /// The policies to compare.
    pub policies: AskedPolicies,
    /// The machines to compare on.
    pub machines: Vec<Machine>,
    /// The number of threads; `None` for as many as the process may use.
    pub threads: Option<NonZero<usize>>,
    /// Count the misses of TLBs with other geometries too.
    pub curves: bool,
    /// Count the misses over time too, where memory is not limited.
    pub misses_over_time: bool,
    /// The share of each window of a recording that warms TLBs up, before its misses count.
    pub warm_up: f64,
    /// Let each instruction begin again after a TLB miss.
    pub restarts: bool,
    /// The memory of the frame-level model, if the user gave one.
    pub memory: Option<&'a MemoryRequest>,
    /// Keeps the reduced form of the trace for later comparisons, and holds those of earlier ones.
    pub cache: Option<&'a TraceCache>,
    /// Receives the planner's choice of accelerators before the replay, if the user asked for it.
    pub explain_plan: Option<ShowPlan<'a>>,
    /// Receives the progress.
    pub watch: &'a dyn Watch,
}

/// Parses the share of a window that warms TLBs up, as a percentage from 0 to 99.
///
/// # Errors
/// A sentence for the user.
pub fn warm_up_share(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end().parse::<f64>();
    let percent = number.ok().filter(|percent| (0.0..=99.0).contains(percent));
    percent
        .map(|percent| percent / 100.0)
        .ok_or_else(|| format!("{text:?} is no share of a window: write 0% to 99%"))
}
