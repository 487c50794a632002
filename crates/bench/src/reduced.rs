//! The reduced form of a trace: its writer, its reader, and its replay by the engine.

use crate::answers::Answers;
use crate::walk::Walked;
use crate::{Failed, MACHINE, replay};
use broadleaf_filter::Family;
use broadleaf_model::{Plan, Source, SourcePart, SourcePiece};
use broadleaf_trace::reduced::{
    ReducedHeader, ReducedItem, ReducedPartReader, ReducedReader, ReducedWriter,
};
use broadleaf_trace::{Grain, TraceError};
use std::io::{self, Read, Write};
use std::ops::ControlFlow;

/// Writes the reduced form of a trace, for the machine of the benchmarks.
///
/// # Errors
/// Returns an error if the trace cannot be read or `to` fails.
pub fn write<R: Read, W: Write>(open: impl Fn() -> io::Result<R>, to: W) -> Result<W, Failed> {
    let machine = broadleaf_machine::machine(MACHINE)?;
    let header = ReducedHeader {
        trace: String::new(),
        family: Family::of([&machine.design]).to_string(),
    };
    let mut writer = ReducedWriter::new(to, &header)?;
    let mut recording = replay::EngineRecording::new(open)?;
    let mut written = Ok(());
    broadleaf_accel::reduce(
        &mut recording,
        &[machine],
        1,
        &mut |piece| {
            written = match piece {
                SourcePiece::Reduced(visits, sums) => writer.visits(visits, &sums),
                SourcePiece::Event(event) => writer.event(event),
                SourcePiece::Visits(_) | SourcePiece::Phrased(_) => Ok(()),
            };
            match written {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        },
        &mut |_| ControlFlow::Continue(()),
    )?;
    written?;
    Ok(writer.finish()?.0)
}

/// Reads a reduced form. Returns the number of all accesses and of the remaining visits.
///
/// # Errors
/// Returns an error if the form is damaged or cannot be read.
pub fn walk(from: impl Read) -> Result<Walked, TraceError> {
    let mut reader = ReducedReader::new(from)?;
    let mut part_reader = ReducedPartReader::new();
    let mut seen = Walked::default();
    while let Some(part) = reader.next_part()? {
        part_reader.begin(part);
        while let Some(item) = part_reader.next_item()? {
            if let ReducedItem::Visits(visits, sums) = item {
                seen.visits += visits.len() as u64;
                seen.accesses += sums.accesses();
            }
        }
    }
    Ok(seen)
}

/// A reduced form that the engine can read again.
struct Reduced<R, O> {
    open: O,
    reader: ReducedReader<R>,
    /// Readers of parts that are not in use.
    idle: Vec<ReducedPartReader>,
}

/// A chunk of a reduced form.
struct ReducedChunk(ReducedPartReader);

impl SourcePart for ReducedChunk {
    type Error = TraceError;

    fn next(&mut self) -> Result<Option<SourcePiece<'_>>, Self::Error> {
        Ok(self.0.next_item()?.map(SourcePiece::from))
    }
}

impl<R: Read, O: Fn() -> io::Result<R>> Source for Reduced<R, O> {
    type Error = TraceError;
    type Part = ReducedChunk;

    fn grain(&self) -> Grain {
        Grain::Page
    }

    fn rewind(&mut self) -> Result<(), Self::Error> {
        self.reader = ReducedReader::new((self.open)()?)?;
        Ok(())
    }

    fn next_part(&mut self) -> Result<Option<ReducedChunk>, Self::Error> {
        let Some(part) = self.reader.next_part()? else {
            return Ok(None);
        };
        let mut reader = self.idle.pop().unwrap_or_default();
        reader.begin(part);
        Ok(Some(ReducedChunk(reader)))
    }

    fn close(
        &mut self,
        ReducedChunk(reader): ReducedChunk,
    ) -> Result<ControlFlow<()>, Self::Error> {
        self.idle.push(reader);
        Ok(ControlFlow::Continue(()))
    }
}

/// Returns the engine's counts for each policy of a plan from a reduced form. `open` opens the form
/// before each pass.
///
/// # Errors
/// Returns an error if the form cannot be read or the engine refuses it.
pub fn replay<R: Read>(open: impl Fn() -> io::Result<R>, plan: &Plan) -> Result<Answers, Failed> {
    let mut reduced = Reduced {
        reader: ReducedReader::new(open()?)?,
        open,
        idle: Vec::new(),
    };
    replay::answers_of(&mut reduced, plan)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{generated, nineteen};

    #[test]
    fn its_answers_are_those_of_the_trace() {
        let trace = generated::short(Vec::new()).expect("a trace");
        let reduced = write(|| Ok(trace.as_slice()), Vec::new()).expect("a reduced form");
        let of_trace = crate::walk::walk(trace.as_slice()).expect("it is whole");
        let of_reduced = walk(reduced.as_slice()).expect("it is whole");
        assert_eq!(of_reduced.accesses, of_trace.accesses);
        assert!(of_reduced.visits < of_trace.visits, "{of_reduced:?}");
        let plan = replay::plan(&nineteen().expect("policies")).expect("a plan");
        assert_eq!(
            replay(|| Ok(reduced.as_slice()), &plan).expect("answers"),
            replay::replay(|| Ok(trace.as_slice()), &plan).expect("answers"),
        );
    }
}
