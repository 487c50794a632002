//! Capacity charges, by the order of last use: Romer 1995, section 6.1.
//!
//! # The rule
//!
//! Let `newer` translations have been used since the missing one, and let `c` of them lie in a
//! candidate that does not hold the missing page. Had the candidate been a superpage from the
//! start, these `c` would be one, and `newer - c + 1` translations would have been used since. The
//! TLB holds its `entries` newest translations. So the reference would have hit if this number were
//! less than `entries`: if `c >= newer + 2 - entries`. The pseudo-code of appendix A counts only
//! translations in the TLB, and would not make the charge of the paper's own example.
//!
//! If `newer` is less than `entries`, the reference missed for another reason, and nothing is
//! charged: a promotion or a shootdown emptied some entries, or the set was too small. The first
//! reference to a page is not charged either. A page is forgotten when no candidate could have kept
//! it: after `entries` less one plus the pages of the largest candidate. The removal of some
//! translations does not bring it back.

use super::count::Count;
use super::held::HeldCounts;
use super::recent::{Element, RecentTranslations};
use super::regions::RegionMap;
use super::used::UsedTree;
use crate::{Candidate, ChargeCounters, Ladder, PageSpan};
use broadleaf_units::Asid;

/// Capacity charges: the misses that each candidate would have prevented because its pages took
/// several entries of a TLB.
///
/// The caller reports each reference that hits ([`touch`](Self::touch)) and each that misses
/// ([`miss`](Self::miss)). It may omit repeated references to the last page. A superpage counts as
/// one translation, and the caller passes the level of each page's translation. Translations larger
/// than the largest candidate are ignored, so results are exact only without them.
///
/// Each region of a referenced page, the pages of a largest candidate, takes memory: 20 bytes and
/// two bits for each base page.
///
/// The paper's example (figure 2), with three entries:
///
/// ```
/// use broadleaf_units::Asid;
/// use broadleaf_charges::{CapacityCharges, Ladder};
/// let tag = Asid::default();
/// let mut charges = CapacityCharges::new(Ladder::new(&[0, 1, 2, 3, 4]).unwrap(), 3);
/// for page in [8, 1, 7, 6, 5, 0] {
///     charges.miss(tag, page, 0, |_, _| unreachable!("never referenced before"));
/// }
/// let mut charged = Vec::new();
/// charges.miss(tag, 1, 0, |candidate, charge| {
///     charged.push((candidate.first, candidate.level, charge));
/// });
/// assert_eq!(charged, [(4, 2, 1)]);
/// ```
#[derive(Clone, Debug)]
pub struct CapacityCharges {
    ladder: Ladder,
    entries: usize,
    /// The number of resets.
    resets: u64,
    regions: RegionMap<UsedTree>,
    recent: RecentTranslations,
    /// The last reported translation, if nothing was removed since.
    newest: Option<(Asid, u64, usize)>,
    held: HeldCounts,
    count: Count,
}

impl CapacityCharges {
    /// The charges of an empty, fully associative TLB of `entries` entries with exact LRU
    /// replacement.
    pub fn new(ladder: Ladder, entries: usize) -> Self {
        // The last translation that the largest candidate could have kept.
        let kept = entries.saturating_add(ladder.pages(ladder.largest()) as usize - 1);
        Self {
            ladder,
            entries,
            resets: 0,
            regions: RegionMap::new(),
            recent: RecentTranslations::new(kept),
            newest: None,
            held: HeldCounts::default(),
            count: Count::new(&ladder),
        }
    }

    /// The sizes of candidates.
    pub const fn ladder(&self) -> &Ladder {
        &self.ladder
    }

    #[inline]
    fn element(&mut self, tag: Asid, page: u64, level: usize) -> Element {
        let ladder = &self.ladder;
        let region = (self.regions).obtain(tag, ladder.region(page), || UsedTree::new(ladder));
        Element::new(region, ladder.first_of(level, ladder.within(page)), level)
    }

    /// Notes a use that is not charged: a hit, or a load without a miss. The translation becomes
    /// the newest.
    #[inline]
    pub fn touch(&mut self, tag: Asid, page: u64, level: usize) {
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

    /// Notes a miss whose translation of `level` is about to be loaded. Charges each candidate that
    /// does not hold the page and would have prevented the miss. The translation then is the
    /// newest.
    ///
    /// `visit` receives the charged candidates, smaller ones first, with their charges since the
    /// last [`reset`](Self::reset). They may be of any space.
    pub fn miss(&mut self, tag: Asid, page: u64, level: usize, visit: impl FnMut(Candidate, u64)) {
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

    /// Charges the candidates that hold `wanted` or more of the `newer` newest translations, except
    /// those of `missing`.
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

    /// Notes a promotion: the superpage's translation replaces those of its pages, and is the
    /// newest. A caller that then loads the missing page's translation reports this with
    /// [`touch`](Self::touch).
    pub fn promote(&mut self, candidate: Candidate) {
        self.demote(candidate);
        self.touch(candidate.tag, candidate.first, candidate.level);
    }

    /// Notes a demotion: the translations of the superpage and of its pages are removed.
    pub fn demote(&mut self, candidate: Candidate) {
        if let Some(span) = PageSpan::of(&self.ladder, candidate) {
            self.remove(candidate.tag, span, false);
        }
    }

    /// Notes a shootdown of every translation of a space that overlaps `pages` base pages from
    /// `start` on. Charges stay.
    pub fn shoot_down(&mut self, tag: Asid, start: u64, pages: u64) {
        self.remove(tag, PageSpan::new(start, pages), false);
    }

    /// Notes that `pages` base pages from `start` on are unmapped. Their translations and the
    /// charges of candidates inside are removed.
    pub fn forget(&mut self, tag: Asid, start: u64, pages: u64) {
        self.remove(tag, PageSpan::new(start, pages), true);
    }

    fn remove(&mut self, tag: Asid, span: PageSpan, with_charges: bool) {
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

    /// Resets all charges, as ONLINE does at each promotion (section 7.2). Takes constant time.
    pub const fn reset(&mut self) {
        self.resets += 1;
    }

    /// The charges of a candidate since the last [`reset`](Self::reset).
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
