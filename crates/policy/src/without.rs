//! Mechanisms of a host that an experiment can turn off.

/// Mechanisms that a host leaves out, so that an experiment shows the worth of each. By default
/// none is left out.
///
/// The mechanisms are Navarro's (2002), without those that the policy itself decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Without {
    /// The victim is the reservation whose last allocation is the latest, instead of the oldest.
    pub least_recent_victim: bool,
    /// A free extent for a larger page is never taken from a reservation.
    pub preemption: bool,
    /// The victim comes from the list of the largest free pieces, instead of the smallest that
    /// suffice.
    pub smallest_list: bool,
    /// Preemption dissolves the whole reservation: no part stays reserved.
    pub partial_preemption: bool,
    /// The buddy allocator does not merge free extents.
    pub coalescing: bool,
    /// A frame that becomes free forgets the page of a file that it held.
    pub cache_hits: bool,
    /// Reservations have the smallest size of superpages.
    pub large_reservations: bool,
    /// Pages of a file stay on the active list when the file is closed.
    pub closing: bool,
    /// The page daemon takes no page back for an extent that was asked for in vain.
    pub clearing: bool,
}
