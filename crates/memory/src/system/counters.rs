//! The counters of a system.

use crate::Counters;

/// The counters of a system so far. Pages are base pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SystemCounters {
    /// References to pages that were not resident.
    pub page_faults: u64,
    /// Stores to resident, protected pages: pages shared with another process, or the page of
    /// zeroes.
    pub write_faults: u64,
    /// Pieces that became a superpage.
    pub promotions: u64,
    /// Superpages that were broken into the next smaller size.
    pub demotions: u64,
    /// Pages that a promotion zeroed and that went without having been referenced.
    pub zeroed_and_gone: u64,
    /// Pages that a promotion read from a file and that went without having been referenced.
    pub read_and_gone: u64,
    /// Pages that are mapped, each as often as it is.
    pub resident: u64,
    /// The maximum of `resident`.
    pub peak_resident: u64,
    /// Pages inside superpages.
    pub in_superpages: u64,
    /// The most that there ever were.
    pub peak_in_superpages: u64,
    /// Reservations that were made.
    pub reservations: u64,
    /// Reservations that were broken because memory was wanted elsewhere.
    pub reservations_broken: u64,
    /// Superpages that a recorded kernel broke with their reservation, and that had pages which no
    /// reference had used.
    pub part_filled_broken: u64,
    /// Extents that were wanted and could not be had.
    pub extents_refused: u64,
    /// Pages that got another colour of their owner's share, as no frame of their colour was free.
    pub other_colours: u64,
    /// Pages that got any colour, as no frame of their owner's share was free.
    pub foreign_colours: u64,
    /// Scattered superpages that were made.
    pub scattered_superpages: u64,
    /// Pages written to the swap.
    pub swapped_out: u64,
    /// Pages read back from the swap.
    pub swapped_in: u64,
    /// Pages read from files.
    pub file_reads: u64,
    /// Of these, pages around one that faulted, which the program did not wait for.
    pub read_around: u64,
    /// Pages written back to files.
    pub file_writes: u64,
    /// Pages of files that left memory unchanged.
    pub dropped: u64,
    /// Pages that were found in the cache after they had left.
    pub cache_hits: u64,
    /// Pages that were copied, for any reason.
    pub copied: u64,
    /// Blocks whose pages were copied to their places, and stayed base pages.
    pub repaired: u64,
    /// Of the copied pages, those that were moved out of the way of an extent.
    pub migrated: u64,
    /// Pages that were zeroed while a program waited.
    pub zeroed: u64,
    /// Pages that were zeroed ahead of time, and used.
    pub zeroed_ahead: u64,
    /// Cycles that the program waited in faults.
    pub fault_cycles: u64,
    /// The longest fault.
    pub worst_fault_cycles: u64,
    /// Cycles of promotions, in faults and in daemons: copying, zeroing, reading, and the fixed
    /// cost of each.
    pub promotion_cycles: u64,
    /// Of these, cycles of promotions that copied, or had the price of that.
    pub copy_cycles: u64,
    /// Turns that the policy's daemon took.
    pub daemon_turns: u64,
    /// Cycles that daemons took beside the program.
    pub daemon_cycles: u64,
}

impl SystemCounters {
    /// Nothing counted yet, where there is as much in memory as here.
    pub(super) fn begun(&self) -> Self {
        Self {
            resident: self.resident,
            peak_resident: self.resident,
            in_superpages: self.in_superpages,
            peak_in_superpages: self.in_superpages,
            ..Self::default()
        }
    }

    /// The counters that every kind of memory has.
    pub const fn common(&self) -> Counters {
        Counters {
            page_faults: self.page_faults,
            promotions: self.promotions,
            demotions: self.demotions,
            zeroed_and_gone: self.zeroed_and_gone,
            read_and_gone: self.read_and_gone,
            resident: self.resident,
            peak_resident: self.peak_resident,
        }
    }
}
