//! One policy on one machine, with a memory of its own.

use super::steps::{Step, Steps};
use crate::stream::Stream;
use broadleaf_memory::system::{Place, Sample, Spec, System};
use broadleaf_memory::{Change, Shootdown};
use broadleaf_policy::Policy;
use broadleaf_translation::{Lookup, Machine, SpaceTag, Tlb};
use broadleaf_units::{BlockNumber, PageNumber, SpaceId};
use std::collections::{BTreeMap, BTreeSet};

/// How many samples of memory are kept, at most.
const MOST_SAMPLES: usize = 128;
/// How many accesses lie between the first samples, at least.
const FIRST_INTERVAL: u64 = 1 << 10;

/// One policy on one machine.
pub(crate) struct Cell<'a> {
    pub(crate) policy: &'a dyn Policy,
    pub(crate) machine: &'a Machine,
    pub(crate) system: System<'a>,
    tlb: Tlb,
    tags: BTreeMap<SpaceId, SpaceTag>,
    next_tag: usize,
    tag: (SpaceId, SpaceTag),
    pub(crate) second_hits: u64,
    /// By level.
    pub(crate) walks: Vec<u64>,
    /// When memory was used up: the accesses before the one that found none.
    pub(crate) ended: Option<u64>,
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
        foreseen: Option<&'a BTreeSet<(SpaceId, BlockNumber)>>,
    ) -> Self {
        let system = System::new(policy, spec, foreseen);
        Self {
            policy,
            machine,
            system,
            tlb: Tlb::new(&machine.design),
            tags: BTreeMap::new(),
            next_tag: 0,
            tag: (SpaceId(u32::MAX), SpaceTag::default()),
            second_hits: 0,
            walks: vec![0; spec.sizes.levels()],
            ended: None,
            samples: Vec::new(),
            interval: FIRST_INTERVAL,
            next_sample: 0,
            peak: Sample::default(),
            highest: 0,
        }
    }

    /// What comes from here on is counted; what came so far left memory and TLBs as they are.
    pub(crate) fn begin(&mut self, now: u64) {
        self.system.begin_counting();
        self.second_hits = 0;
        self.walks.fill(0);
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
        self.tag = (steps.space, self.tag_of(steps.space));
        if self.system.is_inheriting(steps.space) {
            self.system.visited(steps.space);
        }
        for step in &steps.steps {
            if self.visit(step, stream).is_none() {
                return;
            }
        }
        if let Some(last) = steps.steps.last() {
            self.look_around(last.time);
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
        let tag = self.tag.1;
        match self.tlb.lookup(tag, page) {
            Lookup::First => {}
            Lookup::Second => self.second_hits += 1,
            Lookup::Miss => {
                self.walks[level] += 1;
                self.tlb.fill(tag, page, self.system.size(level));
            }
        }
        Some(())
    }

    /// Instructions are fetched from a page: it has to be in memory, and the TLB of data is not asked.
    fn fetch(&mut self, page: PageNumber, time: u64, stream: &Stream) -> Option<()> {
        self.touch(page, time, false, stream).map(|_| ())
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
        if self.system.next_time() <= time {
            self.system.pass(&stream.spaces, time);
        }
        let at = Place {
            space: self.tag.0,
            page: self.system.base_page(page),
        };
        let level = match self.system.look(at, store) {
            Some(level) => level,
            None => {
                self.system.set_time(time);
                match self.system.reference(&stream.spaces, at, store) {
                    Ok(level) => {
                        self.look_around(time);
                        level
                    }
                    Err(_) => {
                        self.ended = Some(time);
                        return None;
                    }
                }
            }
        };
        if self.system.has_shootdowns() {
            self.shoot_down();
        }
        Some(level)
    }

    fn shoot_down(&mut self) {
        let shootdowns: Vec<Shootdown> = self.system.shootdowns().collect();
        for shootdown in shootdowns {
            match shootdown {
                Shootdown::Nothing => {}
                Shootdown::Superpage { space, first, size } => {
                    if let Some(tag) = self.tags.get(&space) {
                        self.tlb.invalidate(*tag, first, size);
                    }
                }
                Shootdown::Range { space, pages } => {
                    if let Some(tag) = self.tags.get(&space) {
                        self.tlb.invalidate_range(*tag, pages.first(), pages.len());
                    }
                }
                Shootdown::Space(space) => {
                    if let Some(tag) = self.tags.remove(&space) {
                        self.tlb.invalidate_space(tag);
                    }
                }
            }
        }
    }

    /// What tells an address space apart in the TLB. Tags go round; one that comes again begins with nothing.
    fn tag_of(&mut self, space: SpaceId) -> SpaceTag {
        if let Some(tag) = self.tags.get(&space) {
            return *tag;
        }
        let number = self.next_tag % SpaceTag::COUNT;
        let tag = SpaceTag::new(number).unwrap_or_default();
        if self.next_tag >= SpaceTag::COUNT {
            self.tlb.invalidate_space(tag);
            self.tags.retain(|_, other| *other != tag);
        }
        self.next_tag += 1;
        self.tags.insert(space, tag);
        tag
    }

    /// All accesses so far were made: what fell due before the last one happens before what comes.
    pub(crate) fn pass(&mut self, stream: &Stream) {
        if self.ended.is_none()
            && let Some(last) = stream.now().checked_sub(1)
        {
            self.system.pass(&stream.spaces, last);
            self.shoot_down();
        }
    }

    /// Does what an event asks.
    pub(crate) fn apply(&mut self, change: &Change) {
        if self.ended.is_none() {
            self.system.apply(change);
            self.shoot_down();
        }
    }

    /// Looks how memory stands where more of it is used than ever was, by a sixty-fourth; and from time to time, as often as keeps the number of
    /// samples small.
    fn look_around(&mut self, time: u64) {
        let resident = self.system.counters().resident;
        let is_peak = resident > self.highest + self.highest / 64;
        if !is_peak && time < self.next_sample {
            return;
        }
        let sample = Sample {
            time,
            ..self.system.sample()
        };
        if is_peak {
            self.highest = resident;
            self.peak = sample.clone();
        }
        if time < self.next_sample {
            return;
        }
        self.samples.push(sample);
        if self.samples.len() == MOST_SAMPLES {
            let mut odd = false;
            self.samples.retain(|_| {
                odd = !odd;
                odd
            });
            self.interval *= 2;
        }
        self.next_sample = time.saturating_add(self.interval);
    }
}
