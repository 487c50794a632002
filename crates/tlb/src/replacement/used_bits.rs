//! The used bits of bit-PLRU.

use super::RuleShape;

/// A used bit for each way, set after set. The last bit of a set to be set clears the others.
#[derive(Clone, Debug)]
pub(super) struct UsedBits {
    ways: usize,
    bits: Vec<bool>,
}

impl UsedBits {
    pub(super) fn new(shape: &RuleShape<'_>) -> Self {
        Self {
            ways: shape.ways,
            bits: vec![false; shape.sets * shape.ways],
        }
    }

    /// Sets the bit of a way.
    pub(super) fn set(&mut self, set: usize, way: usize) {
        let bits = &mut self.bits[set * self.ways..][..self.ways];
        bits[way] = true;
        if bits.iter().all(|bit| *bit) {
            bits.fill(false);
            bits[way] = true;
        }
    }

    /// The bits of a set.
    pub(super) fn of(&self, set: usize) -> &[bool] {
        &self.bits[set * self.ways..][..self.ways]
    }
}
