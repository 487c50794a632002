//! Roles: the place of a structure among the others of its TLB.

use crate::{Field, ReferenceKind};

/// The place of a structure among the others of its TLB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Role {
    /// The kinds of references that look the structure up.
    pub serves: ServedKinds,
    /// What brings translations into the structure.
    pub fills: Fills,
    /// True if a translation that leaves the structure leaves the levels above too.
    pub inclusive: bool,
    /// The order in which the structure is probed for its page sizes.
    pub probes: ProbeOrder,
    /// True if walks fill the structures of the level that hold a size in turn.
    pub alternates: bool,
}

/// The kinds of references that look a structure up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServedKinds {
    /// Instruction fetches.
    pub fetches: bool,
    /// Loads.
    pub loads: bool,
    /// Stores.
    pub stores: bool,
}

/// What brings translations into a structure. A hit that moves a translation up leaves it in place
/// if no structure above holds its size for the kind of the reference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fills {
    /// Walks, and hits of lower levels.
    #[default]
    Walks,
    /// Translations that the level above loses. A hit moves the translation up again: the level is
    /// exclusive, or a victim buffer.
    Victims,
    /// The page after a missing one. A hit moves the translation up.
    Prefetches,
}

/// The order in which a structure is probed for its page sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProbeOrder {
    /// All sizes at once.
    #[default]
    Parallel,
    /// One size after the other, the largest first. Each further probe is counted.
    LargestFirst,
    /// One size after the other, the smallest first. Each further probe is counted.
    SmallestFirst,
}

impl Default for ServedKinds {
    /// Data.
    fn default() -> Self {
        Self {
            fetches: false,
            loads: true,
            stores: true,
        }
    }
}

impl ServedKinds {
    /// Returns true if a kind of reference looks both structures up.
    pub(crate) const fn overlaps(self, other: Self) -> bool {
        let data = self.loads && other.loads || self.stores && other.stores;
        data || self.fetches && other.fetches
    }

    /// Returns true if references of a kind look the structure up.
    pub const fn has(self, kind: ReferenceKind) -> bool {
        match kind {
            ReferenceKind::Fetch => self.fetches,
            ReferenceKind::Load => self.loads,
            ReferenceKind::Store => self.stores,
        }
    }
}

impl Role {
    /// Returns true if walks would fill both structures with one translation.
    pub(crate) fn competes_with(&self, other: &Self) -> bool {
        let in_turn = self.alternates && other.alternates;
        self.fills == other.fills && self.serves.overlaps(other.serves) && !in_turn
    }

    /// Returns true if the structure loads pages without a reference to them.
    pub(crate) fn wants_tables(&self) -> bool {
        self.fills == Fills::Prefetches
    }

    /// The reason why a structure of a level cannot have the role.
    pub(crate) fn refuses(&self, level: usize) -> Option<(Field, String)> {
        let ServedKinds {
            fetches,
            loads,
            stores,
        } = self.serves;
        if !(fetches || loads || stores) {
            let message = "no reference looks the structure up".to_owned();
            return Some((Field::Serves, message));
        }
        if level == 1 && self.inclusive {
            let message = "the first level has no level above that it could include".to_owned();
            return Some((Field::Inclusive, message));
        }
        if self.inclusive && self.fills == Fills::Victims {
            let message = "a structure of victims holds what the levels above lost".to_owned();
            return Some((Field::Inclusive, message));
        }
        (level == 1 && self.fills == Fills::Victims).then(|| {
            let message = "no level above the first loses translations to it".to_owned();
            (Field::Fills, message)
        })
    }
}
