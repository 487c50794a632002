//! A trace that was written and recoded, so that its parts name repeats.

use std::ops::ControlFlow;

use broadleaf_model::{Source, SourcePart, SourcePiece};
use broadleaf_oracle::{OwnedItem, Recording};
use broadleaf_trace::{
    Encoder, Grain, Header, Options, PartReader, Recoder, TraceReader, Visit, WriteError,
};

/// Writes a trace in memory and recodes it. Returns `None` if the edits of the trace made an event
/// that no trace holds.
pub(super) fn recoded(recording: &Recording) -> Option<FuzzRecodedTrace> {
    let bytes = recode(&written(recording).ok()?);
    Some(FuzzRecodedTrace {
        grain: recording.grain,
        reader: reader_of(&bytes),
        bytes,
    })
}

/// Writes a trace.
fn written(recording: &Recording) -> Result<Vec<u8>, WriteError> {
    let header = Header {
        options: Options {
            instruction_counts: true,
            events: true,
            children: true,
            system: false,
            kernel_events: false,
            ..Options::default()
        },
        ..Header::new(recording.grain)
    };
    let mut encoder = Encoder::new(Vec::new(), &header)?;
    for item in &recording.items {
        match item {
            OwnedItem::Visits(visits) => {
                // The machines of the oracle translate no fetches.
                let visits = visits.iter().copied();
                let data: Vec<Visit> = visits.filter(|visit| !visit.fetch).collect();
                encoder.visits(&data)?;
            }
            OwnedItem::Event(event) => encoder.event(event)?,
        }
    }
    encoder.finish()
}

/// Converts a trace to version 2.
fn recode(bytes: &[u8]) -> Vec<u8> {
    let mut reader = TraceReader::new(bytes).expect("a trace");
    let header = reader.header().clone();
    let mut writer = Recoder::writer(Vec::new(), &header).expect("a head");
    let mut recoder = Recoder::new(&header, 1).expect("a level");
    while let Some(part) = reader.next_part().expect("a part") {
        let recoded = recoder.recode(part).expect("a whole part");
        for chunk in recoded.chunks {
            writer.write(chunk).expect("a chunk");
        }
        reader.close(recoded.closed.expect("a part"));
    }
    writer.finish().expect("an end")
}

fn reader_of(bytes: &[u8]) -> TraceReader<std::io::Cursor<Vec<u8>>> {
    TraceReader::new(std::io::Cursor::new(bytes.to_vec())).expect("a recoded trace")
}

/// A recoded trace in memory.
pub(super) struct FuzzRecodedTrace {
    grain: Grain,
    bytes: Vec<u8>,
    reader: TraceReader<std::io::Cursor<Vec<u8>>>,
}

/// A part of a recoded trace.
pub(super) struct FuzzRecodedPart(PartReader);

impl SourcePart for FuzzRecodedPart {
    type Error = String;

    fn next(&mut self) -> Result<Option<SourcePiece<'_>>, String> {
        let item = self.0.next_part_item().map_err(|error| error.to_string())?;
        Ok(item.map(SourcePiece::from))
    }
}

impl Source for FuzzRecodedTrace {
    type Error = String;
    type Part = FuzzRecodedPart;

    fn grain(&self) -> Grain {
        self.grain
    }

    fn rewind(&mut self) -> Result<(), String> {
        self.reader = reader_of(&self.bytes);
        Ok(())
    }

    fn next_part(&mut self) -> Result<Option<FuzzRecodedPart>, String> {
        let part = self.reader.next_part().map_err(|error| error.to_string())?;
        let grain = self.grain;
        Ok(part.map(|part| {
            let mut reader = PartReader::new(grain, false);
            reader.begin(part);
            FuzzRecodedPart(reader)
        }))
    }

    fn close(
        &mut self,
        FuzzRecodedPart(mut reader): FuzzRecodedPart,
    ) -> Result<ControlFlow<()>, String> {
        self.reader.close(reader.close().expect("a part"));
        Ok(ControlFlow::Continue(()))
    }
}
