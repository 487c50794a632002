//! One policy on one machine, with a memory of its own.

use super::charged::Charged;
use super::steps::{Step, Steps};
use crate::offline::Recorder;
use crate::populate::TouchedPart;
use crate::stream::Stream;
use broadleaf_memory::system::{
    Foreseen, Place, Resized, Sample, Spec, System, SystemTotals as Totals,
};
use broadleaf_memory::{AddressSpaces, Change, Pages, Shootdown};
use broadleaf_policy::Policy;
use broadleaf_translation::charges::Candidate;
use broadleaf_translation::{Evicted, Lookup, Machine, SpaceTag, Tlb};
use broadleaf_units::{PageNumber, PageSize, SpaceId};
use std::collections::BTreeMap;
use std::ops::Range;

/// How many samples of memory are kept, at most.
const MOST_SAMPLES: usize = 128;
/// How many accesses lie between the first samples, at least.
const FIRST_INTERVAL: u64 = 1 << 10;

/// The most changes of superpages that are written down.
const MOST_CHANGES: usize = 1 << 22;

/// One policy on one machine.
pub(crate) struct Cell<'a> {
    pub(crate) policy: &'a dyn Policy,
    pub(crate) machine: &'a Machine,
    pub(crate) system: System<'a>,
    tlb: Tlb,
    tags: BTreeMap<SpaceId, SpaceTag>,
    next_tag: usize,
    tag: (SpaceId, SpaceTag),
    /// Up to the end of the last visit, those before the trace left out.
    pub(crate) instructions: u64,
    pub(crate) second_hits: u64,
    /// By level: the size of the translations that the TLB holds for pages of that level. It is
    /// smaller where the TLB holds no pages so large.
    translated: Vec<PageSize>,
    /// By level.
    pub(crate) walks: Vec<u64>,
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
        let translated = (0..spec.sizes.levels())
            .map(|level| {
                let held = machine.design.sizes().iter().copied();
                let size = system.size(level);
                held.filter(|held| *held <= size).max().unwrap_or(spec.base)
            })
            .collect();
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
            machine,
            system,
            tlb: Tlb::new(&machine.design),
            tags: BTreeMap::new(),
            next_tag: 0,
            tag: (SpaceId(u32::MAX), SpaceTag::default()),
            instructions: 0,
            second_hits: 0,
            translated,
            walks: vec![0; spec.sizes.levels()],
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
        self.second_hits = 0;
        self.walks.fill(0);
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
        self.tag = (steps.space, self.tag_of(steps.space));
        if self.system.is_inheriting(steps.space) {
            self.system.visited(steps.space);
        }
        for step in &steps.steps {
            self.instructions = step.instructions;
            if self.visit(step, stream).is_none() {
                return;
            }
        }
        if let Some(last) = steps.steps.last() {
            self.look_around(last.time);
        }
    }

    /// The kernel touches pages: memory sees references, and the TLB sees none.
    pub(super) fn populate(&mut self, space: SpaceId, parts: &[TouchedPart], stream: &Stream) {
        if self.ended.is_some() {
            return;
        }
        self.tag = (space, self.tag_of(space));
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
                space: self.tag.0,
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
        let tag = self.tag.1;
        match self.tlb.lookup(tag, page) {
            Lookup::First => {}
            Lookup::Second => self.second_hits += 1,
            Lookup::Miss => {
                self.walks[level] += 1;
                self.tlb.fill(tag, page, self.translated[level]);
            }
        }
        Some(())
    }

    /// The lookup, where misses are charged: the policy is told of a miss after it was counted and before the entry is loaded.
    fn translate_charging(&mut self, page: PageNumber, level: usize, stream: &Stream) {
        let Some(mut charged) = self.charged.take() else {
            return;
        };
        let tag = self.tag.1;
        let at = self.system.base_page(page);
        let lookup =
            (self.tlb).lookup_evicting(tag, page, |gone| evicted(&mut charged, &self.system, gone));
        match lookup {
            Lookup::First => charged.hit(tag, at, level),
            Lookup::Second => {
                self.second_hits += 1;
                charged.hit(tag, at, level);
            }
            Lookup::Miss => {
                self.walks[level] += 1;
                let active = charged.is_active(|| self.walk_cycles(), self.instructions);
                charged.miss(tag, at, level, active);
                self.system.set_moment(self.moment);
                self.foresee(&mut charged, at, level);
                let changed =
                    !charged.due.is_empty() && self.ask_those_due(&mut charged, at, stream);
                if changed {
                    // The page may be part of a superpage now, and that be loaded already.
                    let place = Place {
                        space: self.tag.0,
                        page: at,
                    };
                    let level = self.system.level_at(place);
                    if self.tlb.lookup(tag, page) == Lookup::Miss {
                        self.load(&mut charged, tag, page, level);
                    } else {
                        charged.loaded(tag, at, level);
                    }
                } else {
                    self.load(&mut charged, tag, page, level);
                }
            }
        }
        self.charged = Some(charged);
    }

    /// Asks the policy of what was charged: smaller candidates first, then those at lower addresses, then those of lower spaces. Each promotion changes
    /// what larger ones were charged before they are asked of. The translations of what became one page leave the TLB, and the new one comes in. Answers
    /// whether any translation changed.
    fn ask_those_due(&mut self, charged: &mut Charged<'_>, missing: u64, stream: &Stream) -> bool {
        let mut due = std::mem::take(&mut charged.due);
        due.sort_by(|one, other| {
            let place = |candidate: &Candidate| (candidate.level, candidate.first);
            let space = |candidate: &Candidate| self.space_of(candidate.tag);
            (place(one).cmp(&place(other))).then_with(|| space(one).cmp(&space(other)))
        });
        due.dedup();
        let mut changed = false;
        for candidate in &due {
            let Some(space) = self.space_of(candidate.tag) else {
                continue;
            };
            let page = if candidate.tag == self.tag.1 {
                missing
            } else {
                candidate.first
            };
            let inside = page & !(self.system.pages_of(candidate.level) - 1) == candidate.first;
            let page = if inside { page } else { candidate.first };
            let view = charged.shown(*candidate, self.system.charged(candidate.level));
            let at = Place { space, page };
            if !(self.system).ask_at_miss(&stream.spaces, at, candidate.level, &view) {
                continue;
            }
            self.at_misses += 1;
            self.shoot_down_charged(charged);
            let first = self.system.units_of(candidate.first);
            let units = self.system.size(candidate.level).bytes() >> PageSize::SIZE_4K.shift();
            self.tlb.invalidate_range(candidate.tag, first, units);
            charged.promoted(*candidate);
            changed = true;
            self.load(charged, candidate.tag, first, candidate.level);
        }
        // What a promotion took from others to have an extent.
        changed |= self.system.has_shootdowns();
        self.shoot_down_charged(charged);
        charged.due = due;
        changed
    }

    /// Makes pieces due at a miss of `page`: those around the page that the schedule promotes now,
    /// and those whose span begins.
    fn foresee(&self, charged: &mut Charged<'_>, page: u64, level: usize) {
        let Some(schedule) = charged.schedule else {
            return;
        };
        for level in level + 1..self.walks.len() {
            let first = page & !(self.system.pages_of(level) - 1);
            let space = self.tag.0;
            if schedule.promotes(Place { space, page: first }, level, self.moment) {
                let tag = self.tag.1;
                charged.due.push(Candidate { tag, first, level });
            }
        }
        for (Place { space, page }, level) in schedule.beginning_at(self.moment) {
            if let Some(tag) = self.tags.get(&space).copied() {
                let first = page;
                charged.due.push(Candidate { tag, first, level });
            }
        }
    }

    /// Brings the translation of a page of that level into the TLB, where it is not.
    fn load(&mut self, charged: &mut Charged<'_>, tag: SpaceTag, page: PageNumber, level: usize) {
        let size = self.translated[level];
        (self.tlb).fill_evicting(tag, page, size, |gone| evicted(charged, &self.system, gone));
        charged.loaded(tag, self.system.base_page(page), level);
    }

    /// The totals of the cell's memory: at the end of the replay, or when memory was used up.
    pub(super) fn totals(&self, spaces: &AddressSpaces) -> Totals {
        match &self.totals_when_ended {
            Some(totals) => Totals::clone(totals),
            None => self.system.totals(spaces),
        }
    }

    /// The size of the translations that the TLB holds for pages of a level.
    pub(super) fn translated(&self, level: usize) -> PageSize {
        self.translated[level]
    }

    /// Cycles of all walks so far.
    pub(crate) fn walk_cycles(&self) -> u64 {
        let walks = self.walks.iter().enumerate();
        walks
            .map(|(level, walks)| {
                // A machine has no size without a cost.
                walks * self.machine.costs.of(self.translated[level]).unwrap_or(0)
            })
            .sum()
    }

    fn space_of(&self, tag: SpaceTag) -> Option<SpaceId> {
        if self.tag.1 == tag {
            return Some(self.tag.0);
        }
        let known = self.tags.iter().find(|(_, known)| **known == tag);
        known.map(|(space, _)| *space)
    }

    /// Instructions are fetched from a page: it has to be in memory, and the TLB of data is not asked.
    fn fetch(&mut self, page: PageNumber, time: u64, stream: &Stream) -> Option<()> {
        self.touch(page, time, false, stream)?;
        if let Some(recorder) = &mut self.recorder {
            let (space, page) = (self.tag.0, self.system.base_page(page));
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
        }
        let at = Place {
            space: self.tag.0,
            page: self.system.base_page(page),
        };
        let level = match self.system.look(at, store) {
            Some(level) => level,
            None => self.change(at, time, store, stream)?,
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

    fn shoot_down(&mut self) {
        let mut charged = self.charged.take();
        self.carry_out(charged.as_deref_mut());
        self.charged = charged;
    }

    fn shoot_down_charged(&mut self, charged: &mut Charged<'_>) {
        if self.system.has_shootdowns() {
            self.carry_out(Some(charged));
        }
    }

    /// Takes out of the TLB what it has to forget.
    fn carry_out(&mut self, mut charged: Option<&mut Charged<'_>>) {
        let shootdowns: Vec<Shootdown> = self.system.shootdowns().collect();
        for shootdown in shootdowns {
            match shootdown {
                Shootdown::Nothing => {}
                Shootdown::Superpage { space, first, size } => {
                    let Some(tag) = self.tags.get(&space).copied() else {
                        continue;
                    };
                    // An extent that the TLB holds as smaller pages has no translation of its own.
                    if self.translated.contains(&size) {
                        self.tlb.invalidate(tag, first, size);
                    }
                    if let Some(charged) = &mut charged
                        && let Some(level) = self.system.level_of(size)
                    {
                        let first = self.system.base_page(first);
                        charged.demoted(Candidate { tag, first, level });
                    }
                }
                Shootdown::Range { space, pages } => {
                    let Some(tag) = self.tags.get(&space).copied() else {
                        continue;
                    };
                    self.tlb.invalidate_range(tag, pages.first(), pages.len());
                    if let Some(recorder) = &mut self.recorder {
                        let (page, pages) = self.system.base_pages(pages);
                        recorder.shot_down(Place { space, page }, pages);
                    }
                    if let Some(charged) = &mut charged {
                        let (start, pages) = self.system.base_pages(pages);
                        charged.shot_down(tag, start, pages);
                    }
                }
                Shootdown::Space(space) => {
                    let Some(tag) = self.tags.remove(&space) else {
                        continue;
                    };
                    self.tlb.invalidate_space(tag);
                    if let Some(recorder) = &mut self.recorder {
                        recorder.gone(Place { space, page: 0 }, u64::MAX);
                    }
                    if let Some(charged) = &mut charged {
                        charged.space_is_gone(tag);
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
            if let Some(charged) = &mut self.charged {
                charged.space_is_gone(tag);
            }
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
            self.moment += 1;
            self.system.set_moment(self.moment);
            self.system.pass(&stream.spaces, last);
            self.shoot_down();
        }
    }

    /// Changes memory as the trace asks. The changes of superpages are not the policy's own.
    fn impose(&mut self, change: impl FnOnce(&mut System<'a>)) {
        let logged = |cell: &Self| cell.system.changes().map_or(0, <[Resized]>::len);
        let before = logged(self);
        change(&mut self.system);
        let after = logged(self);
        if after > before {
            self.imposed.push(before..after);
        }
        self.shoot_down();
    }

    /// Does what an event asks.
    pub(crate) fn apply(&mut self, change: &Change) {
        if self.ended.is_some() {
            return;
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.pass(self.moment + 1);
        }
        self.impose(|system| system.apply(change));
        // What pages were charged for does not go with them to another place.
        let (Change::Release(extent) | Change::Relocate { from: extent, .. }) = change else {
            return;
        };
        if self.system.is_inheriting(extent.space) {
            return;
        }
        let (page, pages) = self.system.base_pages(extent.pages);
        if let Some(recorder) = &mut self.recorder {
            let space = extent.space;
            if let Change::Relocate { to, .. } = change {
                let to = self.system.base_page(PageNumber(*to));
                recorder.moved(Place { space, page }, pages, to);
            }
            recorder.gone(Place { space, page }, pages);
        }
        if let (Some(charged), Some(tag)) = (&mut self.charged, self.tags.get(&extent.space)) {
            charged.gone(*tag, page, pages);
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

/// A translation gave way to another.
fn evicted(charged: &mut Charged<'_>, system: &System<'_>, gone: Evicted) {
    if let Some(level) = system.level_of(gone.size) {
        charged.evicted(gone.tag, system.base_page(gone.page), level);
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
