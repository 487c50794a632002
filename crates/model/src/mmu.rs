//! The address translation of one machine: its TLBs and its counts.

pub(crate) mod cached;
mod leaving_out;
mod tags;
mod totals;
mod twins;
mod walks;

use crate::future::LookupFuture;
use crate::listener::{SlowLookups, StepListener, StepSurroundings};
use crate::mapped::{MappedMemory, PageLookup};
use crate::steps::Step;
use crate::walked::WalkedTable;
use broadleaf_machine::Machine;
use broadleaf_memory::{AddressSpaces, Shootdown};
use broadleaf_tlb::{Lookup, ReferenceKind, Structure, Tlb, TlbCounts, TlbRequest};
use broadleaf_units::{AlignedRun, Asid, PageNumber, PageSize, SpaceId};
use cached::CachedCores;
use tags::SpaceTags;
use totals::KernelLookups;
pub(crate) use totals::TlbTotals;
pub(crate) use twins::Misses;
use twins::Twin;

/// How often an instruction begins again at most.
const MOST_BEGINNINGS: usize = 64;

/// The address translation of one machine, or of one core of a machine. It observes a memory, which
/// reports the level of each page that is referenced and the translations that became stale.
///
/// The tags, the page table and the caches are those of the machine. The core that runs holds
/// them, and hands them over to the next one ([`Mmu::hand_over`]).
pub(crate) struct Mmu<'a> {
    pub(crate) machine: &'a Machine,
    pub(super) tlb: Tlb,
    pub(super) tags: SpaceTags,
    /// The running address space and its tag.
    pub(super) running: (SpaceId, Asid),
    /// The size of the TLB's translations for pages of a level, by level. If the TLB holds no pages
    /// of the level's size, this is the next smaller size that it holds.
    pub(super) translated: Vec<PageSize>,
    /// The size whose cost a walk to a page of a level has, by level: the level's own if such pages
    /// are fractured, and the translated size otherwise.
    pub(crate) walked_as: Vec<PageSize>,
    /// Lookups that miss the first level of the TLB and hit the second.
    pub(crate) second_hits: u64,
    /// Lookups that miss two levels of the TLB and hit the third.
    pub(crate) third_hits: u64,
    /// The lookups of the kernel's addresses.
    pub(super) kernel: KernelLookups,
    /// True if entries of the TLB have scattering configurations of their own.
    scatters: bool,
    /// The cycles of scattered translations that the core's clock knows.
    scattered: u64,
    /// The counts of the TLB when counting began.
    counts_before: TlbCounts,
    /// Walks by level of the page that is found.
    pub(crate) walks: Vec<u64>,
    /// The sizes of pages by level.
    sizes: Vec<PageSize>,
    /// The page table, if walks go through a table.
    walked: WalkedTable,
    /// True if entries depend on frames, attributes or neighbours.
    wants_tables: bool,
    /// True if the machine translates instruction fetches.
    fetches: bool,
    /// True if loads and stores have TLBs of their own.
    pub(super) parts_loads: bool,
    /// The listener to the machine's steps.
    pub(super) listener: Option<Box<dyn StepListener>>,
    /// The lookups that the listener knows.
    shown: SlowLookups,
    /// The cycles of walks that the listener knows.
    shown_cycles: u64,
    /// The future of the lookups, if a replacement rule needs to know it.
    pub(super) future: Option<LookupFuture>,
    /// The lookups of the running instruction, if instructions begin again after a miss.
    instruction: Option<Vec<PageLookup>>,
    /// Translations were invalidated.
    pub(super) invalidated: bool,
    /// The caches and the cores' clocks, if the machine has caches and this core runs.
    pub(super) cached: Option<Box<CachedCores>>,
    /// The machine's part among machines of the same TLB.
    twin: Twin,
    /// Empty memory for the pages that a load asks for.
    asked: Vec<PageNumber>,
}

impl<'a> Mmu<'a> {
    /// Builds the translation of `machine` over a memory with pages of these sizes, by level.
    pub(super) fn new(machine: &'a Machine, sizes: &[PageSize]) -> Self {
        let held = machine.design.sizes();
        let translated = sizes.iter().map(|size| {
            let smaller = held.iter().copied().filter(|held| held <= size);
            smaller.max().unwrap_or(sizes[0])
        });
        let translated: Vec<PageSize> = translated.collect();
        let walked_as = sizes.iter().zip(&translated);
        let walked_as = walked_as.map(|(size, translated)| match machine.fractures(*size) {
            true => *size,
            false => *translated,
        });
        Self {
            machine,
            tlb: Tlb::new(&machine.design),
            tags: SpaceTags::default(),
            running: (SpaceId(u32::MAX), Asid::default()),
            walked_as: walked_as.collect(),
            translated,
            second_hits: 0,
            third_hits: 0,
            kernel: KernelLookups::default(),
            scatters: (machine.design.structures().iter())
                .any(|one: &Structure| one.configuration_bits_of_entry() > 0),
            scattered: 0,
            counts_before: TlbCounts::default(),
            walks: vec![0; sizes.len()],
            sizes: sizes.to_vec(),
            walked: WalkedTable::new(machine),
            wants_tables: machine.design.wants_tables(),
            fetches: machine.design.serves(ReferenceKind::Fetch),
            parts_loads: machine.design.parts_loads_from_stores(),
            listener: None,
            shown: SlowLookups::default(),
            shown_cycles: 0,
            future: None,
            instruction: None,
            invalidated: false,
            cached: (machine.caches.as_ref())
                .and_then(CachedCores::new)
                .map(Box::new),
            twin: Twin::default(),
            asked: Vec::new(),
        }
    }

    /// Counts from zero after this number of accesses. The contents of the TLB stay.
    pub(super) fn begin(&mut self, now: u64) {
        self.second_hits = 0;
        self.kernel = KernelLookups::default();
        self.third_hits = 0;
        self.counts_before = self.tlb.counts();
        self.begin_following();
        self.walks.fill(0);
        self.walked.begin();
        self.shown = SlowLookups::default();
        if let Some(cached) = &mut self.cached {
            cached.begin();
        }
        self.shown_cycles = self.walk_cycles();
        if let Some(listener) = &mut self.listener {
            listener.begin_at(now);
        }
    }

    /// The number of cores that the machine has.
    pub(super) fn cores(&self) -> usize {
        let caches = self.machine.caches.as_ref();
        caches.map_or(1, |caches| caches.hierarchy.cores())
    }

    /// Switches to an address space. Returns the tag that another space loses to it, if one does.
    /// The translations of that tag are gone.
    pub(super) fn switch(&mut self, space: SpaceId) -> Option<Asid> {
        let (tag, is_reused) = self.tags.give(space);
        self.running = (space, tag);
        if !is_reused {
            return None;
        }
        self.lose_tag(tag);
        Some(tag)
    }

    /// Drops the translations of a tag, which another space receives.
    pub(super) fn lose_tag(&mut self, tag: Asid) {
        self.invalidated = true;
        self.tlb.invalidate_space(tag);
    }

    /// Another core of the machine, which has run nothing.
    pub(super) fn another_core(&self) -> Self {
        Self {
            cached: None,
            instruction: self.instruction.as_ref().map(|_| Vec::new()),
            ..Self::new(self.machine, &self.sizes)
        }
    }

    /// Hands the parts of the machine that its cores share over to the core that runs next.
    pub(super) fn hand_over(&mut self, next: &mut Self) {
        next.tags = std::mem::take(&mut self.tags);
        next.cached = self.cached.take();
        next.listener = self.listener.take();
        self.walked.hand_over(&mut next.walked);
        next.shown_cycles = next.walk_cycles();
    }

    /// Counts `times` more references of one kind to the page that was looked up last.
    pub(super) fn repeat(&mut self, kind: ReferenceKind, times: u64) {
        // A machine without instruction TLBs last looked up a page of data.
        if kind != ReferenceKind::Fetch || self.fetches {
            self.tlb.repeat(times);
        }
    }

    /// Returns true if the machine's TLBs translate the reference.
    #[inline]
    pub(super) fn looks_up(&self, lookup: &PageLookup) -> bool {
        (lookup.kind != ReferenceKind::Fetch || self.fetches)
            && (!lookup.after_stores || self.parts_loads)
    }

    /// Returns true if a reference is a lookup once, and nothing else sees it.
    pub(super) const fn looks_up_once(&self) -> bool {
        self.instruction.is_none() && self.listener.is_none() && self.cached.is_some()
    }

    /// Lets each instruction begin again after a miss, as processors do whose TLBs software fills
    /// (Talluri 1995, section 5.2).
    pub(super) fn begin_instructions_again(&mut self) {
        self.instruction = Some(Vec::new());
    }

    /// Looks up a page of the running space, which a page of `level` maps. A miss counts a walk and
    /// loads the translation.
    #[inline]
    pub(super) fn translate(&mut self, lookup: &PageLookup, memory: &MappedMemory<'_, '_>) {
        match self.instruction.take() {
            None => self.translate_once(lookup, memory),
            Some(instruction) => self.translate_again(lookup, instruction, memory),
        };
    }

    /// Looks a page up. After a miss of the first level, looks up the pages that the instruction
    /// referred to before, from its beginning, until all hit.
    fn translate_again(
        &mut self,
        lookup: &PageLookup,
        mut instruction: Vec<PageLookup>,
        memory: &MappedMemory<'_, '_>,
    ) -> bool {
        if !lookup.continues {
            instruction.clear();
        }
        instruction.push(*lookup);
        let mut is_hit = self.translate_once(lookup, memory);
        // A TLB that is too small for the instruction would never let it end.
        for _ in 0..MOST_BEGINNINGS {
            if is_hit {
                break;
            }
            is_hit = instruction.iter().all(|before| {
                let level = memory.level(self.running.0, before);
                self.translate_once(&PageLookup { level, ..*before }, memory)
            });
        }
        self.instruction = Some(instruction);
        is_hit
    }

    /// Looks a page up once. Returns true if the lookup hit the first level.
    #[inline]
    fn translate_once(&mut self, lookup: &PageLookup, memory: &MappedMemory<'_, '_>) -> bool {
        if !self.looks_up(lookup) {
            return true;
        }
        let request = self.request(lookup);
        let found = self.find(&request, lookup.level);
        if found == Lookup::Miss {
            self.load_missing(&request, lookup, memory);
        }
        found == Lookup::First
    }

    /// The request of a lookup in the running space.
    #[inline]
    pub(super) const fn request(&self, lookup: &PageLookup) -> TlbRequest {
        TlbRequest {
            tag: self.running.1,
            page: lookup.page,
            kind: lookup.kind,
        }
    }

    /// Looks a page up that a page of `level` maps. After a miss, the translation has to be loaded.
    #[inline]
    pub(super) fn find(&mut self, request: &TlbRequest, level: usize) -> Lookup {
        if let Some(future) = &mut self.future {
            let size = self.translated[level];
            let first = AlignedRun::around(request.page, size).first;
            if let Some(next) = future.pass((request.tag, first, size)) {
                self.tlb.foresee(next);
            }
        }
        let found = self.tlb.access(request);
        self.kernel.note(request.page, found);
        match found {
            Lookup::First | Lookup::Miss => {}
            Lookup::Second => self.second_hits += 1,
            Lookup::Third => self.third_hits += 1,
        }
        found
    }

    /// Returns true if the TLB translates fetches of instructions.
    pub(crate) const fn translates_fetches(&self) -> bool {
        self.fetches
    }

    /// Returns true if an entry of the TLB depends on the frames of a page and its neighbours.
    #[inline]
    pub(crate) const fn wants_tables(&self) -> bool {
        self.wants_tables
    }

    /// Shows a step to the machine's listener, with the lookups since the step before.
    pub(super) fn show(&mut self, step: &Step, spaces: &AddressSpaces) {
        let Some(mut listener) = self.listener.take() else {
            return;
        };
        let counted = SlowLookups {
            second_hits: self.second_hits,
            third_hits: self.third_hits,
            walks: self.walks.iter().sum(),
            fractured_walks: self.fractured_walks(),
        };
        // Only walks take cycles.
        let cycles = match counted.walks == self.shown.walks {
            true => self.shown_cycles,
            false => self.walk_cycles(),
        };
        let surroundings = StepSurroundings {
            spaces,
            walk_cycles: cycles - self.shown_cycles,
        };
        listener.step_in(step, counted.since(self.shown), &surroundings);
        (self.shown, self.shown_cycles) = (counted, cycles);
        self.listener = Some(listener);
    }

    /// Passes to the core's clock the additions that the lookups of a visit made.
    #[inline]
    pub(super) fn note_scattering(&mut self) {
        if !self.scatters {
            return;
        }
        let so_far = self.tlb.counts().scatter_cycles;
        let cycles = so_far - std::mem::replace(&mut self.scattered, so_far);
        if let Some(cached) = self.cached.as_mut().filter(|_| cycles > 0) {
            cached.add_translating(cycles);
        }
    }

    /// Drops the translations that became stale. Returns the tag of their space, if the TLB knows
    /// the space.
    pub(super) fn forget(&mut self, shootdown: &Shootdown) -> Option<Asid> {
        let tag = match *shootdown {
            Shootdown::Nothing => None,
            Shootdown::Superpage { space, .. } | Shootdown::Range { space, .. } => {
                self.tags.get(space)
            }
            Shootdown::Space(space) => self.tags.remove(space),
        };
        self.forget_tagged(shootdown, tag);
        tag
    }

    /// Drops the translations that became stale, whose space has this tag.
    pub(super) fn forget_tagged(&mut self, shootdown: &Shootdown, tag: Option<Asid>) {
        self.walked.forget(shootdown);
        let Some(tag) = tag else {
            return;
        };
        match *shootdown {
            Shootdown::Nothing => {}
            Shootdown::Superpage { run, .. } => {
                self.invalidated = true;
                if self.machine.fractures(run.size) {
                    let pages = run.size.bytes() >> PageSize::SIZE_4K.shift();
                    self.tlb.invalidate_range(tag, run.first, pages);
                } else if self.translated.contains(&run.size) {
                    // The TLB may hold an extent as smaller pages, which stay valid.
                    self.tlb.invalidate(tag, run.first, run.size);
                }
            }
            Shootdown::Range { pages, .. } => {
                self.invalidated = true;
                self.tlb.invalidate_range(tag, pages.first(), pages.len());
            }
            Shootdown::Space(_) => self.tlb.invalidate_space(tag),
        }
    }
}
