//! The policy contract and the catalogue of policies.
//!
//! A policy decides when a block of base pages becomes a superpage. It sees a read-only [`View`] of one block at one
//! decision [`Point`] and answers with a [`Verdict`]; only its host acts. A simulator and a governor of live processes
//! are hosts alike, so nothing here knows of either. A policy keeps no state: what it knows is in the view.
//! What more than that it asks of a host stands in its [`Needs`].
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod catalogue;
mod contract;
mod error;
mod expression;
mod needs;
mod parameter;
mod parse;
mod policies;
mod refusal;
mod view;
mod without;
mod written;

pub use catalogue::{Entry, all_examples, base_pages, catalogue, entry, examples};
pub use contract::{BackingKind, Coverage, Point, Policy, Verdict};
pub use error::ParseError;
pub use expression::{Expression, ExpressionError, FORM, Flag, Form, Line, Quantity, Unit};
pub use needs::{
    Beyond, Charges, Copies, Cycles, Effort, Foresight, NOMINAL_RATE, Needs, Order, PageDaemon,
    Placement, Scan, Search, Sizes,
};
pub use parameter::{Kind, Parameter, Value};
pub use parse::parse;
pub use refusal::{Refusal, Refusals};
pub use view::View;
pub use without::Without;

pub(crate) use parameter::listed;
