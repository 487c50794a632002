//! Organisations and replacement rules with their parameters, as a structure of a machine has them.

use crate::{Organisation, Replacement};
use broadleaf_units::CatalogueChoice;

/// An organisation with the values of its parameters.
pub type OrganisationChoice = CatalogueChoice<Organisation>;

/// A replacement rule with the values of its parameters.
pub type ReplacementChoice = CatalogueChoice<Replacement>;

impl Organisation {
    /// Returns true for sets of ways with one page in each entry, in the set of the page.
    /// Accelerators rely on this.
    pub fn is_plain_sets(choice: &OrganisationChoice) -> bool {
        *choice == OrganisationChoice::from(Self::set_associative())
    }
}

impl Replacement {
    /// Returns true if the rule is exact LRU. Accelerators rely on the order of last use.
    pub fn is_lru(choice: &ReplacementChoice) -> bool {
        *choice == Self::lru()
    }
}
