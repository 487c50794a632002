//! The recorded stream: visits and events.
//!
//! A trace is a program's memory references in their exact order, folded into *visits*, with the events that changed its
//! address space between them. This crate works on bytes, never on files, and knows nothing of policies and TLBs.
#![forbid(unsafe_code)]

mod event;
mod visit;

pub use event::{Advice, Backing, Event, Mapping, Protection, Range};
pub use visit::{Grain, Lead, Visit};

/// One piece of a trace, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// References, in order, with no event between them.
    Visits(&'a [Visit]),
    /// Something that takes effect before the next visit.
    Event(&'a Event),
}
