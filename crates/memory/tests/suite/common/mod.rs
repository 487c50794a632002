//! What the tests of limited memory share: a small world that is checked after all that happens in
//! it, and a policy that does as it is told.
#![allow(dead_code, reason = "each test uses a part of it")]

pub(crate) mod scripted;

use broadleaf_memory::frames::Start;
use broadleaf_memory::population::Sizes;
use broadleaf_memory::system::{Costs, Files, OutOfMemory, Place, Spec, System, SystemCounters};
use broadleaf_memory::{AddressSpaces, Backing, Change, Mapping, Pages, Rights};
use broadleaf_policy::{NOMINAL_RATE, Order, Policy, Scan};
use broadleaf_units::{FileId, PageSize, SpaceId};
use std::ops::Range;

/// The space in which everything happens, where there is one.
pub(crate) const SPACE: SpaceId = SpaceId(0);
/// Another one.
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

/// The range as the model has it.
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

/// What most tests have: so many frames, all free and in extents of up to 1024 of them; base pages
/// of 4 KiB, and pages of these orders of them; a swap of 2^20 pages; files on the disk; and costs
/// as they are by default.
///
/// A test changes what it is about: `Spec { swap: 0, ..spec(&[0, 9], 64) }`.
pub(crate) fn spec(orders: &[u8], frames: u64) -> Spec {
    Spec {
        base: PageSize::SIZE_4K,
        sizes: Sizes::new(orders).expect("sizes"),
        start: Start::Empty.lay_out(frames, 10).expect("a layout").into(),
        swap: 1 << 20,
        files: Files::OnDisk,
        costs: Costs::default(),
        rate: NOMINAL_RATE,
    }
}

/// A daemon that looks at everything every so many accesses.
pub(crate) fn scan(period: u64) -> Scan {
    Scan {
        period,
        pages: 0,
        promotions: 0,
        order: Order::AsTheyStand,
    }
}

/// Address spaces, and the memory below them under one policy, wired as an engine would. All books
/// are checked after each of its verbs, and after each page that a verb references.
pub(crate) struct World<'a> {
    pub(crate) spaces: AddressSpaces,
    pub(crate) system: System<'a>,
}

impl<'a> World<'a> {
    /// Three spaces whose mappings are told, and in which nothing is mapped yet.
    pub(crate) fn new(policy: &'a dyn Policy, spec: &Spec) -> Self {
        Self {
            spaces: AddressSpaces::new((0..3).map(SpaceId).collect()),
            system: System::new(policy, spec, None),
        }
    }

    /// Does what an event asks; there is no TLB that would have to forget anything.
    pub(crate) fn apply(&mut self, changes: &[Change]) {
        changes.iter().for_each(|change| self.system.apply(change));
        self.system.shootdowns().for_each(drop);
        self.check();
    }

    fn check(&self) {
        self.system.check();
        self.spaces.check();
    }

    /// What is mapped is private and can be read and written.
    pub(crate) fn map(&mut self, space: SpaceId, backing: Backing, range: Range<u64>) {
        self.map_as(space, mapping(backing, false, range));
    }

    /// The same, and stores are seen by all that map it.
    pub(crate) fn map_shared(&mut self, space: SpaceId, backing: Backing, range: Range<u64>) {
        self.map_as(space, mapping(backing, true, range));
    }

    /// Shared memory that no file stands behind: what the parent had there, for a child that was
    /// not told of it yet, else a new one.
    pub(crate) fn map_shared_memory(&mut self, space: SpaceId, range: Range<u64>) {
        let behind = self.spaces.shared_memory(space, pages(range.clone()));
        self.map_shared(space, behind, range);
    }

    /// A mapping comes to be, whatever it is.
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

    /// A process forks a child that the trace has not told of yet. What TLBs have to forget is
    /// still to be asked for.
    pub(crate) fn fork_unheard(&mut self, parent: SpaceId, process: u32) {
        let changes = self.spaces.fork(parent, process);
        changes.iter().for_each(|change| self.system.apply(change));
        self.system.fork(&self.spaces, parent, process);
        self.check();
    }

    /// The trace tells of a process for the first time.
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

    /// It is that time, in accesses since the trace began.
    pub(crate) fn pass(&mut self, time: u64) {
        self.system.pass(&self.spaces, time);
        self.check();
    }

    /// Loads from a page or stores to it. Answers the level of the page that maps it then.
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

    /// The level of the page that maps a page, where a reference to it changes nothing.
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
