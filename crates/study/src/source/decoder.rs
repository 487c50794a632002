//! What reads a trace of each kind.

use broadleaf_import::LackeyReader;
use broadleaf_trace::reduced::ReducedReader;
use broadleaf_trace::{Grain, ReadOptions, TraceReader};

use super::kind::Kind;
use super::measured::{Measured, Meter};
use super::origin::{Bytes, Origin};
use super::{ReadError, Reading};

pub(crate) enum Decoder {
    Recording(Box<TraceReader<Measured<Bytes>>>),
    Lackey(LackeyReader<Measured<Bytes>>),
    Reduced(Box<ReducedReader<Measured<Bytes>>>),
    /// The text's reader is handed out: a text is one part.
    Away,
}

/// Begins a pass.
pub(crate) fn decode(
    kind: Kind,
    reading: Reading,
    origin: &mut Origin,
    meter: &Meter,
) -> Result<Decoder, ReadError> {
    let bytes = origin.bytes().map_err(|error| ReadError::Io {
        name: origin.name().to_owned(),
        error,
    })?;
    let bytes = Measured::new(bytes, meter.clone());
    Ok(match kind {
        Kind::Recording => {
            let options = ReadOptions {
                // Behind damage a recording may be whole again, but its mappings are no longer known.
                keep_going: false,
                fetches: reading.fetches,
            };
            let reader = TraceReader::with_options(bytes, options)
                .map_err(|error| ReadError::head(origin.name(), error))?;
            Decoder::Recording(Box::new(reader))
        }
        Kind::Lackey => Decoder::Lackey(LackeyReader::new(bytes, Grain::Page)),
        Kind::Reduced => {
            let reader = ReducedReader::new(bytes)
                .map_err(|error| ReadError::reduced(origin.name(), error))?;
            Decoder::Reduced(Box::new(reader))
        }
    })
}
