//! What was used of late of a region, and what its candidates were charged because of it.

use super::recent::Element;
use crate::{ChargeCounters, Ladder};

/// What is kept of a candidate.
#[derive(Clone, Copy, Debug, Default)]
struct Node {
    /// After how many resets it was charged last.
    resets: u64,
    /// What it was charged since.
    charge: u32,
}

/// The candidates of one region.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    /// The candidates, the largest first.
    nodes: Box<[Node]>,
    /// One bit for each base page, and then for each candidate, whose translation is among the
    /// recent ones.
    recent: Box<[u64]>,
}

impl Tree {
    pub(super) fn new(ladder: &Ladder) -> Self {
        let nodes = ladder.candidates_from(1);
        let bits = ladder.pages(ladder.largest()) as usize + nodes;
        Self {
            nodes: vec![Node::default(); nodes].into(),
            recent: vec![0; bits.div_ceil(64)].into(),
        }
    }

    /// Its counters: one of charges for each candidate.
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

    /// How many translations are noted as recent.
    pub(super) fn recent(&self) -> usize {
        self.recent
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// Charges the candidate that stands there once more. Answers what it was charged in all since
    /// the last of so many resets.
    pub(super) fn charge(&mut self, at: usize, resets: u64) -> u64 {
        let node = &mut self.nodes[at];
        if node.resets != resets {
            *node = Node { resets, charge: 0 };
        }
        node.charge = node.charge.saturating_add(1);
        u64::from(node.charge)
    }

    /// What the candidate that stands there was charged since the last of so many resets.
    pub(super) fn charged(&self, at: usize, resets: u64) -> u64 {
        let node = self.nodes[at];
        match node.resets == resets {
            true => u64::from(node.charge),
            false => 0,
        }
    }

    /// Sets what the candidates that lie in pages `start..end` of the region were charged to
    /// nothing.
    pub(super) fn clear_charges(&mut self, ladder: &Ladder, start: u64, end: u64) {
        for level in 1..=ladder.largest() {
            let order = ladder.order(level);
            for number in start.div_ceil(1 << order)..end >> order {
                self.nodes[ladder.candidate(level, number << order)].charge = 0;
            }
        }
    }
}
