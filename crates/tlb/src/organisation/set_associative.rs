//! Sets of ways: each entry translates one page, and an index function chooses the set.

use super::hints::WayHints;
use super::set_indices::SetIndices;
use super::{Entries, EntryLookup, EntryShape, GridName, Organisation, any_structure};
use crate::{
    ReplacementState, Structure, StructureParameter, TlbLog, TlbRequest, Translation, Walk,
};
use broadleaf_units::{AlignedRun, Asid, Described, PageNumber, PageSize};

/// The parameter that allows index bits inside pages.
pub(crate) const REPLICATE: &str = "replicate";
/// The parameter that lets stores fault that hit a translation with a clear modified bit.
const MODIFIED_FAULTS: &str = "modified-faults";

pub(super) static SET_ASSOCIATIVE: Organisation = Organisation {
    described: Described {
        name: "set-associative",
        summary: "sets of ways, each entry a page of one size",
        explanation: "A structure has entries and ways, holds one page size or several, and finds \
                      a page's set by an index \
                      function: a range of address bits such as va[15:12], or several combined by \
                      exclusive or. One set makes \
                      it fully associative, one way direct-mapped. Entries carry the tag of their \
                      address space, so a switch of \
                      spaces flushes nothing. One to three levels can be stacked; a walk fills \
                      all of them, and what the first level \
                      loses is not written to the second. A superpage TLB is such a structure with \
                      several page sizes. Its index for superpages can use bits inside a superpage \
                      (replicate): then each set that is looked up loads the superpage.",
        source: "Talluri 1995, chapter 3; Zhu 2018, chapter 4",
    },
    parameters: &[
        StructureParameter::flag(
            REPLICATE,
            false,
            "the index may use bits inside a page; each set loads such a page anew",
        ),
        StructureParameter::flag(
            MODIFIED_FAULTS,
            false,
            "a store to a page whose modified bit is clear in the entry is a counted fault",
        ),
    ],
    refuses: any_structure,
    build: |structure| Box::new(SetAssociative::new(structure)),
    wants_tables: |structure| structure.organisation.flag(MODIFIED_FAULTS),
    counts_uses: |_| false,
    keeps_pages: |_| true,
    grids: &[
        GridName {
            name: "single",
            one_size: true,
        },
        GridName {
            name: "superpage",
            one_size: false,
        },
    ],
    block_of: None,
    entry: EntryShape::one_page,
    support: None,
};

/// A set-associative structure with any replacement rule.
#[derive(Clone, Debug)]
pub(super) struct SetAssociative {
    ways: usize,
    indices: SetIndices,
    /// Set after set.
    entries: Vec<Option<Translation>>,
    hints: WayHints,
    replacement: ReplacementState,
    /// True if a store to a clean page is a counted fault.
    modified_faults: bool,
    replicates: bool,
}

impl SetAssociative {
    pub(super) fn new(structure: &Structure) -> Self {
        Self {
            ways: structure.ways,
            indices: SetIndices::new(structure),
            entries: vec![None; structure.entries],
            hints: WayHints::new(structure.entries),
            replacement: ReplacementState::new(structure),
            modified_faults: structure.organisation.flag(MODIFIED_FAULTS),
            replicates: structure.organisation.flag(REPLICATE),
        }
    }

    /// The entries of a set.
    pub(super) fn entries_of(&self, set: usize) -> &[Option<Translation>] {
        &self.entries[set * self.ways..][..self.ways]
    }

    /// Drops the pages of a size from a set. Returns the translations that leave.
    pub(super) fn empty(&mut self, set: usize, size: PageSize) -> Vec<Translation> {
        let mut left = Vec::new();
        for way in 0..self.ways {
            let entry = &mut self.entries[set * self.ways + way];
            if let Some(gone) = entry.take_if(|entry| entry.size == size) {
                self.hints.remove(gone.tag, gone.run());
                self.replacement.drop_way(set, way);
                left.push(gone);
            }
        }
        left
    }
}

impl Entries for SetAssociative {
    fn find(&mut self, request: &TlbRequest, size: PageSize, log: &mut TlbLog) -> EntryLookup {
        let run = AlignedRun::around(request.page, size);
        if !self.hints.may_hold(request.tag, run) {
            return EntryLookup::Nothing;
        }
        let Some(set) = self.indices.set_of(request, size) else {
            return EntryLookup::Nothing;
        };
        let matches = |entry: &Option<Translation>| {
            entry.is_some_and(|entry| {
                entry.tag == request.tag && entry.size == size && entry.run().contains(request.page)
            })
        };
        // A set holds a page once, so a guess that matches is the entry that a search would find.
        let entries = self.entries_of(set);
        let guesses = self.hints.guesses(request.tag, run).into_iter();
        let mut guesses = guesses.map(|place| place.wrapping_sub(set * self.ways));
        let guess = guesses.find(|way| entries.get(*way).is_some_and(matches));
        let Some(way) = guess.or_else(|| self.entries_of(set).iter().position(matches)) else {
            return EntryLookup::Nothing;
        };
        self.hints.learn(request.tag, run, set * self.ways + way);
        self.replacement.hit(set, way);
        let Some(entry) = &mut self.entries[set * self.ways + way] else {
            return EntryLookup::Nothing;
        };
        let before = *entry;
        if request.is_store() && !before.modified {
            entry.modified = true;
            log.counts.modified_faults += u64::from(self.modified_faults);
        }
        EntryLookup::Hit(before)
    }

    fn load(&mut self, walk: &Walk<'_>, log: &mut TlbLog) {
        let new = walk.translation;
        let Some(set) = self.indices.set_of(&walk.request, new.size) else {
            return;
        };
        let way = self.replacement.choose(set);
        self.replacement.fill(set, way);
        let place = set * self.ways + way;
        let gone = self.entries[place].replace(new);
        if let Some(gone) = gone {
            self.hints.remove(gone.tag, gone.run());
        }
        self.hints.add(new.tag, new.run(), place);
        log.evicted.extend(gone);
    }

    fn mark(&mut self, translation: &Translation, _: &mut TlbLog) {
        if !self.hints.may_hold(translation.tag, translation.run()) {
            return;
        }
        let is_it = |entry: &&mut Translation| entry.is_of_same_page(translation);
        let guesses = self.hints.guesses(translation.tag, translation.run());
        if let [place, _] = guesses
            && !self.replicates
            && let Some(entry) = self.entries[place].as_mut().filter(is_it)
        {
            // A page has one entry.
            entry.modified = true;
            return;
        }
        // A page may lie in several sets if the index replicates it.
        let ways = match self.indices.set_of(
            &TlbRequest::load(translation.tag, translation.first),
            translation.size,
        ) {
            Some(set) if !self.replicates => set * self.ways..(set + 1) * self.ways,
            _ => 0..self.entries.len(),
        };
        for entry in self.entries[ways].iter_mut().flatten() {
            entry.modified |= entry.is_of_same_page(translation);
        }
    }

    fn holds(&self, translation: &Translation) -> bool {
        let (tag, run) = (translation.tag, translation.run());
        if !self.hints.may_hold(tag, run) {
            return false;
        }
        let same = |entry: &Translation| entry.is_of_same_page(translation);
        let guesses = self.hints.guesses(tag, run);
        let mut guessed = guesses
            .iter()
            .filter_map(|place| self.entries[*place].as_ref());
        guessed.any(same) || self.entries.iter().flatten().any(same)
    }

    fn drop_stale(&mut self, stale: &mut dyn FnMut(&Translation) -> bool, _: &mut TlbLog) {
        for (at, entry) in self.entries.iter_mut().enumerate() {
            if let Some(gone) = entry.take_if(|entry| stale(entry)) {
                self.hints.remove(gone.tag, gone.run());
                self.replacement.drop_way(at / self.ways, at % self.ways);
            }
        }
    }

    fn replacement(&self) -> Option<&ReplacementState> {
        Some(&self.replacement)
    }

    fn replacement_mut(&mut self) -> Option<&mut ReplacementState> {
        Some(&mut self.replacement)
    }

    fn disturbed(&self, page: PageNumber, size: PageSize) -> (u64, u64) {
        AlignedRun::around(page, size).bounds()
    }

    fn pages_of_set(
        &self,
        page: PageNumber,
        size: PageSize,
        each: &mut dyn FnMut((u64, u64)),
    ) -> bool {
        // Copies of a page lie in other sets.
        let request = TlbRequest::load(Asid::ZERO, page);
        let set = self
            .indices
            .set_of(&request, size)
            .filter(|_| !self.replicates);
        let Some(set) = set else { return false };
        let entries = self.entries_of(set).iter().flatten();
        entries.for_each(|entry| each(entry.pages()));
        true
    }

    fn occupied(&self) -> usize {
        self.entries.iter().flatten().count()
    }

    fn check(&self) {
        for set in self.entries.chunks(self.ways) {
            for (at, entry) in set.iter().enumerate() {
                let twin = |other: &Option<Translation>| match (entry, other) {
                    (Some(entry), Some(other)) => entry.is_of_same_page(other),
                    _ => false,
                };
                assert!(!set[..at].iter().any(twin), "one page twice in a set");
            }
        }
    }

    fn copy(&self) -> Box<dyn Entries> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{IndexFunction, OrganisationChoice, Replacement, Role};

    #[test]
    #[should_panic(expected = "one page twice in a set")]
    fn a_page_that_is_loaded_twice_fails() {
        let size = PageSize::SIZE_4K;
        let structure = Structure {
            name: "dtlb".to_owned(),
            level: 1,
            entries: 4,
            ways: 4,
            pages: vec![(size, IndexFunction::parse("none").expect("an index"))],
            organisation: OrganisationChoice::from(&SET_ASSOCIATIVE),
            replacement: Replacement::lru(),
            role: Role::default(),
            wired: 0,
            walk_entries: Vec::new(),
        };
        let mut sets = SetAssociative::new(&structure);
        for _ in 0..2 {
            let walk = Walk::plain(Asid::ZERO, PageNumber(7), size);
            sets.load(&walk, &mut TlbLog::default());
        }
        sets.check();
    }
}
