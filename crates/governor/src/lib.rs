//! The governor: the simulator's policies, on live Linux processes.
//!
//! A [`Kernel`] shows what processes look like and does what is asked of it. A [`Ward`] takes in what was [`Seen`], asks the policy about every block,
//! keeps to its [`Budgets`], and answers with a [`Plan`]; what came of that it is told as [`Outcome`]s. A [`Governor`] goes round: look, decide, act,
//! learn. Everything that a decision depends on goes through [`Seen`] and [`Outcome`], so a [`journal`] of these is the whole run.

pub mod journal;

mod act;
mod budget;
mod census;
mod counters;
mod forecast;
mod governor;
mod inherited;
mod kernel;
mod linux;
mod pace;
mod plan;
mod seen;
pub mod service;
mod stalls;
mod tree;
mod view;
mod ward;

pub use act::Done;
pub use budget::{Allowance, Budgets, NotAnAllowance, Shortage, percent};
pub use census::{BARS, Census, Kinds};
pub use counters::Counters;
pub use forecast::{Forecast, forecast};
pub use governor::{Governor, Planned, Spent, Ticked, Unseen};
pub use inherited::{
    MayLack, duplicate, end_by, inherit_closed_streams, inherit_signals, send_signal, was_closed,
    was_ignored,
};
pub use kernel::{Kernel, No};
pub use linux::{
    Abilities, Description, Linux, Obstacle, ThpControl, ThpSetting, Usage, allow_only_advised,
    allow_thp, thp_control, wait_for,
};
pub use plan::{Came, Outcome, Plan, Run};
pub use seen::{
    BLOCK_BYTES, Behind, BlockSeen, Headroom, MachineSeen, Mapping, PAGE_BYTES, PAGES, Pages,
    ProcessId, ProcessSeen, Seen, Vitals,
};
pub use stalls::{StallLimit, StallSummary, Stalls};
pub use tree::Tree;
pub use view::{OutOfReach, can_decide};
pub use ward::{Tally, Ward};
