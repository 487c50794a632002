//! The policy contract and the catalogue of policies.
//!
//! A policy decides when a block of base pages becomes a superpage. A policy sees a read-only
//! [`View`] of one block at one decision [`Point`], and returns a [`Verdict`]. Only the policy's
//! host acts.
//!
//! A simulator and a governor of live processes are hosts; this crate depends on neither. A policy
//! keeps no state: all its input is in the view. [`Needs`] lists what else a policy requires of a
//! host.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod catalogue;
mod colours;
mod contract;
mod error;
mod expression;
mod given;
mod needs;
mod parameter;
mod parse;
mod policies;
mod refusal;
mod view;
mod without;
mod written;

pub use catalogue::{PolicyEntry, all_examples, base_pages, catalogue, entry, examples};
pub use colours::{ColourOrder, ColourOwner, ColourRule};
pub use contract::{Coverage, Point, Policy, Verdict};
pub use error::ParseError;
pub use expression::{
    Expression, ExpressionError, ExpressionForm, ExpressionLine, FORM, Flag, Quantity, Unit,
};
pub use given::{GivenPolicy, NameRefused};
pub use needs::{
    Beyond, Charges, Copies, Cycles, Effort, Foresight, NOMINAL_RATE, Needs, OfflineSearch,
    PageDaemon, Placement, PromotionOrder, ReadAround, Scan, StoreToShared,
};
pub use parameter::{Parameter, ParameterKind, ParameterValue};
pub use parse::parse;
pub use refusal::{Refusal, Refusals};
pub use view::View;
pub use without::Without;

pub(crate) use parameter::listed;
