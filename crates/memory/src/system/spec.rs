//! The configuration of a system: the size of memory, and costs.

use crate::frames::{Allocator, Layout};
use broadleaf_policy::NOMINAL_RATE;
use broadleaf_units::{PageSize, PageSizes};
use std::sync::Arc;

/// The configuration of a system.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The size of a base page.
    pub base: PageSize,
    /// The page sizes, as orders relative to the base page.
    pub sizes: PageSizes,
    /// The frames, and the frames that are occupied before the trace begins.
    pub start: Arc<Layout>,
    /// The number of base pages that the swap has room for.
    pub swap: u64,
    /// The place of file pages before their first use: on the disk, or in memory.
    pub files: Files,
    /// The cost of each operation.
    pub costs: Costs,
    /// The rule that chooses frames.
    pub allocator: &'static Allocator,
    /// The share of memory, from 0 to 1, for superpages of an allocator that divides memory.
    pub pools: f64,
    /// The accesses that the program makes per second: the time scale of daemons, whose periods are
    /// given for [`NOMINAL_RATE`].
    pub rate: u64,
}

impl Spec {
    /// The number of accesses in a period.
    pub(crate) fn accesses_in(&self, period: u64) -> u64 {
        let accesses = u128::from(period) * u128::from(self.rate) / u128::from(NOMINAL_RATE);
        u64::try_from(accesses).unwrap_or(u64::MAX).max(1)
    }
}

/// The location of file pages before their first use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Files {
    /// On the disk.
    #[default]
    OnDisk,
    /// In the memory of the kernel, which is not counted: only what a program maps takes frames.
    InMemory,
}

/// The cost of each operation, in processor cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// A fault without what is listed below.
    pub fault: u64,
    /// Zeroing a byte, times 1024.
    pub zero_kib: u64,
    /// Copying a byte, times 1024.
    pub copy_kib: u64,
    /// A page read from the disk or the swap, or written there.
    pub disk: u64,
    /// The fixed cost of a promotion, without zeroing, copying and reading.
    pub promotion: u64,
    /// The additional cost of a promotion for each base page: hardware may need each page's entry
    /// written again.
    pub promotion_page: u64,
    /// The cost of a demotion.
    pub demotion: u64,
    /// Moving a page out of the way, beside copying it.
    pub migration: u64,
    /// Finding a page that is gathered (Talluri 1995, section 6.2.2, as the five costs below).
    pub find: u64,
    /// Locking and unlocking such a page.
    pub lock: u64,
    /// Freeing the frame that such a page leaves.
    pub free: u64,
    /// Removing one mapping of such a page from a page table.
    pub invalidate: u64,
    /// Removing one translation of such a page from the TLBs.
    pub shootdown: u64,
    /// Allocating the extent of a gather.
    pub extent: u64,
    /// Hashing a byte, times 1024, if a policy finds changed pages by digests.
    pub digest_kib: u64,
    /// Bringing prefetch charges up to date at a TLB miss, where a policy asks for them.
    pub prefetch: u64,
    /// Bringing capacity charges up to date at a TLB miss, if a policy asks for them.
    pub capacity: u64,
}

impl Default for Costs {
    /// Round figures for a processor of 3 GHz with a solid-state disk. A minor fault takes 0.5
    /// microseconds without zeroing. Memory is zeroed at 10, copied at 5 and hashed at 1.5 GB/s.
    /// Reading a page from the disk takes 100 microseconds, and demoting a superpage 6
    /// (docs/book/src/memory.md). A shootdown interrupts another core. Charges cost as much as for
    /// Romer (1995, section 8.1).
    fn default() -> Self {
        Self {
            fault: 1500,
            zero_kib: 300,
            copy_kib: 600,
            disk: 300_000,
            promotion: 3000,
            promotion_page: 0,
            demotion: 18_000,
            migration: 3000,
            find: 100,
            lock: 100,
            free: 100,
            invalidate: 50,
            shootdown: 2000,
            extent: 1000,
            digest_kib: 2000,
            prefetch: 100,
            capacity: 2470,
        }
    }
}

impl Costs {
    pub(crate) fn zero(&self, base: PageSize, pages: u64) -> u64 {
        pages * (base.bytes() >> 10) * self.zero_kib
    }

    /// The cycles of a promotion of `pages` base pages, without zeroing, copying and reading.
    pub const fn promotion(&self, pages: u64) -> u64 {
        self.promotion + pages * self.promotion_page
    }

    pub(crate) fn digest(&self, base: PageSize, pages: u64) -> u64 {
        pages * (base.bytes() >> 10) * self.digest_kib
    }

    /// The cycles of gathering a page with `aliases` mappings, without copying it.
    pub const fn gathered(&self, aliases: u64) -> u64 {
        self.find + self.lock + self.free + aliases * (self.invalidate + self.shootdown)
    }

    /// The cycles of copying `pages` base pages.
    pub const fn copy(&self, base: PageSize, pages: u64) -> u64 {
        pages * (base.bytes() >> 10) * self.copy_kib
    }
}
