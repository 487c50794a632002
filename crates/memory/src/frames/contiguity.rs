//! The contiguity of free memory, by order of extent.

use super::Buddy;

/// The contiguity of a buddy allocator's free memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contiguity {
    /// The number of free frames.
    pub free_frames: u64,
    /// The number of free extents of exactly each order, from order 0 on.
    pub extents: Vec<u64>,
    /// The number of extents of each order that could be allocated, if nothing else were.
    pub possible: Vec<u64>,
}

impl Contiguity {
    /// The present contiguity of a buddy allocator.
    pub fn of(buddy: &Buddy) -> Self {
        let orders = 0..=buddy.most_order();
        Self {
            free_frames: buddy.free_frames(),
            extents: orders.clone().map(|it| buddy.free_extents(it)).collect(),
            possible: orders.map(|it| buddy.possible(it)).collect(),
        }
    }
}
