//! Mechanisms of a host that an experiment can turn off.

/// Mechanisms that a host leaves out, so that an experiment shows the worth of each. By default
/// none is left out.
///
/// The mechanisms are Navarro's (2002), without those that the policy itself decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Without {
    /// Preempt the reservation with the latest allocation instead of the oldest.
    pub least_recent_victim: bool,
    /// Never take a free extent for a larger page from a reservation.
    pub preemption: bool,
    /// Take the victim from the list of the largest free pieces, instead of the smallest sufficient
    /// pieces.
    pub smallest_list: bool,
    /// Dissolve the whole reservation at preemption: no part stays reserved.
    pub partial_preemption: bool,
    /// Do not merge free extents in the buddy allocator.
    pub coalescing: bool,
    /// Discard the file page of a frame when the frame becomes free.
    pub cache_hits: bool,
    /// Reserve the smallest superpage size only.
    pub large_reservations: bool,
    /// Keep the pages of a closed file on the active list.
    pub closing: bool,
    /// Do not take back pages for an extent after a failed allocation.
    pub clearing: bool,
}
