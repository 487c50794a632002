//! Page-table entries that were looked up lately.

use super::pte::Pte;
use super::table::Place;
use broadleaf_units::SpaceId;

/// The number of entries. They stay in the processor's first-level cache beside the rest.
const ENTRIES: usize = 256;

/// An entry and its place.
#[derive(Clone, Copy, Debug)]
struct RecentEntry {
    at: Place,
    pte: Pte,
}

const NOTHING: RecentEntry = RecentEntry {
    at: Place {
        space: SpaceId(u32::MAX),
        page: u64::MAX,
    },
    pte: Pte::NONE,
};

/// Entries that were looked up lately, as they are now: one for each remainder of the page number.
#[derive(Clone, Debug)]
pub(super) struct RecentEntries(Box<[RecentEntry; ENTRIES]>);

impl RecentEntries {
    pub(super) fn new() -> Self {
        Self(Box::new([NOTHING; ENTRIES]))
    }

    #[inline]
    pub(super) fn find(&self, at: Place) -> Option<Pte> {
        let recent = &self.0[at.page as usize % ENTRIES];
        (recent.at == at).then_some(recent.pte)
    }

    #[inline]
    pub(super) fn keep(&mut self, at: Place, pte: Pte) {
        self.0[at.page as usize % ENTRIES] = RecentEntry { at, pte };
    }

    /// Notes that an entry changed.
    #[inline]
    pub(super) fn change(&mut self, at: Place, pte: Pte) {
        let recent = &mut self.0[at.page as usize % ENTRIES];
        if recent.at == at {
            recent.pte = pte;
        }
    }

    /// Forgets all entries: many changed.
    pub(super) fn forget(&mut self) {
        self.0.fill(NOTHING);
    }

    /// Asserts that the entries are those of the tables.
    pub(super) fn check(&self, entry: impl Fn(Place) -> Pte) {
        for recent in self.0.iter().filter(|recent| recent.at != NOTHING.at) {
            assert_eq!(
                recent.pte,
                entry(recent.at),
                "an old entry of {:?}",
                recent.at
            );
        }
    }
}
