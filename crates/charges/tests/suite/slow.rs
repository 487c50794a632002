//! A naive TLB with its host, and the random steps of a host.

use broadleaf_charges::{Candidate, Ladder};
use broadleaf_units::SpaceTag;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// A random step.
#[derive(Clone, Debug)]
pub(crate) enum HostStep {
    /// A page is referenced.
    Refer(SpaceTag, u64),
    /// The candidate of that level that holds a page becomes a superpage, and those that hold it
    /// are relieved of that much.
    Promote(SpaceTag, u64, usize, u64),
    /// The candidate becomes a superpage, and the TLB keeps its entries.
    Map(SpaceTag, u64, usize),
    /// The superpage that holds a page becomes base pages.
    Demote(SpaceTag, u64),
    /// An entry of the TLB is lost.
    Evict(prop::sample::Index),
    /// Translations of a range are shot down.
    ShootDown(SpaceTag, u64, u64),
    /// A range is unmapped.
    Forget(SpaceTag, u64, u64),
    /// A space ends.
    ForgetSpace(SpaceTag),
    /// Capacity charges are set to nothing.
    Reset,
}

/// A translation in the TLB, or in the order of last use.
pub(crate) type TlbEntry = Candidate;

/// Ladders of two children, of many, and of one size alone.
pub(crate) fn ladders() -> impl Strategy<Value = Ladder> {
    let known = vec![
        &Ladder::ROMER[..],
        &[0, 1, 2, 3],
        &[0, 9],
        &[0, 4],
        &[0, 3, 6, 9],
        &[0, 2, 3, 7],
    ];
    prop::sample::select(known).prop_map(|orders| Ladder::new(orders).unwrap())
}

/// Steps in two spaces and in a few regions, the last possible one among them.
pub(crate) fn steps(ladder: Ladder, most: usize) -> impl Strategy<Value = (Ladder, Vec<HostStep>)> {
    let pages = ladder.pages(ladder.largest());
    let tag = || (0..2usize).prop_map(|number| SpaceTag::new(number).unwrap());
    let page = move || {
        let within = prop_oneof![4 => 0..pages.min(8), 2 => 0..pages.min(40), 1 => 0..pages];
        let region = prop_oneof![4 => Just(0), 1 => Just(1), 1 => Just((1 << 52) / pages - 1)];
        (region, within).prop_map(move |(region, within)| region * pages + within)
    };
    let level = || 1..=ladder.largest();
    let length = move || prop_oneof![Just(0), 1..9u64, 1..2 * pages + 2, Just(u64::MAX)];
    let relief = prop_oneof![Just(0), 1..4u64, Just(u64::MAX)];
    let step = prop_oneof![
        60 => (tag(), page()).prop_map(|(tag, page)| HostStep::Refer(tag, page)),
        3 => (tag(), page(), level(), relief)
            .prop_map(|(tag, page, level, relief)| HostStep::Promote(tag, page, level, relief)),
        3 => (tag(), page(), level())
            .prop_map(|(tag, page, level)| HostStep::Map(tag, page, level)),
        2 => (tag(), page()).prop_map(|(tag, page)| HostStep::Demote(tag, page)),
        2 => any::<prop::sample::Index>().prop_map(HostStep::Evict),
        2 => (tag(), page(), length())
            .prop_map(|(tag, page, pages)| HostStep::ShootDown(tag, page, pages)),
        1 => (tag(), page(), length())
            .prop_map(|(tag, page, pages)| HostStep::Forget(tag, page, pages)),
        1 => tag().prop_map(HostStep::ForgetSpace),
        1 => Just(HostStep::Reset),
    ];
    prop::collection::vec(step, 0..most).prop_map(move |steps| (ladder, steps))
}

/// Any of the ladders, and steps.
pub(crate) fn cases(most: usize) -> impl Strategy<Value = (Ladder, Vec<HostStep>)> {
    ladders().prop_flat_map(move |ladder| steps(ladder, most))
}

/// Returns true if a candidate meets `pages` base pages of a space from `start` on.
pub(crate) fn meets(
    ladder: &Ladder,
    one: Candidate,
    tag: SpaceTag,
    start: u64,
    pages: u64,
) -> bool {
    let last = one.first + (ladder.pages(one.level) - 1);
    one.tag == tag && pages > 0 && last >= start && one.first <= start.saturating_add(pages - 1)
}

/// Returns true if a candidate lies in `pages` base pages of a space from `start` on.
pub(crate) fn lies_in(
    ladder: &Ladder,
    one: Candidate,
    tag: SpaceTag,
    start: u64,
    pages: u64,
) -> bool {
    let last = one.first + (ladder.pages(one.level) - 1);
    one.tag == tag && one.first >= start && last - start < pages
}

/// Returns true if two candidates overlap.
pub(crate) fn overlap(ladder: &Ladder, one: Candidate, other: Candidate) -> bool {
    meets(
        ladder,
        one,
        other.tag,
        other.first,
        ladder.pages(other.level),
    )
}

/// The candidate of that level that holds a page.
pub(crate) fn around(ladder: &Ladder, tag: SpaceTag, page: u64, level: usize) -> Candidate {
    let first = ladder.first_of(level, page);
    Candidate { tag, first, level }
}

/// The current superpages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mapped(BTreeSet<Candidate>);

impl Mapped {
    pub(crate) fn level_of(&self, ladder: &Ladder, tag: SpaceTag, page: u64) -> usize {
        let page = around(ladder, tag, page, 0);
        let superpage = self
            .0
            .iter()
            .find(|superpage| overlap(ladder, **superpage, page));
        superpage.map_or(0, |superpage| superpage.level)
    }

    /// Returns true if the candidate was promoted. Candidates inside a superpage cannot be.
    pub(crate) fn promote(&mut self, ladder: &Ladder, candidate: Candidate) -> bool {
        let may = self.level_of(ladder, candidate.tag, candidate.first) < candidate.level;
        if may {
            self.0
                .retain(|superpage| !overlap(ladder, *superpage, candidate));
            self.0.insert(candidate);
        }
        may
    }

    pub(crate) fn demote(
        &mut self,
        ladder: &Ladder,
        tag: SpaceTag,
        page: u64,
    ) -> Option<Candidate> {
        let page = around(ladder, tag, page, 0);
        let superpage = self
            .0
            .iter()
            .find(|superpage| overlap(ladder, **superpage, page));
        let superpage = superpage.copied()?;
        self.0.remove(&superpage);
        Some(superpage)
    }

    pub(crate) fn forget(&mut self, ladder: &Ladder, tag: SpaceTag, start: u64, pages: u64) {
        self.0
            .retain(|superpage| !meets(ladder, *superpage, tag, start, pages));
    }
}

/// Demotes the superpage around a page, and drops its translation from the TLB.
pub(crate) fn demote(
    (mapped, tlb): (&mut Mapped, &mut SlowTlb),
    ladder: &Ladder,
    tag: SpaceTag,
    page: u64,
) -> Option<Candidate> {
    let demoted = mapped.demote(ladder, tag, page)?;
    tlb.shoot_down(ladder, tag, demoted.first, ladder.pages(demoted.level));
    Some(demoted)
}

/// Unmaps pages: forgets their superpages, and drops their translations from the TLB.
pub(crate) fn forget(
    (mapped, tlb): (&mut Mapped, &mut SlowTlb),
    ladder: &Ladder,
    tag: SpaceTag,
    start: u64,
    pages: u64,
) {
    mapped.forget(ladder, tag, start, pages);
    tlb.shoot_down(ladder, tag, start, pages);
}

/// A fully associative TLB with exact LRU replacement; the newest entry is the last.
#[derive(Clone, Debug)]
pub(crate) struct SlowTlb {
    pub(crate) entries: Vec<TlbEntry>,
    pub(crate) most: usize,
}

impl SlowTlb {
    pub(crate) const fn new(most: usize) -> Self {
        Self {
            entries: Vec::new(),
            most,
        }
    }

    /// Returns true if a reference hits. A hit becomes the newest.
    pub(crate) fn lookup(&mut self, ladder: &Ladder, tag: SpaceTag, page: u64) -> bool {
        let page = around(ladder, tag, page, 0);
        let found = self
            .entries
            .iter()
            .position(|entry| overlap(ladder, *entry, page));
        if let Some(at) = found {
            self.entries[at..].rotate_left(1);
        }
        found.is_some()
    }

    /// Returns the evicted translation.
    pub(crate) fn fill(&mut self, entry: TlbEntry) -> Option<TlbEntry> {
        self.entries.push(entry);
        (self.entries.len() > self.most).then(|| self.entries.remove(0))
    }

    pub(crate) fn shoot_down(&mut self, ladder: &Ladder, tag: SpaceTag, start: u64, pages: u64) {
        self.entries
            .retain(|entry| !meets(ladder, *entry, tag, start, pages));
    }
}
