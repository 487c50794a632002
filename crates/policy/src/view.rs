//! The view of a block that a policy decides on.

use crate::{Coverage, Point, Refusal, Verdict};
use broadleaf_units::BackingKind;

/// The state of one block at one decision point, filled in by a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// The number of resident base pages, including filled pages.
    pub populated: u32,
    /// The number of base pages stored to since they became resident.
    pub dirty: u32,
    /// The number of base pages of the block (512 on x86-64, for superpages of 2 MiB).
    pub pages: u32,
    /// The size of a base page in bytes.
    pub base_bytes: u64,
    /// The place of the block among four neighbours: 0 to 3. The first is at a multiple of four
    /// blocks.
    pub place: u8,
    /// The time since the block was reserved, in accesses of the whole trace; `None` without a
    /// reservation.
    pub reservation_age: Option<u64>,
    /// True if the block is a superpage.
    pub promoted: bool,
    /// The coverage of the block by mappings.
    pub coverage: Coverage,
    /// The kind of memory of the block; without a single covering mapping, that of the page in
    /// question.
    pub backing: BackingKind,
    /// True if the program may store to the block.
    pub writable: bool,
    /// True if the program advised against superpages for any page of the block.
    pub advised_against: bool,
    /// True if the program advised superpages for every page of the block.
    pub advised_for: bool,
    /// The number of base pages referenced since the last round of the daemon of [`Needs::scan`],
    /// or since they became resident. 0 without a daemon.
    pub referenced: u32,
    /// The moving average of referenced pages over the daemon's rounds, in sixteenths of a page.
    /// The last round has half the weight.
    pub referenced_on_average: u32,
    /// The number of base pages in the swap.
    pub swapped: u32,
    /// The number of base pages whose frame another mapping of any address space uses too.
    pub shared: u32,
    /// The number of resident base pages of anonymous memory without a store. They hold zeroes.
    pub zero: u32,
    /// True if an extent of the block's size is free, or reserved for the block.
    pub extent_free: bool,
    /// True if free memory is below the host's reserve.
    pub memory_short: bool,
    /// True if [`Needs::foresight`] promotes this block; `false` for hosts without foresight.
    pub foreseen: bool,
    /// TLB misses of pages in the block since the block last was or ceased to be a superpage. The
    /// host fills in this field and the two following fields at [`Point::Miss`] if
    /// [`Needs::charges`] requests them; otherwise they are 0.
    pub misses: u64,
    /// Misses of this block at which another page of the block was in the TLB. A superpage would
    /// have prevented these misses.
    pub prefetch_charge: u64,
    /// Misses of other pages that would have stayed in the TLB if the block had taken one entry.
    pub capacity_charge: u64,
    /// The cycles of a walk that finds a base page.
    pub miss_cycles: u64,
    /// The cycles of copying the whole block into one page.
    pub copy_cycles: u64,
}

impl View {
    /// The view of an untouched block of 512 pages of 4 KiB, in memory that is never short. A host
    /// begins with this view and fills in its values.
    pub const BLANK: Self = Self {
        populated: 0,
        dirty: 0,
        pages: 512,
        base_bytes: 4096,
        place: 0,
        reservation_age: None,
        promoted: false,
        coverage: Coverage::Covered,
        backing: BackingKind::Anonymous,
        writable: true,
        advised_against: false,
        advised_for: false,
        referenced: 0,
        referenced_on_average: 0,
        swapped: 0,
        shared: 0,
        zero: 0,
        extent_free: true,
        memory_short: false,
        foreseen: false,
        misses: 0,
        prefetch_charge: 0,
        capacity_charge: 0,
        miss_cycles: 0,
        copy_cycles: 0,
    };

    /// The size of the block in bytes.
    pub const fn bytes(&self) -> u64 {
        self.pages as u64 * self.base_bytes
    }

    /// Returns the refusal of a policy for anonymous memory, for reasons other than the state of
    /// the pages. Permanent reasons come before temporary ones.
    pub const fn refusal_by_kind(&self) -> Option<Refusal> {
        match self.backing {
            BackingKind::File => Some(Refusal::FileBacked),
            BackingKind::SharedMemory => Some(Refusal::SharedMemory),
            BackingKind::Anonymous if self.advised_against => Some(Refusal::AdvisedAgainst),
            BackingKind::Anonymous => self.coverage.refusal(),
        }
    }

    /// Returns true if the block was empty before this fault.
    pub const fn was_empty(&self) -> bool {
        self.populated == 1 && self.swapped == 0
    }

    /// Returns true if at least `percent` percent of the block's pages are in memory.
    pub const fn has_percent(&self, percent: u64) -> bool {
        self.populated as u64 * 100 >= percent * self.pages as u64
    }

    /// Returns the age of the block's reservation.
    ///
    /// # Errors
    /// Returns the verdict of a policy that promotes reservations, if the block is a superpage or
    /// has no reservation: a refusal at a fault without a reservation, and [`Verdict::Pass`]
    /// otherwise.
    pub fn reservation_to_decide_on(&self, point: Point) -> Result<u64, Verdict> {
        match (self.promoted, self.reservation_age, point) {
            (true, ..) => Err(Verdict::Pass),
            (false, Some(age), _) => Ok(age),
            (false, None, Point::Fault) => Err(Verdict::Stay(Refusal::NoReservation)),
            (false, None, _) => Err(Verdict::Pass),
        }
    }
}
