//! What the benchmarks run.
//!
//! [`generated`] makes the traces that no program made, [`replay`] takes a trace through the engine, [`slow`] through the
//! oracle, [`walk`] only decodes it, [`reduced`] does both with its reduced form, and [`loads`] does the least that random updates need. [`answers`] holds what each of them counts against what it
//! should; [`rounds`] times them in turn. `broadleaf-bench` puts these together for `benches/engine`, and
//! `broadleaf-guarded` runs parts of them under Callgrind, for `tests/instructions.rs`.
#![forbid(unsafe_code)]

pub mod answers;
pub mod generated;
pub mod loads;
pub mod reduced;
pub mod replay;
pub mod rounds;
pub mod slow;
pub mod walk;

use broadleaf_trace::{DEFAULT_LEVEL, Recoder, TraceReader};

/// What goes wrong in a benchmark ends it, with a sentence for whoever runs it.
pub type Failed = Box<dyn std::error::Error>;

/// The policy that stands for all where one is replayed.
pub const ONE: &str = "pop-64";

/// The machine of every replay.
pub const MACHINE: &str = "skylake";

/// The eighteen policies of Zhu 2018 by name: all that the catalogue offers but Linux's own.
///
/// # Errors
/// Where the catalogue has an example that it does not know.
pub fn eighteen() -> Result<Vec<String>, Failed> {
    let mut names: Vec<String> = nineteen()?;
    names.retain(|name| name != "thp-always");
    Ok(names)
}

/// All policies that `compare` replays unless told otherwise.
///
/// # Errors
/// Where the catalogue has an example that it does not know.
pub fn nineteen() -> Result<Vec<String>, Failed> {
    let policies = broadleaf_policy::examples()?;
    Ok(policies.iter().map(|policy| policy.name()).collect())
}

/// A trace in version 2 of the format.
///
/// # Errors
/// Where it is none, or damaged.
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
