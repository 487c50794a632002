//! Counts the contents of a trace in one pass.

use std::collections::{BTreeMap, HashSet};

use broadleaf_tlb::Tlb;
use broadleaf_trace::{Backing, Event, FaultStep, Grain, Item, Mapping, Range, SystemEvent, Visit};
use broadleaf_units::{PageNumber, SpaceId, VirtAddr};

use crate::windows::RecordedWindows;

/// The contents of a trace.
#[derive(Debug)]
pub(super) struct TraceContents {
    pub(super) loads: u64,
    pub(super) stores: u64,
    pub(super) straddling: u64,
    pub(super) instructions: u64,
    pub(super) fetches: u64,
    pub(super) visits: u64,
    /// The number of events, by their names in listings.
    pub(super) events: BTreeMap<&'static str, u64>,
    /// The number of mappings and their bytes, by backing.
    pub(super) mappings: BTreeMap<&'static str, (u64, u64)>,
    pub(super) files: u64,
    pub(super) misplaced: Vec<(Range, VirtAddr)>,
    pub(super) processes: Vec<ProcessInfo>,
    /// The accesses of a whole system, if the trace holds one.
    pub(super) system: Option<SystemAccesses>,
    /// The first page whose addresses no processor translates.
    pub(super) untranslatable: Option<u64>,
    pub(super) windows: RecordedWindows,
    pages: ReferencedPages,
    page_shift: u8,
    space: SpaceId,
    /// The index in `processes` of each space.
    places: BTreeMap<SpaceId, usize>,
}

/// The accesses of a recorded system.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SystemAccesses {
    /// Accesses to the kernel's addresses: the upper half.
    pub(super) kernel_addresses: u64,
    /// Accesses that the kernel's code made, to any address.
    pub(super) by_kernel: u64,
    /// Page faults that the kernel handled.
    pub(super) page_faults: u64,
    in_kernel: bool,
}

/// The process of one address space.
#[derive(Clone, Debug, Default)]
pub(super) struct ProcessInfo {
    pub(super) pid: u32,
    pub(super) parent: u32,
    pub(super) command: Vec<String>,
    pub(super) accesses: u64,
    /// The number of threads that started after the first.
    pub(super) started: u64,
    pub(super) status: Option<i32>,
    pub(super) ended: bool,
}

impl TraceContents {
    /// The contents of a trace of which nothing was read yet.
    pub(super) fn new(grain: Grain) -> Self {
        Self {
            loads: 0,
            stores: 0,
            straddling: 0,
            instructions: 0,
            fetches: 0,
            visits: 0,
            events: BTreeMap::new(),
            mappings: BTreeMap::new(),
            files: 0,
            misplaced: Vec::new(),
            processes: Vec::new(),
            system: None,
            untranslatable: None,
            windows: RecordedWindows::default(),
            pages: ReferencedPages::default(),
            page_shift: Grain::Page.shift() - grain.shift(),
            space: SpaceId::default(),
            places: BTreeMap::new(),
        }
    }

    /// Loads plus stores.
    pub(super) const fn accesses(&self) -> u64 {
        self.loads + self.stores
    }

    /// Distinct base pages referenced.
    pub(super) fn pages(&self) -> u64 {
        self.pages.seen.len() as u64
    }

    /// Adds an item of the trace.
    pub(super) fn add(&mut self, item: Item<'_>) {
        self.windows.add(&item);
        match item {
            Item::Visits(visits) => {
                self.visits += visits.len() as u64;
                let before = self.accesses();
                for visit in visits {
                    self.visit(visit);
                }
                let accesses = self.accesses() - before;
                self.process().accesses += accesses;
                if let Some(system) = self.system.as_mut().filter(|system| system.in_kernel) {
                    system.by_kernel += accesses;
                }
            }
            Item::Event(event) => self.event(event),
        }
    }

    fn visit(&mut self, visit: &Visit) {
        // Fetches carry the counts of instructions if the trace has fetches, references otherwise.
        self.instructions += u64::from(visit.instructions);
        if visit.fetch {
            self.fetches += u64::from(visit.instructions);
            return;
        }
        self.loads += u64::from(visit.loads);
        self.stores += u64::from(visit.stores);
        self.straddling += visit.lookups() - visit.accesses();
        if visit.lookups() > 0 {
            let page = visit.unit >> self.page_shift;
            let mut space = self.space;
            if let Some(system) = self.system.as_mut().filter(|_| page >> 51 != 0) {
                system.kernel_addresses += visit.accesses();
                space = SystemEvent::KERNEL;
            }
            if self.pages.add(space, page) && !Tlb::can_translate(PageNumber(page)) {
                self.untranslatable.get_or_insert(page);
            }
        }
    }

    fn event(&mut self, event: &Event) {
        *self.events.entry(name(event)).or_default() += 1;
        match event {
            Event::Map(mapping) => {
                let (count, bytes) = self.mappings.entry(kind(mapping)).or_default();
                *count += 1;
                *bytes += mapping.range.len;
            }
            Event::File { .. } => self.files += 1,
            Event::Misplaced { at, native } => self.misplaced.push((*at, *native)),
            Event::SpaceSwitch(space) => self.space = *space,
            Event::System(event) => self.system_event(event),
            Event::SpaceStart {
                pid,
                parent,
                command,
            } => {
                let process = self.process();
                (process.pid, process.parent) = (*pid, *parent);
                process.command.clone_from(command);
            }
            Event::SpaceEnd { status } => {
                let process = self.process();
                (process.status, process.ended) = (*status, true);
            }
            // The kernel names a program after it has begun.
            Event::Exec { path } if self.system.is_some() => {
                self.process().command = vec![path.clone()];
            }
            Event::ThreadStart(_) => self.process().started += 1,
            _ => {}
        }
    }

    fn system_event(&mut self, event: &SystemEvent) {
        let system = self.system.get_or_insert_default();
        match event {
            SystemEvent::Space(space) => self.space = *space,
            SystemEvent::SpaceEnd => self.process().ended = true,
            SystemEvent::Privilege(kernel) => system.in_kernel = *kernel,
            SystemEvent::PageFault(FaultStep::Handled) => system.page_faults += 1,
            _ => {}
        }
    }

    fn process(&mut self) -> &mut ProcessInfo {
        let next = self.processes.len();
        let place = *self.places.entry(self.space).or_insert(next);
        if place == next {
            self.processes.push(ProcessInfo::default());
        }
        &mut self.processes[place]
    }
}

/// The set of pages that were referenced. A small table in front of it answers for recent pages.
#[derive(Debug)]
struct ReferencedPages {
    seen: HashSet<(SpaceId, u64)>,
    recent: Vec<Option<(SpaceId, u64)>>,
}

const RECENT: usize = 1 << 14;

impl Default for ReferencedPages {
    fn default() -> Self {
        Self {
            seen: HashSet::new(),
            recent: vec![None; RECENT],
        }
    }
}

impl ReferencedPages {
    /// Adds a page. Returns true if the page is new.
    fn add(&mut self, space: SpaceId, page: u64) -> bool {
        let recent = &mut self.recent[page as usize % RECENT];
        let known = *recent == Some((space, page));
        *recent = Some((space, page));
        !known && self.seen.insert((space, page))
    }
}

const fn kind(mapping: &Mapping) -> &'static str {
    match mapping.backing {
        Backing::Anonymous => "anonymous",
        Backing::Heap => "heap",
        Backing::Stack => "stack",
        Backing::SharedMemory => "shared memory",
        Backing::File { .. } => "file",
        Backing::Kernel => "kernel",
    }
}

const fn name(event: &Event) -> &'static str {
    match event {
        Event::Map(_) => "map",
        Event::Unmap(_) => "unmap",
        Event::Protect(..) => "protect",
        Event::Remap { .. } => "remap",
        Event::Advise(..) => "advise",
        Event::Populate { .. } => "populate",
        Event::Brk(_) => "brk",
        Event::StackGrow(_) => "stack_grow",
        Event::File { .. } => "file",
        Event::Misplaced { .. } => "misplaced",
        Event::SpaceSwitch(_) => "space_switch",
        Event::SpaceStart { .. } => "space_start",
        Event::Fork { .. } => "fork",
        Event::Exec { .. } => "exec",
        Event::SpaceEnd { .. } => "space_end",
        Event::ThreadStart(_) => "thread_start",
        Event::ThreadSwitch(_) => "thread_switch",
        Event::ThreadEnd(_) => "thread_end",
        Event::CoreSwitch(_) => "core_switch",
        Event::Site(..) => "site",
        Event::Allocation(_) => "allocation",
        Event::Window(_) => "window",
        Event::System(event) => match event {
            SystemEvent::Space(_) => "space_switch",
            SystemEvent::SpaceEnd => "space_end",
            SystemEvent::Leaf(_) => "leaf",
            SystemEvent::Invalidate(_) => "invalidate",
            SystemEvent::PageFault(_) => "page_fault",
            SystemEvent::Privilege(_) => "privilege",
        },
        Event::Kernel(event) => event.name(),
    }
}
