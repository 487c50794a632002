//! The stored parts of a recording, for conversions.

use broadleaf_trace::{Closed, Part, TraceError};

use super::damage::PassStop;
use super::{Decoder, ReadError, Trace};

impl Trace {
    /// The format version of a recording.
    pub fn version(&self) -> Option<u16> {
        match &self.decoder {
            Decoder::Recording(reader) => Some(reader.version()),
            Decoder::Lackey(_) | Decoder::Reduced(_) | Decoder::Away => None,
        }
    }

    /// Returns the next part of a recording; `None` at its end, and for other traces. The caller
    /// must pass the part's result to [`Trace::close_stored`].
    ///
    /// # Errors
    /// Returns an error if the recording is damaged between two parts, or unreadable.
    pub fn next_stored(&mut self) -> Result<Option<Part>, ReadError> {
        let Decoder::Recording(reader) = &mut self.decoder else {
            return Ok(None);
        };
        let part = reader.next_part();
        let part = part.map_err(|error| self.damaged(error))?;
        if let Some(part) = &part {
            let (totals, bytes) = (part.info().totals, self.meter.bytes());
            self.bound.hand_out(&self.origin, bytes, &totals)?;
        }
        Ok(part)
    }

    /// Records the result of reading a part.
    pub fn close_stored(&mut self, closed: Closed) {
        if let Decoder::Recording(reader) = &mut self.decoder {
            reader.close(closed);
        }
    }

    /// The error for damage in a part, or between two parts.
    pub fn damaged(&self, error: TraceError) -> ReadError {
        ReadError::after_head(self.origin.name(), PassStop::from(error))
    }
}
