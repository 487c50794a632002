//! Prefetch charges, without a scan of the TLB: Romer 1995, appendix A.

use super::presence::PresenceTree;
use super::regions::RegionMap;
use crate::{Candidate, ChargeCounters, Ladder, PageSpan};
use broadleaf_units::Asid;

/// Batching of the charges of large candidates. Romer 1995, appendix A, charges candidates up to 64
/// KiB at once. Larger ones get their charges once a promotion is possible, after as many misses as
/// the threshold of the smallest of them: 1600.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batching {
    /// The largest level whose charges are brought up to date at each miss; 1 at least.
    pub eager: usize,
    /// The number of deferred charges in a region after which its larger candidates get theirs, at
    /// least 1. Known charges lag by fewer than this number.
    pub deferral: u32,
}

/// Prefetch charges: the misses that each candidate would have prevented because another of its
/// pages was in the TLB.
///
/// The caller reports each translation that the TLB loads ([`miss`](Self::miss),
/// [`load`](Self::load)) and loses. Repeated reports count once. A page inside and a level name a
/// translation. Translations larger than the largest candidate are ignored.
///
/// Each region that was ever in the TLB, the pages of a largest candidate, takes memory. A base
/// page takes 4 bytes for charges, 4 for counts and a bit. Batching takes another half byte on
/// Romer's ladder, which defers the charges of an eighth as many candidates as base pages. The
/// paper has 3.125 counters for a base page: one for charges, two for counts and an eighth.
///
/// ```
/// use broadleaf_units::Asid;
/// use broadleaf_charges::{Ladder, PrefetchCharges};
/// let tag = Asid::default();
/// let mut charges = PrefetchCharges::new(Ladder::new(&[0, 1, 2]).unwrap());
/// charges.miss(tag, 5, 0, |_, _| unreachable!("nothing is in the TLB"));
/// let mut charged = Vec::new();
/// charges.miss(tag, 6, 0, |candidate, charge| {
///     charged.push((candidate.first, candidate.level, charge));
/// });
/// assert_eq!(charged, [(4, 2, 1)]);
/// ```
#[derive(Clone, Debug)]
pub struct PrefetchCharges {
    ladder: Ladder,
    /// The largest level whose candidates are always up to date.
    eager: usize,
    deferral: u32,
    regions: RegionMap<PresenceTree>,
}

impl PrefetchCharges {
    /// The charges of an empty TLB, always up to date.
    pub fn new(ladder: Ladder) -> Self {
        Self {
            ladder,
            eager: ladder.largest(),
            deferral: 1,
            regions: RegionMap::new(),
        }
    }

    /// The charges of an empty TLB. Charges of large candidates are deferred.
    pub fn batched(ladder: Ladder, batching: Batching) -> Self {
        Self {
            eager: batching.eager.clamp(1, ladder.largest()),
            deferral: batching.deferral.max(1),
            ..Self::new(ladder)
        }
    }

    /// The sizes of candidates.
    pub const fn ladder(&self) -> &Ladder {
        &self.ladder
    }

    /// Notes a miss whose translation of `level` is about to be loaded. Charges each larger
    /// candidate around the page with another page in the TLB.
    ///
    /// `visit` receives the candidates whose charges changed, smallest first, with all their
    /// charges. With [`Batching`], deferred charges of a region may fall due. Then `visit` also
    /// receives every larger charged candidate of the region, smallest first.
    #[inline]
    pub fn miss(
        &mut self,
        tag: Asid,
        page: u64,
        level: usize,
        mut visit: impl FnMut(Candidate, u64),
    ) {
        let ladder = &self.ladder;
        let largest = ladder.largest();
        if level > largest {
            return;
        }
        let eager = self.eager;
        let at = (self.regions).obtain(tag, ladder.region(page), || {
            PresenceTree::new(ladder, eager)
        });
        let tree = self.regions.at(at);
        let within = ladder.within(page);
        let first = tree.load(ladder, level, within);
        if first > largest {
            return;
        }
        let last = eager.max(first);
        for level in first..=last {
            let node = &mut tree.nodes[ladder.candidate(level, within)];
            node.charge = node.charge.saturating_add(1);
            let charge = u64::from(node.charge);
            let first = ladder.first_of(level, page);
            visit(Candidate { tag, first, level }, charge);
        }
        if last < largest {
            tree.deferred[ladder.candidate(last, within)] += 1;
            tree.waited += 1;
            if tree.waited >= self.deferral {
                self.catch_up(tag, at, visit);
            }
        }
    }

    /// Applies the deferred charges of a region.
    #[cold]
    fn catch_up(&mut self, tag: Asid, at: usize, mut visit: impl FnMut(Candidate, u64)) {
        let (_, region) = self.regions.home(at);
        let start = region << self.ladder.order(self.ladder.largest());
        let tree = self.regions.at(at);
        tree.settle(&self.ladder, self.eager);
        tree.waited = 0;
        for level in self.eager + 1..=self.ladder.largest() {
            for candidate in self.ladder.candidates(level) {
                let charge = u64::from(tree.nodes[candidate].charge);
                if charge > 0 {
                    let first = start + self.ladder.first_within(level, candidate);
                    visit(Candidate { tag, first, level }, charge);
                }
            }
        }
    }

    /// Notes a load without a miss to charge.
    pub fn load(&mut self, tag: Asid, page: u64, level: usize) {
        let (ladder, eager) = (&self.ladder, self.eager);
        if level <= ladder.largest() {
            let at = (self.regions).obtain(tag, ladder.region(page), || {
                PresenceTree::new(ladder, eager)
            });
            (self.regions.at(at)).load(ladder, level, ladder.within(page));
        }
    }

    /// Notes an eviction or the shootdown of one translation.
    #[inline]
    pub fn evict(&mut self, tag: Asid, page: u64, level: usize) {
        if level <= self.ladder.largest()
            && let Some(at) = self.regions.find(tag, self.ladder.region(page))
        {
            let within = self.ladder.within(page);
            (self.regions.at(at)).evict(&self.ladder, level, within);
        }
    }

    /// Notes a promotion: the translations of the candidate's pages leave the TLB, and its own is
    /// loaded. The charges of the candidate and of the candidates inside are spent.
    ///
    /// The charges of larger candidates stay. A caller that reduces them by this candidate's charge
    /// calls [`relieve`](Self::relieve) first.
    pub fn promote(&mut self, candidate: Candidate) {
        if let Some(span) = PageSpan::of(&self.ladder, candidate) {
            self.remove(candidate.tag, span, true);
            self.load(candidate.tag, candidate.first, candidate.level);
        }
    }

    /// Notes a demotion: the translations of the superpage and of its pages leave the TLB.
    pub fn demote(&mut self, candidate: Candidate) {
        if let Some(span) = PageSpan::of(&self.ladder, candidate) {
            self.remove(candidate.tag, span, false);
        }
    }

    /// Reduces the charges of larger candidates around this one by `amount`, down to 0. The
    /// promotion made these misses good (section 6.1: its own charge; section 7.3: the threshold).
    pub fn relieve(&mut self, candidate: Candidate, amount: u64) {
        let Candidate { tag, first, level } = candidate;
        let Some(at) = self.regions.find(tag, self.ladder.region(first)) else {
            return;
        };
        let tree = self.regions.at(at);
        tree.settle(&self.ladder, self.eager);
        let amount = u32::try_from(amount).unwrap_or(u32::MAX);
        for above in level + 1..=self.ladder.largest() {
            let holding = self.ladder.candidate(above, self.ladder.within(first));
            let charge = &mut tree.nodes[holding].charge;
            *charge = charge.saturating_sub(amount);
        }
    }

    /// Notes a shootdown of every translation of a space that overlaps `pages` base pages from
    /// `start` on. Charges stay.
    pub fn shoot_down(&mut self, tag: Asid, start: u64, pages: u64) {
        self.remove(tag, PageSpan::new(start, pages), false);
    }

    /// Notes that `pages` base pages from `start` on are unmapped. Their translations leave the
    /// TLB, and the charges of candidates inside are forgotten.
    pub fn forget(&mut self, tag: Asid, start: u64, pages: u64) {
        self.remove(tag, PageSpan::new(start, pages), true);
    }

    fn remove(&mut self, tag: Asid, span: PageSpan, with_charges: bool) {
        let Some((first, last)) = span.regions(&self.ladder) else {
            return;
        };
        let all: Vec<(u64, usize)> = self.regions.among(tag, first, last).collect();
        for (region, at) in all {
            let (start, end) = span.within(&self.ladder, region);
            if with_charges && end - start == self.ladder.pages(self.ladder.largest()) {
                self.regions.remove(tag, region);
                continue;
            }
            let tree = self.regions.at(at);
            tree.evict_range(&self.ladder, start, end);
            if with_charges {
                // Their deferred charges belong to other candidates.
                tree.settle(&self.ladder, self.eager);
                tree.clear_charges(&self.ladder, start, end);
            }
        }
    }

    /// The charges of a candidate, without deferred ones.
    pub fn charge(&self, candidate: Candidate) -> u64 {
        let Candidate { tag, first, level } = candidate;
        match self.regions.get(tag, self.ladder.region(first)) {
            Some(tree) if (1..=self.ladder.largest()).contains(&level) => {
                let at = self.ladder.candidate(level, self.ladder.within(first));
                u64::from(tree.nodes[at].charge)
            }
            _ => 0,
        }
    }

    /// `tlbcount` of a candidate, or of a base page at level 0: the number of its children with a
    /// page in the TLB, plus one if its own translation is there.
    pub fn tlb_count(&self, candidate: Candidate) -> u32 {
        let Candidate { tag, first, level } = candidate;
        match self.regions.get(tag, self.ladder.region(first)) {
            Some(tree) if level <= self.ladder.largest() => {
                tree.count(&self.ladder, level, self.ladder.within(first))
            }
            _ => 0,
        }
    }

    /// The counters of all regions in memory.
    pub fn counters(&self) -> ChargeCounters {
        (self.regions.all()).map(|(_, tree)| tree.counters()).sum()
    }

    /// Asserts the invariants.
    ///
    /// # Panics
    /// Panics if an invariant is broken.
    pub fn check(&self) {
        self.regions.check();
        for (_, tree) in self.regions.all() {
            tree.check(&self.ladder);
            assert!(tree.waited < self.deferral, "charges are overdue");
        }
    }
}
