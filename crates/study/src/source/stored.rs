//! The parts of a recording as they are stored, for who writes them anew.

use broadleaf_trace::{Closed, Part, TraceError};

use super::damage::Stop;
use super::{Decoder, ReadError, Trace};

impl Trace {
    /// The version of the format that a recording has.
    pub fn version(&self) -> Option<u16> {
        match &self.decoder {
            Decoder::Recording(reader) => Some(reader.version()),
            Decoder::Lackey(_) | Decoder::Reduced(_) | Decoder::Away => None,
        }
    }

    /// The next part of a recording; `None` at its end, and of what is none. What it came to has to come back to [`Trace::close_stored`].
    ///
    /// # Errors
    /// Where the recording is damaged between two parts, or cannot be read.
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

    /// Takes in what a part came to that was handed out.
    pub fn close_stored(&mut self, closed: Closed) {
        if let Decoder::Recording(reader) = &mut self.decoder {
            reader.close(closed);
        }
    }

    /// What is wrong with a part, or between two.
    pub fn damaged(&self, error: TraceError) -> ReadError {
        ReadError::behind_head(self.origin.name(), Stop::from(error))
    }
}
