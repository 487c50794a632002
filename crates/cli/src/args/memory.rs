//! The arguments of commands that replay a trace in memory that may run short.

use std::path::PathBuf;

use broadleaf_model::{Allocator, Costs, Files};
use clap::{Args, ValueEnum};

use broadleaf_study::costs::costs;
use broadleaf_study::failure::Failure;
use broadleaf_study::memory::{Amount, MemoryRequest, allocator, part, rate, swap};

/// The size of memory, and its state at the start.
#[derive(Debug, Args)]
#[command(next_help_heading = "Memory")]
pub(crate) struct MemoryArgs {
    /// Model memory down to the frame: SIZE (512M, 2G), PERCENT% of the program's footprint, or
    /// `unlimited`
    ///
    /// Each policy then has a memory of its own, with reservations, a page daemon and swap, and
    /// results have figures of that memory. The footprint is the peak memory of the program if all
    /// pages are base pages. Without this option, memory never runs short, and comparing is much
    /// faster.
    #[arg(
        long,
        value_name = "SIZE|PERCENT%|unlimited",
        allow_negative_numbers = true
    )]
    pub(crate) memory: Option<Amount>,

    /// Run the program of TRACE before, in the same memory; may be given several times
    ///
    /// This program begins with the memory that the earlier programs leave behind: files that they
    /// read, pages in the way, processes that have not ended. No figure counts the earlier
    /// programs. A percentage of --memory refers to the trace itself. Without --memory, memory is
    /// without limit.
    #[arg(long, value_name = "TRACE")]
    pub(crate) after: Vec<PathBuf>,

    /// Occupy this share of memory before the program begins
    ///
    /// Occupied memory is grouped by mobility in blocks of 2 MiB, as Linux groups it in pageblocks.
    /// Without --fragmentation, partly occupied blocks are half full: --occupied 5% leaves 90% of
    /// the blocks free.
    #[arg(long, value_name = "PART", default_value = "0%", value_parser = part)]
    pub(crate) occupied: f64,

    /// Put this share of free memory in free blocks of 2 MiB before the program begins: 100% is not
    /// fragmented, 0% leaves no such block
    ///
    /// The rest of free memory lies in smaller pieces, in partly occupied blocks. Without
    /// --occupied, one page in each broken block is occupied.
    #[arg(long, value_name = "SHARE", value_parser = part)]
    pub(crate) fragmentation: Option<f64>,

    /// Begin with the free extents of each migrate type of a recorded /proc/pagetypeinfo, which
    /// root can read
    ///
    /// Without --memory, memory has the size of all pageblocks that FILE counts. With --buddyinfo
    /// of the same machine too, the free extents of each size are those of that file.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["occupied", "fragmentation", "movable"]
    )]
    pub(crate) pagetypeinfo: Option<PathBuf>,

    /// Begin with the free extents of a recorded /proc/buddyinfo
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["occupied", "fragmentation"]
    )]
    pub(crate) buddyinfo: Option<PathBuf>,

    /// Set the share of occupied memory that the kernel can move
    #[arg(
        long,
        value_name = "PART",
        default_value = "50%",
        value_parser = part
    )]
    pub(crate) movable: f64,

    /// Set the seed of the random places of occupied memory
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Set the size of the swap: SIZE, PERCENT% of memory (0% is none), or `unlimited`
    #[arg(long, value_name = "SIZE", value_parser = swap)]
    pub(crate) swap: Option<Amount>,

    /// Include the pages that instructions are fetched from, for traces recorded with
    /// --instructions
    #[arg(long)]
    pub(crate) code: bool,

    /// Set where pages of files are before their first use
    #[arg(long, value_name = "WHERE", default_value = "disk")]
    pub(crate) files: FilesAt,

    /// Set the rule that chooses frames: buddy, first-fit, best-fit, worst-fit or pools
    ///
    /// `broadleaf list allocators` lists them.
    #[arg(
        long,
        value_name = "NAME",
        default_value = "buddy",
        value_parser = allocator
    )]
    pub(crate) allocator: &'static Allocator,

    /// Set the share of memory for superpages under --allocator pools [default: 50%]
    ///
    /// Each superpage size of the policy gets an equal part of it, and base pages get the rest.
    #[arg(long, value_name = "SHARE", value_parser = part)]
    pub(crate) pools: Option<f64>,

    /// Set how many accesses the program makes per second: 1e9/s, 2e8
    ///
    /// Daemons such as khugepaged have a period in seconds. The rate converts the period to
    /// accesses. Divide the accesses that `broadleaf info` shows by the seconds that the program
    /// runs without a recorder. A note names each daemon that never ran because the trace is
    /// shorter than its period.
    #[arg(
        long,
        value_name = "N/s",
        default_value = "1e9/s",
        value_parser = rate
    )]
    pub(crate) rate: u64,

    /// Override event costs, in cycles: disk=30000,fault=900 [default:
    /// fault=1500, zero-kib=300, copy-kib=600, disk=300000, promotion=3000, promotion-page=0,
    /// demotion=18000, migration=3000, find=100, lock=100, free=100, invalidate=50, shootdown=2000,
    /// extent=1000, digest-kib=2000, prefetch=100, capacity=2470]
    ///
    /// fault: a page fault; zero-kib and copy-kib: zeroing or copying one KiB; disk: reading or
    /// writing one page; promotion: a promotion, without zeroing, copying and reading;
    /// promotion-page: each base page of a promotion; demotion: a demotion; migration: moving a
    /// page out of the way, without copying it; find, lock and free: finding a page, locking and
    /// unlocking it, and freeing its frame, of each page that is gathered; invalidate and
    /// shootdown: each mapping of such a page; extent: allocating the extent of a gather;
    /// digest-kib: hashing one KiB; prefetch and capacity: charging a TLB miss, for policies that
    /// do so. The defaults are round figures for a processor of 3 GHz with a solid-state disk.
    #[arg(long, value_name = "NAME=CYCLES,...", value_parser = costs)]
    pub(crate) costs: Option<Costs>,
}

impl MemoryArgs {
    /// The request that a study takes.
    pub(crate) fn request(&self) -> Result<MemoryRequest, Failure> {
        let request = MemoryRequest {
            memory: self.memory,
            after: self.after.clone(),
            occupied: self.occupied,
            fragmentation: self.fragmentation,
            pagetypeinfo: self.pagetypeinfo.clone(),
            buddyinfo: self.buddyinfo.clone(),
            movable: self.movable,
            seed: self.seed,
            swap: self.swap,
            code: self.code,
            files: self.files.into(),
            allocator: self.allocator,
            pools: self.pools,
            rate: self.rate,
            costs: self.costs,
            implied_by: None,
        };
        request.sized()
    }
}

/// The place of pages of files before their first use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FilesAt {
    /// On the disk, which the first use reads
    Disk,
    /// In memory that is not counted, as after an earlier run
    Memory,
}

impl From<FilesAt> for Files {
    fn from(at: FilesAt) -> Self {
        match at {
            FilesAt::Disk => Self::OnDisk,
            FilesAt::Memory => Self::InMemory,
        }
    }
}
