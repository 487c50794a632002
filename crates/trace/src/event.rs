//! Events: changes of an address space, and of what runs in it, between two visits.

use broadleaf_units::{CoreId, FileId, Rights, SiteId, SpaceId, ThreadId, VirtAddr};

use crate::kernel_event::KernelEvent;
use crate::site::{Allocation, Site};
use crate::system_event::SystemEvent;
use crate::windows::WindowBorder;

/// A range of addresses, base-page aligned at both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Range {
    /// First byte.
    pub start: VirtAddr,
    /// Length in bytes.
    pub len: u64,
}

/// The memory that a mapping maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Backing {
    /// Private memory that begins as zeroes.
    Anonymous,
    /// The heap that `brk` moves the end of.
    Heap,
    /// A stack that grows down.
    Stack,
    /// Memory shared between processes that begins as zeroes (`MAP_SHARED|MAP_ANONYMOUS`, System V,
    /// `/dev/shm`).
    SharedMemory,
    /// A file's pages.
    File {
        /// Which file.
        file: FileId,
        /// The file offset of the first byte of the mapping.
        offset: u64,
    },
    /// Pages that the kernel provides (vdso, vvar, devices). They are never part of a superpage.
    Kernel,
}

/// A mapping: a range of addresses with its backing and its rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mapping {
    /// The addresses.
    pub range: Range,
    /// The access rights.
    pub protection: Rights,
    /// True for `MAP_SHARED`, false for `MAP_PRIVATE`.
    pub shared: bool,
    /// The mapped memory.
    pub backing: Backing,
}

/// Advice, as in `madvise(2)`. Advice that no model uses keeps its Linux number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Advice {
    /// `MADV_DONTNEED` (4): the kernel discards the pages now.
    DontNeed,
    /// `MADV_FREE` (8): the kernel may discard the pages when memory is short.
    Free,
    /// `MADV_REMOVE` (9): the kernel discards the pages and their backing.
    Remove,
    /// `MADV_HUGEPAGE` (14).
    HugePage,
    /// `MADV_NOHUGEPAGE` (15).
    NoHugePage,
    /// Other advice, by its number.
    Other(i32),
}

/// The kernel's way of making pages resident for a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KernelTouch {
    /// The kernel reads the pages: `MADV_POPULATE_READ`, or a buffer that `write` sends from.
    Load,
    /// The kernel stores to the pages: `MADV_POPULATE_WRITE`, or a buffer that `read` fills.
    Store,
    /// The kernel stores to private writable pages, and reads others: `MAP_POPULATE`, `mlock`.
    AsMapped,
    /// As `AsMapped`, and the kernel makes superpages of the range: `MADV_COLLAPSE`.
    Collapse,
}

/// The reason for which pages became resident without a recorded reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TouchOrigin {
    /// The program asked for resident pages.
    Request,
    /// The pages hold a buffer of a system call.
    Buffer,
    /// The program touched the pages between two windows of a recording.
    Gap,
}

/// A change between two visits, in the running address space.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// A new mapping. It replaces any mapping in its range.
    Map(Mapping),
    /// The range is no longer mapped.
    Unmap(Range),
    /// The range's rights changed.
    Protect(Range, Rights),
    /// `mremap`: the pages of `from` move to `to`. Growth adds new pages; shrinkage removes pages.
    Remap {
        /// The old range.
        from: Range,
        /// The new range.
        to: Range,
    },
    /// `madvise`.
    Advise(Range, Advice),
    /// The kernel makes the pages of this range resident. Population is not a reference of the
    /// program.
    Populate {
        /// At most [`Event::MOST_POPULATED`] bytes.
        range: Range,
        /// The kernel's accesses to the pages.
        touch: KernelTouch,
        /// The kernel's reason.
        origin: TouchOrigin,
    },
    /// `brk` moved the end of the heap, up or down; the heap now spans this range. The first such
    /// event gives the start.
    Brk(Range),
    /// A stack mapping grew down; it now spans this range.
    StackGrow(Range),
    /// A file. This event precedes the first mapping of the file.
    File {
        /// The number that mappings of the file use.
        id: FileId,
        /// The size of the file in bytes at its first mapping.
        size: u64,
        /// The path of the file, as the recorder saw it.
        path: String,
    },
    /// The recording placed a mapping at `at`. The native kernel would have chosen `native`, which
    /// differs modulo the superpage size (as far as the recorder knows).
    Misplaced {
        /// The range in the recording.
        at: Range,
        /// The address that the native kernel would choose, modulo the superpage size.
        native: VirtAddr,
    },
    /// The following visits belong to this address space.
    SpaceSwitch(SpaceId),
    /// The running address space begins. The event gives process id, parent and command line.
    SpaceStart {
        /// Process id.
        pid: u32,
        /// Process id of the parent.
        parent: u32,
        /// The command with its arguments.
        command: Vec<String>,
    },
    /// The running address space forked. The child has this process id, if the recorder followed
    /// it.
    Fork {
        /// Process id of the child.
        child: u32,
    },
    /// Another program is about to replace the running address space.
    Exec {
        /// The path of that program.
        path: String,
    },
    /// The running address space ended.
    SpaceEnd {
        /// The exit status as `wait` reports it, if known.
        status: Option<i32>,
    },
    /// A thread began.
    ThreadStart(ThreadId),
    /// The following visits belong to this thread.
    ThreadSwitch(ThreadId),
    /// A thread ended.
    ThreadEnd(ThreadId),
    /// The running thread runs on this core from here on, until another such event of that thread.
    CoreSwitch(CoreId),
    /// A place in the program that makes memory. This event precedes the first allocation of the
    /// site. A forked process numbers its sites anew; the memory that its parent made before the
    /// fork keeps its sites.
    Site(SiteId, Site),
    /// A site made memory.
    Allocation(Allocation),
    /// A border of a window: see [`crate::WindowPlan`].
    Window(WindowBorder),
    /// A change that only recordings of whole systems have.
    System(SystemEvent),
    /// An event that an instrumented kernel emitted.
    Kernel(KernelEvent),
}

impl Event {
    /// The maximum number of bytes that one event populates. A larger range takes several events,
    /// so that a file's size bounds the work of a reader.
    pub const MOST_POPULATED: u64 = 64 << 20;
}
