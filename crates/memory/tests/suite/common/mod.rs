//! Helpers for tests of limited memory: a small memory that is checked after each verb, and a
//! scripted policy.
#![allow(dead_code, reason = "each test uses a part of it")]

pub(crate) mod scripted;

use broadleaf_memory::frames::{Allocator, Start};
use broadleaf_memory::system::{Costs, Files, OutOfMemory, Place, Spec, System, SystemCounters};
use broadleaf_memory::{AddressSpaces, Backing, Change, Mapping, Pages};
use broadleaf_policy::{NOMINAL_RATE, Policy, PromotionOrder, Scan};
use broadleaf_units::{FileId, PageSize, PageSizes, Rights, SpaceId};
use std::ops::Range;

/// The address space of most tests.
pub(crate) const SPACE: SpaceId = SpaceId(0);
/// A second address space.
pub(crate) const OTHER: SpaceId = SpaceId(1);
/// The space of a process that forks.
pub(crate) const PARENT: SpaceId = SPACE;
/// The space of its child.
pub(crate) const CHILD: SpaceId = OTHER;
/// The child's process id.
pub(crate) const PID: u32 = 42;
/// The first file, from its start.
pub(crate) const FILE: Backing = file(0);

/// A file, from its start.
pub(crate) const fn file(number: u32) -> Backing {
    Backing::File {
        file: FileId(number),
        offset: 0,
    }
}

/// The range in the model's type.
pub(crate) const fn pages(range: Range<u64>) -> Pages {
    Pages {
        start: range.start,
        end: range.end,
    }
}

/// A policy of the catalogue.
pub(crate) fn policy(name: &str) -> Box<dyn Policy> {
    broadleaf_policy::parse(name).expect("a policy")
}

/// The usual specification: `frames` frames, all free, in extents of up to 1024. Base pages have 4
/// KiB, and pages of `orders` exist too. The swap has 2^20 pages, files are on the disk, and costs
/// are the defaults.
///
/// A test changes what it is about: `Spec { swap: 0, ..spec(&[0, 9], 64) }`.
pub(crate) fn spec(orders: &[u8], frames: u64) -> Spec {
    Spec {
        base: PageSize::SIZE_4K,
        sizes: PageSizes::new(orders).expect("sizes"),
        start: Start::Empty.lay_out(frames, 10).expect("a layout").into(),
        swap: 1 << 20,
        files: Files::OnDisk,
        costs: Costs::default(),
        allocator: Allocator::buddy(),
        pools: 0.5,
        rate: NOMINAL_RATE,
    }
}

/// A daemon that scans all pages every `period` accesses.
pub(crate) fn scan(period: u64) -> Scan {
    Scan {
        period,
        pages: 0,
        promotions: 0,
        order: PromotionOrder::ByAddress,
    }
}

/// Address spaces and the memory under one policy, wired as the replay wires them. All invariants
/// are checked after each verb and each referenced page.
pub(crate) struct TestMemory<'a> {
    pub(crate) spaces: AddressSpaces,
    pub(crate) system: System<'a>,
}

impl<'a> TestMemory<'a> {
    /// Three spaces whose mappings the trace lists, with no mapping yet.
    pub(crate) fn new(policy: &'a dyn Policy, spec: &Spec) -> Self {
        Self {
            spaces: AddressSpaces::new((0..3).map(SpaceId).collect()),
            system: System::new(policy, spec, None),
        }
    }

    /// Applies changes. There is no TLB to shoot down.
    pub(crate) fn apply(&mut self, changes: &[Change]) {
        changes.iter().for_each(|change| self.system.apply(change));
        self.system.shootdowns().for_each(drop);
        self.check();
    }

    fn check(&self) {
        self.system.check();
        self.spaces.check();
    }

    /// Maps private memory that can be read and written.
    pub(crate) fn map(&mut self, space: SpaceId, backing: Backing, range: Range<u64>) {
        self.map_as(space, mapping(backing, false, range));
    }

    /// Maps shared memory that can be read and written.
    pub(crate) fn map_shared(&mut self, space: SpaceId, backing: Backing, range: Range<u64>) {
        self.map_as(space, mapping(backing, true, range));
    }

    /// Maps shared memory without a file: the parent's memory for a child that has not listed it
    /// yet, else new memory.
    pub(crate) fn map_shared_memory(&mut self, space: SpaceId, range: Range<u64>) {
        let backing = self.spaces.shared_memory(space, pages(range.clone()));
        self.map_shared(space, backing, range);
    }

    /// Adds a mapping.
    pub(crate) fn map_as(&mut self, space: SpaceId, mapping: Mapping) {
        let changes = self.spaces.map(space, mapping);
        self.apply(&changes);
    }

    /// `munmap(2)`.
    pub(crate) fn unmap(&mut self, space: SpaceId, range: Range<u64>) {
        self.system.visited(space);
        let changes = self.spaces.unmap(space, pages(range));
        self.apply(&changes);
    }

    /// `mremap(2)`.
    pub(crate) fn remap(&mut self, space: SpaceId, from: Range<u64>, to: Range<u64>) {
        self.system.visited(space);
        let changes = self.spaces.remap(space, pages(from), pages(to));
        self.apply(&changes);
    }

    /// `mprotect(2)`.
    pub(crate) fn protect(&mut self, space: SpaceId, range: Range<u64>, rights: Rights) {
        self.system.visited(space);
        let changes = self.spaces.protect(space, pages(range), rights);
        self.apply(&changes);
    }

    /// `MADV_DONTNEED`.
    pub(crate) fn discard(&mut self, space: SpaceId, range: Range<u64>) {
        self.system.visited(space);
        let changes = self.spaces.discard(space, pages(range));
        self.apply(&changes);
    }

    /// `MADV_REMOVE`.
    pub(crate) fn remove(&mut self, space: SpaceId, range: Range<u64>) {
        self.system.visited(space);
        let changes = self.spaces.remove(space, pages(range));
        self.apply(&changes);
    }

    /// `MADV_FREE`.
    pub(crate) fn freed(&mut self, space: SpaceId, range: Range<u64>) {
        self.system.visited(space);
        self.system.freed(&self.spaces, space, pages(range));
        self.check();
    }

    /// A process forks, and its child begins.
    pub(crate) fn fork(&mut self, parent: SpaceId, child: SpaceId) {
        self.fork_unheard(parent, PID);
        self.begin(child, PID);
    }

    /// Forks a child whose events the trace has not begun. The caller applies the shootdowns.
    pub(crate) fn fork_unheard(&mut self, parent: SpaceId, process: u32) {
        let changes = self.spaces.fork(parent, process);
        changes.iter().for_each(|change| self.system.apply(change));
        self.system.fork(&self.spaces, parent, process);
        self.check();
    }

    /// Begins a process.
    pub(crate) fn begin(&mut self, space: SpaceId, process: u32) {
        self.spaces.begin(space, process);
        self.system.begin(space, process);
        self.check();
    }

    /// A process ends, or executes another program.
    pub(crate) fn end(&mut self, space: SpaceId) {
        let changes = self.spaces.end(space);
        self.apply(&changes);
    }

    /// Sets the time, in accesses since the trace began.
    pub(crate) fn pass(&mut self, time: u64) {
        self.system.pass(&self.spaces, time);
        self.check();
    }

    /// Loads from a page or stores to it. Returns the level of the page that maps it then.
    pub(crate) fn reference(
        &mut self,
        space: SpaceId,
        page: u64,
        store: bool,
    ) -> Result<usize, OutOfMemory> {
        self.system.visited(space);
        if let Some(level) = self.level(space, page, store) {
            return Ok(level);
        }
        let at = Place { space, page };
        let done = self.system.reference(&self.spaces, at, store);
        self.system.shootdowns().for_each(drop);
        self.check();
        done
    }

    /// Loads from pages or stores to them, each of which has to find a frame.
    pub(crate) fn touch(
        &mut self,
        space: SpaceId,
        pages: impl IntoIterator<Item = u64>,
        store: bool,
    ) {
        for page in pages {
            self.reference(space, page, store).expect("a frame");
        }
    }

    /// The level of the page that maps a page, if a reference to it changes nothing.
    pub(crate) fn level(&mut self, space: SpaceId, page: u64, store: bool) -> Option<usize> {
        self.system.look(Place { space, page }, store)
    }

    /// Frames that are free, or taken by page tables.
    pub(crate) fn free(&self) -> u64 {
        let sample = self.system.sample();
        sample.free + sample.wired
    }

    pub(crate) fn counters(&self) -> &SystemCounters {
        self.system.counters()
    }
}

fn mapping(backing: Backing, shared: bool, range: Range<u64>) -> Mapping {
    Mapping {
        pages: pages(range),
        rights: Rights::READ_WRITE,
        shared,
        backing,
    }
}
