//! The result of measuring a machine's TLBs.

use crate::Provenance;
use serde::Serialize;

/// The name and version of the schema of [`Probed`].
pub const PROBE_SCHEMA: &str = "broadleaf.probe/1";

/// The result of `probe`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Probed {
    /// [`PROBE_SCHEMA`].
    pub schema: String,
    /// The processor that was measured, or the modelled machine.
    pub processor: String,
    /// The number of the processor that ran the chases. `None` for a modelled machine.
    pub cpu: Option<usize>,
    /// How chases were judged: `time`, `counter` or `model`.
    pub method: String,
    /// The core clock, in cycles a nanosecond. `None` for a modelled machine.
    pub cycles_per_nanosecond: Option<f64>,
    /// The time that the probe took, in seconds.
    pub seconds: f64,
    /// The size as which a page of 2 MiB enters the TLB: `2m` or `4k`. `None`: not determined.
    pub huge_page_enters_as: Option<String>,
    /// The values, open ones included.
    pub values: Vec<ProbedValue>,
    /// The cost of loads over spans of memory.
    pub spans: Vec<ProbedSpan>,
    /// The names of the open values.
    pub undetermined: Vec<String>,
    /// The values of the machine file that were chosen and not measured, in words.
    pub chosen: Vec<String>,
    /// The machine file that was written.
    pub machine_file: Option<String>,
    /// The provenance of this result.
    pub provenance: Provenance,
}

/// A value that a probe determined, or left open.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProbedValue {
    /// The name, such as `L1 4k entries`.
    pub name: String,
    /// The number or the words. `None`: the value is open.
    pub value: Option<ProbedFigure>,
    /// The unit. Empty for words and for numbers without a unit.
    pub unit: String,
    /// The agreement of repeated measurements, from 0 to 1. `None` for an open value.
    pub confidence: Option<f64>,
    /// The reason why the value is open, or a remark. Empty if there is none.
    pub note: String,
}

/// A number or words.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ProbedFigure {
    /// A whole number.
    Count(u64),
    /// A number.
    Number(f64),
    /// Words.
    Words(String),
}

/// The cost of loads of random lines over a span of memory, one in each base page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProbedSpan {
    /// The span, in MiB.
    pub mib: u64,
    /// The size of the pages: `4k` or `2m`.
    pub page_size: String,
    /// The cycles of a load that waits for the one before.
    pub dependent_cycles: f64,
    /// The cycles of a load that waits for no other.
    pub independent_cycles: f64,
}
