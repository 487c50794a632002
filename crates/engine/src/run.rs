//! The passes over a trace.

use crate::{Plan, Source};
use broadleaf_metrics::{CellResult, TraceSummary};
use broadleaf_trace::Item;
use std::ops::ControlFlow;

/// Why a replay failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error<E> {
    /// The trace could not be read.
    #[error("{0}")]
    Source(E),
    /// An address that no x86-64 processor translates.
    #[error("the address {address:#x} is not canonical: no x86-64 processor translates it")]
    Address {
        /// The first byte of its page.
        address: u64,
    },
    /// More address spaces are alive at once than a TLB of this model can tell apart.
    #[error("more than {limit} address spaces are alive at once")]
    TooManySpaces {
        /// How many it can.
        limit: usize,
    },
    /// The progress callback asked to stop.
    #[error("stopped")]
    Stopped,
}

/// How far a replay has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Which pass over the trace this is, from 1.
    pub pass: u32,
    /// How many passes there will be, as far as is known.
    pub passes: u32,
    /// Accesses replayed in this pass.
    pub accesses: u64,
}

/// What a replay found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The trace, with an empty path and hash, which only the host knows.
    pub trace: TraceSummary,
    /// One result for each policy and machine: policies in the order asked, machines inside.
    pub results: Vec<CellResult>,
    /// What a reader of the numbers has to know about the trace and the model.
    pub notes: Vec<String>,
}

/// Replays a trace under every policy and machine of a plan.
///
/// `progress` is called every now and then, and stops the replay with [`ControlFlow::Break`].
///
/// # Errors
/// Where the source fails, the trace holds an address or a number of address spaces that the model cannot take, or
/// `progress` stops.
pub fn run<S: Source>(
    source: &mut S,
    plan: &Plan,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Outcome, Error<S::Error>> {
    let mut trace = TraceSummary::default();
    while let Some(item) = source.next().map_err(Error::Source)? {
        match item {
            Item::Visits(visits) => {
                for visit in visits {
                    trace.loads += u64::from(visit.loads);
                    trace.stores += u64::from(visit.stores);
                    trace.instructions += u64::from(visit.instructions);
                }
                trace.accesses = trace.loads + trace.stores;
            }
            Item::Event(_) => trace.events = true,
        }
        let state = Progress {
            pass: 1,
            passes: 1,
            accesses: trace.accesses,
        };
        if progress(state).is_break() {
            return Err(Error::Stopped);
        }
    }
    let results = (plan.policies().iter())
        .flat_map(|policy| plan.machines().iter().map(move |machine| (policy, machine)))
        .map(|(policy, machine)| CellResult {
            policy: policy.name(),
            machine: machine.name.clone(),
            accesses: trace.accesses,
            ..CellResult::default()
        })
        .collect();
    Ok(Outcome {
        trace,
        results,
        notes: Vec::new(),
    })
}
