//! Listeners: what follows the steps of a replay beside its counts.

use crate::steps::Step;
use broadleaf_tlb::Lookup;

/// The steps that a listener needs. A replay without a listener may leave out visits that change
/// nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepsWanted {
    /// One step for each visit with a reference, and for each visit of fetches. A visit is a run of
    /// references to one page or line by one thread.
    EachVisit,
    /// One step for each access, for each lead, and for each visit of fetches.
    EachAccess,
}

/// A listener to the steps of one policy on one machine: a model of caches, or an attribution of
/// misses.
///
/// A listener changes no count. A pass that begins again drops its listeners without a call of
/// [`StepListener::end`], and makes new ones.
pub trait StepListener: Send {
    /// The earlier traces ended, and the trace of the results begins.
    fn begin(&mut self) {}

    /// A step, in the order of the trace, and its lookup. The lookup is that of the step's first
    /// reference: all others of a visit hit the first level. `None` for fetches of instructions,
    /// which the data TLB does not see. Fetches are steps only if memory holds code.
    fn step(&mut self, step: &Step, lookup: Option<Lookup>);

    /// The trace ended.
    fn end(&mut self) {}
}

/// Makes the listener to a policy on a machine, by their names; `None` if there is none. A policy
/// that is replayed in several ways has one listener for each.
type MakeListener = dyn Fn(&str, &str) -> Option<Box<dyn StepListener>> + Send + Sync;

/// A request for steps.
pub(crate) struct StepRequest {
    pub(crate) wanted: StepsWanted,
    pub(crate) make: Box<MakeListener>,
}
