//! A TLB design: its structures, validated once and never changed.

use crate::organisation::REPLICATE;
use crate::role::Fills;
use crate::{IndexFunction, OrganisationChoice, ReferenceKind, ReplacementChoice, Role, RuleNeed};
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
    /// The number of wired entries: the first ways of each set. They hold pages of the system, which
    /// no recording of a program refers to, and never make room.
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

    /// The index function for pages of a size, if the structure holds them.
    pub fn index(&self, size: PageSize) -> Option<&IndexFunction> {
        self.pages
            .iter()
            .find(|(held, _)| *held == size)
            .map(|(_, index)| index)
    }
}

/// A TLB of one to three levels. At each level larger pages are looked up first, unless a structure
/// says otherwise. A level has at most one structure for each page size and kind of reference that
/// walks fill, unless its structures take turns. The first level holds every size of the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Design {
    structures: Vec<Structure>,
    sizes: Vec<PageSize>,
}

/// The maximum number of entries of a structure, so that a mistyped number does not exhaust memory.
const MOST_ENTRIES: usize = 1 << 24;
/// The most levels.
pub(crate) const MOST_TLB_LEVELS: usize = 3;
/// Page sizes are coded in four bits of an entry, of which 0 means an empty one.
const MOST_SIZES: usize = 15;

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
    /// The organisation or one of its parameters.
    Organisation,
    /// The place among the other structures.
    Role,
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
        check(&structures)?;
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
            of.organisation.is_plain_sets() && of.replacement.is_lru() && is_usual && is_whole
        };
        self.structures.iter().all(plain)
    }

    /// Returns true if the replacement rule of a structure needs that.
    pub fn needs(&self, need: RuleNeed) -> bool {
        let mut rules = self.structures.iter().map(|of| of.replacement.rule());
        rules.any(|rule| rule.needs.contains(&need))
    }

    /// Returns true if entries depend on the frames and the attributes of pages, or on their
    /// neighbours in the page table.
    pub fn wants_tables(&self) -> bool {
        let mut structures = self.structures.iter();
        structures
            .any(|of| of.role.wants_tables() || (of.organisation.organisation().wants_tables)(of))
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

    /// The structure of that level that holds pages of that size, and its number.
    pub fn holding(&self, level: usize, size: PageSize) -> Option<(usize, &Structure)> {
        let holds =
            |structure: &Structure| structure.level == level && structure.index(size).is_some();
        self.structures
            .iter()
            .enumerate()
            .find(|(_, structure)| holds(structure))
    }
}

/// The reason why a structure cannot have so many wired entries.
fn refuses_wired(structure: &Structure) -> Option<String> {
    let (wired, sets) = (structure.wired, structure.sets());
    if !wired.is_multiple_of(sets) {
        return Some(format!(
            "{wired} wired entries do not divide into {sets} sets"
        ));
    }
    (wired >= structure.entries).then(|| {
        let entries = structure.entries;
        format!("{wired} wired entries of {entries} leave none for the pages of programs")
    })
}

/// The reason why a structure cannot hold its walk entries.
fn refuses_walk_entries(structure: &Structure) -> Option<String> {
    let (first, _) = structure.walk_entries.first()?;
    if structure.level == 1 {
        return Some("walks look up walk entries below the first level".to_owned());
    }
    if structure.role.fills != Fills::Walks {
        return Some("walks fill structures of walk entries: fills = \"walks\"".to_owned());
    }
    let rule = structure.replacement.rule();
    if rule.needs.contains(&RuleNeed::Future) {
        let name = rule.described.name;
        return Some(format!(
            "replacement {name} knows the next use of pages alone"
        ));
    }
    if *first <= structure.pages[0].0 {
        let (span, page) = (first.short_name(), structure.pages[0].0.short_name());
        return Some(format!(
            "a walk entry of {span} is no larger than a page of {page}"
        ));
    }
    let wrong_sets = |(span, index): &(PageSize, IndexFunction)| {
        let inside = |bit| bit < u32::from(span.shift());
        if index.sets() != structure.sets() as u64 {
            let (found, sets) = (index.sets(), structure.sets());
            return Some(format!("{index} distinguishes {found} sets of {sets}"));
        }
        let span = span.short_name();
        let is_inside = index.lowest_bit().is_some_and(inside);
        is_inside.then(|| format!("{index} looks at bits inside a walk entry of {span}"))
    };
    structure.walk_entries.iter().find_map(wrong_sets)
}

fn check(structures: &[Structure]) -> Result<(), DesignError> {
    let wrong = |structure: usize, field: Field, message: String| {
        let name = structures.get(structure).map(|of| of.name.clone());
        Err(DesignError {
            structure,
            name: name.unwrap_or_default(),
            field,
            message,
        })
    };
    if structures.is_empty() {
        return wrong(
            0,
            Field::Whole,
            "a machine needs at least one tlb".to_string(),
        );
    }
    for (number, structure) in structures.iter().enumerate() {
        let at = |field: Field, message: String| wrong(number, field, message);
        if !(1..=MOST_TLB_LEVELS).contains(&structure.level) {
            let message = format!("the level is 1 to {MOST_TLB_LEVELS}");
            return at(Field::Level, message);
        }
        if !(1..=MOST_ENTRIES).contains(&structure.entries) {
            return at(
                Field::Entries,
                format!("a tlb has 1 to {MOST_ENTRIES} entries"),
            );
        }
        if structure.ways == 0 || !structure.entries.is_multiple_of(structure.ways) {
            return at(
                Field::Ways,
                format!(
                    "{} entries do not divide into sets of {} ways",
                    structure.entries, structure.ways
                ),
            );
        }
        if let Some(reason) = refuses_wired(structure) {
            return at(Field::Wired, reason);
        }
        if let Some(reason) = (structure.replacement.rule().refuses)(structure.ways) {
            return at(Field::Replacement, reason);
        }
        if structure.pages.is_empty() {
            return at(
                Field::Whole,
                "a tlb holds at least one page size".to_string(),
            );
        }
        if structure.pages.len() > MOST_SIZES {
            return at(
                Field::Whole,
                format!("a tlb holds at most {MOST_SIZES} page sizes"),
            );
        }
        for (size, index) in &structure.pages {
            let field = Field::Index(*size);
            if index.sets() != structure.sets() as u64 {
                return at(
                    field,
                    format!(
                        "{index} distinguishes {} sets, but {} entries in {} ways make {}",
                        index.sets(),
                        structure.entries,
                        structure.ways,
                        structure.sets()
                    ),
                );
            }
            let inside = |bit| bit < u32::from(size.shift());
            let replicates = structure.organisation.flag(REPLICATE);
            if !replicates && index.lowest_bit().is_some_and(inside) {
                return at(
                    field,
                    format!("{index} looks at bits inside a {} page", size.short_name()),
                );
            }
            let twin = |other: &Structure| {
                let same = other.level == structure.level && other.index(*size).is_some();
                same && other.role.competes_with(&structure.role)
            };
            if let Some(other) = structures[..number].iter().find(|other| twin(other)) {
                return at(
                    field,
                    format!(
                        "{} holds {} pages at level {} already",
                        other.name,
                        size.short_name(),
                        other.level
                    ),
                );
            }
            // Otherwise a second access to a page would miss the first level again, however soon it
            // came.
            let first = |other: &Structure| {
                let loads = other.level == 1 && other.index(*size).is_some();
                loads && other.role.fills == Fills::Walks
            };
            if !structures.iter().any(first) {
                return at(
                    field,
                    format!("no tlb of level 1 holds {} pages", size.short_name()),
                );
            }
        }
        let organisation = structure.organisation.organisation();
        if let Some(reason) = (organisation.refuses)(structure) {
            return at(Field::Organisation, reason);
        }
        if let Some(reason) = structure.role.refuses(structure.level) {
            return at(Field::Role, reason);
        }
        if let Some(reason) = refuses_walk_entries(structure) {
            return at(Field::WalkEntries, reason);
        }
    }
    Ok(())
}
