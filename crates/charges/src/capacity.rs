//! Capacity charges, by the order of last use: Romer 1995, section 6.1.
//!
//! # The rule
//!
//! Let `newer` translations have been used since the missing one was, and let `c` of them lie in a
//! candidate that does not hold the missing page. Had the candidate been a superpage from the
//! start, they would be one, and `newer - c + 1` translations would have been used since. The TLB's
//! `entries` newest are those that it holds, so the reference would have hit where that is less
//! than `entries`: where `c >= newer + 2 - entries`. The pseudo-code of appendix A looks at what
//! the TLB holds alone, and would not charge what the paper's own example charges.
//!
//! Where `newer` is less than `entries`, the reference missed for another reason (a promotion or a
//! shootdown emptied some entries, or the set was too small), and nothing is charged. Neither is
//! the first reference to a page. A page is forgotten as soon as so many translations were used
//! since that no candidate could have kept it, `entries` less one and as many as the largest has
//! pages: the removal of some of them does not bring it back.

use super::count::Count;
use super::held::Held;
use super::recent::{Element, Recent};
use super::regions::Regions;
use super::used::Tree;
use crate::{Candidate, ChargeCounters, Ladder, Span};
use broadleaf_units::SpaceTag;

/// How many misses each candidate would have prevented because the pages of it took several entries
/// of a TLB.
///
/// The host tells of each reference that hits ([`touch`](Self::touch)) and of each that misses
/// ([`miss`](Self::miss)); a reference to what was used last need not be told. Superpages count as
/// one translation; the host says of which level the one of a page is. One that is larger than the
/// largest candidate is of no concern, so that results are right only where there is none.
///
/// Memory is taken for each region, the pages of a largest candidate, of which something was
/// referenced: 20 bytes for each base page and two bits.
///
/// The paper's example (figure 2), with three entries:
///
/// ```
/// use broadleaf_units::SpaceTag;
/// use broadleaf_charges::{CapacityCharges, Ladder};
/// let tag = SpaceTag::default();
/// let mut charges = CapacityCharges::new(Ladder::new(&[0, 1, 2, 3, 4]).unwrap(), 3);
/// for page in [8, 1, 7, 6, 5, 0] {
///     charges.miss(tag, page, 0, |_, _| unreachable!("never referenced before"));
/// }
/// let mut charged = Vec::new();
/// charges.miss(tag, 1, 0, |candidate, charge| charged.push((candidate.first, candidate.level, charge)));
/// assert_eq!(charged, [(4, 2, 1)]);
/// ```
#[derive(Clone, Debug)]
pub struct CapacityCharges {
    ladder: Ladder,
    entries: usize,
    /// How often all charges were set to nothing.
    resets: u64,
    regions: Regions<Tree>,
    recent: Recent,
    /// What was told last, where nothing was removed since.
    newest: Option<(SpaceTag, u64, usize)>,
    held: Held,
    count: Count,
}

impl CapacityCharges {
    /// Of an empty TLB of so many entries, fully associative and with exact LRU replacement.
    pub fn new(ladder: Ladder, entries: usize) -> Self {
        // The last that the largest candidate could have kept.
        let kept = entries.saturating_add(ladder.pages(ladder.largest()) as usize - 1);
        Self {
            ladder,
            entries,
            resets: 0,
            regions: Regions::new(),
            recent: Recent::new(kept),
            newest: None,
            held: Held::default(),
            count: Count::new(&ladder),
        }
    }

    /// The sizes of candidates.
    pub const fn ladder(&self) -> &Ladder {
        &self.ladder
    }

    #[inline]
    fn element(&mut self, tag: SpaceTag, page: u64, level: usize) -> Element {
        let ladder = &self.ladder;
        let region = (self.regions).obtain(tag, ladder.region(page), || Tree::new(ladder));
        Element::new(region, ladder.first_of(level, ladder.within(page)), level)
    }

    /// A translation is used that need not be charged to anybody: a reference hit, or the
    /// translation was loaded. It becomes the newest.
    #[inline]
    pub fn touch(&mut self, tag: SpaceTag, page: u64, level: usize) {
        if self.newest == Some((tag, page, level)) || level > self.ladder.largest() {
            return;
        }
        self.newest = Some((tag, page, level));
        let element = self.element(tag, page, level);
        if self.recent.newest() == Some(element) {
            return;
        }
        match self.newer_than(element) {
            Some(newer) => self.recent.renew(newer),
            None => self.push(element),
        }
    }

    /// A reference to a page missed, and its translation, of that level, is about to be loaded.
    /// Each candidate that does not hold it and would have prevented the miss is charged. The
    /// translation then is the newest.
    ///
    /// `visit` is shown the candidates that are charged, smaller ones first, and what they were
    /// charged in all since the last [`reset`](Self::reset). They may be of any space.
    pub fn miss(
        &mut self,
        tag: SpaceTag,
        page: u64,
        level: usize,
        visit: impl FnMut(Candidate, u64),
    ) {
        if level > self.ladder.largest() {
            return;
        }
        self.newest = Some((tag, page, level));
        let element = self.element(tag, page, level);
        match self.newer_than(element) {
            Some(newer) => {
                if newer >= self.entries {
                    self.charge_those_that_hold(newer + 2 - self.entries, newer, element, visit);
                }
                self.recent.renew(newer);
            }
            None => self.push(element),
        }
    }

    #[inline]
    fn newer_than(&mut self, element: Element) -> Option<usize> {
        let tree = self.regions.at(element.region());
        match tree.is_recent(&self.ladder, element) {
            true => self.recent.newer_than(element),
            false => None,
        }
    }

    fn push(&mut self, element: Element) {
        let (regions, ladder) = (&mut self.regions, &self.ladder);
        regions.at(element.region()).toggle(ladder, element);
        self.held.add(element.region());
        for old in self.recent.push(element).into_iter().flatten() {
            regions.at(old.region()).toggle(ladder, old);
            self.held.remove(old.region());
        }
    }

    /// Charges the candidates, those of `missing` left out, that hold `wanted` or more of the
    /// `newer` newest translations.
    fn charge_those_that_hold(
        &mut self,
        wanted: usize,
        newer: usize,
        missing: Element,
        mut visit: impl FnMut(Candidate, u64),
    ) {
        if self.held.most() < wanted {
            return;
        }
        let (ladder, regions, resets) = (&self.ladder, &mut self.regions, self.resets);
        let newest = self.recent.last(newer);
        (self.count).those_that_hold(ladder, wanted, newest, missing, |level, region, at| {
            let (tag, number) = regions.home(region);
            let charge = regions.at(region).charge(at, resets);
            let start = number << ladder.order(ladder.largest());
            let first = start + ladder.first_within(level, at);
            visit(Candidate { tag, first, level }, charge);
        });
    }

    /// A candidate becomes a superpage: its translation stands for those of what it holds, and is
    /// the newest. A host that then loads the missing page's tells so with [`touch`](Self::touch).
    pub fn promote(&mut self, candidate: Candidate) {
        self.demote(candidate);
        self.touch(candidate.tag, candidate.first, candidate.level);
    }

    /// A superpage becomes base pages again: its translation goes, and those of what it holds if
    /// there are any.
    pub fn demote(&mut self, candidate: Candidate) {
        if let Some(span) = Span::of(&self.ladder, candidate) {
            self.remove(candidate.tag, span, false);
        }
    }

    /// Every translation of a space that overlaps `pages` base pages from `start` on goes. Charges
    /// stay.
    pub fn shoot_down(&mut self, tag: SpaceTag, start: u64, pages: u64) {
        self.remove(tag, Span::new(start, pages), false);
    }

    /// `pages` base pages from `start` on are no more: their translations go, and what candidates
    /// that lie in them were charged is forgotten.
    pub fn forget(&mut self, tag: SpaceTag, start: u64, pages: u64) {
        self.remove(tag, Span::new(start, pages), true);
    }

    fn remove(&mut self, tag: SpaceTag, span: Span, with_charges: bool) {
        let Some((first, last)) = span.regions(&self.ladder) else {
            return;
        };
        let all: Vec<(u64, usize)> = self.regions.among(tag, first, last).collect();
        if all.is_empty() {
            return;
        }
        self.newest = None;
        let (regions, held, ladder) = (&mut self.regions, &mut self.held, &self.ladder);
        for old in self.recent.trim() {
            regions.at(old.region()).toggle(ladder, old);
            held.remove(old.region());
        }
        self.recent.retain(|element| {
            let (owner, region) = regions.home(element.region());
            let (start, end) = span.within(ladder, region);
            let overlaps = owner == tag
                && (first..=last).contains(&region)
                && element.first() < end
                && element.first() + ladder.pages(element.level()) > start;
            if overlaps {
                regions.at(element.region()).toggle(ladder, *element);
                held.remove(element.region());
            }
            !overlaps
        });
        for (region, at) in all.into_iter().filter(|_| with_charges) {
            let (start, end) = span.within(ladder, region);
            if end - start == ladder.pages(ladder.largest()) {
                regions.remove(tag, region);
                continue;
            }
            regions.at(at).clear_charges(ladder, start, end);
        }
    }

    /// All charges are set to nothing, as ONLINE does at each promotion (section 7.2). Takes no
    /// time.
    pub const fn reset(&mut self) {
        self.resets += 1;
    }

    /// What a candidate was charged since the last [`reset`](Self::reset).
    pub fn charge(&self, candidate: Candidate) -> u64 {
        let Candidate { tag, first, level } = candidate;
        match self.regions.get(tag, self.ladder.region(first)) {
            Some(tree) if (1..=self.ladder.largest()).contains(&level) => {
                let at = self.ladder.candidate(level, self.ladder.within(first));
                tree.charged(at, self.resets)
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
        let recent = self.recent.last(usize::MAX);
        let mut sorted: Vec<(usize, u64, usize)> = recent
            .iter()
            .map(|element| (element.region(), element.first(), element.level()))
            .collect();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), self.recent.len(), "a translation twice");
        let mut noted = 0;
        for (_, tree) in self.regions.all() {
            noted += tree.recent();
        }
        assert_eq!(noted, self.recent.len(), "noted as recent and not there");
        for (region, tree) in self.regions.all() {
            let own = recent.iter().filter(|element| element.region() == region);
            assert!(
                own.into_iter()
                    .all(|element| tree.is_recent(&self.ladder, *element))
            );
        }
        self.held
            .check(recent.iter().map(|element| element.region()));
        self.count.check();
    }
}
