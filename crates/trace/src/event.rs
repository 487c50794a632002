//! Events: what changed an address space, or who ran in it, between two visits.

use broadleaf_units::{FileId, SpaceId, ThreadId, VirtAddr};

/// A range of addresses, base-page aligned at both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Range {
    /// First byte.
    pub start: VirtAddr,
    /// Length in bytes.
    pub len: u64,
}

/// Access rights, as in `mmap(2)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Protection {
    /// Loads are allowed.
    pub read: bool,
    /// Stores are allowed.
    pub write: bool,
    /// Fetches are allowed.
    pub execute: bool,
}

/// What stands behind a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Backing {
    /// Private memory that begins as zeroes.
    Anonymous,
    /// The heap that `brk` moves the end of.
    Heap,
    /// A stack that grows down.
    Stack,
    /// Memory shared between processes that begins as zeroes (`MAP_SHARED|MAP_ANONYMOUS`, System V, `/dev/shm`).
    SharedMemory,
    /// A file's pages.
    File {
        /// Which file.
        file: FileId,
        /// The file's byte that stands at the first byte of the mapping.
        offset: u64,
    },
    /// Pages that the kernel provides (vdso, vvar, devices): never in a superpage.
    Kernel,
}

/// A mapping of addresses to something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mapping {
    /// Where.
    pub range: Range,
    /// With which rights.
    pub protection: Protection,
    /// `MAP_SHARED` rather than `MAP_PRIVATE`.
    pub shared: bool,
    /// What stands behind it.
    pub backing: Backing,
}

/// Advice, as in `madvise(2)`. What no model uses is kept by its Linux number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Advice {
    /// `MADV_DONTNEED` (4): the pages go now.
    DontNeed,
    /// `MADV_FREE` (8): the pages may go when memory is short.
    Free,
    /// `MADV_REMOVE` (9): the pages go, and their backing with them.
    Remove,
    /// `MADV_HUGEPAGE` (14).
    HugePage,
    /// `MADV_NOHUGEPAGE` (15).
    NoHugePage,
    /// Any other, by its number.
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

/// The kernel's reason for touching pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TouchOrigin {
    /// The program asked for resident pages.
    Request,
    /// The pages hold a buffer of a system call.
    Buffer,
}

/// Something that happened between two visits, in the address space that runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// A mapping came to be. It replaces whatever stood in its range.
    Map(Mapping),
    /// The range is no longer mapped.
    Unmap(Range),
    /// The range's rights changed.
    Protect(Range, Protection),
    /// `mremap`: the pages of `from` now stand at `to`; what grew is new, what shrank is gone.
    Remap {
        /// Where the pages were.
        from: Range,
        /// Where they are.
        to: Range,
    },
    /// `madvise`.
    Advise(Range, Advice),
    /// The kernel makes the pages of this range resident. This is no reference of the program.
    Populate {
        /// At most [`Event::MOST_POPULATED`] bytes.
        range: Range,
        /// The kernel's accesses to the pages.
        touch: KernelTouch,
        /// The kernel's reason.
        origin: TouchOrigin,
    },
    /// The heap now spans this range: `brk` moved its end, up or down. The first such event says where it starts.
    Brk(Range),
    /// A stack mapping grew down; it now spans this range.
    StackGrow(Range),
    /// A file, named before the first mapping that uses it.
    File {
        /// The number by which mappings name it.
        id: FileId,
        /// Its size in bytes when it was first mapped.
        size: u64,
        /// Its path as the recorder saw it.
        path: String,
    },
    /// A mapping stands in this recording at `at`, which differs modulo the superpage size from where the kernel would
    /// have put it (`native`, as far as the recorder can tell).
    Misplaced {
        /// Where the recording has it.
        at: Range,
        /// Where the kernel would have it, modulo the superpage size.
        native: VirtAddr,
    },
    /// From here on, visits belong to this address space.
    SpaceSwitch(SpaceId),
    /// The running address space begins: its process id, the one that made it, and its command line.
    SpaceStart {
        /// Process id.
        pid: u32,
        /// Process id of the parent.
        parent: u32,
        /// The command with its arguments.
        command: Vec<String>,
    },
    /// The running address space forked; the child, if it was followed, is this process.
    Fork {
        /// Process id of the child.
        child: u32,
    },
    /// The running address space is about to be replaced by another program's.
    Exec {
        /// Path of that program.
        path: String,
    },
    /// The running address space ended.
    SpaceEnd {
        /// The exit status as `wait` reports it, where known.
        status: Option<i32>,
    },
    /// A thread began.
    ThreadStart(ThreadId),
    /// From here on, visits belong to this thread.
    ThreadSwitch(ThreadId),
    /// A thread ended.
    ThreadEnd(ThreadId),
}

impl Event {
    /// The most bytes that one event populates. A larger range takes several events, so that a
    /// file's size bounds the work that it asks for.
    pub const MOST_POPULATED: u64 = 64 << 20;
}
