//! A TLB design: its structures, validated once and never changed.

mod check;

use crate::role::{Fills, ProbeOrder};
use crate::{
    IndexFunction, Organisation, OrganisationChoice, ReferenceKind, Replacement, ReplacementChoice,
    Role, RuleNeed, SystemSupport,
};
use broadleaf_units::PageSize;

/// One structure of a TLB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Structure {
    /// Its name, for people.
    pub name: String,
    /// The level: 1 is looked up first, 3 last.
    pub level: usize,
    /// The number of entries.
    pub entries: usize,
    /// The number of ways of a set.
    pub ways: usize,
    /// The page sizes that it holds, smallest first, each with its index function.
    pub pages: Vec<(PageSize, IndexFunction)>,
    /// The organisation of the entries and its parameters.
    pub organisation: OrganisationChoice,
    /// The replacement rule and its parameters.
    pub replacement: ReplacementChoice,
    /// The place of the structure among the others.
    pub role: Role,
    /// The number of wired entries: the first ways of each set. They hold pages of the system,
    /// which no recording of a program refers to, and never make room.
    pub wired: usize,
    /// The walk entries that the structure also holds: entries of the page table above the leaves,
    /// each level by the size of the address range that one entry covers, with its index function.
    pub walk_entries: Vec<(PageSize, IndexFunction)>,
}

impl Structure {
    /// The number of wired ways of a set.
    pub const fn wired_ways(&self) -> usize {
        self.wired / self.sets()
    }

    /// The number of sets.
    pub const fn sets(&self) -> usize {
        self.entries / self.ways
    }

    /// The number of translations used last that surely stay in a set
    /// ([`Replacement::keeps_last`]).
    pub fn keeps_last(&self) -> Option<usize> {
        (self.replacement.entry().keeps_last)(self.ways)
    }

    /// The index function for pages of a size, if the structure holds them.
    pub fn index(&self, size: PageSize) -> Option<&IndexFunction> {
        self.pages
            .iter()
            .find(|(held, _)| *held == size)
            .map(|(_, index)| index)
    }
}

/// Returns true if walks fill a structure, which removes no entries of other levels.
fn is_independent(of: &Structure) -> bool {
    !of.role.inclusive && of.role.fills == Fills::Walks
}

/// A TLB of one to three levels. At each level larger pages are looked up first, unless a structure
/// says otherwise. A level has at most one structure for each page size and kind of reference that
/// walks fill, unless its structures take turns. The first level holds every size of the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Design {
    structures: Vec<Structure>,
    sizes: Vec<PageSize>,
}

/// The most levels.
pub(crate) const MOST_TLB_LEVELS: usize = 3;

/// An error of a design: the structure, the part of its description, and a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", if name.is_empty() { String::new() } else { format!("{name}: ") })]
pub struct DesignError {
    /// The number of the structure, from 0.
    pub structure: usize,
    /// The name of the structure. Empty if the design has none.
    pub name: String,
    /// The wrong part.
    pub field: Field,
    /// The reason.
    pub message: String,
}

/// The part of a structure's description that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// No particular part.
    Whole,
    /// The level.
    Level,
    /// The number of entries.
    Entries,
    /// The number of ways.
    Ways,
    /// The replacement rule.
    Replacement,
    /// The organisation.
    Organisation,
    /// The parameter of that name of the organisation.
    Parameter(&'static str),
    /// The kinds of references that look the structure up.
    Serves,
    /// What fills the structure.
    Fills,
    /// Inclusion.
    Inclusive,
    /// Turns.
    Alternates,
    /// The number of wired entries.
    Wired,
    /// The walk entries.
    WalkEntries,
    /// The index function for pages of this size.
    Index(PageSize),
}

impl Design {
    /// A design of these structures.
    ///
    /// # Errors
    /// The first structure that no TLB can have, or that contradicts an earlier one.
    pub fn new(structures: Vec<Structure>) -> Result<Self, DesignError> {
        check::check(&structures)?;
        let mut sizes: Vec<PageSize> = structures
            .iter()
            .flat_map(|structure| &structure.pages)
            .map(|(size, _)| *size)
            .collect();
        sizes.sort_unstable();
        sizes.dedup();
        Ok(Self { structures, sizes })
    }

    /// The structures, in the order of the description.
    pub fn structures(&self) -> &[Structure] {
        &self.structures
    }

    /// The page sizes that it can hold, smallest first.
    pub fn sizes(&self) -> &[PageSize] {
        &self.sizes
    }

    /// Returns true if every structure has sets of ways with exact LRU replacement, at one of two
    /// levels that walks fill, serves data alone, and has neither wired entries nor walk entries.
    /// Accelerators rely on all of this.
    pub fn is_sets_with_lru(&self) -> bool {
        let plain = |of: &Structure| {
            let is_usual = of.role == Role::default() && of.level <= 2;
            let is_whole = of.wired == 0 && of.walk_entries.is_empty();
            let is_plain = Organisation::is_plain_sets(&of.organisation);
            is_plain && Replacement::is_lru(&of.replacement) && is_usual && is_whole
        };
        self.structures.iter().all(plain)
    }

    /// The number of last pages that surely stay at the first level: the lookup of one of these
    /// pages by a load or a store, in any order, hits there and changes nothing but the order of
    /// last use. `None` if that is not known of any number.
    ///
    /// Known are TLBs whose first level for data is one structure of one set for all page sizes,
    /// with a replacement rule that [keeps the last](Replacement::keeps_last) and an organisation
    /// that [keeps pages](Organisation::keeps_pages). Walks fill all levels, and no level removes
    /// entries of another. Fetches are not considered.
    pub fn last_pages(&self) -> Option<usize> {
        let serves_data = |of: &&Structure| of.role.serves.loads || of.role.serves.stores;
        let mut first = (self.structures.iter())
            .filter(serves_data)
            .filter(|of| of.level == 1);
        let (Some(of), None) = (first.next(), first.next()) else {
            return None;
        };
        let is_usual = of.role.serves.loads
            && of.role.serves.stores
            && of.role.probes == ProbeOrder::Parallel
            && (of.sets(), of.wired, of.walk_entries.len()) == (1, 0, 0);
        let is_known = is_usual
            && self.structures.iter().all(is_independent)
            && of.pages.len() == self.sizes.len()
            && (of.organisation.entry().keeps_pages)(of);
        of.keeps_last().filter(|_| is_known)
    }

    /// Returns true if each structure of the first level has sets of ways, serves data alone, has
    /// neither wired entries nor walk entries, and has a replacement rule that keeps the last
    /// ([`Replacement::keeps_last`]). No level removes entries of the first.
    pub fn is_sets_by_last_use(&self) -> bool {
        let plain = |of: &Structure| {
            let is_whole = of.wired == 0 && of.walk_entries.is_empty();
            let is_plain = Organisation::is_plain_sets(&of.organisation);
            is_plain && is_whole && of.role == Role::default() && of.keeps_last().is_some()
        };
        let mut structures = self.structures.iter();
        structures.all(|of| is_independent(of) && (of.level > 1 || plain(of)))
    }

    /// Returns true if the replacement rule of a structure needs that, or the organisation counts
    /// uses.
    pub fn needs(&self, need: RuleNeed) -> bool {
        let needs = |of: &Structure| {
            let counts = need == RuleNeed::Uses && (of.organisation.entry().counts_uses)(of);
            counts || of.replacement.entry().needs.contains(&need)
        };
        self.structures.iter().any(needs)
    }

    /// Returns true if entries depend on the frames and the attributes of pages, or on their
    /// neighbours in the page table.
    pub fn wants_tables(&self) -> bool {
        let mut structures = self.structures.iter();
        structures.any(|of| of.role.wants_tables() || (of.organisation.entry().wants_tables)(of))
    }

    /// The support that the TLB needs from an operating system: of its organisations, each once,
    /// and of superpages if it holds pages of several sizes. Empty if it needs none.
    pub fn support(&self) -> Vec<SystemSupport> {
        let mut support = Vec::new();
        if self.sizes.len() > 1 {
            support.push(SystemSupport::SUPERPAGE_STATIC);
            support.push(SystemSupport::SUPERPAGE_DYNAMIC);
        }
        for structure in &self.structures {
            let own = structure.organisation.entry().support;
            support.extend(own.filter(|own| !support.contains(own)));
        }
        support
    }

    /// Returns true if the TLB translates references of a kind.
    pub fn serves(&self, kind: ReferenceKind) -> bool {
        self.structures.iter().any(|of| of.role.serves.has(kind))
    }

    /// Returns true if loads and stores look different structures up.
    pub fn parts_loads_from_stores(&self) -> bool {
        let parts = |of: &Structure| of.role.serves.loads != of.role.serves.stores;
        self.structures.iter().any(parts)
    }

    /// Returns true if there is a second level.
    pub fn has_second_level(&self) -> bool {
        self.structures.iter().any(|structure| structure.level == 2)
    }

    /// The number of entries that the structures of a level have for pages of that size and
    /// references of that kind.
    fn entries(&self, level: usize, size: PageSize, kind: ReferenceKind, fills: Fills) -> usize {
        let counts = |of: &&Structure| {
            let is_there = of.level == level && of.index(size).is_some();
            is_there && of.role.serves.has(kind) && of.role.fills == fills
        };
        let structures = self.structures.iter().filter(counts);
        structures.map(|of| of.entries).sum()
    }

    /// The capacity for pages of a size: the most entries that loads find, or fetches if the TLB
    /// serves no data. Levels that walks fill hold the same pages, so the largest counts. The
    /// victims of a level are pages that the level lacks, so their entries are added. Entries for
    /// prefetched pages do not count.
    pub fn capacity(&self, size: PageSize) -> usize {
        let kind = match self.serves(ReferenceKind::Load) {
            true => ReferenceKind::Load,
            false => ReferenceKind::Fetch,
        };
        let (mut most, mut below) = (0, 0);
        for level in (1..=MOST_TLB_LEVELS).rev() {
            most = most.max(below + self.entries(level, size, kind, Fills::Walks));
            let victims = self.entries(level, size, kind, Fills::Victims);
            below = if victims == 0 { 0 } else { victims + below };
        }
        most
    }

    /// The first structure, in the order of the description, of that level that holds pages of that
    /// size, and its number. Others may hold the size too.
    pub fn holding(&self, level: usize, size: PageSize) -> Option<(usize, &Structure)> {
        let holds =
            |structure: &Structure| structure.level == level && structure.index(size).is_some();
        self.structures
            .iter()
            .enumerate()
            .find(|(_, structure)| holds(structure))
    }
}
