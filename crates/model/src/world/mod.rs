//! One policy with a memory of its own, and the machines that observe the memory.

mod caching;
mod changes;
mod charging;
mod cores;
mod curves;
mod filtering;
mod forward;
mod grouped;
mod listening;
mod populating;
mod quiet;
mod recorded;
mod references;
mod samples;
mod shootdown;
mod twins;
mod waiting;

use super::charged::Charged;
use super::filter::BatchPart;
use super::mmu::Mmu;
use super::steps::VisitStep;
use super::visit_slice::VisitSlice;
use crate::listener::StepsWanted;
use crate::mapped::PageLookup;
use crate::offline::Recorder;
use crate::read_pages::ReadPages;
use crate::stream::Stream;
use broadleaf_machine::Machine;
use broadleaf_memory::AddressSpaces;
use broadleaf_memory::system::{Foreseen, Resized, Sample, Spec, System, SystemTotals as Totals};
use broadleaf_policy::Policy;
use broadleaf_tlb::RuleNeed;
use broadleaf_trace::Visit;
use broadleaf_units::PageSize;
use cores::ParkedCores;
use curves::CurvesOfWorld;
use filtering::WorldFilter;
use grouped::GroupedLookups;
use quiet::{QuietVisits, QuietWords};
use samples::FIRST_INTERVAL;
use std::ops::Range;
use twins::Leaders;
use waiting::LookupClasses;

/// The most references that wait for the machines that observe.
const MOST_WAITING: usize = 1 << 12;
/// The most changes of superpages that are written down.
const MOST_CHANGES: usize = 1 << 22;

/// One policy with a memory of its own, and the machines that observe the memory.
pub(crate) struct World<'a> {
    pub(crate) policy: &'a dyn Policy,
    pub(crate) system: System<'a>,
    /// The first machine. The policy may be notified of its misses.
    mmu: Mmu<'a>,
    /// The other cores of the first machine.
    parked: ParkedCores<'a>,
    /// The other machines, which observe the same memory; none if the policy is notified of misses,
    /// or a machine has several cores.
    observers: Vec<Mmu<'a>>,
    /// The machines that observers follow.
    leaders: Leaders,
    /// Lookups that the observers have not made. Each observer makes many at a time, so that its
    /// TLB stays in the cache.
    waiting: Vec<PageLookup>,
    /// The classes of machines that leave lookups out.
    classes: LookupClasses,
    /// True if the first machine makes its lookups with the observers.
    first_waits: bool,
    /// The pages that machines read at the same time.
    read: ReadPages,
    /// True if an observer reads the page table at a miss. Lookups then wait no longer than the
    /// table stays as it is.
    reads_tables: bool,
    /// True if a machine has separate TLBs for loads and stores.
    parts_loads: bool,
    /// True if a replacement rule of a machine counts all uses of a translation. No lookup waits
    /// then.
    counts_uses: bool,
    /// True if the reference that follows is of the instruction of the one before.
    continues: bool,
    /// Visits that change nothing.
    quiet: QuietVisits,
    quiet_words: QuietWords,
    grouped: GroupedLookups,
    /// The steps that listeners want; `None` if there is no listener.
    steps_wanted: Option<StepsWanted>,
    /// The time of the next look of a listener; `u64::MAX` if none wants to look.
    next_look: u64,
    /// The filter of the world; `None` if the world replays every visit.
    filter: Option<Box<WorldFilter>>,
    /// The instructions of the trace up to the last visit that was replayed. A filter keeps them up
    /// to date only if memory is used up.
    pub(crate) instructions: u64,
    /// TLBs of every geometry; `None` if no curve is asked for.
    curves: CurvesOfWorld,
    /// The recorder of references, in a pass that chooses superpages. No TLB is looked up then.
    recorder: Option<Box<Recorder>>,
    /// The changes of superpages that the trace imposed, by their numbers in the log.
    imposed: Vec<Range<usize>>,
    /// The references so far: all worlds of a plan number them alike.
    moment: u64,
    /// The promotions that were made at misses.
    at_misses: u64,
    /// The charges of misses, or the schedule of promotions, if the policy decides at misses.
    pub(crate) charged: Option<Box<Charged<'a>>>,
    /// The time when memory was used up: the accesses before the one that found none.
    pub(crate) ended: Option<u64>,
    /// The totals at that time, before mappings change further.
    totals_when_ended: Option<Box<Totals>>,
    pub(crate) samples: Vec<Sample>,
    /// The accesses between two samples.
    interval: u64,
    /// The time when the next sample is due.
    next_sample: u64,
    /// The state of memory at its peak, to within a sixty-fourth.
    pub(crate) peak: Sample,
    /// Resident pages when the peak was last sampled.
    highest: u64,
}

/// The surroundings of a reference: the trace so far, and the part of the batch.
struct Scene<'s> {
    stream: &'s Stream,
    part: &'s BatchPart<'s>,
}

impl<'a> World<'a> {
    pub(crate) fn new(
        policy: &'a dyn Policy,
        machine: &'a Machine,
        spec: &Spec,
        foreseen: Option<Foreseen<'a>>,
    ) -> Self {
        let system = System::new(policy, spec, foreseen);
        let levels = 0..spec.sizes.levels();
        let sizes: Vec<PageSize> = levels.map(|level| system.size(level)).collect();
        let mmu = Mmu::new(machine, &sizes);
        let charged = Charged::new(
            &policy.needs(),
            spec.base,
            spec.sizes,
            machine.design.capacity(spec.base),
            &spec.costs,
            machine.costs.of(spec.base).unwrap_or(0),
        );
        let charged = match foreseen {
            Some(Foreseen::Schedule(schedule)) if !schedule.is_empty() => {
                Some(Charged::scheduled(schedule))
            }
            _ => charged,
        };
        Self {
            policy,
            system,
            mmu,
            parked: ParkedCores::default(),
            observers: Vec::new(),
            leaders: Leaders::new(),
            waiting: Vec::new(),
            classes: LookupClasses::default(),
            first_waits: false,
            read: ReadPages::default(),
            reads_tables: false,
            parts_loads: machine.design.parts_loads_from_stores(),
            counts_uses: machine.design.needs(RuleNeed::Uses),
            continues: false,
            quiet: QuietVisits::default(),
            quiet_words: QuietWords::default(),
            grouped: GroupedLookups::default(),
            steps_wanted: None,
            next_look: u64::MAX,
            filter: None,
            instructions: 0,
            curves: None,
            recorder: None,
            imposed: Vec::new(),
            moment: 0,
            at_misses: 0,
            charged: charged.map(Box::new),
            ended: None,
            totals_when_ended: None,
            samples: Vec::new(),
            interval: FIRST_INTERVAL,
            next_sample: 0,
            peak: Sample::default(),
            highest: 0,
        }
    }

    /// Records the events of the world.
    pub(super) fn recording(mut self, recorder: Recorder) -> Self {
        self.recorder = Some(Box::new(recorder));
        self
    }

    /// Writes down which pieces become superpages when, and which superpages are broken.
    pub(super) fn logging(mut self) -> Self {
        self.system.log_changes(MOST_CHANGES);
        self
    }

    /// The changes of superpages that the policy made, not the trace, and how many of them were
    /// promotions at misses; `None` where there were too many to write down.
    pub(super) fn own_changes(&self) -> Option<(Vec<Resized>, u64)> {
        let changes = self.system.changes()?;
        let imposed = |at: usize| {
            let after = self.imposed.partition_point(|range| range.end <= at);
            self.imposed
                .get(after)
                .is_some_and(|range| range.contains(&at))
        };
        let own = (0..).zip(changes).filter(|(at, _)| !imposed(*at));
        Some((own.map(|(_, change)| *change).collect(), self.at_misses))
    }

    /// The recorder, if the world has one.
    pub(super) fn into_recorder(self) -> Option<Recorder> {
        self.recorder.map(|recorder| *recorder)
    }

    /// Counts from zero. Memory and TLBs stay as they are.
    pub(crate) fn begin(&mut self, now: u64) {
        self.system.begin_counting();
        self.instructions = 0;
        debug_assert!(self.waiting.is_empty(), "each part ends with its lookups");
        self.mmu.begin(now);
        self.parked.iter_mut().for_each(|(_, mmu)| mmu.begin(now));
        self.observers.iter_mut().for_each(|mmu| mmu.begin(now));
        self.curves.iter_mut().for_each(|curves| curves.begin());
        self.next_look = self.wanted_look();
        if let Some(charged) = &mut self.charged {
            charged.cycles = 0;
        }
        self.samples.clear();
        self.interval = FIRST_INTERVAL;
        self.next_sample = now;
        self.peak = Sample::default();
        self.highest = 0;
    }

    /// Replays visits of one address space with no event between them.
    pub(crate) fn replay(&mut self, part: &BatchPart<'_>, stream: &Stream) {
        if self.ended.is_some() {
            return;
        }
        self.switch(part.space);
        // Mappings may have changed.
        self.read.forget();
        if self.system.is_inheriting(part.space) {
            self.system.visited(part.space);
        }
        if self.filter.is_none() || part.filtered.is_none() {
            self.replay_all(part, stream);
        } else {
            self.replay_filtered(part, stream);
        }
        self.translate_now(Some(&stream.spaces));
        self.count_followers();
    }

    /// Replays every visit.
    fn replay_all(&mut self, part: &BatchPart<'_>, stream: &Stream) {
        let scene = Scene { stream, part };
        if let Some(wanted) = self.steps_wanted {
            return self.replay_listening(wanted, &scene);
        }
        let mut mmus = std::iter::once(&self.mmu).chain(&self.observers);
        if mmus.any(|mmu| mmu.cached.is_some()) {
            return match part.visits {
                VisitSlice::Each(visits) => self.replay_caching(visits.iter().copied(), &scene),
                VisitSlice::Named(phrased) => self.replay_caching(phrased.visits(), &scene),
            };
        }
        // The loop is compiled for each kind of slice, as it is long.
        match part.visits {
            VisitSlice::Named(phrased) if self.quiet.are_left_out => {
                self.replay_words(&phrased, &scene);
            }
            visits => match (part.groups.filter(|_| self.grouped.are_passed), visits) {
                (Some(groups), _) => self.replay_groups(groups, &scene),
                (_, VisitSlice::Each(all)) => self.replay_each(all.iter().copied(), &scene),
                (_, VisitSlice::Named(all)) => self.replay_each(all.visits(), &scene),
            },
        }
    }

    fn replay_each(&mut self, visits: impl Iterator<Item = Visit>, scene: &Scene<'_>) {
        let part = scene.part;
        let (mut time, mut instructions) = (part.begin, part.instructions);
        for visit in visits {
            instructions = instructions.saturating_add(visit.instructions.into());
            if self.quiet.are_left_out && self.pass_quiet(&visit, part, time) {
                time = time.saturating_add(visit.accesses());
            } else if part.references(&visit) {
                self.instructions = instructions;
                let step = VisitStep::of(&visit, part.shift, time);
                if self.visit(&step, VisitStep::uses(&visit), scene).is_none() {
                    return;
                }
                time = time.saturating_add(visit.accesses());
            }
        }
    }

    /// Samples memory at the end of a batch, whose last visit began at `time`.
    pub(crate) fn end_batch(&mut self, time: u64, spaces: &AddressSpaces) {
        if self.ended.is_none() {
            self.look_around(time);
            self.look_if_due(time, spaces);
        }
    }

    /// Adds a machine that observes the memory, and returns its number. `None` if this machine
    /// needs a memory of its own: it has other page sizes and needs its own, one of the machines
    /// has several cores, or the policy is notified of its misses.
    pub(super) fn observe(&mut self, machine: &'a Machine, any_sizes: bool) -> Option<usize> {
        let is_observed_only = self.charged.is_none() && self.recorder.is_none();
        let same_sizes = self.mmu.machine.page_sizes() == machine.page_sizes();
        if !is_observed_only || !(same_sizes || any_sizes) {
            return None;
        }
        let levels = 0..self.mmu.walks.len();
        let sizes: Vec<PageSize> = levels.map(|level| self.system.size(level)).collect();
        let observer = Mmu::new(machine, &sizes);
        if observer.cores() > 1 || self.mmu.cores() > 1 {
            return None;
        }
        self.reads_tables |= observer.wants_tables();
        self.parts_loads |= machine.design.parts_loads_from_stores();
        self.counts_uses |= machine.design.needs(RuleNeed::Uses);
        self.observers.push(observer);
        Some(self.observers.len())
    }

    /// The machine of that number.
    pub(crate) fn mmu(&self, number: usize) -> &Mmu<'a> {
        let observer = number.checked_sub(1);
        observer.map_or(&self.mmu, |number| &self.observers[number])
    }

    /// All machines, in the order of their numbers, to be changed.
    pub(crate) fn mmus_mut(&mut self) -> impl Iterator<Item = &mut Mmu<'a>> {
        [&mut self.mmu].into_iter().chain(&mut self.observers)
    }

    /// The machine of that number, to be changed.
    fn mmu_mut(&mut self, number: usize) -> &mut Mmu<'a> {
        match number.checked_sub(1) {
            None => &mut self.mmu,
            Some(number) => &mut self.observers[number],
        }
    }

    /// The totals of the world's memory: at the end of the replay, or when memory was used up.
    pub(super) fn totals(&self, spaces: &AddressSpaces) -> Totals {
        match &self.totals_when_ended {
            Some(totals) => Totals::clone(totals),
            None => self.system.totals(spaces),
        }
    }

    /// Runs the daemons that fell due before the last access, ahead of an event.
    pub(crate) fn run_daemons(&mut self, stream: &Stream) {
        if self.ended.is_none()
            && let Some(last) = stream.now().checked_sub(1)
        {
            self.moment += 1;
            self.system.set_moment(self.moment);
            self.catch_up_curves(stream.now(), self.moment, &stream.spaces);
            self.system.pass(&stream.spaces, last);
            self.shoot_down(&stream.spaces);
            self.curves
                .iter_mut()
                .for_each(|curves| curves.end_accesses());
        }
    }
}
