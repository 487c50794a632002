//! Groups of visits that change no memory: the world asks once for each page of a group.
//!
//! A group is passed at once if every page is settled in memory. A machine makes the group's
//! lookups only if one of them may change something in the machine.

use super::{Scene, World};
use crate::filter::BatchPart;
use crate::mapped::{MappedMemory, PageLookup};
use crate::mmu::Mmu;
use crate::steps::VisitStep;
use crate::visit_groups::{GROUP, GroupPage, VisitGroup, VisitGroups, references};
use broadleaf_memory::system::Place;
use broadleaf_tlb::{ReferenceKind, TlbRequest};
use std::ops::Range;

/// A world's groups of visits.
#[derive(Debug, Default)]
pub(super) struct GroupedLookups {
    /// True if groups are passed at once.
    pub(super) are_passed: bool,
    /// The levels of the pages that map the pages of a group.
    levels: Vec<usize>,
    /// The lookups of a group.
    lookups: Vec<PageLookup>,
    /// For each visit of a group and the end, the lookups before.
    starts: Vec<usize>,
}

/// The visits that are replayed one by one before the pages of a group are looked at again.
const SOME: usize = 8;

/// The next visit of a group whose lookups may change something.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NextLoud {
    /// No visit.
    None,
    /// This visit. The visits before change nothing.
    At(usize),
    /// Any visit, since a page of an earlier visit is not quiet.
    Unknown,
}

impl Mmu<'_> {
    /// The next visit from `from` on whose lookups are not known to hit the first level and to
    /// change nothing.
    fn next_loud(&self, pages: &[GroupPage], from: usize) -> NextLoud {
        if !self.can_leave_out() {
            return NextLoud::Unknown;
        }
        let request = |page: &GroupPage, kind| TlbRequest {
            tag: self.running.1,
            page: page.page,
            kind,
        };
        let mut next = usize::MAX;
        for page in pages {
            let (load, store) = (page.first_load(self.parts_loads), page.first_store());
            if load < next.min(GROUP) && !self.tlb.is_quiet(&request(page, ReferenceKind::Load)) {
                next = load;
            }
            if store < next.min(GROUP) && !self.tlb.is_quiet(&request(page, ReferenceKind::Store)) {
                next = store;
            }
        }
        match next {
            usize::MAX => NextLoud::None,
            next if next >= from => NextLoud::At(next),
            _ => NextLoud::Unknown,
        }
    }

    /// Makes lookups, except those that are known to change nothing.
    pub(super) fn translate_all(&mut self, lookups: &[PageLookup], memory: &MappedMemory<'_, '_>) {
        let mut waiting = &lookups[self.quiet_first(lookups)..];
        while let Some((lookup, later)) = waiting.split_first() {
            self.translate(lookup, memory);
            waiting = &later[self.quiet_first(later)..];
        }
    }

    /// Makes the lookups of a group, except those that are known to change nothing.
    fn translate_group(
        &mut self,
        pages: &[GroupPage],
        lookups: &GroupedLookups,
        memory: &MappedMemory<'_, '_>,
    ) {
        let (mut from, visits) = (0, lookups.starts.len() - 1);
        while from < visits {
            let to = match self.next_loud(pages, from) {
                NextLoud::None => return,
                NextLoud::At(at) => {
                    from = at;
                    at + 1
                }
                NextLoud::Unknown => (from + SOME).min(visits),
            };
            let range = lookups.starts[from]..lookups.starts[to];
            self.translate_all(&lookups.lookups[range], memory);
            from = to;
        }
    }
}

impl World<'_> {
    /// Returns true if the world passes groups of visits.
    pub(crate) const fn passes_groups(&self) -> bool {
        self.grouped.are_passed
    }

    /// Lets the world pass groups of visits, if a machine may know that lookups are quiet. No
    /// lookup was made so far.
    pub(super) fn group_visits(&mut self) {
        let mut mmus = std::iter::once(&self.mmu).chain(&self.observers);
        let has_caches = mmus.clone().any(|mmu| mmu.cached.is_some());
        let knows_quiet = mmus.any(|mmu| mmu.tlb.knows_quiet() && mmu.can_leave_out());
        let is_plain = self.charged.is_none() && self.recorder.is_none() && !has_caches;
        // A class of machines needs all lookups in a row.
        let is_alone = self.observers.is_empty() && self.quiet.are_left_out;
        let has_observers = !self.observers.is_empty()
            && !self.classes.has_any()
            && !self.parts_loads
            && !self.counts_uses;
        self.grouped.are_passed = is_plain && knows_quiet && (is_alone || has_observers);
    }

    /// Replays visits in groups.
    pub(super) fn replay_groups(&mut self, groups: &VisitGroups, scene: &Scene<'_>) {
        let part = scene.part;
        let (mut time, mut instructions) = (part.begin, part.instructions);
        let mut first = 0;
        for (group, pages, numbers) in groups.iter() {
            let visits = first..first + numbers.len();
            first = visits.end;
            let after = time.saturating_add(group.accesses);
            let is_plain =
                !group.is_unusual && part.kernel.is_none() && after < self.system.next_time();
            let is_alone = self.observers.is_empty();
            let is_passed = is_plain
                && match is_alone {
                    true => self.pass_quiet_group(group, pages),
                    false => self.pass_settled_group(group, pages, numbers, visits.start, scene),
                };
            if is_passed {
                time = after;
                instructions = instructions.saturating_add(group.instructions);
                continue;
            }
            // The visits before this one are quiet, and those from the other one on unknown.
            let (mut quiet_to, mut known_to) = (visits.start, visits.start);
            for at in visits.clone() {
                let is_plain = is_plain && is_alone && after < self.system.next_time();
                if is_plain && at >= known_to {
                    (quiet_to, known_to) = self.quiet_visits(pages, &visits, at);
                }
                let visit = part.visits.visit(at);
                instructions = instructions.saturating_add(visit.instructions.into());
                if at < quiet_to {
                    self.moment += references(&visit).iter().flatten().count() as u64;
                    time = time.saturating_add(visit.accesses());
                } else if self.quiet.are_left_out && self.pass_quiet(&visit, part, time) {
                    time = time.saturating_add(visit.accesses());
                } else if part.references(&visit) {
                    self.instructions = instructions;
                    let step = VisitStep::of(&visit, part.shift, time);
                    if self.visit(&step, VisitStep::uses(&visit), scene).is_none() {
                        return;
                    }
                    time = time.saturating_add(visit.accesses());
                }
            }
        }
    }

    /// Returns true if every visit of a group is quiet, and counts its references then. One machine
    /// observes the memory.
    fn pass_quiet_group(&mut self, group: &VisitGroup, pages: &[GroupPage]) -> bool {
        self.forget_unsettled();
        let is_quiet = self.mmu.next_loud(pages, 0) == NextLoud::None;
        if is_quiet {
            self.moment += group.references;
        }
        is_quiet
    }

    /// The visits of a group that are quiet from `at` on: their end, and the first visit before
    /// which the world has to ask again.
    fn quiet_visits(
        &mut self,
        pages: &[GroupPage],
        visits: &Range<usize>,
        at: usize,
    ) -> (usize, usize) {
        self.forget_unsettled();
        match self.mmu.next_loud(pages, at - visits.start) {
            NextLoud::None => (visits.end, visits.end),
            NextLoud::At(next) => (visits.start + next, visits.start + next + 1),
            NextLoud::Unknown => (at, at + SOME),
        }
    }

    /// Returns true if no visit of a group changes memory. All machines make its lookups then.
    /// `first` is the number of its first visit.
    fn pass_settled_group(
        &mut self,
        group: &VisitGroup,
        pages: &[GroupPage],
        numbers: &[u8],
        first: usize,
        scene: &Scene<'_>,
    ) -> bool {
        let space = self.mmu.running.0;
        self.grouped.levels.clear();
        for page in pages {
            let at = Place {
                space,
                page: self.system.base_page(page.page),
            };
            // A page that is settled for stores is settled for loads.
            let level = match page.is_referenced() {
                true => self.system.look(at, page.stores()),
                false => Some(0),
            };
            let Some(level) = level else { return false };
            self.grouped.levels.push(level);
        }
        self.moment += group.references;
        if !self.waiting.is_empty() {
            self.translate_now(Some(&scene.stream.spaces));
        }
        self.read.renew(self.system.entries_set());
        self.grouped.lookups.clear();
        for number in 0..=self.observers.len() {
            let mmu = self.mmu(number);
            if mmu.follows() || mmu.next_loud(pages, 0) == NextLoud::None {
                continue;
            }
            if self.grouped.lookups.is_empty() {
                self.list_lookups(pages, numbers, first, scene.part);
            }
            let mmu = match number.checked_sub(1) {
                None => &mut self.mmu,
                Some(at) => &mut self.observers[at],
            };
            let mut memory = MappedMemory::new(&self.system, Some(&scene.stream.spaces));
            if self.reads_tables {
                memory = memory.with(&self.read);
            }
            mmu.translate_group(pages, &self.grouped, &memory);
            if let Some(misses) = mmu.take_misses() {
                self.follow_misses(number, misses);
            }
        }
        true
    }

    /// Lists the lookups of a group.
    fn list_lookups(
        &mut self,
        pages: &[GroupPage],
        numbers: &[u8],
        first: usize,
        part: &BatchPart<'_>,
    ) {
        let GroupedLookups {
            levels,
            lookups,
            starts,
            ..
        } = &mut self.grouped;
        starts.clear();
        for (at, number) in numbers.iter().enumerate() {
            starts.push(lookups.len());
            let visit = part.visits.visit(first + at);
            if visit.fetch {
                continue;
            }
            let (page, level) = (
                pages[usize::from(*number)].page,
                levels[usize::from(*number)],
            );
            let mut lookup = PageLookup::new(page, level, ReferenceKind::Load);
            lookup.continues = visit.instructions == 0;
            for store in references(&visit).into_iter().flatten() {
                lookup.kind = ReferenceKind::of_data(store);
                lookups.push(lookup);
                lookup.continues = true;
            }
        }
        starts.push(lookups.len());
    }
}
