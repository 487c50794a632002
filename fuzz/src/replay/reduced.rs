//! The reduced form of a trace, written to memory and read again.

use std::fmt::Debug;
use std::io::Cursor;
use std::ops::ControlFlow;
use std::sync::Arc;

use broadleaf_machine::Machine;
use broadleaf_model::{Source, SourcePart, SourcePiece};
use broadleaf_trace::Grain;
use broadleaf_trace::reduced::{ReducedHeader, ReducedPartReader, ReducedReader, ReducedWriter};

/// Reduces a trace for these machines.
pub(super) fn reduced<S: Source<Error: Debug>>(
    source: &mut S,
    machines: &[Machine],
) -> FuzzReducedTrace {
    let header = ReducedHeader::default();
    let mut writer = ReducedWriter::new(Vec::new(), &header).expect("a head");
    let mut each = |piece: SourcePiece<'_>| {
        match piece {
            SourcePiece::Reduced(visits, sums) => writer.visits(visits, &sums).expect("visits"),
            SourcePiece::Event(event) => writer.event(event).expect("an event"),
            SourcePiece::Visits(_) | SourcePiece::Phrased(_) => unreachable!("it is reduced"),
        }
        ControlFlow::Continue(())
    };
    let mut go_on = |_| ControlFlow::Continue(());
    broadleaf_accel::reduce(source, machines, 1, &mut each, &mut go_on).expect("a trace");
    let (bytes, _) = writer.finish().expect("memory can be written to");
    FuzzReducedTrace::new(bytes)
}

/// A reduced trace in memory.
pub(super) struct FuzzReducedTrace {
    bytes: Arc<[u8]>,
    /// The reader, after the parts that were handed out. `None` before the first.
    reader: Option<ReducedReader<Cursor<Arc<[u8]>>>>,
}

impl FuzzReducedTrace {
    fn new(bytes: Vec<u8>) -> Self {
        Self {
            bytes: bytes.into(),
            reader: None,
        }
    }
}

/// A part of a reduced trace.
pub(super) struct FuzzReducedPart(ReducedPartReader);

impl SourcePart for FuzzReducedPart {
    type Error = String;

    fn next(&mut self) -> Result<Option<SourcePiece<'_>>, String> {
        let item = self.0.next_item().map_err(|error| error.to_string())?;
        Ok(item.map(SourcePiece::from))
    }
}

impl Source for FuzzReducedTrace {
    type Error = String;
    type Part = FuzzReducedPart;

    fn grain(&self) -> Grain {
        Grain::Page
    }

    fn rewind(&mut self) -> Result<(), String> {
        self.reader = None;
        Ok(())
    }

    fn next_part(&mut self) -> Result<Option<FuzzReducedPart>, String> {
        let text = |error: broadleaf_trace::TraceError| error.to_string();
        let reader = match &mut self.reader {
            Some(reader) => reader,
            none => {
                let bytes = Cursor::new(Arc::clone(&self.bytes));
                none.insert(ReducedReader::new(bytes).map_err(text)?)
            }
        };
        let Some(part) = reader.next_part().map_err(text)? else {
            return Ok(None);
        };
        let mut pieces = ReducedPartReader::new();
        pieces.begin(part);
        Ok(Some(FuzzReducedPart(pieces)))
    }

    fn close(&mut self, _: FuzzReducedPart) -> Result<ControlFlow<()>, String> {
        Ok(ControlFlow::Continue(()))
    }
}
