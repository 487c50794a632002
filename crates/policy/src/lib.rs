//! The policy contract and the catalogue of policies.
//!
//! A policy decides when a block of base pages becomes a superpage. It sees a read-only [`View`] of one block at one
//! decision [`Point`] and answers with a [`Verdict`]; only its host acts. A simulator and a governor of live processes
//! are hosts alike, so nothing here knows of either. A policy keeps no state: what it knows is in the view.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod catalogue;
mod contract;
mod parse;
mod policies;
mod refusal;

pub use catalogue::{Entry, Parameter, base_pages, catalogue, entry, examples};
pub use contract::{BackingKind, Coverage, Needs, Point, Policy, Verdict, View};
pub use parse::{ParseError, parse};
pub use refusal::Refusal;
