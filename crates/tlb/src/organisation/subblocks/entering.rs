//! How pages enter sets of subblock entries: they join an entry, or make a new one.

use super::super::compatibility::{ModifiedBits, SharedFrames, ValidBits};
use super::super::subblock_entry::{SubblockEntry, can_express};
use super::super::subblock_rules::{JoinCheck, SubblockMisses};
use super::keys::{MOST_AT_ONCE, key_of};
use super::{NeighbourSource, SubblockSets};
use crate::{TlbLog, Walk};

impl SubblockSets {
    /// The way of the entry that the pages of a new entry can join.
    fn joined(&self, set: usize, new: &SubblockEntry) -> Option<usize> {
        if !self.hints.may_hold(new.tag, new.run) {
            return None;
        }
        // Such a page fits no other.
        let shares = |(page, of)| self.rules.shared.can_share(new.run, page, of);
        if !new.used().all(shares) {
            return None;
        }
        let mut ways = self.ways_with(self.ways_of(set), new.tag, new.run);
        let joins = |way: &usize| {
            let entry = self.entries[*way].as_ref();
            entry.is_some_and(|entry| self.can_join(entry, new))
        };
        match self.rules.check {
            JoinCheck::Full => ways.find(joins),
            JoinCheck::FirstTag => ways.next().filter(joins),
            JoinCheck::Never => None,
        }
    }

    /// Returns true if the pages of a new entry can join an entry: its fields are those of the
    /// pages that it has, also of those that the new ones replace (Talluri 1995, appendix G).
    fn can_join(&self, entry: &SubblockEntry, new: &SubblockEntry) -> bool {
        let (run, shared) = (entry.run, &self.rules.shared);
        if shared.valid == ValidBits::All {
            return false;
        }
        let fits = |page| {
            entry
                .used()
                .all(|known| shared.are_compatible(run, page, known))
        };
        let both = entry.pages.iter().zip(&new.pages);
        let both = || -> Vec<_> { both.map(|(page, new)| new.or(*page)).collect() };
        new.used().all(fits) && can_express(shared.valid, &both())
    }

    /// Drops pages of other entries of the set that an entry is about to hold.
    fn drop_doubles(
        &mut self,
        set: usize,
        new: &SubblockEntry,
        spare: Option<usize>,
        log: &mut TlbLog,
    ) {
        // An overlapping run is smaller, or one of those around the first page.
        if !self.hints.has_smaller(new.run.size) && !self.hints.may_cover(new.tag, new.run.first) {
            return;
        }
        let step = new.step();
        let doubled = |first: u64, pages: u64| {
            let runs = (0_u64..).zip(&new.pages).filter(|(_, page)| page.is_some());
            let mut starts = runs.map(|(at, _)| new.run.first.0 + at * step);
            starts.any(|start| start < first + pages && first < start + step)
        };
        // Runs of one size overlap if they are equal.
        let is_like_all = self.hints.only_size() == Some(new.run.size);
        let key = is_like_all.then(|| key_of(new.tag, new.run));
        let ways = self.ways_of(set);
        for first in ways.clone().step_by(MOST_AT_ONCE) {
            let some = first..ways.end.min(first + MOST_AT_ONCE);
            let mut left = match key {
                Some(key) => self.matches(some, key),
                None => u64::MAX >> (MOST_AT_ONCE - some.len()),
            };
            while left != 0 {
                let way = first + left.trailing_zeros() as usize;
                left &= left - 1;
                if Some(way) != spare {
                    self.drop_from(way, new, &doubled, log);
                }
            }
        }
    }

    /// Drops pages of an entry that are held by a new one: those for whose first page of 4 KiB and
    /// number of pages `doubled` returns true.
    fn drop_from(
        &mut self,
        way: usize,
        new: &SubblockEntry,
        doubled: &impl Fn(u64, u64) -> bool,
        log: &mut TlbLog,
    ) {
        let Some(entry) = &mut self.entries[way] else {
            return;
        };
        // Aligned runs overlap if one contains the first page of the other.
        let overlaps = entry.run.contains(new.run.first) || new.run.contains(entry.run.first);
        if entry.tag != new.tag || !overlaps {
            return;
        }
        let (first, step) = (entry.run.first.0, entry.step());
        let mut is_changed = false;
        for (at, page) in (0_u64..).zip(&mut entry.pages) {
            if let Some(gone) = page.take_if(|_| doubled(first + at * step, step)) {
                is_changed = true;
                log.evicted.push(gone);
            }
        }
        if is_changed {
            self.settle(way, log);
        }
    }

    /// Settles an entry that lost pages: valid bits that cannot express the rest lose the rest
    /// too, and an empty entry goes.
    pub(super) fn settle(&mut self, way: usize, log: &mut TlbLog) {
        let valid = self.rules.shared.valid;
        if let Some(entry) = &mut self.entries[way]
            && !can_express(valid, &entry.pages)
        {
            log.evicted.extend(entry.translations());
            entry.pages.fill(None);
        }
        let is_empty = |entry: &mut SubblockEntry| entry.pages.iter().all(Option::is_none);
        if let Some(gone) = self.entries[way].take_if(|entry| is_empty(entry)) {
            self.note_gone(way, &gone);
            self.replacement.drop_way(way / self.ways, way % self.ways);
        }
    }

    /// Enters pages: into an entry that they can join, or as a new entry.
    pub(super) fn enter(
        &mut self,
        set: usize,
        new: SubblockEntry,
        may_join: bool,
        log: &mut TlbLog,
    ) {
        let joined = may_join.then(|| self.joined(set, &new)).flatten();
        // A walk loads only walk entries that are missing.
        if !new.tag.is_of_tables() {
            self.drop_doubles(set, &new, joined, log);
        }
        let way = match joined {
            Some(way) => {
                if let Some(entry) = &mut self.entries[way] {
                    for (page, new) in entry.pages.iter_mut().zip(new.pages) {
                        if let Some(new) = new
                            && let Some(gone) = page.replace(new)
                        {
                            log.evicted.push(gone);
                        }
                    }
                }
                self.replacement.hit(set, way % self.ways);
                way
            }
            None => {
                let way = self.replacement.choose(set);
                self.replacement.fill(set, way);
                let place = set * self.ways + way;
                let (tag, run) = (new.tag, new.run);
                let gone = self.entries[place].replace(new);
                if let Some(gone) = &gone {
                    self.note_gone(place, gone);
                }
                self.note_new(place, tag, run);
                if let Some(gone) = gone {
                    if !log.ignores_evicted {
                        log.evicted.extend(gone.translations());
                    }
                    self.unused = gone.pages;
                }
                place
            }
        };
        if self.rules.shared.modified == ModifiedBits::Block
            && let Some(entry) = &mut self.entries[way]
            && entry.pages.iter().flatten().any(|page| page.modified)
        {
            entry.mark_all(log);
        }
    }

    /// Loads a page, and its neighbours if the structure preloads.
    pub(super) fn load_block(
        &mut self,
        walk: &Walk<'_>,
        source: NeighbourSource,
        log: &mut TlbLog,
    ) {
        let size = walk.translation.size;
        let Some(set) = self.indices.set_of(&walk.request, size) else {
            return;
        };
        let run = self.run_of(&walk.request, size);
        let (ways, tag) = (self.ways_of(set), walk.request.tag);
        let is_again = self.ways_with(ways.clone(), tag, run).next().is_some();
        let is_alone = is_again && self.rules.again == SubblockMisses::LoadPage;
        let preloads = self.rules.preload && !is_alone;
        let new = self.entry_of(walk, preloads, log);
        let preloaded = preloads && source == NeighbourSource::PageTable;
        if preloaded && is_again && self.rules.shared.frames == SharedFrames::None {
            // No two entries have one tag.
            let has_run = |entry: &mut SubblockEntry| (entry.tag, entry.run) == (tag, run);
            for way in ways {
                if let Some(gone) = self.entries[way].take_if(has_run) {
                    self.note_gone(way, &gone);
                    self.replacement.drop_way(set, way % self.ways);
                    if !log.ignores_evicted {
                        log.evicted.extend(gone.translations());
                    }
                }
            }
        }
        self.enter(set, new, !preloaded, log);
    }
}
