//! One policy with a memory of its own, and the machines that observe the memory.

mod changes;
mod charging;
mod samples;
mod shootdown;

use super::charged::Charged;
use super::mmu::Mmu;
use super::steps::{Step, Steps};
use crate::offline::Recorder;
use crate::populate::TouchedPart;
use crate::stream::Stream;
use broadleaf_machine::Machine;
use broadleaf_memory::system::{
    Foreseen, Place, Resized, Sample, Spec, System, SystemTotals as Totals,
};
use broadleaf_memory::{AddressSpaces, Pages};
use broadleaf_policy::Policy;
use broadleaf_units::{PageNumber, PageSize, SpaceId};
use samples::FIRST_INTERVAL;
use std::ops::Range;

/// The most changes of superpages that are written down.
const MOST_CHANGES: usize = 1 << 22;

/// The most references that wait for the machines that observe.
const MOST_WAITING: usize = 1 << 12;

/// One policy with a memory of its own, and the machines that observe the memory.
pub(crate) struct Cell<'a> {
    pub(crate) policy: &'a dyn Policy,
    pub(crate) system: System<'a>,
    /// The machine whose misses are charged, if the policy is notified of misses.
    mmu: Mmu<'a>,
    /// Other machines, which only observe. A policy that is notified of misses has none.
    observers: Vec<Mmu<'a>>,
    /// References that the observers have not translated: the page, and the level of the page that
    /// maps it. Each observer translates many at a time, so that its TLB stays in the cache.
    waiting: Vec<(PageNumber, usize)>,
    /// Up to the end of the last visit, those before the trace left out.
    pub(crate) instructions: u64,
    /// What writes down what happens, where superpages are to be chosen. No TLB is looked at then.
    recorder: Option<Box<Recorder>>,
    /// The changes of superpages that the trace imposed, by their numbers in the log.
    imposed: Vec<Range<usize>>,
    /// The references so far: all cells of a plan number them alike.
    moment: u64,
    /// The promotions that were made at misses.
    at_misses: u64,
    /// What misses are charged to, for a policy that asks.
    pub(crate) charged: Option<Box<Charged<'a>>>,
    /// When memory was used up: the accesses before the one that found none.
    pub(crate) ended: Option<u64>,
    /// The totals at that time, before mappings change further.
    totals_when_ended: Option<Box<Totals>>,
    pub(crate) samples: Vec<Sample>,
    interval: u64,
    /// When the next is to be taken.
    next_sample: u64,
    /// How memory stood when most of it was used, to within a sixty-fourth.
    pub(crate) peak: Sample,
    /// How much was used when the peak was last looked at.
    highest: u64,
}

impl<'a> Cell<'a> {
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
            entries(machine, spec.base),
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
            observers: Vec::new(),
            waiting: Vec::new(),
            instructions: 0,
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

    /// Writes down what happens.
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

    /// What was written down, if it was.
    pub(super) fn into_recorder(self) -> Option<Recorder> {
        self.recorder.map(|recorder| *recorder)
    }

    /// What comes from here on is counted; what came so far left memory and TLBs as they are.
    pub(crate) fn begin(&mut self, now: u64) {
        self.system.begin_counting();
        self.instructions = 0;
        self.translate_waiting();
        self.mmu.begin();
        self.observers.iter_mut().for_each(Mmu::begin);
        if let Some(charged) = &mut self.charged {
            charged.cycles = 0;
        }
        self.samples.clear();
        self.interval = FIRST_INTERVAL;
        self.next_sample = now;
        self.peak = Sample::default();
        self.highest = 0;
    }

    /// Replays visits, of one address space.
    pub(crate) fn replay(&mut self, steps: &Steps, stream: &Stream) {
        if self.ended.is_some() {
            return;
        }
        self.switch(steps.space);
        if self.system.is_inheriting(steps.space) {
            self.system.visited(steps.space);
        }
        for step in &steps.steps {
            self.instructions = step.instructions;
            if self.visit(step, stream).is_none() {
                self.translate_waiting();
                return;
            }
        }
        if let Some(last) = steps.steps.last() {
            self.look_around(last.time);
        }
        self.translate_waiting();
    }

    /// The kernel touches pages: memory sees references, and the TLB sees none.
    pub(super) fn populate(&mut self, space: SpaceId, parts: &[TouchedPart], stream: &Stream) {
        if self.ended.is_some() {
            return;
        }
        self.switch(space);
        if self.system.is_inheriting(space) {
            self.system.visited(space);
        }
        let time = stream.now();
        for part in parts {
            let (first, count) = self.system.base_pages(part.pages);
            for page in first..first + count {
                let at = Place { space, page };
                // Policies differ in the pages that are resident, but not in the number of pages.
                self.moment += 1;
                if self.system.look(at, part.store).is_none() {
                    self.change(at, time, part.store, stream);
                    self.shoot_down();
                }
                if self.ended.is_some() {
                    return;
                }
            }
        }
    }

    /// `MADV_COLLAPSE`, for a policy that obeys it.
    pub(super) fn collapse(&mut self, space: SpaceId, pages: Pages, stream: &Stream) {
        if self.ended.is_none() {
            self.moment += 1;
            self.system.set_moment(self.moment);
            self.impose(|system| system.collapse(&stream.spaces, space, pages));
        }
    }

    /// Replays one visit; `None` where memory is used up.
    fn visit(&mut self, step: &Step, stream: &Stream) -> Option<()> {
        if step.fetches {
            return self.fetch(step.page, step.time, stream);
        }
        if step.leads {
            // Its access was the last one before.
            self.refer(
                step.page,
                step.time.saturating_sub(1),
                step.leads_with_store,
                stream,
            )?;
        }
        if !step.accesses {
            return Some(());
        }
        let loads = u64::from(step.loads_before_store);
        self.refer(step.page, step.time, step.stores && loads == 0, stream)?;
        if step.stores && loads > 0 {
            self.refer(step.page, step.time.saturating_add(loads), true, stream)?;
        }
        Some(())
    }

    /// One reference: memory first, then what TLBs have to forget, then the lookup. All other references of a visit hit what the first
    /// brought, and change nothing.
    #[inline]
    fn refer(&mut self, page: PageNumber, time: u64, store: bool, stream: &Stream) -> Option<()> {
        let level = self.touch(page, time, store, stream)?;
        if let Some(recorder) = &mut self.recorder {
            let page = self.system.base_page(page);
            let at = Place {
                space: self.mmu.running.0,
                page,
            };
            recorder.pass(self.moment);
            recorder.look_for_a_chance(&self.system, &stream.spaces, at);
            recorder.refer(at);
            return Some(());
        }
        if self.charged.is_some() {
            self.translate_charging(page, level, stream);
            return Some(());
        }
        self.mmu.translate(page, level);
        if !self.observers.is_empty() {
            self.waiting.push((page, level));
            if self.waiting.len() >= MOST_WAITING {
                self.translate_waiting();
            }
        }
        Some(())
    }

    /// Lets the observers translate the references that wait.
    fn translate_waiting(&mut self) {
        for mmu in &mut self.observers {
            for &(page, level) in &self.waiting {
                mmu.translate(page, level);
            }
        }
        self.waiting.clear();
    }

    /// Adds a machine that observes the memory, and returns its number. `None` if this machine needs
    /// a memory of its own: it has other page sizes, or the policy is notified of its misses.
    pub(super) fn observe(&mut self, machine: &'a Machine) -> Option<usize> {
        let is_observed_only = self.charged.is_none() && self.recorder.is_none();
        let same_sizes = self.mmu.machine.design.sizes() == machine.design.sizes();
        if !is_observed_only || !same_sizes {
            return None;
        }
        let levels = 0..self.mmu.walks.len();
        let sizes: Vec<PageSize> = levels.map(|level| self.system.size(level)).collect();
        self.observers.push(Mmu::new(machine, &sizes));
        Some(self.observers.len())
    }

    /// The machine of that number.
    pub(crate) fn mmu(&self, number: usize) -> &Mmu<'a> {
        let observer = number.checked_sub(1);
        observer.map_or(&self.mmu, |number| &self.observers[number])
    }

    /// The totals of the cell's memory: at the end of the replay, or when memory was used up.
    pub(super) fn totals(&self, spaces: &AddressSpaces) -> Totals {
        match &self.totals_when_ended {
            Some(totals) => Totals::clone(totals),
            None => self.system.totals(spaces),
        }
    }

    /// Instructions are fetched from a page: it has to be in memory, and the TLB of data is not asked.
    fn fetch(&mut self, page: PageNumber, time: u64, stream: &Stream) -> Option<()> {
        self.touch(page, time, false, stream)?;
        if let Some(recorder) = &mut self.recorder {
            let (space, page) = (self.mmu.running.0, self.system.base_page(page));
            recorder.fetch(Place { space, page });
        }
        Some(())
    }

    /// What a reference does to memory, and what TLBs then have to forget. Answers the level of the page that maps it; `None` where memory is
    /// used up.
    #[inline]
    fn touch(
        &mut self,
        page: PageNumber,
        time: u64,
        store: bool,
        stream: &Stream,
    ) -> Option<usize> {
        self.moment += 1;
        if self.system.next_time() <= time {
            self.system.set_moment(self.moment);
            self.system.pass(&stream.spaces, time);
            self.update_tables();
        }
        let at = Place {
            space: self.mmu.running.0,
            page: self.system.base_page(page),
        };
        let level = match self.system.look(at, store) {
            Some(level) => level,
            None => {
                let level = self.change(at, time, store, stream)?;
                self.update_tables();
                level
            }
        };
        if self.system.has_shootdowns() {
            self.shoot_down();
        }
        Some(level)
    }

    /// A reference changes memory. Answers the level of the page that maps it then; `None` where
    /// memory is used up.
    fn change(&mut self, at: Place, time: u64, store: bool, stream: &Stream) -> Option<usize> {
        self.system.set_time(time);
        self.system.set_moment(self.moment);
        if let Some(recorder) = &mut self.recorder {
            recorder.pass(self.moment);
            recorder.fault(&self.system, &stream.spaces, at);
        }
        let level = self.system.reference(&stream.spaces, at, store);
        if level.is_ok() {
            self.look_around(time);
        } else {
            self.ended = Some(time);
            let totals = self.system.totals(&stream.spaces);
            self.totals_when_ended = Some(Box::new(totals));
        }
        level.ok()
    }

    /// All accesses so far were made: what fell due before the last one happens before what comes.
    pub(crate) fn pass(&mut self, stream: &Stream) {
        if self.ended.is_none()
            && let Some(last) = stream.now().checked_sub(1)
        {
            self.moment += 1;
            self.system.set_moment(self.moment);
            self.system.pass(&stream.spaces, last);
            self.shoot_down();
        }
    }
}

/// How many translations of pages of that size the TLB holds at most.
pub(super) fn entries(machine: &Machine, size: PageSize) -> usize {
    let levels = [2, 1].into_iter();
    let structures = levels.filter_map(|level| machine.design.holding(level, size));
    structures
        .map(|(_, structure)| structure.entries)
        .max()
        .unwrap_or(0)
}
