//! Listeners: models that follow the steps of a replay and change no count.

use crate::steps::Step;

/// The steps that a listener needs. A replay without a listener may leave out visits that change
/// nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepsWanted {
    /// One step for each visit with a reference, and for each visit of fetches if memory holds
    /// code. A visit is a run of references to one page or line by one thread.
    EachVisit,
    /// One step for each access, for each lead, and for each visit of fetches if memory holds code.
    EachAccess,
}

/// The lookups of a step that missed the first level of the TLB. All other references of the step
/// hit the first level, or the machine does not translate them: fetches without instruction TLBs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlowLookups {
    /// Lookups that hit the second level.
    pub second_hits: u64,
    /// Lookups that hit the third level.
    pub third_hits: u64,
    /// Lookups that missed all levels. Each one walks the page table.
    pub walks: u64,
}

impl SlowLookups {
    /// The lookups after those of an earlier count.
    pub(crate) const fn since(self, earlier: Self) -> Self {
        Self {
            second_hits: self.second_hits - earlier.second_hits,
            third_hits: self.third_hits - earlier.third_hits,
            walks: self.walks - earlier.walks,
        }
    }
}

/// A listener to the steps of one policy on one machine: a model of caches, or an attribution of
/// misses.
///
/// A listener changes no count. Each run of a policy on a machine has a listener of its own. A pair
/// of the plan can have several runs: a pass may begin again, and a policy with foresight tries
/// several choices. Only the listener to the run that gives the result hears
/// [`StepListener::end`]. The others are dropped, as are all listeners to a replay that fails.
pub trait StepListener: Send {
    /// The earlier traces ended, and the trace of the results begins.
    fn begin(&mut self) {}

    /// A step, in the order of the trace, and its slow lookups. A visit can have several: a policy
    /// may demote a superpage between a load and a store. The sums over all steps since
    /// [`StepListener::begin`] are the counts of the result.
    fn step(&mut self, step: &Step, slow: SlowLookups);

    /// The trace ended, and the run gave the result of its policy and machine. If memory is used
    /// up, the steps end before the trace: see `out_of_memory_after` of the result.
    fn end(&mut self) {}
}

/// Makes the listener to a run of a policy on a machine, by their names; `None` if there is none.
type MakeListener = dyn Fn(&str, &str) -> Option<Box<dyn StepListener>> + Send + Sync;

/// A request for steps.
pub(crate) struct StepRequest {
    pub(crate) wanted: StepsWanted,
    pub(crate) make: Box<MakeListener>,
}
