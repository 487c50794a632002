//! A TLB of any organisations and replacement rules, level by level.

mod leaving;
mod loading;
mod quiet_hits;
mod repeated_hits;
mod walk_entries;

use repeated_hits::RepeatedHits;

use crate::design::MOST_TLB_LEVELS;
use crate::placed::{Placed, Probes, probes};
use crate::quiet::QuietLookups;
use crate::role::{Fills, ProbeOrder, Role};
use crate::{
    Design, EntryLookup, Evicted, Lookup, ReferenceKind, TlbCounts, TlbLog, TlbRequest, Translation,
};
use broadleaf_units::PageSize;

/// The state of a TLB whose structures have any organisation and any replacement rule.
#[derive(Debug)]
pub struct Composed {
    structures: Vec<Placed>,
    /// For each kind of reference and each level, the probes in their order: a structure, and a
    /// page size.
    probes: [Probes; 3],
    /// The fills of structures that take turns.
    turn: u64,
    /// True if a structure is probed for one size after the other.
    probes_in_order: bool,
    /// True if a translation that leaves a structure has an effect on another structure.
    passes_on: bool,
    /// True if a structure holds walk entries.
    has_walk_entries: bool,
    /// The structure of the first level that held or received the last page.
    last: usize,
    /// True if the last lookup was known to be quiet: repeated uses change nothing then.
    is_last_quiet: bool,
    /// Lookups that need not be made. `None` if any lookup may change something.
    quiet: Option<Box<QuietLookups>>,
    /// The sum of the epochs of the first level, for which the quiet lookups hold.
    quiet_epoch: Option<u64>,
    repeated: RepeatedHits,
    log: TlbLog,
    /// Translations that left a structure since the last report.
    gone: Vec<Translation>,
}

impl Clone for Composed {
    fn clone(&self) -> Self {
        Self {
            structures: self.structures.clone(),
            probes: self.probes.clone(),
            turn: self.turn,
            probes_in_order: self.probes_in_order,
            passes_on: self.passes_on,
            has_walk_entries: self.has_walk_entries,
            last: self.last,
            is_last_quiet: self.is_last_quiet,
            quiet: self.quiet.clone(),
            quiet_epoch: self.quiet_epoch,
            repeated: self.repeated.clone(),
            log: self.log.clone(),
            gone: self.gone.clone(),
        }
    }
}

impl Composed {
    /// An empty TLB of that design.
    pub fn new(design: &Design) -> Self {
        let structures: Vec<Placed> = design.structures().iter().map(Placed::new).collect();
        let kinds = [
            ReferenceKind::Fetch,
            ReferenceKind::Load,
            ReferenceKind::Store,
        ];
        let probes_in_order = structures
            .iter()
            .any(|of| of.role.probes != ProbeOrder::Parallel);
        // Probes in order are counted at each lookup.
        let quiet_epoch = quiet_hits::quiet_epoch(&structures).filter(|_| !probes_in_order);
        Self {
            probes: kinds.map(|kind| probes(&structures, kind)),
            probes_in_order,
            quiet: quiet_epoch.map(|_| Box::default()),
            quiet_epoch,
            repeated: RepeatedHits::new(design.structures()),
            passes_on: structures
                .iter()
                .any(|of| of.role.inclusive || of.role.fills == Fills::Victims),
            has_walk_entries: structures.iter().any(|of| !of.walk_entries.is_empty()),
            structures,
            turn: 0,
            last: 0,
            is_last_quiet: false,
            log: TlbLog::default(),
            gone: Vec::new(),
        }
    }

    /// Looks up a base page. The levels above receive a translation that only a lower level holds.
    #[inline]
    pub fn lookup(&mut self, request: &TlbRequest) -> Lookup {
        if self.is_quiet(request) {
            self.is_last_quiet = true;
            return Lookup::First;
        }
        if let Some(number) = self.repeated.structure(request) {
            (self.last, self.is_last_quiet) = (number, true);
            return Lookup::First;
        }
        self.lookup_changing(request)
    }

    /// Looks up a base page. The lookup may change something.
    fn lookup_changing(&mut self, request: &TlbRequest) -> Lookup {
        self.log.ignores_evicted = self.ignores_evicted();
        let found = self.find(request);
        self.log.ignores_evicted = false;
        self.gone.clear();
        found
    }

    /// Returns true if it makes no difference to the TLB which translations leave a structure.
    const fn ignores_evicted(&self) -> bool {
        !self.passes_on && self.quiet.is_none()
    }

    /// Looks up as [`Composed::lookup`]. `evicted` receives translations that no level holds any
    /// more.
    pub fn lookup_evicting(
        &mut self,
        request: &TlbRequest,
        evicted: impl FnMut(Evicted),
    ) -> Lookup {
        let found = self.find(request);
        self.report(evicted);
        found
    }

    /// Looks up as [`Composed::lookup_evicting`] after a miss. A subblock miss was counted with it.
    pub fn retry_evicting(&mut self, request: &TlbRequest, evicted: impl FnMut(Evicted)) -> Lookup {
        let counted = self.log.counts.subblock_misses;
        let found = self.lookup_evicting(request, evicted);
        self.log.counts.subblock_misses = counted;
        found
    }

    fn find(&mut self, request: &TlbRequest) -> Lookup {
        self.is_last_quiet = false;
        let mut has_block = false;
        let faults = self.log.counts.modified_faults;
        for level in 0..MOST_TLB_LEVELS {
            for at in 0..self.probes[request.kind as usize][level].len() {
                let (number, size) = self.probes[request.kind as usize][level][at];
                let entries = &mut self.structures[number].entries;
                match entries.find(request, size, &mut self.log) {
                    EntryLookup::Hit(mut translation) => {
                        self.count_probes(request.kind, level, Some(at));
                        self.settle(number);
                        let is_first_store = request.is_store() && !translation.modified;
                        if is_first_store {
                            translation.modified = true;
                            self.mark(&translation);
                        }
                        self.raise((number, size), &translation, request);
                        // A mark may move pages of other structures.
                        let is_moved = is_first_store && self.structures.len() > 1;
                        let is_changed = is_moved || faults != self.log.counts.modified_faults;
                        self.note_hit((number, size), request, is_changed);
                        return [Lookup::First, Lookup::Second, Lookup::Third][level];
                    }
                    EntryLookup::Block => has_block = true,
                    EntryLookup::Nothing => {}
                }
            }
            self.count_probes(request.kind, level, None);
        }
        self.log.counts.subblock_misses += u64::from(has_block);
        self.repeated.forget();
        Lookup::Miss
    }

    /// Sets the modified bit in the copies of a translation in all structures: a store faults once.
    fn mark(&mut self, stored: &Translation) {
        for number in 0..self.structures.len() {
            let entries = &mut self.structures[number].entries;
            entries.mark(stored, &mut self.log);
            self.settle(number);
        }
    }

    /// Counts the probes of a level after the first of each structure that is probed for one size
    /// after the other. A hit at position `hit` ends the probes of its structure alone.
    fn count_probes(&mut self, kind: ReferenceKind, level: usize, hit: Option<usize>) {
        if !self.probes_in_order {
            return;
        }
        let probes = &self.probes[kind as usize][level];
        let last = hit.map(|at| probes[at].0);
        for (at, (number, _)) in probes.iter().enumerate() {
            let is_first = !probes[..at].iter().any(|(other, _)| other == number);
            let in_order = self.structures[*number].role.probes != ProbeOrder::Parallel;
            let happens = match (hit, last) {
                (Some(hit), Some(last)) => last != *number || at <= hit,
                _ => true,
            };
            self.log.counts.extra_probes += u64::from(in_order && happens && !is_first);
        }
    }

    /// Brings a translation that a lower level or a buffer holds to the levels above, and the pages
    /// that share its entry. It leaves a buffer if a structure above receives it. `from` is the
    /// structure and the page size of the probe that hit.
    fn raise(
        &mut self,
        (from, size): (usize, PageSize),
        translation: &Translation,
        request: &TlbRequest,
    ) {
        let Role { fills, .. } = self.structures[from].role;
        let level = self.structures[from].level;
        if level == 1 && fills == Fills::Walks {
            self.last = from;
            return;
        }
        let highest = level - usize::from(fills == Fills::Walks || level > 1);
        let takers =
            (1..=highest).filter_map(|level| self.taker(level, translation.size, request.kind));
        let takers: Vec<usize> = takers.collect();
        match fills {
            Fills::Walks => {}
            Fills::Victims => self.log.counts.victim_hits += 1,
            Fills::Prefetches => self.log.counts.prefetch_hits += 1,
        }
        if fills != Fills::Walks && !takers.is_empty() {
            self.drop_from(from, translation);
        }
        // Pages move out of a buffer one by one.
        let beside = match fills {
            Fills::Walks => self.structures[from].entries.beside(request, size),
            Fills::Victims | Fills::Prefetches => Vec::new(),
        };
        for number in takers {
            self.load_into(number, request.page, translation.size, |entries, log| {
                entries.receive(request, translation, &beside, log);
            });
        }
    }

    /// Notes that `times` more lookups of the last page followed. Each hits the first level.
    pub fn repeat(&mut self, times: u64) {
        if self.is_last_quiet {
            return;
        }
        let entries = &mut self.structures[self.last].entries;
        entries.repeat(times, &mut self.log);
    }

    /// Notes the time of the next lookup of the page that is looked up next, for rules that know
    /// the future.
    pub fn foresee(&mut self, next: u64) {
        for placed in &mut self.structures {
            if let Some(rule) = placed.entries.replacement_mut() {
                rule.foresee(next);
            }
        }
    }

    /// Drops the translations for which `stale` returns true. Others that leave with them are
    /// evictions of the next lookup.
    pub fn drop_stale(&mut self, mut stale: impl FnMut(&Translation) -> bool) {
        self.forget_quiet();
        let mut with_them = Vec::with_capacity(self.structures.len());
        for placed in &mut self.structures {
            placed.entries.drop_stale(&mut stale, &mut self.log);
            with_them.push(std::mem::take(&mut self.log.evicted));
        }
        self.gone.retain(|gone| !stale(gone));
        for (number, gone) in with_them.into_iter().enumerate() {
            self.log.evicted = gone;
            self.settle(number);
        }
    }

    /// The counts beside hits and misses.
    pub const fn counts(&self) -> TlbCounts {
        self.log.counts
    }

    /// The number of entries in use in all structures.
    pub fn occupied(&self) -> usize {
        let each = self
            .structures
            .iter()
            .map(|placed| placed.entries.occupied());
        each.sum()
    }

    /// Asserts the invariants of each structure.
    ///
    /// # Panics
    /// If an invariant does not hold.
    pub fn check(&self) {
        self.structures
            .iter()
            .for_each(|placed| placed.entries.check());
    }
}
