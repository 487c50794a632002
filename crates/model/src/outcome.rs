//! The outcome of a replay, its progress, and its errors.

use crate::foresight::ForeseenPromotions;
use crate::offline::Choice;
use crate::stream::{MOST_BLOCKS, Refused};
use broadleaf_charges::ChargeCounters;
use broadleaf_memory::GEOMETRY;
use broadleaf_memory::system::Place;
use broadleaf_metrics::{CellResult, TraceSummary};

/// The reason why a replay failed.
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
    /// The blocks that the trace reaches, kept once for each policy, exceed the memory limit of a
    /// replay.
    #[error(
        "the trace reaches {blocks} blocks of 2 MiB or more; under {policies} policies at a time \
         (4k, with which faults are \
         compared, is always one) a replay keeps {limit} in all: compare fewer policies at a time"
    )]
    TooManyBlocks {
        /// The number of blocks that the trace had reached.
        blocks: usize,
        /// The number of policies replayed at a time.
        policies: usize,
        /// The limit of blocks of all policies together.
        limit: usize,
    },
    /// The trace reaches more blocks than a replay can number, with any number of policies.
    #[error(
        "the trace reaches more than {limit} blocks of 2 MiB, the most that a replay numbers: \
         record a part of the program"
    )]
    BlockNumbers {
        /// The limit of blocks.
        limit: usize,
    },
    /// The model takes more memory of this machine than it may ([`Plan::within_bytes`]).
    #[error(
        "the model takes {needed} bytes of memory after {blocks} blocks of 2 MiB under {policies} \
         policies and machines, and {limit} may be used: compare \
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
    /// The data that one pass kept for the next cannot be read.
    #[error("what the first pass kept cannot be read again: {0}")]
    Kept(String),
    /// A number of a process, an address space or a file is too high in a trace that is replayed
    /// with others.
    #[error(
        "a process, an address space or a file has the number {number}, and numbers below {limit} \
         can be replayed in this \
         place: give a trace that broadleaf recorded or imported"
    )]
    Number {
        /// The number.
        number: u32,
        /// The first number that leaves no room for those of other traces.
        limit: u32,
    },
    /// A machine cannot have the memory that the limits describe.
    #[error("{0}")]
    Memory(String),
    /// The system cannot start the threads.
    #[error("cannot start {threads} threads: {reason}")]
    NoThreads {
        /// The number of threads.
        threads: usize,
        /// The system's error message.
        reason: String,
    },
    /// The progress callback asked to stop.
    #[error("stopped")]
    Stopped,
}

/// The progress of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayProgress {
    /// The number of the current pass over the trace, from 1.
    pub pass: u32,
    /// The expected number of passes.
    pub passes: u32,
    /// The index of the earlier trace that is being read, from 0. `None` for the trace that the
    /// results are about.
    pub earlier: Option<usize>,
    /// The number of the current trial of a policy with foresight, from 1. The trace is not read
    /// meanwhile.
    pub trial: Option<u32>,
    /// Accesses of the current trace that this pass has replayed, or is about to replay.
    pub accesses: u64,
}

/// The outcome of a replay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The summary of the trace. Its path and hash are empty: only the caller knows them.
    pub trace: TraceSummary,
    /// One result for each policy and machine: policies in the order of the plan, machines inside.
    pub results: Vec<CellResult>,
    /// The interim results of [`Plan::with_interim_results`], one list for each time. Each is the
    /// result of the trace cut before the first visit at or after that time. Address spaces that
    /// had ended are gone.
    pub interim: Vec<Vec<CellResult>>,
    /// Notes that a reader of the numbers needs about the trace and the model: those on the trace,
    /// on results, and then on the plan.
    pub notes: Vec<ReplayNote>,
    /// The superpages chosen for policies with foresight, in the order of their results.
    pub choices: Vec<Choice>,
    /// The reduced form of the trace in parts, each a whole reduced trace, if the plan keeps it
    /// ([`Plan::keeping_reduced`](crate::Plan::keeping_reduced)) and few enough visits are left.
    pub reduced: Option<Vec<Vec<u8>>>,
    /// The blocks that policies promoted which others foresee, if memory never runs short. A later
    /// replay may [expect](crate::Plan::expecting) them.
    pub foreseen: ForeseenPromotions,
    /// For each result the frame of each resident page at the end, if the plan asks for frames
    /// ([`Plan::with_frames`]).
    pub frames: Vec<Vec<(Place, u64)>>,
    /// For each result the counters of TLB misses that the policy has at the end. Only replays in
    /// the frame-level model have counters.
    pub counters: Vec<ChargeCounters>,
}

/// A note that a reader of the numbers needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayNote {
    /// The subject of the note.
    pub about: NoteAbout,
    /// The note as a sentence.
    pub text: String,
}

/// The subject of a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoteAbout {
    /// The trace, whatever it is replayed under.
    Trace,
    /// Each of these results alone, by their places in the outcome.
    Results(Vec<usize>),
    /// Policies and machines of the plan, in view of each other.
    Plan,
}

impl ReplayNote {
    /// Notes on the plan with these texts.
    pub(crate) fn of_plan(texts: Vec<String>) -> impl Iterator<Item = Self> {
        texts.into_iter().map(|text| Self {
            about: NoteAbout::Plan,
            text,
        })
    }
}

/// Returns the error of a trace that holds more than the model may keep under `policies` policies.
pub fn refused<E>(refused: Refused, policies: usize) -> Error<E> {
    match refused {
        Refused::Page(page) => Error::Address {
            address: page.0 << GEOMETRY.base().shift(),
        },
        Refused::Block => Error::BlockNumbers { limit: MOST_BLOCKS },
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    /// Fewer policies would not help, so the message does not advise that.
    #[test]
    fn too_many_blocks_to_number_are_a_refusal_of_their_own() {
        let error = refused::<Infallible>(Refused::Block, 3).to_string();
        assert!(
            error.contains(&format!("more than {MOST_BLOCKS} blocks")),
            "{error}"
        );
        assert!(!error.contains("policies"), "{error}");
    }
}
