//! Observations of live processes. They are plain data: a journal stores them, and decisions depend
//! on nothing else.

use crate::heat::BlockHeat;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;
use std::time::Duration;

/// The number of base pages in a block.
pub const PAGES: u32 = 512;
/// The size of a base page in bytes.
pub const PAGE_BYTES: u64 = 4096;
/// The size of a block in bytes.
pub const BLOCK_BYTES: u64 = PAGES as u64 * PAGE_BYTES;

/// A process. Its start time distinguishes it from a later process with the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProcessId {
    /// The process number.
    pub pid: u32,
    /// The start time, in ticks of the kernel's clock since boot.
    pub started: u64,
}

impl fmt::Display for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pid.fmt(f)
    }
}

/// The facts about a process that cost next to nothing to read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vitals {
    /// The name of the program, as reported by the kernel.
    pub command: String,
    /// A number that changes at an `exec`.
    pub image: u64,
    /// Page faults of all threads since the start of the process.
    pub faults: u64,
    /// Resident bytes, by the kernel's quick count.
    pub rss_bytes: u64,
}

/// The backing of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LiveBacking {
    /// Private memory that begins as zeroes.
    Anonymous,
    /// Memory that has no file on a disk and can be shared: System V, POSIX, memfd, tmpfs.
    Shmem,
    /// The pages of a file, and the written pages of a private mapping of a file.
    File,
    /// Memory that is outside all policies: devices, hugetlbfs, the kernel's own pages.
    Other,
}

/// A range of addresses with one backing and one set of rights.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveMapping {
    /// The first byte.
    pub start: u64,
    /// The end: the first byte after the mapping.
    pub end: u64,
    /// The backing of the mapping.
    #[serde(rename = "behind")]
    pub backing: LiveBacking,
    /// True if the program may store to the mapping.
    pub writable: bool,
    /// True if addresses and offsets in the backing have the same alignment, so that a block of
    /// addresses is a block of the backing.
    pub congruent: bool,
    /// The kernel's name for the mapping. Empty for memory without a name.
    pub name: String,
    /// The inode of shared memory. The number is 0 for all other memory, and in journals without
    /// this field.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub inode: u64,
    /// The offset in the inode of shared memory at which the mapping starts. The number is 0 for
    /// all other memory.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub offset: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl LiveMapping {
    /// Returns the numbers of the blocks that lie wholly in the mapping. A number is an address
    /// divided by [`BLOCK_BYTES`].
    pub const fn blocks(&self) -> std::ops::Range<u64> {
        let first = self.start.div_ceil(BLOCK_BYTES);
        let end = self.end / BLOCK_BYTES;
        first..if end < first { first } else { end }
    }

    /// Returns true if the memory has huge pages that were reserved for it (hugetlbfs): those of
    /// `mmap(MAP_HUGETLB)` and files below a mount of hugetlbfs. No setting of transparent huge
    /// pages reaches them, and nothing splits them. Memory of `memfd_create(MFD_HUGETLB)` is known
    /// by `hugetlb` in its name alone, and that of `shmget(SHM_HUGETLB)` is not known: their file
    /// system has no visible mount, and `smaps`, which has their page size, is slow to read.
    pub fn is_reserved(&self) -> bool {
        // Other files without policies are devices.
        has_reserved_name(&self.name)
            || self.backing == LiveBacking::Other
                && self.name.starts_with('/')
                && !self.name.starts_with("/dev/")
    }

    /// Returns true if both mappings map the same bytes of the same shared memory at the same
    /// addresses. Returns false if the inode is unknown.
    pub(crate) fn shares_memory_with(&self, other: &Self) -> bool {
        let first = |mapping: &Self| mapping.offset.wrapping_sub(mapping.start);
        self.inode != 0
            && self.inode == other.inode
            && self.name == other.name
            && first(self) == first(other)
    }

    /// Returns the mapping that holds a block wholly. `all` must be sorted by address.
    pub fn of_block(all: &[Self], block: u64) -> Option<&Self> {
        let after = all.partition_point(|mapping| mapping.blocks().end <= block);
        all.get(after)
            .filter(|mapping| mapping.blocks().contains(&block))
    }
}

/// Returns true if memory with this name has reserved huge pages, whatever its file system.
pub(crate) fn has_reserved_name(name: &str) -> bool {
    name.starts_with("/anon_hugepage")
        || name.starts_with("/dev/hugepages/")
        || name.starts_with("/memfd:") && name.contains("hugetlb")
}

/// The contents of one block, in base pages. If the block is a superpage, only `huge` is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockSeen {
    /// The block number: its address divided by [`BLOCK_BYTES`].
    pub block: u64,
    /// Resident pages, without the kernel's page of zeroes.
    pub present: u16,
    /// Pages that map the kernel's page of zeroes: read, and never stored to.
    pub zero: u16,
    /// Pages in swap.
    pub swapped: u16,
    /// True if one translation maps the whole block.
    pub huge: bool,
}

impl BlockSeen {
    /// Returns a block without any pages.
    pub const fn empty(block: u64) -> Self {
        Self {
            block,
            present: 0,
            zero: 0,
            swapped: 0,
            huge: false,
        }
    }

    /// Returns a block that is a superpage.
    pub const fn superpage(block: u64) -> Self {
        Self {
            huge: true,
            ..Self::empty(block)
        }
    }

    /// Returns true if the block has no pages.
    pub const fn is_empty(&self) -> bool {
        self.present == 0 && self.zero == 0 && self.swapped == 0 && !self.huge
    }

    /// Returns the bytes of frames that the block holds.
    pub const fn resident_bytes(&self) -> u64 {
        if self.huge {
            BLOCK_BYTES
        } else {
            self.present as u64 * PAGE_BYTES
        }
    }

    /// Returns the bytes that the block would gain as a superpage.
    pub const fn bytes_to_add(&self) -> u64 {
        BLOCK_BYTES - self.resident_bytes()
    }
}

/// The memory of a process at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LivePages {
    /// The mappings, sorted by address.
    pub mappings: Vec<LiveMapping>,
    /// The blocks that lie wholly in one mapping and hold at least one page, sorted by number.
    pub blocks: Vec<BlockSeen>,
    /// The bytes that the process holds. A shared page counts in proportion. `None` if the number
    /// was not read because no other process can share pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<u64>,
    /// Ranges of blocks for which the program asked for superpages (`MADV_HUGEPAGE`), if the kernel
    /// heeds this advice. `None` if the ranges were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Vec<Range<u64>>>,
    /// The used pages of blocks in the latest span of time, sorted by block. `None` if there is no
    /// new measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<Vec<BlockHeat>>,
}

impl LivePages {
    /// Returns the contents of a block, or `None` if the block is empty.
    pub fn block(&self, number: u64) -> Option<&BlockSeen> {
        let at = (self.blocks).binary_search_by_key(&number, |seen| seen.block);
        at.ok().map(|at| &self.blocks[at])
    }

    /// Replaces the contents of a block.
    pub(crate) fn note(&mut self, now: BlockSeen) {
        match (self.blocks).binary_search_by_key(&now.block, |seen| seen.block) {
            Ok(at) => self.blocks[at] = now,
            Err(at) => self.blocks.insert(at, now),
        }
    }

    /// Returns the blocks that hold pages, each with its mapping.
    pub fn mapped(&self) -> impl Iterator<Item = (&LiveMapping, &BlockSeen)> {
        let mut mappings = self.mappings.iter().peekable();
        self.blocks.iter().filter_map(move |seen| {
            while mappings
                .next_if(|mapping| mapping.blocks().end <= seen.block)
                .is_some()
            {}
            let mapping = *mappings.peek()?;
            mapping
                .blocks()
                .contains(&seen.block)
                .then_some((mapping, seen))
        })
    }

    /// Returns the number of bytes in superpages.
    pub fn huge_bytes(&self) -> u64 {
        self.blocks.iter().filter(|seen| seen.huge).count() as u64 * BLOCK_BYTES
    }
}

/// The state of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineSeen {
    /// The bytes that are available without swapping.
    pub available_bytes: u64,
    /// The free extents of at least a block, counted in blocks.
    pub free_blocks: u64,
    /// The share of the last ten seconds in which a process waited for memory, in hundredths of a
    /// percent. `None` if the kernel does not report it.
    pub pressure: Option<u32>,
}

/// The memory that the limit of a cgroup leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Headroom {
    /// The bytes that may still be charged before the nearest limit.
    pub bytes: u64,
    /// The limit in bytes.
    pub limit: u64,
}

/// The observation of one process in one tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessSeen {
    /// The process.
    pub id: ProcessId,
    /// The facts that are known without reading its memory.
    pub vitals: Vitals,
    /// The memory that its cgroup leaves. `None` without a limit.
    pub headroom: Option<Headroom>,
    /// The memory of the process, if this tick read it.
    pub pages: Option<LivePages>,
}

/// The observation of one tick.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observation {
    /// The time since the start of the governor.
    pub at: Duration,
    /// The state of the machine.
    pub machine: MachineSeen,
    /// The living processes, sorted.
    pub processes: Vec<ProcessSeen>,
}

impl Observation {
    /// Returns true if the process lives.
    pub fn has(&self, id: ProcessId) -> bool {
        let all = &self.processes;
        all.binary_search_by_key(&id, |process| process.id).is_ok()
    }
}
