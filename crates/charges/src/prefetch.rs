//! Prefetch charges, without a scan of the TLB: Romer 1995, appendix A.

use super::presence::Tree;
use super::regions::Regions;
use crate::{Candidate, ChargeCounters, Ladder, Span};
use broadleaf_units::SpaceTag;

/// How charges of large candidates are put off (Romer 1995, appendix A: up to 64 KiB at once, and
/// larger ones once a promotion is possible, which takes as many misses as the smallest of them has
/// for a threshold: 1600).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batching {
    /// The largest level whose charges are brought up to date at each miss; 1 at least.
    pub eager: usize,
    /// After how many charges that were put off in a region its larger candidates get theirs; 1 at
    /// least. What is known of one is never behind by as many.
    pub deferral: u32,
}

/// How many misses each candidate would have prevented because a page of it was in the TLB when
/// another one missed.
///
/// The host tells of each translation that the TLB takes in ([`miss`](Self::miss),
/// [`load`](Self::load)) and loses; what is told twice is told once. A translation is named by a
/// page that it covers and its level. One that is larger than the largest candidate is of no
/// concern.
///
/// Memory is taken for each region, the pages of a largest candidate, of which something was ever
/// in the TLB: for each base page of it 4 bytes for charges, 4 for counts and a bit. Batching takes
/// another half byte on Romer's ladder, where charges of an eighth as many candidates as there are
/// base pages are put off. The paper has 3.125 counters a base page: one for charges, two for
/// counts and an eighth.
///
/// ```
/// use broadleaf_units::SpaceTag;
/// use broadleaf_charges::{Ladder, PrefetchCharges};
/// let tag = SpaceTag::default();
/// let mut charges = PrefetchCharges::new(Ladder::new(&[0, 1, 2]).unwrap());
/// charges.miss(tag, 5, 0, |_, _| unreachable!("nothing is in the TLB"));
/// let mut charged = Vec::new();
/// charges.miss(tag, 6, 0, |candidate, charge| charged.push((candidate.first, candidate.level, charge)));
/// assert_eq!(charged, [(4, 2, 1)]);
/// ```
#[derive(Clone, Debug)]
pub struct PrefetchCharges {
    ladder: Ladder,
    /// Candidates up to that level are up to date at any time.
    eager: usize,
    deferral: u32,
    regions: Regions<Tree>,
}

impl PrefetchCharges {
    /// Of an empty TLB. All charges are up to date at any time.
    pub fn new(ladder: Ladder) -> Self {
        Self {
            ladder,
            eager: ladder.largest(),
            deferral: 1,
            regions: Regions::new(),
        }
    }

    /// Of an empty TLB. Charges of large candidates are put off.
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

    /// A reference to a page missed, and its translation, of that level, is about to be loaded.
    /// Each candidate that holds it, is larger, and of which something was in the TLB before is
    /// charged.
    ///
    /// `visit` is shown the candidates whose charges changed, smallest first, and what they were
    /// charged in all. With [`Batching`], where charges that were put off fall due, it is then
    /// shown every larger candidate of the region that was charged anything, again smallest first.
    #[inline]
    pub fn miss(
        &mut self,
        tag: SpaceTag,
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
        let at = (self.regions).obtain(tag, ladder.region(page), || Tree::new(ladder, eager));
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

    /// Charges that were put off in a region fall due.
    #[cold]
    fn catch_up(&mut self, tag: SpaceTag, at: usize, mut visit: impl FnMut(Candidate, u64)) {
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

    /// A translation comes into the TLB without a miss that would be charged.
    pub fn load(&mut self, tag: SpaceTag, page: u64, level: usize) {
        let (ladder, eager) = (&self.ladder, self.eager);
        if level <= ladder.largest() {
            let at = (self.regions).obtain(tag, ladder.region(page), || Tree::new(ladder, eager));
            (self.regions.at(at)).load(ladder, level, ladder.within(page));
        }
    }

    /// A translation leaves the TLB: another one took its place, or it alone was shot down.
    #[inline]
    pub fn evict(&mut self, tag: SpaceTag, page: u64, level: usize) {
        if level <= self.ladder.largest()
            && let Some(at) = self.regions.find(tag, self.ladder.region(page))
        {
            let within = self.ladder.within(page);
            (self.regions.at(at)).evict(&self.ladder, level, within);
        }
    }

    /// A candidate becomes a superpage: the translations of what it holds leave the TLB, and its
    /// own comes in. What it and they were charged is spent.
    ///
    /// What larger candidates were charged stays as it is: see [`relieve`](Self::relieve), which a
    /// host that wants the charge of this one for it calls first.
    pub fn promote(&mut self, candidate: Candidate) {
        if let Some(span) = Span::of(&self.ladder, candidate) {
            self.remove(candidate.tag, span, true);
            self.load(candidate.tag, candidate.first, candidate.level);
        }
    }

    /// A superpage becomes base pages again: its translation leaves the TLB, and those of what it
    /// holds if there are any.
    pub fn demote(&mut self, candidate: Candidate) {
        if let Some(span) = Span::of(&self.ladder, candidate) {
            self.remove(candidate.tag, span, false);
        }
    }

    /// The candidates that hold this one were charged so much less, down to nothing: what promoting
    /// it has made good (section 6.1: its own charge; section 7.3: the threshold).
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

    /// Every translation of a space that overlaps `pages` base pages from `start` on leaves the
    /// TLB. Charges stay.
    pub fn shoot_down(&mut self, tag: SpaceTag, start: u64, pages: u64) {
        self.remove(tag, Span::new(start, pages), false);
    }

    /// `pages` base pages from `start` on are no more: their translations leave the TLB, and what
    /// candidates that lie in them were charged is forgotten.
    pub fn forget(&mut self, tag: SpaceTag, start: u64, pages: u64) {
        self.remove(tag, Span::new(start, pages), true);
    }

    fn remove(&mut self, tag: SpaceTag, span: Span, with_charges: bool) {
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
                // What was put off of them is due to others.
                tree.settle(&self.ladder, self.eager);
                tree.clear_charges(&self.ladder, start, end);
            }
        }
    }

    /// What a candidate was charged, as far as it was brought up to date.
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

    /// `tlbcount` of a candidate, or of a base page at level 0: how many of its children have
    /// something in the TLB, and one more where its own translation is there.
    pub fn tlb_count(&self, candidate: Candidate) -> u32 {
        let Candidate { tag, first, level } = candidate;
        match self.regions.get(tag, self.ladder.region(first)) {
            Some(tree) if level <= self.ladder.largest() => {
                tree.count(&self.ladder, level, self.ladder.within(first))
            }
            _ => 0,
        }
    }

    /// The counters of all regions that memory is taken for.
    pub fn counters(&self) -> ChargeCounters {
        (self.regions.all()).map(|(_, tree)| tree.counters()).sum()
    }

    /// Asserts what has to hold at any time.
    ///
    /// # Panics
    /// Where it does not hold.
    pub fn check(&self) {
        self.regions.check();
        for (_, tree) in self.regions.all() {
            tree.check(&self.ladder);
            assert!(tree.waited < self.deferral, "charges are overdue");
        }
    }
}
