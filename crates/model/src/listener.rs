//! Listeners: models that follow the steps of a replay and change no count.

use crate::steps::Step;
use broadleaf_memory::AddressSpaces;
use broadleaf_memory::system::{PieceDecision, System};
use broadleaf_units::{PageNumber, PageSize, SpaceId};

/// The steps that a listener needs. A replay without a listener may leave out visits that change
/// nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepsWanted {
    /// One step for each visit with a reference, and for each visit of fetches if memory holds
    /// code. A visit is a run of references to one page or line by one thread.
    EachVisit,
    /// As [`StepsWanted::EachVisit`], without visits that a filter leaves out: they change no
    /// memory, hit the first level of every TLB, and refer to pages that were referenced before.
    EachChange,
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
    /// The walks among them that found fractured pages, which are shorter.
    pub fractured_walks: u64,
}

impl SlowLookups {
    /// The lookups after those of an earlier count.
    pub(crate) const fn since(self, earlier: Self) -> Self {
        Self {
            second_hits: self.second_hits - earlier.second_hits,
            third_hits: self.third_hits - earlier.third_hits,
            walks: self.walks - earlier.walks,
            fractured_walks: self.fractured_walks - earlier.fractured_walks,
        }
    }
}

/// The surroundings of a step.
#[derive(Clone, Copy, Debug)]
pub struct StepSurroundings<'s> {
    /// The mappings.
    pub spaces: &'s AddressSpaces,
    /// The cycles of the step's walks.
    pub walk_cycles: u64,
}

/// A look at the memory of a policy.
#[derive(Clone, Copy)]
pub struct MemoryLook<'s> {
    /// Accesses before the look.
    pub time: u64,
    /// The mappings.
    pub spaces: &'s AddressSpaces,
    system: &'s System<'s>,
}

/// A resident base page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LookedPage {
    /// The address space.
    pub space: SpaceId,
    /// The first page of 4 KiB.
    pub first: PageNumber,
    /// The pages of 4 KiB of a base page.
    pub units: u64,
    /// True if a superpage maps the page.
    pub in_superpage: bool,
    /// True if the program referenced the page since it became resident.
    pub used: bool,
}

impl<'s> MemoryLook<'s> {
    pub(crate) const fn new(time: u64, spaces: &'s AddressSpaces, system: &'s System<'s>) -> Self {
        Self {
            time,
            spaces,
            system,
        }
    }

    /// Every resident page, by address space and address.
    pub fn pages(&self) -> impl Iterator<Item = LookedPage> + '_ {
        let units = self.system.size(0).bytes() >> PageSize::SIZE_4K.shift();
        self.system.resident_pages().map(move |page| LookedPage {
            space: page.at.space,
            first: self.system.units_of(page.at.page),
            units,
            in_superpage: page.level > 0,
            used: page.used,
        })
    }
}

/// A decision on a piece of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeardDecision {
    /// The address space.
    pub space: SpaceId,
    /// The first page of 4 KiB of the piece.
    pub first: PageNumber,
    /// The size of the piece.
    pub size: PageSize,
    /// The time, in accesses since the first trace began.
    pub time: u64,
    /// The populated base pages of the piece, with the page that faults.
    pub populated: u32,
    /// The decision.
    pub decided: broadleaf_memory::system::Decided,
}

impl HeardDecision {
    pub(crate) fn of(decision: &PieceDecision, system: &System<'_>) -> Self {
        Self {
            space: decision.first.space,
            first: system.units_of(decision.first.page),
            size: system.size(decision.level),
            time: decision.time,
            populated: decision.populated,
            decided: decision.decided,
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

    /// The trace of the results begins after this number of accesses of earlier traces.
    fn begin_at(&mut self, _time: u64) {
        self.begin();
    }

    /// A step, in the order of the trace, and its slow lookups. A visit can have several: a policy
    /// may demote a superpage between a load and a store. The sums over all steps since
    /// [`StepListener::begin`] are the counts of the result.
    fn step(&mut self, step: &Step, slow: SlowLookups);

    /// A step, with its surroundings.
    fn step_in(&mut self, step: &Step, slow: SlowLookups, _surroundings: &StepSurroundings<'_>) {
        self.step(step, slow);
    }

    /// Events passed since the last step: mappings may be others.
    fn events_passed(&mut self) {}

    /// The time from which on the listener wants to look at memory before a step; `None` if it does
    /// not want to look.
    fn looks_at(&self) -> Option<u64> {
        None
    }

    /// A look at memory: at the wanted times, and at the end of the trace.
    fn look(&mut self, _look: &MemoryLook<'_>) {}

    /// Returns true if the listener wants the decisions of the policy.
    fn wants_decisions(&self) -> bool {
        false
    }

    /// A decision, before the step in which the policy made it.
    fn decision(&mut self, _decision: &HeardDecision) {}

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
