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

    /// The unusable free space index of an order j: the share of the free memory that no extent of that order can come from, from 0 (all
    /// of it can) to 1 (none can, or none is free):
    ///
    /// ```text
    /// (F - sum over i from j to the greatest order of 2^i * k_i) / F
    /// ```
    ///
    /// where F is how many frames are free and k_i how many free extents of order i there are (`unusable_free_index` in `mm/vmstat.c` of
    /// Linux, by Gorman 2010, which prints it as `unusable_index` and counts no free memory as 1 as well). Orders above the greatest have
    /// 1.
    pub fn unusable(&self, order: u8) -> f64 {
        if self.free_frames == 0 {
            return 1.0;
        }
        let usable = match self.possible.get(usize::from(order)) {
            Some(possible) => possible << order,
            None => 0,
        };
        (self.free_frames - usable) as f64 / self.free_frames as f64
    }
}
