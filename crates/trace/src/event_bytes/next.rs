//! Reading the events of a chunk in their order.

use super::parse;
use crate::error::{Bad, Section};
use crate::event::Event;
use crate::section::SectionBytes;

/// The position of a chunk's next event: the number of heads, or codes, before the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NextEvent(usize);

impl NextEvent {
    /// The position if no event is left.
    pub(crate) const NONE: Self = Self(usize::MAX);

    /// The position of the first event of a section, in a chunk of `heads` heads.
    pub(crate) fn first(events: &mut SectionBytes, heads: usize) -> Result<Self, Bad> {
        let mut first = Self(0);
        first.find(events, heads)?;
        Ok(first)
    }

    /// Returns true if the event precedes this head.
    pub(crate) const fn is_at(self, head: usize) -> bool {
        self.0 == head
    }

    /// The number of heads before the event; larger than any number of heads if no event is left.
    pub(crate) const fn position(self) -> usize {
        self.0
    }

    /// Decodes the next event without consuming it. Returns `None` for a kind of a later version.
    pub(crate) fn read(events: &mut SectionBytes) -> Result<Option<Event>, Bad> {
        let bad = |reason| Bad::new(Section::Events, reason);
        let start = events.at;
        let kind = events.byte().ok_or(bad("an event has no kind"))?;
        let length = events.number().map_err(bad)?;
        let payload = events
            .take(length)
            .ok_or(bad("an event is longer than its section"))?;
        let event = parse(kind, payload).map_err(bad)?;
        events.at = start;
        Ok(event)
    }

    /// Consumes the next event.
    pub(crate) fn pass(&mut self, events: &mut SectionBytes, heads: usize) -> Result<(), Bad> {
        let _kind = events.byte();
        if let Ok(length) = events.number() {
            events.take(length);
        }
        self.find(events, heads)
    }

    fn find(&mut self, events: &mut SectionBytes, heads: usize) -> Result<(), Bad> {
        if events.is_empty() {
            *self = Self::NONE;
            return Ok(());
        }
        let skip = events.number();
        let skip = skip.map_err(|reason| Bad::new(Section::Events, reason))?;
        let at = usize::try_from(skip).ok();
        let at = at.and_then(|skip| self.0.checked_add(skip));
        let at = at.filter(|&at| at <= heads);
        self.0 = at.ok_or(Bad::new(
            Section::Events,
            "an event comes after the last head or code",
        ))?;
        Ok(())
    }
}
