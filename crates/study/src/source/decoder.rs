//! The decoders of all kinds of traces.

use broadleaf_import::LackeyReader;
use broadleaf_trace::reduced::ReducedReader;
use broadleaf_trace::{Grain, ReadOptions, TraceReader, VisitEnds};

use super::kind::TraceKind;
use super::measured::{MeasuredReader, Meter};
use super::origin::{Origin, OriginBytes};
use super::{ReadError, TraceReading};

pub(crate) enum Decoder {
    Recording(Box<TraceReader<MeasuredReader<OriginBytes>>>),
    Lackey(LackeyReader<MeasuredReader<OriginBytes>>),
    Reduced(Box<ReducedReader<MeasuredReader<OriginBytes>>>),
    /// The reader of a text is in use by the text's only part.
    Away,
}

/// Begins a pass.
pub(crate) fn decode(
    kind: TraceKind,
    reading: TraceReading,
    origin: &mut Origin,
    meter: &Meter,
) -> Result<Decoder, ReadError> {
    let bytes = origin.bytes().map_err(|error| ReadError::Io {
        name: origin.name().to_owned(),
        error,
    })?;
    let bytes = MeasuredReader::new(bytes, meter.clone());
    Ok(match kind {
        TraceKind::Recording => {
            let options = ReadOptions {
                // After damage a recording may be whole again, but its mappings are unknown.
                keep_going: false,
                fetches: reading.fetches,
                ends: reading.ends,
            };
            let reader = TraceReader::with_options(bytes, options)
                .map_err(|error| ReadError::head(origin.name(), error))?;
            let options = reader.header().options;
            let has_blocks = options.instruction_counts && reader.version() == 1;
            match reading.ends {
                VisitEnds::Instructions if !has_blocks => {
                    return Err(ReadError::NoInstructions(origin.name().to_owned()));
                }
                VisitEnds::Executions if !has_blocks || !options.code => {
                    return Err(ReadError::NoCode(origin.name().to_owned()));
                }
                _ => {}
            }
            Decoder::Recording(Box::new(reader))
        }
        _ if reading.ends == VisitEnds::Instructions => {
            return Err(ReadError::NoInstructions(origin.name().to_owned()));
        }
        _ if reading.ends == VisitEnds::Executions => {
            return Err(ReadError::NoCode(origin.name().to_owned()));
        }
        TraceKind::Lackey => Decoder::Lackey(LackeyReader::new(bytes, Grain::Page)),
        TraceKind::Reduced => {
            let reader = ReducedReader::new(bytes)
                .map_err(|error| ReadError::reduced(origin.name(), error))?;
            Decoder::Reduced(Box::new(reader))
        }
    })
}
