//! The governor: it applies the simulator's policies to live Linux processes.
//!
//! A [`Kernel`] reads processes and acts on them. A [`Ward`] takes an [`Observation`], asks the
//! policy about every block, keeps its [`Budgets`], and returns a [`TickPlan`]. The ward then
//! learns the [`Outcome`] of each block. A [`Governor`] repeats this: observe, decide, act, learn.
//! A decision depends on observations and outcomes alone, so a [`journal`] of both is a complete
//! record of the run.

pub mod journal;

mod act;
mod budget;
mod census;
mod counters;
mod forecast;
mod governor;
mod heat;
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
pub use heat::{
    BlockHeat, HeatChange, HeatMeter, HeatSampler, HeatSource, MappingHeat, NoHeat, ProcessHeat,
};
pub use inherited::{
    MayLack, duplicate, end_by, inherit_closed_streams, inherit_signals, send_signal, was_closed,
    was_ignored,
};
pub use kernel::{Kernel, KernelError};
pub use linux::{
    Abilities, ChaseBacking, ChaseCost, ChaseTimer, Description, EntryRun, KernelTables, Linux,
    MeasuredFaultCosts, Obstacle, SpanCost, ThpControl, ThpSetting, Usage, allow_only_advised,
    allow_thp, core_clock, forbid_thp, ignore_thp_switches, measure_fault_costs, pin, thp_control,
    touch_free_memory, wait_for,
};
pub use plan::{Came, Outcome, PromotionRun, TickPlan};
pub use seen::{
    BLOCK_BYTES, BlockSeen, Headroom, LiveBacking, LiveMapping, LivePages, MachineSeen,
    Observation, PAGE_BYTES, PAGES, ProcessId, ProcessSeen, Vitals,
};
pub use stalls::{StallLimit, StallSummary, Stalls};
pub use tree::ProcessTree;
pub use view::{OutOfReach, can_decide, can_decide_by_use, weighs_use};
pub use ward::{Tally, Ward};
