//! The replay of a trace by the engine. This module alone implements the engine's source of traces.

use crate::answers::{self, Answers};
use crate::{Failed, MACHINE, walk};
use broadleaf_accel::run;
use broadleaf_machine::Machine;
use broadleaf_model::{Plan, Source, SourcePart, SourcePiece};
use broadleaf_trace::{Grain, PartReader, TraceError, TraceReader};
use std::io::{self, Read};
use std::ops::ControlFlow;

/// A recording that the engine can read again.
pub(crate) struct EngineRecording<R, O> {
    open: O,
    reader: TraceReader<R>,
    /// Readers of parts that are not in use.
    idle: Vec<PartReader>,
}

impl<R: Read, O: Fn() -> io::Result<R>> EngineRecording<R, O> {
    pub(crate) fn new(open: O) -> Result<Self, TraceError> {
        let reader = TraceReader::with_options(open()?, walk::OPTIONS)?;
        Ok(Self {
            open,
            reader,
            idle: Vec::new(),
        })
    }
}

/// A chunk of a recording.
pub(crate) struct RecordingChunk(PartReader);

impl SourcePart for RecordingChunk {
    type Error = TraceError;

    fn next(&mut self) -> Result<Option<SourcePiece<'_>>, Self::Error> {
        Ok(self.0.next_part_item()?.map(SourcePiece::from))
    }
}

impl<R: Read, O: Fn() -> io::Result<R>> Source for EngineRecording<R, O> {
    type Error = TraceError;
    type Part = RecordingChunk;

    fn grain(&self) -> Grain {
        self.reader.header().grain
    }

    fn rewind(&mut self) -> Result<(), Self::Error> {
        self.reader = TraceReader::with_options((self.open)()?, walk::OPTIONS)?;
        Ok(())
    }

    fn next_part(&mut self) -> Result<Option<RecordingChunk>, Self::Error> {
        let Some(part) = self.reader.next_part()? else {
            return Ok(None);
        };
        let new = || PartReader::new(self.reader.header().grain, walk::OPTIONS.fetches);
        let mut reader = self.idle.pop().unwrap_or_else(new);
        reader.begin(part);
        Ok(Some(RecordingChunk(reader)))
    }

    fn close(
        &mut self,
        RecordingChunk(mut reader): RecordingChunk,
    ) -> Result<ControlFlow<()>, Self::Error> {
        if let Some(closed) = reader.close() {
            self.reader.close(closed);
        }
        self.idle.push(reader);
        Ok(ControlFlow::Continue(()))
    }
}

/// Returns a plan of policies by name, on the machine of the benchmarks.
///
/// # Errors
/// Returns an error if a policy is unknown.
pub fn plan(policies: &[String]) -> Result<Plan, Failed> {
    plan_on(policies, broadleaf_machine::machine(MACHINE)?)
}

/// Returns a plan of policies by name, on a machine.
///
/// # Errors
/// Returns an error if a policy is unknown.
pub fn plan_on(policies: &[String], machine: Machine) -> Result<Plan, Failed> {
    let parsed = policies.iter().map(|name| broadleaf_policy::parse(name));
    Ok(Plan::new(parsed.collect::<Result<_, _>>()?, vec![machine])?)
}

/// Returns the engine's counts for each policy of a plan. `open` opens the trace before each pass.
///
/// # Errors
/// Returns an error if the trace cannot be read or the engine refuses it.
pub fn replay<R: Read>(open: impl Fn() -> io::Result<R>, plan: &Plan) -> Result<Answers, Failed> {
    answers_of(&mut EngineRecording::new(open)?, plan)
}

/// Returns the engine's counts for each policy of a plan, from any source.
pub(crate) fn answers_of<S>(source: &mut S, plan: &Plan) -> Result<Answers, Failed>
where
    S: Source<Error = TraceError>,
{
    let outcome = run(source, plan, &mut |_| ControlFlow::Continue(()))?;
    let of = |result| answers::of_engine(result, &outcome.trace);
    Ok(outcome.results.iter().map(of).collect())
}
