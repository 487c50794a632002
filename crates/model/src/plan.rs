//! The plan of a replay: policies, machines, memory and limits.

mod bounds;
pub(crate) mod identity;
mod one_memory;
mod part;
pub(crate) mod workers;

use crate::foresight::{ForeseenPromotions, Promoted};
use crate::future::MOST_NEXT_USES;
use crate::limits::Layouts;
use crate::listener::{StepListener, StepRequest, StepsWanted};
use crate::plan_error::{check_machine, check_superpages};
use crate::pool::AroundWorker;
use crate::{MemoryLimits, PlanError};
use bounds::{MOST_BLOCKS, MOST_COURSE, MOST_KEPT};
use broadleaf_machine::Machine;
use broadleaf_policy::Policy;
use broadleaf_tlb::{ReferenceKind, RuleNeed};
use broadleaf_trace::Grain;
use broadleaf_units::LineNumber;

/// The maximum number of threads. Each holds the data that it has decoded ahead.
pub const MOST_THREADS: usize = 256;

/// The policies and machines to replay: each policy on each machine.
pub struct Plan {
    policies: Vec<Box<dyn Policy>>,
    /// Policies whose promotions the compared policies foresee.
    foreseen: Vec<Box<dyn Policy>>,
    /// `4k`, to which page faults are compared.
    baseline: Box<dyn Policy>,
    machines: Vec<Machine>,
    most_blocks: usize,
    most_kept: usize,
    most_next_uses: usize,
    keeps_reduced: bool,
    /// The expected promotions of [`Self::foreseen`].
    expected: ForeseenPromotions,
    most_course: usize,
    threads: usize,
    segments: workers::SegmentRules,
    around_workers: Option<AroundWorker>,
    curves: bool,
    ranges: bool,
    limits: Option<Box<MemoryLimits>>,
    /// The layouts of memory at the start, under these limits.
    layouts: Layouts,
    most_bytes: Option<u64>,
    interim: Vec<u64>,
    frames: bool,
    tables: bool,
    /// Replays all visits in the frame-level model, for tests of its filter.
    all_visits: bool,
    /// Instructions begin again after a miss.
    restarts: bool,
    listening: Option<StepRequest>,
    /// All machines observe one memory for each policy.
    one_memory: bool,
}

impl Plan {
    /// A plan of these policies on these machines, in memory that never runs short. Results come in
    /// the order of the policies.
    ///
    /// # Errors
    /// If there are no policies or machines, or a machine has one page size and a policy makes
    /// superpages.
    pub fn new(policies: Vec<Box<dyn Policy>>, machines: Vec<Machine>) -> Result<Self, PlanError> {
        for machine in &machines {
            check_superpages(machine, &policies)?;
        }
        Self::of(policies, machines)
    }

    /// A plan in limited memory, modelled to the frame, with each machine's page sizes. Machines
    /// share a memory if nothing can differ between them.
    ///
    /// # Errors
    /// Returns an error if there are no policies or machines, or a machine cannot have the memory
    /// that the limits describe.
    pub fn within(
        policies: Vec<Box<dyn Policy>>,
        machines: Vec<Machine>,
        limits: MemoryLimits,
    ) -> Result<Self, PlanError> {
        Self::of(policies, machines)?.limited_to(limits)
    }

    /// Returns true if a machine translates instruction fetches, or has caches that hold
    /// instructions. Memory then holds code.
    pub fn translates_fetches(&self) -> bool {
        let mut designs = self.machines.iter().map(|machine| &machine.design);
        designs.any(|design| design.serves(ReferenceKind::Fetch)) || self.has_caches()
    }

    /// Returns true if a machine has caches.
    pub fn has_caches(&self) -> bool {
        self.machines.iter().any(|machine| machine.caches.is_some())
    }

    /// Returns an error if a machine has caches and visits of this grain name no lines.
    pub(crate) fn check_grain(&self, grain: Grain) -> Result<(), String> {
        let cached = self
            .machines
            .iter()
            .find(|machine| machine.caches.is_some());
        match cached {
            Some(machine) if u32::from(grain.shift()) != u32::from(LineNumber::SHIFT) => {
                Err(format!(
                    "{} has caches, and the trace names pages, not lines: record the program again \
                     with --grain line, or choose a machine without caches",
                    machine.name
                ))
            }
            _ => Ok(()),
        }
    }

    /// Gives each policy a memory of its own, modelled to the frame. Machines share the memory of
    /// a policy if nothing can differ between them.
    ///
    /// # Errors
    /// Returns an error if a machine cannot have the memory that the limits describe.
    pub fn limited_to(mut self, mut limits: MemoryLimits) -> Result<Self, PlanError> {
        limits.code |= self.translates_fetches();
        self.layouts = Layouts::default();
        for machine in &self.machines {
            for policy in &self.policies {
                let spec = limits.spec(&self.sizes_on(machine), &policy.needs(), &self.layouts);
                spec.map_err(|reason| PlanError::Memory {
                    machine: machine.name.clone(),
                    reason,
                })?;
            }
        }
        self.limits = Some(Box::new(limits));
        Ok(self)
    }

    /// Notes that the trace holds no instruction fetches. Then no code is read.
    pub fn without_fetches(mut self) -> Self {
        if let Some(limits) = &mut self.limits {
            limits.code = false;
        }
        self
    }

    /// Asks for interim results: results as if the trace ended after each of these numbers of
    /// accesses. The numbers increase. Differences between interim results show one part of the
    /// trace. Only replays in the frame-level model have interim results. Memory may be sampled
    /// at other times; nothing else changes.
    pub fn with_interim_results(mut self, after: Vec<u64>) -> Self {
        self.interim = after;
        self
    }

    pub(crate) fn interim(&self) -> &[u64] {
        &self.interim
    }

    /// Adds the frame of each resident page at the end to the outcome. Only replays in the
    /// frame-level model have frames.
    pub fn with_frames(mut self) -> Self {
        self.frames = true;
        self
    }

    /// Builds page tables from the notices of memory, and sends every walk through them. Without
    /// this, a replay builds no table if the cost of a walk depends on the page size alone.
    pub const fn walking_tables(mut self) -> Self {
        self.tables = true;
        self
    }

    /// Returns true if each walk goes through a page table, whatever its cost depends on.
    pub(crate) const fn walks_all_tables(&self) -> bool {
        self.tables
    }

    /// Replays all visits in the frame-level model, without the filter. Results are the same; tests
    /// compare them.
    #[doc(hidden)]
    pub fn with_all_visits(mut self) -> Self {
        self.all_visits = true;
        self
    }

    pub(crate) const fn replays_all_visits(&self) -> bool {
        self.all_visits || self.restarts || self.curves
    }

    /// Lets each instruction begin again after a TLB miss. The source has to be read by instruction
    /// ([`VisitEnds::Instructions`]).
    ///
    /// # Errors
    /// If a policy decides at TLB misses, or a replacement rule knows the next use of each
    /// translation: lookups that are made again are not in their reckoning.
    ///
    /// [`VisitEnds::Instructions`]: broadleaf_trace::VisitEnds::Instructions
    pub fn restarting_instructions(mut self) -> Result<Self, PlanError> {
        let mut policies = self.policies.iter();
        if let Some(policy) = policies.find(|policy| policy.needs().charges.any()) {
            return Err(PlanError::Restarts(policy.name()));
        }
        let mut machines = self.machines.iter();
        if let Some(machine) = machines.find(|machine| machine.design.needs(RuleNeed::Future)) {
            return Err(PlanError::Restarts(machine.name.clone()));
        }
        self.restarts = true;
        Ok(self)
    }

    /// Returns true if instructions begin again after a TLB miss.
    pub const fn restarts_instructions(&self) -> bool {
        self.restarts
    }

    /// Makes a listener to each run of a policy of the plan on a machine, by their names, and hands
    /// it the wanted steps. Then no visit is left out. No count changes. Steps carry instruction
    /// pointers only if the source returns fetches, which cut visits: memory may be sampled at
    /// other times then.
    pub fn with_listeners(
        mut self,
        wanted: StepsWanted,
        make: impl Fn(&str, &str) -> Option<Box<dyn StepListener>> + Send + Sync + 'static,
    ) -> Self {
        let make = Box::new(make);
        self.listening = Some(StepRequest { wanted, make });
        self
    }

    pub(crate) const fn listening(&self) -> Option<&StepRequest> {
        self.listening.as_ref()
    }

    /// The steps that listeners want; `None` if there is no listener.
    pub fn steps_wanted(&self) -> Option<StepsWanted> {
        self.listening.as_ref().map(|request| request.wanted)
    }

    pub(crate) const fn wants_frames(&self) -> bool {
        self.frames
    }

    fn of(policies: Vec<Box<dyn Policy>>, machines: Vec<Machine>) -> Result<Self, PlanError> {
        if policies.is_empty() || machines.is_empty() {
            return Err(PlanError::Empty);
        }
        for machine in &machines {
            check_machine(machine, &policies)?;
        }
        let mut foreseen: Vec<Box<dyn Policy>> = Vec::new();
        for name in policies
            .iter()
            .filter_map(|policy| policy.needs().foresight.policy())
        {
            let policy = broadleaf_policy::parse(name)?;
            if foreseen.iter().all(|known| known.name() != policy.name()) {
                foreseen.push(policy);
            }
        }
        let baseline = broadleaf_policy::base_pages();
        Ok(Self {
            policies,
            foreseen,
            baseline,
            machines,
            most_blocks: MOST_BLOCKS,
            most_kept: MOST_KEPT,
            most_next_uses: MOST_NEXT_USES,
            keeps_reduced: false,
            expected: ForeseenPromotions::new(),
            most_course: MOST_COURSE,
            threads: 1,
            segments: workers::SegmentRules::default(),
            around_workers: None,
            curves: false,
            ranges: false,
            limits: None,
            layouts: Layouts::default(),
            most_bytes: None,
            interim: Vec::new(),
            frames: false,
            tables: false,
            all_visits: false,
            restarts: false,
            listening: None,
            one_memory: false,
        })
    }

    /// Keeps the reduced form of the trace, for later replays: see `Outcome::reduced`. The form
    /// takes at most as many bytes as [`Plan::keeping_decoded`] says.
    pub const fn keeping_reduced(mut self) -> Self {
        self.keeps_reduced = true;
        self
    }

    /// Returns true if the plan asks for the reduced form of the trace.
    pub const fn keeps_reduced(&self) -> bool {
        self.keeps_reduced
    }

    /// Expects policies to promote these blocks, as an earlier replay of the trace found. If they
    /// do, policies that foresee them need no second pass over the trace. Results never depend on
    /// what is expected.
    pub fn expecting(mut self, expected: ForeseenPromotions) -> Self {
        self.expected = expected;
        self
    }

    /// The blocks that a policy of that name is expected to promote, if they are known.
    pub fn expected(&self, policy: &str) -> Option<&Promoted> {
        self.expected.get(policy)
    }

    pub(crate) const fn layouts(&self) -> &Layouts {
        &self.layouts
    }

    /// The size and the state of memory. `None` if memory never runs short and has no frames.
    pub fn limits(&self) -> Option<&MemoryLimits> {
        self.limits.as_deref()
    }

    /// Counts for each policy the misses of TLBs of every geometry: the miss-ratio curve.
    pub fn with_curves(mut self) -> Self {
        self.curves = true;
        self
    }

    /// Returns true if the plan asks for the misses of TLBs of every geometry.
    pub const fn curves(&self) -> bool {
        self.curves
    }

    /// Asks for the savings of OFFLINE's superpages by range ([`crate::Choice::ranges`]). Each
    /// range of several pieces takes one more trial.
    pub fn with_ranges(mut self) -> Self {
        self.ranges = true;
        self
    }

    pub(crate) const fn has_ranges(&self) -> bool {
        self.ranges
    }

    /// Sets the number of threads, at most 256. No result depends on this number. The default is
    /// one.
    pub fn on_threads(mut self, threads: usize) -> Self {
        self.threads = threads.clamp(1, MOST_THREADS);
        self
    }

    /// The number of threads.
    pub const fn threads(&self) -> usize {
        self.threads
    }

    /// The policies whose promotions other policies foresee.
    pub fn foreseen(&self) -> &[Box<dyn Policy>] {
        &self.foreseen
    }

    /// Returns true if other policies foresee the promotions of a policy of that name.
    pub fn is_foreseen(&self, policy: &dyn Policy) -> bool {
        let name = policy.name();
        self.foreseen.iter().any(|foreseen| foreseen.name() == name)
    }

    /// The maximum number of policies replayed at a time: the compared ones, those that others
    /// foresee, and `4k`.
    pub fn policies_in_all(&self) -> usize {
        let is_one = |name: &str| self.policies.iter().any(|policy| policy.name() == name);
        let beside = self.foreseen.iter().chain([&self.baseline]);
        self.policies.len() + beside.filter(|policy| !is_one(&policy.name())).count()
    }

    /// The policy `4k`, with which page faults are compared.
    pub fn baseline(&self) -> &dyn Policy {
        self.baseline.as_ref()
    }

    /// Each policy on each machine: policies in order, machines inside.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&dyn Policy, &Machine)> {
        let policies = self.policies.iter().map(AsRef::as_ref);
        policies.flat_map(|policy| self.machines.iter().map(move |machine| (policy, machine)))
    }

    /// The policies, in order.
    pub fn policies(&self) -> &[Box<dyn Policy>] {
        &self.policies
    }

    /// The machines, in order.
    pub fn machines(&self) -> &[Machine] {
        &self.machines
    }
}
