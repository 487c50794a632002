//! Skipping of lookups by place.

use super::{Recency, RecencyPlace, RecencyPlaces};

/// Skips lookups, one after the other.
#[derive(Debug)]
pub struct LeavingOut<'a> {
    clock: u64,
    left_out: RecencyPlaces,
    recency: &'a mut Recency,
}

impl LeavingOut<'_> {
    /// Skips a lookup of the page at a place, which must be [skippable](Recency::is_skippable).
    #[inline]
    pub const fn leave_out(&mut self, place: RecencyPlace) {
        self.clock += 1;
        self.recency.when[place.index()] = self.clock;
        self.left_out.insert(place);
    }
}

impl Drop for LeavingOut<'_> {
    fn drop(&mut self) {
        self.recency.clock = self.clock;
        self.recency.left_out = self.left_out;
    }
}

impl Recency {
    /// Begins to skip lookups of skippable pages.
    pub const fn leaving_out(&mut self) -> LeavingOut<'_> {
        LeavingOut {
            clock: self.clock,
            left_out: self.left_out,
            recency: self,
        }
    }
}
