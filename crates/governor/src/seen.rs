//! What is seen of live processes: plain data, which a journal keeps and a decision depends on alone.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;
use std::time::Duration;

/// Base pages of a block.
pub const PAGES: u32 = 512;
/// Bytes of a base page.
pub const PAGE_BYTES: u64 = 4096;
/// Bytes of a block.
pub const BLOCK_BYTES: u64 = PAGES as u64 * PAGE_BYTES;

/// A process, told apart from a later one that has the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProcessId {
    /// Its number.
    pub pid: u32,
    /// When it began, in ticks of the kernel's clock since the machine did.
    pub started: u64,
}

impl fmt::Display for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pid.fmt(f)
    }
}

/// What it costs next to nothing to know of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vitals {
    /// The name of the program, as the kernel has it.
    pub command: String,
    /// Something that differs after an `exec`.
    pub image: u64,
    /// Page faults since it began, of all its threads.
    pub faults: u64,
    /// Bytes that are resident, as the kernel's quick count has it.
    pub rss_bytes: u64,
}

/// Where a mapping's memory comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Behind {
    /// Private memory that begins as zeroes.
    Anonymous,
    /// Memory that has no file on a disk and can be shared: System V's, POSIX's, memfd, tmpfs.
    Shmem,
    /// A file's pages, and what was written to a private mapping of one.
    File,
    /// What no policy is asked about: devices, hugetlbfs, the kernel's own pages.
    Other,
}

/// A range of addresses with one backing and one set of rights.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapping {
    /// The first byte.
    pub start: u64,
    /// The byte behind the last.
    pub end: u64,
    /// Where its memory comes from.
    pub behind: Behind,
    /// Whether the program may store there.
    pub writable: bool,
    /// Whether addresses and what stands behind them are aligned alike, so that a block of one is a block of the other.
    pub congruent: bool,
    /// What the kernel calls it; empty for memory without a name.
    pub name: String,
    /// The inode of shared memory. 0 for all other memory, and in journals that do not have it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub inode: u64,
    /// The offset in the inode of shared memory at which the mapping starts. 0 for all other
    /// memory.
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

impl Mapping {
    /// The blocks that lie wholly in it, by number: addresses over [`BLOCK_BYTES`].
    pub const fn blocks(&self) -> std::ops::Range<u64> {
        let first = self.start.div_ceil(BLOCK_BYTES);
        let end = self.end / BLOCK_BYTES;
        first..if end < first { first } else { end }
    }

    /// Whether both mappings map the same bytes of the same shared memory at the same addresses.
    /// False if the inode is unknown.
    pub(crate) fn shares_memory_with(&self, other: &Self) -> bool {
        let first = |mapping: &Self| mapping.offset.wrapping_sub(mapping.start);
        self.inode != 0
            && self.inode == other.inode
            && self.name == other.name
            && first(self) == first(other)
    }

    /// The mapping among `all`, which stand in order, that holds a block wholly.
    pub fn of_block(all: &[Self], block: u64) -> Option<&Self> {
        let after = all.partition_point(|mapping| mapping.blocks().end <= block);
        all.get(after)
            .filter(|mapping| mapping.blocks().contains(&block))
    }
}

/// What stands in one block, in base pages. A superpage has none of these but `huge`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockSeen {
    /// Its number: its address over [`BLOCK_BYTES`].
    pub block: u64,
    /// Resident, and not the kernel's page of zeroes.
    pub present: u16,
    /// The kernel's page of zeroes: read, and never stored to.
    pub zero: u16,
    /// In the swap.
    pub swapped: u16,
    /// Whether one translation maps it all.
    pub huge: bool,
}

impl BlockSeen {
    /// A block in which nothing stands.
    pub const fn empty(block: u64) -> Self {
        Self {
            block,
            present: 0,
            zero: 0,
            swapped: 0,
            huge: false,
        }
    }

    /// A block that is a superpage.
    pub const fn superpage(block: u64) -> Self {
        Self {
            huge: true,
            ..Self::empty(block)
        }
    }

    /// Whether nothing stands there.
    pub const fn is_empty(&self) -> bool {
        self.present == 0 && self.zero == 0 && self.swapped == 0 && !self.huge
    }

    /// Bytes of frames that it holds.
    pub const fn resident_bytes(&self) -> u64 {
        if self.huge {
            BLOCK_BYTES
        } else {
            self.present as u64 * PAGE_BYTES
        }
    }

    /// Bytes that it would hold more as a superpage.
    pub const fn bytes_to_add(&self) -> u64 {
        BLOCK_BYTES - self.resident_bytes()
    }
}

/// What the memory of a process looks like.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pages {
    /// Mappings, by address.
    pub mappings: Vec<Mapping>,
    /// Blocks that lie wholly in one mapping and hold something, by number.
    pub blocks: Vec<BlockSeen>,
    /// Bytes that the process holds, of pages that others share its part alone; `None` where that was not looked at, for nobody can share any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<u64>,
    /// Ranges of blocks for which the program asked for superpages (`MADV_HUGEPAGE`), if the kernel
    /// heeds this advice. `None` if the ranges were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Vec<Range<u64>>>,
}

impl Pages {
    /// What stands in a block; `None` where that is nothing.
    pub fn block(&self, number: u64) -> Option<&BlockSeen> {
        let at = (self.blocks).binary_search_by_key(&number, |seen| seen.block);
        at.ok().map(|at| &self.blocks[at])
    }

    /// Notes what stands in a block now.
    pub(crate) fn note(&mut self, now: BlockSeen) {
        match (self.blocks).binary_search_by_key(&now.block, |seen| seen.block) {
            Ok(at) => self.blocks[at] = now,
            Err(at) => self.blocks.insert(at, now),
        }
    }

    /// The blocks that hold something, each with the mapping that it lies in.
    pub fn mapped(&self) -> impl Iterator<Item = (&Mapping, &BlockSeen)> {
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

    /// Bytes in superpages.
    pub fn huge_bytes(&self) -> u64 {
        self.blocks.iter().filter(|seen| seen.huge).count() as u64 * BLOCK_BYTES
    }
}

/// What the machine looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineSeen {
    /// Bytes that could be had without swapping.
    pub available_bytes: u64,
    /// Free extents that a block fits in, in blocks.
    pub free_blocks: u64,
    /// How much of the last ten seconds some process waited for memory, in hundredths of a percent; `None` where the kernel does not tell.
    pub pressure: Option<u32>,
}

/// What the limit of a cgroup leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Headroom {
    /// Bytes that may still be charged before the nearest limit.
    pub bytes: u64,
    /// That limit.
    pub limit: u64,
}

/// What one tick sees of one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessSeen {
    /// Which.
    pub id: ProcessId,
    /// What is known without looking at its memory.
    pub vitals: Vitals,
    /// What its cgroup leaves; `None` without a limit.
    pub headroom: Option<Headroom>,
    /// What its memory looks like, where it was looked at in this tick.
    pub pages: Option<Pages>,
}

/// What one tick sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Since the governor began.
    pub at: Duration,
    /// The machine.
    pub machine: MachineSeen,
    /// The processes that live, in order.
    pub processes: Vec<ProcessSeen>,
}

impl Seen {
    /// Whether that process lives.
    pub fn has(&self, id: ProcessId) -> bool {
        let all = &self.processes;
        all.binary_search_by_key(&id, |process| process.id).is_ok()
    }
}
