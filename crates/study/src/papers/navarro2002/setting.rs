//! The common setting of all experiments: the machine, its costs, and the size of memory.

use broadleaf_model::{Costs, Files, MemoryLimits};

use crate::papers::Scale;

/// The machine of the paper.
pub(super) const MACHINE: &str = "alpha21264";
/// Base pages only.
pub(super) const BASE: &str = "4k";
/// Bytes of a base page.
pub(super) const PAGE: u64 = 8 << 10;
pub(super) const MIB: u64 = 1 << 20;

/// The cycles of reading a file page in order, at 20 MB/s and 500 MHz; chosen.
pub(super) const IN_ORDER: u64 = 200_000;
/// The cycles of reading a random page from disk, in 5 ms; chosen.
pub(super) const ANYWHERE: u64 = 2_500_000;

/// The cycles of writing one base page's entry in the page table, which this hardware needs at each
/// promotion; chosen.
pub(super) const ENTRY: u64 = 100;
/// The cycles of a promotion, without writing those entries, and of a demotion; chosen.
pub(super) const PROMOTION: u64 = 1000;
pub(super) const DEMOTION: u64 = 3000;

/// The largest slowdown, in percent, that counts as none; chosen. The slides have one decimal, and
/// "no slowdown" for `cmp`.
pub(super) const NO_SLOWDOWN: f64 = 1.0;
/// The slides' slowdown of a program that uses one byte of each page, in percent: their largest.
pub(super) const ONE_BYTE: f64 = 8.9;

/// Costs of events at 500 MHz, all chosen. A fault takes as many cycles as on other machines. A
/// promotion has a fixed cost, and a cost for each base page's entry. A demotion costs as much.
/// Memory is zeroed at 500, copied at 250 and hashed at 50 MB/s.
fn costs(disk: u64) -> Costs {
    Costs {
        fault: 1500,
        zero_kib: 1000,
        copy_kib: 2000,
        disk,
        promotion: PROMOTION,
        promotion_page: ENTRY,
        demotion: DEMOTION,
        migration: 3000,
        digest_kib: 10_000,
        ..Costs::default()
    }
}

/// Memory of `bytes` bytes, with files on a disk.
pub(super) fn memory(bytes: u64, disk: u64) -> MemoryLimits {
    MemoryLimits {
        files: Files::OnDisk,
        costs: costs(disk),
        ..MemoryLimits::new(bytes)
    }
}

/// The 512 MB of the paper, with files in memory: no resource runs short.
pub(super) fn plenty() -> MemoryLimits {
    MemoryLimits {
        files: Files::InMemory,
        ..memory(512 * MIB, IN_ORDER)
    }
}

/// The memory that a web server fragments: the paper's 512 MB, or less, with superpages that are
/// smaller by the same factor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Small {
    /// The size of memory.
    pub(super) memory: u64,
    /// The size that the seeker of contiguity requests.
    pub(super) extent: u64,
    /// The name.
    pub(super) extent_name: &'static str,
}

impl Small {
    pub(super) const fn at(scale: Scale) -> Self {
        match scale {
            Scale::Tiny => Self {
                memory: 32 * MIB,
                extent: 512 << 10,
                extent_name: "512k",
            },
            Scale::Quick => Self {
                memory: 64 * MIB,
                extent: 512 << 10,
                extent_name: "512k",
            },
            Scale::Full => Self {
                memory: 512 * MIB,
                extent: 4 * MIB,
                extent_name: "4m",
            },
        }
    }
}
