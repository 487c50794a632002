//! How much of the free memory is in pieces that are large enough.

use super::Buddy;

/// What a buddy allocator's free extents are worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contiguity {
    /// How many frames are free.
    pub free_frames: u64,
    /// How many free extents of exactly each order there are, from order 0 on.
    pub extents: Vec<u64>,
    /// How many extents of each order could be given out, if nothing else were.
    pub possible: Vec<u64>,
}

impl Contiguity {
    /// That of a buddy allocator now.
    pub fn of(buddy: &Buddy) -> Self {
        let orders = 0..=buddy.most_order();
        Self {
            free_frames: buddy.free_frames(),
            extents: orders.clone().map(|it| buddy.free_extents(it)).collect(),
            possible: orders.map(|it| buddy.possible(it)).collect(),
        }
    }
}
