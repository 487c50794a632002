//! The library of the benchmarks.
//!
//! - [`generated`] makes the generated traces.
//! - [`replay`] runs a trace through the engine.
//! - [`slow`] runs a trace through the oracle.
//! - [`walk`] only decodes a trace.
//! - [`reduced`] makes and replays reduced traces.
//! - [`loads`] makes the fewest loads that random updates need.
//! - [`designs`] runs TLB designs of every organisation and rule beside their oracle.
//! - [`answers`] compares counts with the expected ones.
//! - [`rounds`] times several things in turn.
//!
//! `broadleaf-bench` combines the modules for `benches/engine` and `benches/designs`.
//! `broadleaf-guarded` runs parts of them under Callgrind, for `tests/instructions.rs`.
#![forbid(unsafe_code)]

pub mod answers;
pub mod caches;
pub mod designs;
pub mod generated;
pub mod loads;
pub mod reduced;
pub mod replay;
pub mod rounds;
pub mod slow;
pub mod walk;

use broadleaf_trace::{DEFAULT_LEVEL, Recoder, TraceReader};

/// The error of a benchmark. It ends the benchmark with a sentence for the user.
pub type Failed = Box<dyn std::error::Error>;

/// The policy of benchmarks with one policy.
pub const ONE: &str = "pop-64";

/// The machine of every replay.
pub const MACHINE: &str = "skylake";

/// Returns the names of the eighteen policies of Zhu 2018: all default policies except Linux's own.
///
/// # Errors
/// Returns an error if the catalogue has an invalid example.
pub fn eighteen() -> Result<Vec<String>, Failed> {
    let mut names: Vec<String> = nineteen()?;
    names.retain(|name| name != "thp-always");
    Ok(names)
}

/// Returns the names of all policies that `compare` replays by default.
///
/// # Errors
/// Returns an error if the catalogue has an invalid example.
pub fn nineteen() -> Result<Vec<String>, Failed> {
    let policies = broadleaf_policy::examples()?;
    Ok(policies.iter().map(|policy| policy.name()).collect())
}

/// Returns a trace in version 2 of the format.
///
/// # Errors
/// Returns an error if the bytes are no trace or a damaged one.
pub fn recoded(trace: &[u8]) -> Result<Vec<u8>, Failed> {
    let mut reader = TraceReader::new(trace)?;
    let header = reader.header().clone();
    let mut writer = Recoder::writer(Vec::new(), &header)?;
    let mut recoder = Recoder::new(&header, DEFAULT_LEVEL)?;
    while let Some(part) = reader.next_part()? {
        let recoded = recoder.recode(part)?;
        for chunk in recoded.chunks {
            writer.write(chunk)?;
        }
        if let Some(closed) = recoded.closed {
            reader.close(closed);
        }
    }
    Ok(writer.finish()?)
}
