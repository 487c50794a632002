//! The recently used translations of a region, and the capacity charges of its candidates.

use super::recent::Element;
use crate::{ChargeCounters, Ladder};

/// The state of a candidate.
#[derive(Clone, Copy, Debug, Default)]
struct UsedNode {
    /// The number of resets before the candidate's last charge.
    resets: u64,
    /// The charges of the candidate since that reset.
    charge: u32,
}

/// The candidates of one region.
#[derive(Clone, Debug, Default)]
pub(super) struct UsedTree {
    /// The candidates, the largest first.
    nodes: Box<[UsedNode]>,
    /// One bit for each base page, and then for each candidate: set if its translation is recent.
    recent: Box<[u64]>,
}

impl UsedTree {
    pub(super) fn new(ladder: &Ladder) -> Self {
        let nodes = ladder.candidates_from(1);
        let bits = ladder.pages(ladder.largest()) as usize + nodes;
        Self {
            nodes: vec![UsedNode::default(); nodes].into(),
            recent: vec![0; bits.div_ceil(64)].into(),
        }
    }

    /// The counters of the region: one for the charges of each candidate.
    pub(super) fn counters(&self) -> ChargeCounters {
        ChargeCounters::of(&self.nodes, 1)
    }

    #[inline]
    fn bit(ladder: &Ladder, element: Element) -> (usize, u64) {
        let bit = match element.level() {
            0 => element.first() as usize,
            level => {
                let pages = ladder.pages(ladder.largest()) as usize;
                pages + ladder.candidate(level, element.first())
            }
        };
        (bit / 64, 1 << (bit % 64))
    }

    #[inline]
    pub(super) fn is_recent(&self, ladder: &Ladder, element: Element) -> bool {
        let (word, bit) = Self::bit(ladder, element);
        self.recent[word] & bit != 0
    }

    #[inline]
    pub(super) fn toggle(&mut self, ladder: &Ladder, element: Element) {
        let (word, bit) = Self::bit(ladder, element);
        self.recent[word] ^= bit;
    }

    /// The number of recent translations.
    pub(super) fn recent(&self) -> usize {
        self.recent
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// Charges the candidate at a place once. Returns its charges since reset number `resets`.
    pub(super) fn charge(&mut self, at: usize, resets: u64) -> u64 {
        let node = &mut self.nodes[at];
        if node.resets != resets {
            *node = UsedNode { resets, charge: 0 };
        }
        node.charge = node.charge.saturating_add(1);
        u64::from(node.charge)
    }

    /// The charges of the candidate at a place since reset number `resets`.
    pub(super) fn charged(&self, at: usize, resets: u64) -> u64 {
        let node = self.nodes[at];
        match node.resets == resets {
            true => u64::from(node.charge),
            false => 0,
        }
    }

    /// Resets the charges of candidates inside pages `start..end` of the region.
    pub(super) fn clear_charges(&mut self, ladder: &Ladder, start: u64, end: u64) {
        for level in 1..=ladder.largest() {
            let order = ladder.order(level);
            for number in start.div_ceil(1 << order)..end >> order {
                self.nodes[ladder.candidate(level, number << order)].charge = 0;
            }
        }
    }
}
