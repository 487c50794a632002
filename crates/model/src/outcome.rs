//! The outcome of a replay, its progress, and its errors.

use crate::offline::Choice;
use crate::stream::{MOST_BLOCKS, Refused};
use broadleaf_charges::ChargeCounters;
use broadleaf_memory::GEOMETRY;
use broadleaf_memory::system::Place;
use broadleaf_metrics::{CellResult, TraceSummary};

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
    /// The blocks that the trace reaches, kept once for each policy, would take more memory than a
    /// replay may.
    #[error(
        "the trace reaches {blocks} blocks of 2 MiB or more; under {policies} policies at a time (4k, with which faults are \
         compared, is always one) a replay keeps {limit} in all: compare fewer policies at a time"
    )]
    TooManyBlocks {
        /// How many blocks it had reached.
        blocks: usize,
        /// How many policies were replayed at a time.
        policies: usize,
        /// How many blocks of all policies together are kept.
        limit: usize,
    },
    /// The model takes more memory of this machine than it may ([`Plan::within_bytes`]).
    #[error(
        "the model takes {needed} bytes of memory after {blocks} blocks of 2 MiB under {policies} policies and machines, and {limit} may be used: compare \
         fewer at a time, or use a machine with more memory"
    )]
    NoRoom {
        /// The bytes that the model takes so far.
        needed: u64,
        /// The bytes that the model may take.
        limit: u64,
        /// The number of blocks that the trace had reached.
        blocks: usize,
        /// The number of policies replayed at a time, each on each machine.
        policies: usize,
    },
    /// What a pass kept for the next cannot be read.
    #[error("what the first pass kept cannot be read again: {0}")]
    Kept(String),
    /// A number of a process, an address space or a file in a trace that is replayed with others.
    #[error(
        "a process, an address space or a file has the number {number}, and numbers below {limit} can be replayed in this \
         place: give a trace that broadleaf recorded or imported"
    )]
    Number {
        /// The number.
        number: u32,
        /// The first number that leaves no room for those of other traces.
        limit: u32,
    },
    /// Memory cannot be as it was asked for.
    #[error("{0}")]
    Memory(String),
    /// The threads that were asked for cannot be had.
    #[error("cannot start {threads} threads: {reason}")]
    NoThreads {
        /// How many.
        threads: usize,
        /// What the system says.
        reason: String,
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
    /// Which of the traces that ran before is being read, from 0; `None` for the one that results
    /// are about.
    pub earlier: Option<usize>,
    /// What a policy with foresight would do is being tried: for which time, from 1. The trace is
    /// not being read.
    pub trial: Option<u32>,
    /// Accesses of that trace that were replayed in this pass, or are about to be.
    pub accesses: u64,
}

/// What a replay found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The trace, with an empty path and hash, which only the host knows.
    pub trace: TraceSummary,
    /// One result for each policy and machine: policies in the order asked, machines inside.
    pub results: Vec<CellResult>,
    /// The same for each time of [`Plan::with_interim_results`], as if the trace ended before the
    /// first visit at or after it. Address spaces that had ended are gone.
    pub interim: Vec<Vec<CellResult>>,
    /// What a reader of the numbers has to know about the trace and the model.
    pub notes: Vec<String>,
    /// What was chosen for policies that know the trace beforehand, in the order of their results.
    pub choices: Vec<Choice>,
    /// For each result the frame of each resident page at the end, where the plan wants that
    /// ([`Plan::with_frames`]).
    pub frames: Vec<Vec<(Place, u64)>>,
    /// For each result the counters of TLB misses that the policy has at the end. Only replays in
    /// limited memory have counters.
    pub counters: Vec<ChargeCounters>,
}

/// Returns the error of a trace that holds more than the model takes, under so many policies.
pub fn refused<E>(refused: Refused, policies: usize) -> Error<E> {
    match refused {
        Refused::Page(page) => Error::Address {
            address: page.0 << GEOMETRY.base().shift(),
        },
        Refused::Block => Error::TooManyBlocks {
            blocks: MOST_BLOCKS + 1,
            policies,
            limit: MOST_BLOCKS,
        },
        Refused::Room {
            needed,
            limit,
            blocks,
        } => Error::NoRoom {
            needed,
            limit,
            blocks,
            policies,
        },
    }
}
