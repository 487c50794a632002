//! What stood where pages faulted in.

use broadleaf_memory::system::Place;
use broadleaf_memory::{Backing, Mapping, Pages};
use broadleaf_units::SpaceId;
use std::collections::BTreeMap;

/// Mappings as they were when something of them faulted in last, by their first pages of 4 KiB.
#[derive(Clone, Debug, Default)]
pub(super) struct Regions(BTreeMap<(SpaceId, u64), (Pages, Backing)>);

impl Regions {
    /// A page of 4 KiB faults in.
    pub(super) fn note(&mut self, at: Place, unit: u64, mapping: Option<Mapping>) {
        let Some(mapping) = mapping else { return };
        debug_assert!((mapping.pages.start..mapping.pages.end).contains(&unit));
        let key = (at.space, mapping.pages.start);
        self.0.insert(key, (mapping.pages, mapping.backing));
    }

    /// What stood around a page of 4 KiB.
    pub(super) fn around(&self, space: SpaceId, unit: u64) -> Option<(Pages, Backing)> {
        let (_, found) = self.0.range((space, 0)..=(space, unit)).next_back()?;
        (unit < found.0.end).then_some(*found)
    }
}
