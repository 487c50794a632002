//! Which candidates of a region have something in the TLB: `tlbcount` of Romer 1995, appendix A.
//!
//! The paper's count is 0 where nothing of a candidate is in the TLB, 1 where its own translation
//! or one child is, and 2 where two children are. Here it is the number of children that are, and
//! one more for its own translation, so that it holds for any number of children and for
//! translations that outlive a promotion. The paper's -1, for what lies in a superpage, is not
//! needed: a miss says of which level its translation is.

use crate::{ChargeCounters, Ladder};

/// The bit of a count that is set where the candidate's own translation is in the TLB.
const OWN: u32 = 1 << 31;

/// What is kept of a candidate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Node {
    /// What it was charged.
    pub(super) charge: u32,
    /// How many children have something in the TLB, and [`OWN`].
    count: u32,
}

impl Node {
    /// Whether something of it is in the TLB.
    #[inline]
    const fn is_present(self) -> bool {
        self.count != 0
    }
}

/// The candidates of one region.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    /// One bit for each base page whose translation is in the TLB.
    pages: Box<[u64]>,
    /// The candidates, the largest first.
    pub(super) nodes: Box<[Node]>,
    /// For each that has larger ones and is not updated eagerly: charges that the larger ones have
    /// not got yet.
    pub(super) deferred: Box<[u32]>,
    /// How many charges were deferred since all were last shown.
    pub(super) waited: u32,
}

impl Tree {
    /// A region of which nothing is in the TLB; what candidates from level `eager` on are charged
    /// can be deferred.
    pub(super) fn new(ladder: &Ladder, eager: usize) -> Self {
        let pages = ladder.pages(ladder.largest()).div_ceil(64) as usize;
        let deferred = match eager < ladder.largest() {
            true => ladder.candidates_from(eager),
            false => 0,
        };
        Self {
            pages: vec![0; pages].into(),
            nodes: vec![Node::default(); ladder.candidates_from(1)].into(),
            deferred: vec![0; deferred].into(),
            waited: 0,
        }
    }

    /// Its counters: of charges and of presence for each candidate, of presence for each base
    /// page, and of charges that are deferred.
    pub(super) fn counters(&self) -> ChargeCounters {
        let bits = u64::from(u64::BITS);
        ChargeCounters::of(&self.nodes, 2)
            + ChargeCounters::of(&self.pages, bits)
            + ChargeCounters::of(&self.deferred, 1)
    }

    /// The translation of that level for a page comes into the TLB. Answers the smallest level
    /// above of whose candidate something was there before, or the one behind the largest.
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

    /// The translation of that level for a page leaves the TLB, if it was there.
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

    /// Every translation that overlaps pages `start..end` of the region leaves the TLB.
    pub(super) fn evict_range(&mut self, ladder: &Ladder, start: u64, end: u64) {
        for page in start..end {
            self.pages[page as usize / 64] &= !(1 << (page % 64));
        }
        // Smaller ones are right by the time that larger ones are counted.
        for level in 1..=ladder.largest() {
            let order = ladder.order(level);
            for number in start >> order..end.div_ceil(1 << order) {
                let first = number << order;
                let at = ladder.candidate(level, first);
                self.nodes[at].count = self.children(ladder, level, first);
            }
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

    /// Whether the translation of that level for a page is in the TLB.
    #[inline]
    fn has_own(&self, ladder: &Ladder, level: usize, within: u64) -> bool {
        match level {
            0 => self.pages[within as usize / 64] >> (within % 64) & 1 == 1,
            _ => self.nodes[ladder.candidate(level, within)].count & OWN != 0,
        }
    }

    /// How many children of the candidate of that level that begins there have something in the
    /// TLB.
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

    /// Gives larger candidates what was deferred of smaller ones; those up to level `eager` have
    /// theirs.
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

    /// Asserts what has to hold at any time.
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
        let tree = Tree::new(&ladder, 4);
        assert_eq!((tree.nodes.len(), size_of::<Node>()), (2047, 8));
        assert_eq!((tree.pages.len(), tree.deferred.len()), (2048 / 64, 255));
        // The paper has 3.125 counters for each base page, of four bytes each. Here a base page's
        // counter is a bit.
        let counters = tree.counters();
        assert_eq!(counters.count, 6397);
        assert_eq!(counters.bytes, 4 * (6397 - 2048) + 2048 / 8);
    }
}
