//! The promotions that policies foresee.

use broadleaf_units::{BlockNumber, SpaceId};
use std::collections::{BTreeMap, BTreeSet};

/// Blocks that a policy promotes, by address space.
pub type Promoted = BTreeSet<(SpaceId, BlockNumber)>;

/// The blocks that policies promote, by the name of the policy.
pub type ForeseenPromotions = BTreeMap<String, Promoted>;
