//! The model's interface to a trace: parts, in any number of passes.

use std::ops::ControlFlow;
use std::sync::Arc;

use broadleaf_trace::{CodeTable, Grain, PartReader};

use super::bound::AccessBound;
use super::damage::PassStop;
use super::decoder::{Decoder, decode};
use super::kind::TraceKind;
use super::part::{self, TracePart};
use super::{ReadError, Trace};

impl broadleaf_model::Source for Trace {
    type Error = ReadError;
    type Part = TracePart;

    fn grain(&self) -> Grain {
        Self::grain(self)
    }

    fn holds_children(&self) -> bool {
        self.header().is_some_and(|header| header.options.children)
    }

    fn holds_system(&self) -> bool {
        self.header().is_some_and(|header| header.options.system)
    }

    fn code(&self) -> Option<Arc<CodeTable>> {
        match (&self.shared, &self.decoder) {
            (Some(shared), _) => Some(shared.code()),
            (None, Decoder::Recording(reader)) => Some(Arc::clone(reader.code())),
            _ => None,
        }
    }

    fn is_reduced(&self) -> bool {
        self.kind == TraceKind::Reduced
    }

    fn rewind(&mut self) -> Result<(), ReadError> {
        self.rewound = true;
        if let Some(shared) = &self.shared {
            shared.rewind();
            return Ok(());
        }
        // Only a pass to the end shows that the trace is whole.
        if std::mem::take(&mut self.ended) {
            self.finish()?;
        }
        self.meter.restart();
        self.bound = AccessBound::new(self.reading.max_accesses);
        self.damage = None;
        self.decoder = decode(self.kind, self.reading, &mut self.origin, &self.meter)?;
        Ok(())
    }

    fn next_part(&mut self) -> Result<Option<TracePart>, ReadError> {
        if self.damage.is_some() {
            return Ok(None);
        }
        let name = self.origin.name();
        if let Some(shared) = &self.shared {
            let part = shared.next_part()?;
            return Ok(part.map(|part| TracePart::shared(part, name)));
        }
        #[cfg(test)]
        crate::testing::note_decoding(name);
        let reader = match &mut self.decoder {
            Decoder::Recording(reader) => reader,
            Decoder::Away => return Ok(None),
            Decoder::Reduced(reader) => {
                let part = reader.next_part();
                let part = part.map_err(|error| ReadError::reduced(self.origin.name(), error))?;
                let (understood, pages) = (reader.bytes_read(), reader.populated());
                let bytes = self.meter.bytes();
                (self.bound).check_populated(&self.origin, bytes, understood, pages)?;
                self.ended = part.is_none();
                return Ok(part.map(|part| {
                    let mut reader = self.reduced_readers.pop().unwrap_or_default();
                    reader.begin(part);
                    TracePart::reduced(reader, self.origin.name())
                }));
            }
            // A text is one part.
            Decoder::Lackey(_) if self.ended => return Ok(None),
            text @ Decoder::Lackey(_) => {
                return Ok(match std::mem::replace(text, Decoder::Away) {
                    Decoder::Lackey(text) => Some(TracePart::lackey(text, name, self.reading)),
                    _ => None,
                });
            }
        };
        match reader.next_part() {
            Ok(Some(part)) => {
                let (totals, bytes) = (part.info().totals, self.meter.bytes());
                self.bound.hand_out(&self.origin, bytes, &totals)?;
                let (understood, pages) = (reader.bytes_read(), reader.populated());
                (self.bound).check_populated(&self.origin, bytes, understood, pages)?;
                let (grain, reading) = (reader.header().grain, self.reading);
                let idle = self.readers.pop();
                let mut reader = idle.unwrap_or_else(|| {
                    let reader = PartReader::new(grain, reading.fetches);
                    reader.ending_visits(reading.ends)
                });
                reader.begin(part);
                Ok(Some(TracePart::recording(reader, name, self.reading)))
            }
            Ok(None) => {
                self.ended = true;
                Ok(None)
            }
            Err(error) => match error.into() {
                PassStop::Damage(damage) if self.reading.keep_going => {
                    self.ended = true;
                    self.damage = Some(damage);
                    Ok(None)
                }
                stop => Err(ReadError::after_head(name, stop)),
            },
        }
    }

    fn pass_part(&mut self) -> Result<(), ReadError> {
        let Some(mut part) = self.next_part()? else {
            return Ok(());
        };
        part.pass_over()?;
        self.close(part).map(|_| ())
    }

    fn close(&mut self, part: TracePart) -> Result<ControlFlow<()>, ReadError> {
        let damage = match part.take_back() {
            part::Back::Recording(mut part, damage) => {
                if let (Decoder::Recording(reader), Some(closed)) =
                    (&mut self.decoder, part.close())
                {
                    reader.close(closed);
                }
                self.readers.push(*part);
                damage
            }
            part::Back::Reduced(part) => {
                if let Decoder::Reduced(reader) = &mut self.decoder {
                    reader.close(&part);
                }
                self.reduced_readers.push(*part);
                None
            }
            part::Back::Lackey(text, damage) => {
                self.decoder = Decoder::Lackey(*text);
                self.ended = true;
                damage
            }
            part::Back::Shared => None,
        };
        if damage.is_none() {
            return Ok(ControlFlow::Continue(()));
        }
        // Items after the damage do not count.
        self.ended = true;
        self.damage = damage;
        Ok(ControlFlow::Break(()))
    }
}
