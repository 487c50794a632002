//! The items of a trace, one by one.

use super::bound::work;
use super::damage::PassStop;
use super::decoder::Decoder;
use super::{ReadError, Trace, part};
use broadleaf_trace::{Grain, Item};

impl Trace {
    /// The unit of visits.
    pub fn grain(&self) -> Grain {
        self.header().map_or(Grain::Page, |header| header.grain)
    }

    /// Returns the next item of the trace, or `None` at its end.
    ///
    /// # Errors
    /// Returns an error if the trace is damaged or unreadable.
    pub fn next_item(&mut self) -> Result<Option<Item<'_>>, ReadError> {
        if self.damage.is_some() {
            return Ok(None);
        }
        let (found, stop) = match &mut self.decoder {
            Decoder::Recording(reader) => {
                let so_far = work(&reader.totals());
                self.bound.check(&self.origin, self.meter.bytes(), so_far)?;
                match reader.next_item() {
                    Ok(item) => (item, None),
                    Err(error) => (None, Some(error.into())),
                }
            }
            Decoder::Lackey(reader) => part::some_lines(reader, &mut self.visits),
            // A reduced form is read in parts only.
            Decoder::Reduced(_) | Decoder::Away => (None, None),
        };
        match stop {
            None => {}
            Some(PassStop::Damage(damage)) if self.reading.keep_going => self.damage = Some(damage),
            Some(stop) => return Err(ReadError::after_head(self.origin.name(), stop)),
        }
        Ok(found)
    }
}
