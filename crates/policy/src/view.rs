//! What a policy sees.

use crate::{BackingKind, Coverage, Point, Refusal, Verdict};

/// What a host shows of one block at one decision point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Base pages that are resident, however they came to be.
    pub populated: u32,
    /// Base pages stored to since they became resident.
    pub dirty: u32,
    /// Base pages that the block has room for (512 on x86-64, where superpages have 2 MiB).
    pub pages: u32,
    /// The size of a base page in bytes.
    pub base_bytes: u64,
    /// How long the block has been reserved, in accesses of the whole trace; `None` where it has no reservation.
    pub reservation_age: Option<u64>,
    /// Whether the block is a superpage now.
    pub promoted: bool,
    /// Whether it could be one.
    pub coverage: Coverage,
    /// What stands behind the block; where no one mapping covers it, behind the page in question.
    pub backing: BackingKind,
    /// Whether the program may store there.
    pub writable: bool,
    /// Whether the program advised against superpages for any page of the block.
    pub advised_against: bool,
    /// Whether the program advised superpages for every page of the block.
    pub advised_for: bool,
    /// Base pages that were referenced since the daemon of [`Needs::scan`] last came by, or since they became resident; 0 without one.
    pub referenced: u32,
    /// A moving average of that over the daemon's rounds, in sixteenths of a page, to which the last round gives half the weight.
    pub referenced_on_average: u32,
    /// Base pages that stand in the swap.
    pub swapped: u32,
    /// Base pages whose frame another place of this or another address space uses too.
    pub shared: u32,
    /// Base pages of anonymous memory that are resident and were never stored to: they hold zeroes.
    pub zero: u32,
    /// Whether an extent of frames as large as the block is free, or set aside for it.
    pub extent_free: bool,
    /// Whether free memory is below what the host keeps.
    pub memory_short: bool,
    /// Whether this block is one of those that are to be superpages by [`Needs::foresight`]; `false` where nobody can know.
    pub foreseen: bool,
    /// TLB misses of pages in the block since it last was or ceased to be a superpage. This and the two that follow are
    /// known at [`Point::Miss`], as far as [`Needs::charges`] asks for them, and 0 at any other point.
    pub misses: u64,
    /// Those of them at which another page of the block was in the TLB: as one page it would have been there too.
    pub prefetch_charge: u64,
    /// Misses of pages elsewhere that would have stayed in the TLB if the block had taken one entry of it.
    pub capacity_charge: u64,
    /// Cycles of a walk that finds a base page.
    pub miss_cycles: u64,
    /// Cycles that it takes to make one page of the block by copying all of it.
    pub copy_cycles: u64,
}

impl View {
    /// A block of 512 pages of 4 KiB in which nothing is known to have happened: what a host begins with that fills in what it knows, in
    /// memory that is never short.
    pub const BLANK: Self = Self {
        populated: 0,
        dirty: 0,
        pages: 512,
        base_bytes: 4096,
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

    /// Why a policy that makes superpages of anonymous memory alone leaves the block as it is, whatever becomes of its pages. What rules it out
    /// for good is looked at before what may change.
    pub const fn refusal_by_kind(&self) -> Option<Refusal> {
        match self.backing {
            BackingKind::File => Some(Refusal::FileBacked),
            BackingKind::SharedMemory => Some(Refusal::SharedMemory),
            BackingKind::Anonymous if self.advised_against => Some(Refusal::AdvisedAgainst),
            BackingKind::Anonymous => self.coverage.refusal(),
        }
    }

    /// Whether the block was empty before the fault that is being decided on.
    pub const fn was_empty(&self) -> bool {
        self.populated == 1 && self.swapped == 0
    }

    /// Returns true if at least `percent` percent of its pages are in memory.
    pub const fn has_percent(&self, percent: u64) -> bool {
        self.populated as u64 * 100 >= percent * self.pages as u64
    }

    /// The age of the block's reservation, or what a policy that promotes reservations answers where there is none or
    /// the block is a superpage already: at a fault without a reservation a refusal, otherwise nothing.
    ///
    /// # Errors
    /// The verdict to give.
    pub fn reservation_to_decide_on(&self, point: Point) -> Result<u64, Verdict> {
        match (self.promoted, self.reservation_age, point) {
            (true, ..) => Err(Verdict::Pass),
            (false, Some(age), _) => Ok(age),
            (false, None, Point::Fault) => Err(Verdict::Stay(Refusal::NoReservation)),
            (false, None, _) => Err(Verdict::Pass),
        }
    }
}
