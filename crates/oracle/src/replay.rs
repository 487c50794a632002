//! One trace, one policy, one reference after another.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use broadleaf_trace::{Advice, Event, Grain, Item, KernelTouch, Lead, Visit};
use broadleaf_units::SpaceId;

use crate::future::OracleFuture;
use crate::mappings::pages_in;
use crate::memory::{BlockKey, OracleMemory};
use crate::tlb::{FoundIn, OfOneSize, PageSizeKind};
use crate::{
    Foreknowledge, OracleCounts, PlainTlb, PolicySpec, Recording, RuleSpec, RuledMachine, Survey,
};

/// The pace of replaying a run of equal references.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// Replay every access.
    EveryAccess,
    /// Replay the first access, and each access before which a reservation comes of age. The other
    /// accesses change only the clock and the uses of the translation: the page is resident, dirty
    /// for stores, and its translation is the most recent of its set.
    #[default]
    Leap,
}

/// The state of a replay.
pub struct OracleReplay {
    memory: OracleMemory,
    grain: Grain,
    pace: Pace,
    space: SpaceId,
    /// The number of accesses so far: the time of the next access.
    time: u64,
    /// Ended spaces whose pages the next visit or `SpaceStart` releases (rule 26).
    ended: Vec<SpaceId>,
    /// The space of each process.
    processes: BTreeMap<u32, SpaceId>,
    touched: BTreeSet<(SpaceId, u64)>,
    regions: BTreeSet<BlockKey>,
    last_touched: Option<(SpaceId, u64)>,
    /// The lookups and their next uses, for the rule that knows them.
    future: OracleFuture,
}

impl OracleReplay {
    /// A replay before the first item.
    pub fn new(
        grain: Grain,
        policy: PolicySpec,
        machine: impl Into<RuledMachine>,
        pace: Pace,
        known: &Foreknowledge,
    ) -> Self {
        Self {
            memory: OracleMemory::new(policy, machine.into(), known.clone()),
            grain,
            pace,
            space: SpaceId(0),
            time: 0,
            ended: Vec::new(),
            processes: BTreeMap::new(),
            touched: BTreeSet::new(),
            regions: BTreeSet::new(),
            last_touched: None,
            future: OracleFuture::default(),
        }
    }

    /// Replays the next item.
    pub fn item(&mut self, item: &Item<'_>) {
        match item {
            Item::Visits(visits) => visits.iter().for_each(|visit| self.visit(visit)),
            Item::Event(event) => self.event(event),
        }
    }

    fn release_ended(&mut self) {
        for space in std::mem::take(&mut self.ended) {
            self.memory.release(space);
        }
    }

    /// Replays the references of a visit: the lead, the loads before the first store, that store,
    /// and the rest. The order of the rest does not matter. The page is resident and dirty, so no
    /// fault and no first store is left. A promotion that comes due depends on the number of
    /// accesses alone.
    fn visit(&mut self, visit: &Visit) {
        if visit.fetch {
            return;
        }
        self.release_ended();
        let page = visit.unit >> (12 - self.grain.shift());
        match visit.lead {
            Lead::None => {}
            // The lead has the time of the access before, and is not an access.
            Lead::Load => self.lookup(page, false, self.time.saturating_sub(1)),
            Lead::Store => self.lookup(page, true, self.time.saturating_sub(1)),
        }
        if visit.stores == 0 {
            self.accesses(page, false, visit.loads.into(), true);
            return;
        }
        self.accesses(page, false, visit.loads_before_store.into(), true);
        self.accesses(page, true, 1, true);
        let loads = u64::from(visit.loads) - u64::from(visit.loads_before_store);
        self.accesses(page, false, loads, false);
        self.accesses(page, true, u64::from(visit.stores) - 1, false);
    }

    /// `count` equal accesses to `page`. The first is a lookup of a rule that knows the future if
    /// `looks_up` is true. To such a rule, the others are repetitions of the lookup before.
    fn accesses(&mut self, page: u64, store: bool, count: u64, mut looks_up: bool) {
        let counts = &mut self.memory.counts;
        counts.accesses += count;
        *(if store {
            &mut counts.stores
        } else {
            &mut counts.loads
        }) += count;
        let end = self.time + count;
        while self.time < end {
            self.memory.time_passes(self.time);
            match std::mem::take(&mut looks_up) {
                true => self.lookup(page, store, self.time),
                false => self.reference(page, store, self.time, false),
            }
            self.time += 1;
            if self.pace == Pace::Leap {
                let next = self.memory.next_due();
                let next = next.map_or(end, |due| due.clamp(self.time, end));
                self.memory.tlb.used_again(next - self.time);
                self.time = next;
            }
        }
    }

    /// Replays a lookup that a rule knows beforehand.
    fn lookup(&mut self, page: u64, store: bool, time: u64) {
        self.reference(page, store, time, true);
    }

    /// Replays one translation and the changes before it. `looks_up` is true if a rule that knows
    /// the future hears of the next use.
    fn reference(&mut self, page: u64, store: bool, time: u64, looks_up: bool) {
        if self.last_touched != Some((self.space, page)) {
            self.last_touched = Some((self.space, page));
            self.note_touched(page);
        }
        let leaf = self.memory.touch(self.space, page, store, time);
        let entry = self.memory.tlb.entry((self.space, page), leaf);
        if looks_up && let Some(next_use) = self.future.pass(entry) {
            self.memory.tlb.foresee(next_use);
        }
        let found = self.memory.tlb.lookup(self.space, page, leaf);
        let counts = &mut self.memory.counts;
        if found != FoundIn::FirstLevel {
            counts.l1_misses += 1;
        }
        if found == FoundIn::Walk {
            counts.l2_misses += 1;
            match leaf {
                PageSizeKind::Base => {
                    counts.walks_4k += 1;
                    counts.walk_cycles += 35;
                }
                PageSizeKind::Super => {
                    counts.walks_2m += 1;
                    counts.walk_cycles += 21;
                }
            }
        }
    }

    /// Rule 33: the kernel touches each page of the range as a reference without time and without a
    /// lookup.
    fn populate(&mut self, pages: &Range<u64>, touch: KernelTouch) {
        for page in pages.clone() {
            if let Some(store) = self.memory.kernel_stores(self.space, page, touch) {
                self.note_touched(page);
                self.memory.touch(self.space, page, store, self.time);
            }
        }
    }

    /// Rule 27: counts a touched page, by its kind of memory at the first touch.
    fn note_touched(&mut self, page: u64) {
        let file = self.memory.is_of_file(self.space, page);
        let counts = &mut self.memory.counts;
        if self.touched.insert((self.space, page)) {
            *(if file {
                &mut counts.touched_pages_file
            } else {
                &mut counts.touched_pages_anonymous
            }) += 1;
        }
        if self.regions.insert((self.space, page / 512)) {
            *(if file {
                &mut counts.regions_file
            } else {
                &mut counts.regions_anonymous
            }) += 1;
        }
    }

    fn event(&mut self, event: &Event) {
        let space = self.space;
        let memory = &mut self.memory;
        match event {
            Event::Map(mapping) => memory.map(space, mapping),
            Event::Unmap(range) => memory.unmap(space, &pages_in(*range)),
            Event::Protect(range, protection) => {
                memory.protect(space, &pages_in(*range), *protection)
            }
            Event::Remap { from, to } => {
                memory.remap(space, &pages_in(*from), &pages_in(*to), self.time)
            }
            Event::Advise(range, Advice::DontNeed | Advice::Remove) => {
                memory.lose_pages(space, &pages_in(*range))
            }
            Event::Advise(range, Advice::NoHugePage) => {
                memory.advise_against(space, pages_in(*range))
            }
            Event::Advise(range, Advice::HugePage) => memory.clear_advice(space, &pages_in(*range)),
            Event::Advise(_, Advice::Free | Advice::Other(_)) => {}
            Event::Populate { range, touch, .. } => self.populate(&pages_in(*range), *touch),
            Event::Brk(range) => memory.set_heap(space, pages_in(*range)),
            Event::StackGrow(range) => memory.grow_stack(space, pages_in(*range)),
            Event::File { id, size, .. } => memory.file(*id, *size),
            Event::SpaceSwitch(to) => self.space = *to,
            Event::SpaceStart { pid, .. } => {
                self.release_ended();
                self.memory.release(space);
                // A process id that begins again has executed another program.
                match self.processes.insert(*pid, space) {
                    Some(before) if before != space => self.memory.release(before),
                    _ => {}
                }
            }
            Event::SpaceEnd { .. } => self.ended.push(space),
            // An `exec` may fail; the events after a successful one show its effect.
            Event::Exec { .. }
            | Event::Fork { .. }
            | Event::Misplaced { .. }
            | Event::ThreadStart(_)
            | Event::ThreadSwitch(_)
            | Event::ThreadEnd(_)
            | Event::CoreSwitch(_)
            | Event::Site(..)
            | Event::Allocation(_)
            | Event::Window(_)
            | Event::System(_)
            | Event::Kernel(_) => {}
        }
    }

    /// Returns the counts at the trace's end, and the blocks promoted at any time.
    pub fn finish(self) -> (OracleCounts, BTreeSet<(SpaceId, u64)>) {
        let (mut counts, promoted) = self.memory.finish();
        counts.touched_pages = self.touched.len() as u64;
        counts.regions = self.regions.len() as u64;
        (counts, promoted)
    }
}

/// Returns the counts of `policy` over `recording`.
pub fn replay(
    recording: &Recording,
    policy: PolicySpec,
    machine: impl Into<RuledMachine>,
) -> OracleCounts {
    replay_items(
        recording.grain,
        recording.items(),
        policy,
        machine,
        Pace::Leap,
    )
}

/// Returns the counts of `policy` over `items`. The function passes over the items twice: the
/// spaces with map events must be known beforehand. One more pass finds the blocks that `freebsd`
/// promotes, for `foresight`, and one the next uses, for [`RuleSpec::Opt`].
pub fn replay_items<'a>(
    grain: Grain,
    items: impl Iterator<Item = Item<'a>> + Clone,
    policy: PolicySpec,
    machine: impl Into<RuledMachine>,
    pace: Pace,
) -> OracleCounts {
    replayed(grain, items, policy, machine, pace, &[])
        .finish()
        .0
}

/// Returns the misses of TLBs of other geometries under `policy`: the points of its curve. Each
/// geometry is a number of sets and a number of ways, for pages of each size. The accesses that
/// [`Pace::Leap`] leaves out hit the last entry in every TLB, so they change no count here.
pub fn curve(
    recording: &Recording,
    policy: PolicySpec,
    machine: impl Into<RuledMachine>,
    geometries: &[(usize, usize)],
) -> Vec<OfOneSize> {
    let items = recording.items();
    let pace = Pace::Leap;
    let replayed = replayed(recording.grain, items, policy, machine, pace, geometries);
    replayed.memory.tlb.others
}

/// Replays `policy` over `items`, with TLBs of these other geometries.
fn replayed<'a>(
    grain: Grain,
    items: impl Iterator<Item = Item<'a>> + Clone,
    policy: PolicySpec,
    machine: impl Into<RuledMachine>,
    pace: Pace,
    geometries: &[(usize, usize)],
) -> OracleReplay {
    let machine = machine.into();
    let mut survey = Survey::default();
    items.clone().for_each(|item| survey.item(&item));
    let mut known = survey.finish();
    let run = |policy, known: &Foreknowledge, future| {
        let mut replay = OracleReplay::new(grain, policy, machine, pace, known);
        replay.future = future;
        let sizes = [PageSizeKind::Base, PageSizeKind::Super];
        replay.memory.tlb.others = (sizes.iter())
            .flat_map(|size| geometries.iter().map(move |&of| (*size, of)))
            .map(|(size, (sets, ways))| OfOneSize {
                size,
                tlb: PlainTlb::new(sets, ways),
            })
            .collect();
        items.clone().for_each(|item| replay.item(&item));
        replay
    };
    if policy == PolicySpec::Foresight {
        let freebsd = run(PolicySpec::FreeBsd, &known, OracleFuture::default());
        known.promoted_by_freebsd = freebsd.finish().1;
    }
    let mut future = OracleFuture::default();
    if machine.rule == RuleSpec::Opt {
        future = OracleFuture::after(&run(policy, &known, future).future);
    }
    run(policy, &known, future)
}
