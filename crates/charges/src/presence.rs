//! Presence of candidates in the TLB: `tlbcount` of Romer 1995, appendix A.
//!
//! The paper's count is 0 if no page of a candidate is in the TLB, 1 for its own translation or one
//! child, and 2 for two children. This count is the number of children with a page in the TLB, plus
//! one for the candidate's own translation. So it holds for any number of children, and for
//! translations that outlive a promotion. The paper's -1, for candidates inside a superpage, is not
//! needed: a miss passes the level of its translation.

use crate::{ChargeCounters, Ladder};

/// The bit of a count that is set if the candidate's own translation is in the TLB.
const OWN: u32 = 1 << 31;

/// The state of a candidate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PresenceNode {
    /// The charges of the candidate.
    pub(super) charge: u32,
    /// The number of children with a page in the TLB, and [`OWN`].
    count: u32,
}

impl PresenceNode {
    /// Returns true if a page of the candidate is in the TLB.
    #[inline]
    const fn is_present(self) -> bool {
        self.count != 0
    }
}

/// The candidates of one region.
#[derive(Clone, Debug, Default)]
pub(super) struct PresenceTree {
    /// One bit for each base page whose translation is in the TLB.
    pages: Box<[u64]>,
    /// The candidates, the largest first.
    pub(super) nodes: Box<[PresenceNode]>,
    /// For each candidate with larger ones that is not updated eagerly: charges that the larger
    /// ones have not received yet.
    pub(super) deferred: Box<[u32]>,
    /// The number of charges deferred since all were last applied.
    pub(super) waited: u32,
}

impl PresenceTree {
    /// A region with no page in the TLB. Charges of candidates from level `eager` on can be
    /// deferred.
    pub(super) fn new(ladder: &Ladder, eager: usize) -> Self {
        let pages = ladder.pages(ladder.largest()).div_ceil(64) as usize;
        let deferred = match eager < ladder.largest() {
            true => ladder.candidates_from(eager),
            false => 0,
        };
        Self {
            pages: vec![0; pages].into(),
            nodes: vec![PresenceNode::default(); ladder.candidates_from(1)].into(),
            deferred: vec![0; deferred].into(),
            waited: 0,
        }
    }

    /// The counters of the region: charges and presence of each candidate, presence of each base
    /// page, and deferred charges.
    pub(super) fn counters(&self) -> ChargeCounters {
        let bits = u64::from(u64::BITS);
        ChargeCounters::of(&self.nodes, 2)
            + ChargeCounters::of(&self.pages, bits)
            + ChargeCounters::of(&self.deferred, 1)
    }

    /// Loads the translation of `level` for a page. Returns the smallest level above whose
    /// candidate had a page in the TLB before, or the number of levels.
    #[inline]
    pub(super) fn load(&mut self, ladder: &Ladder, level: usize, within: u64) -> usize {
        let was_present = match level {
            0 => {
                let word = &mut self.pages[within as usize / 64];
                let before = *word;
                *word |= 1 << (within % 64);
                before == *word
            }
            _ => {
                let node = &mut self.nodes[ladder.candidate(level, within)];
                let before = node.is_present();
                node.count |= OWN;
                before
            }
        };
        let mut above = level + 1;
        if was_present {
            return above;
        }
        while above <= ladder.largest() {
            let node = &mut self.nodes[ladder.candidate(above, within)];
            node.count += 1;
            if node.count != 1 {
                break;
            }
            above += 1;
        }
        above
    }

    /// Evicts the translation of `level` for a page, if it was in the TLB.
    #[inline]
    pub(super) fn evict(&mut self, ladder: &Ladder, level: usize, within: u64) {
        if !self.has_own(ladder, level, within) {
            return;
        }
        match level {
            0 => self.pages[within as usize / 64] &= !(1 << (within % 64)),
            _ => {
                let node = &mut self.nodes[ladder.candidate(level, within)];
                node.count &= !OWN;
                if node.is_present() {
                    return;
                }
            }
        }
        for above in level + 1..=ladder.largest() {
            let node = &mut self.nodes[ladder.candidate(above, within)];
            node.count -= 1;
            if node.is_present() {
                return;
            }
        }
    }

    /// Evicts every translation that overlaps pages `start..end` of the region.
    pub(super) fn evict_range(&mut self, ladder: &Ladder, start: u64, end: u64) {
        for page in start..end {
            self.pages[page as usize / 64] &= !(1 << (page % 64));
        }
        // Smaller candidates are correct before larger ones are counted.
        for level in 1..=ladder.largest() {
            let order = ladder.order(level);
            for number in start >> order..end.div_ceil(1 << order) {
                let first = number << order;
                let at = ladder.candidate(level, first);
                self.nodes[at].count = self.children(ladder, level, first);
            }
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

    /// Returns true if the translation of `level` for a page is in the TLB.
    #[inline]
    fn has_own(&self, ladder: &Ladder, level: usize, within: u64) -> bool {
        match level {
            0 => self.pages[within as usize / 64] >> (within % 64) & 1 == 1,
            _ => self.nodes[ladder.candidate(level, within)].count & OWN != 0,
        }
    }

    /// The number of children with a page in the TLB, of the candidate of `level` that begins at
    /// `first`.
    fn children(&self, ladder: &Ladder, level: usize, first: u64) -> u32 {
        let below = level - 1;
        let children = (first..first + ladder.pages(level)).step_by(ladder.pages(below) as usize);
        let present = children.filter(|child| match below {
            0 => self.has_own(ladder, 0, *child),
            _ => self.nodes[ladder.candidate(below, *child)].is_present(),
        });
        present.count() as u32
    }

    /// `tlbcount` of the candidate, or base page, of that level that a page lies in.
    pub(super) fn count(&self, ladder: &Ladder, level: usize, within: u64) -> u32 {
        let children = match level {
            0 => 0,
            _ => self.nodes[ladder.candidate(level, within)].count & !OWN,
        };
        children + u32::from(self.has_own(ladder, level, within))
    }

    /// Applies the deferred charges to larger candidates. Candidates up to level `eager` already
    /// have theirs.
    pub(super) fn settle(&mut self, ladder: &Ladder, eager: usize) {
        if self.waited == 0 {
            return;
        }
        for level in eager..ladder.largest() {
            for at in ladder.candidates(level) {
                let charges = std::mem::take(&mut self.deferred[at]);
                if charges > 0 {
                    let first = ladder.first_within(level, at);
                    let above = ladder.candidate(level + 1, first);
                    let node = &mut self.nodes[above];
                    node.charge = node.charge.saturating_add(charges);
                    if level + 1 < ladder.largest() {
                        self.deferred[above] += charges;
                    }
                }
            }
        }
    }

    /// Asserts the invariants.
    pub(super) fn check(&self, ladder: &Ladder) {
        for level in 1..=ladder.largest() {
            for at in ladder.candidates(level) {
                let first = ladder.first_within(level, at);
                let children = self.children(ladder, level, first);
                assert_eq!(self.nodes[at].count & !OWN, children, "level {level}");
            }
        }
        let deferred: u64 = self
            .deferred
            .iter()
            .map(|charges| u64::from(*charges))
            .sum();
        assert!(
            deferred <= u64::from(self.waited),
            "more deferred than charged"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_8_mib() {
        let ladder = Ladder::new(&Ladder::ROMER).unwrap();
        let tree = PresenceTree::new(&ladder, 4);
        assert_eq!((tree.nodes.len(), size_of::<PresenceNode>()), (2047, 8));
        assert_eq!((tree.pages.len(), tree.deferred.len()), (2048 / 64, 255));
        // The paper has 3.125 counters for each base page, of four bytes each. Here a base page's
        // counter is a bit.
        let counters = tree.counters();
        assert_eq!(counters.count, 6397);
        assert_eq!(counters.bytes, 4 * (6397 - 2048) + 2048 / 8);
    }
}
