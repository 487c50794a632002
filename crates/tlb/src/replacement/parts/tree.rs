//! Trees of bits over the ways of a set, each bit pointing away from the last use below it.

/// The number of translations used last that a tree keeps: one more than its levels.
///
/// A use points the bits above its way away from it. The bits lead to the way again after uses on
/// the other side of each bit. The last of these uses went to as many translations as there are
/// levels. All are still there, since nothing was used beside them later. So the translation that
/// makes room is none of them, and the one that takes its place is another again.
pub(in crate::replacement) fn tree_keeps(ways: usize) -> Option<usize> {
    Some(ways.checked_ilog2()? as usize + 1)
}

/// A binary tree of bits for each set. The number of leaves is a power of two.
#[derive(Clone, Debug)]
pub(in crate::replacement) struct PlruTrees {
    leaves: usize,
    /// Set after set. Node `n` has the children `2n` and `2n + 1`; the root is node 1. A bit is
    /// true if it points to the second child.
    bits: Vec<bool>,
}

impl PlruTrees {
    /// Trees whose bits point to the first leaf.
    pub(in crate::replacement) fn new(sets: usize, leaves: usize) -> Self {
        Self {
            leaves,
            bits: vec![false; sets * leaves],
        }
    }

    /// Lets all bits above a leaf point away from it.
    pub(in crate::replacement) fn turn_away(&mut self, set: usize, leaf: usize) {
        let bits = &mut self.bits[set * self.leaves..];
        let mut node = self.leaves + leaf;
        while node > 1 {
            bits[node / 2] = node.is_multiple_of(2);
            node /= 2;
        }
    }

    /// The leaf that the bits point to. A bit that points to no free leaf is not followed.
    pub(in crate::replacement) fn pointed(
        &self,
        set: usize,
        free: impl Fn(usize) -> bool,
    ) -> usize {
        let bits = &self.bits[set * self.leaves..];
        let (mut node, mut below) = (1, self.leaves);
        while below > 1 {
            below /= 2;
            let child = 2 * node + usize::from(bits[node]);
            let first = child * below - self.leaves;
            let is_free = (first..first + below).any(&free);
            node = if is_free { child } else { child ^ 1 };
        }
        node - self.leaves
    }
}
