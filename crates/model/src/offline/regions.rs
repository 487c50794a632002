//! The mappings of faulting pages that a superpage could have held.

use broadleaf_memory::system::Place;
use broadleaf_memory::{Backing, Mapping, Pages};
use broadleaf_units::SpaceId;
use std::collections::BTreeMap;

/// The mapping of each 4 KiB page at its last fault that a superpage could have held. Runs of
/// pages, by their first page, with the page after the last and the mapping, which may be larger.
#[derive(Clone, Debug, Default)]
pub(super) struct FaultRegions(BTreeMap<(SpaceId, u64), (u64, (Pages, Backing))>);

impl FaultRegions {
    /// Notes a fault of a 4 KiB page, in a mapping that holds all of a superpage around the page.
    pub(super) fn note(&mut self, at: Place, unit: u64, mapping: Option<Mapping>) {
        let Some(mapping) = mapping else { return };
        let (start, end) = (mapping.pages.start, mapping.pages.end);
        debug_assert!((start..end).contains(&unit));
        let noted = (end, (mapping.pages, mapping.backing));
        if self.0.get(&(at.space, start)) == Some(&noted) {
            return;
        }
        self.cut(at.space, start, end);
        self.0.insert((at.space, start), noted);
    }

    /// The mapping noted around a 4 KiB page.
    pub(super) fn around(&self, space: SpaceId, unit: u64) -> Option<(Pages, Backing)> {
        let (_, (end, found)) = self.0.range((space, 0)..=(space, unit)).next_back()?;
        (unit < *end).then_some(*found)
    }

    /// Forgets the mappings of a range.
    fn cut(&mut self, space: SpaceId, start: u64, end: u64) {
        let before = self.0.range((space, 0)..(space, start)).next_back();
        let first = before.map_or(start, |((_, first), _)| *first);
        let met: Vec<_> = (self.0.range((space, first)..(space, end)))
            .filter(|(_, (to, _))| *to > start)
            .map(|((_, from), (to, found))| (*from, *to, *found))
            .collect();
        for (from, to, found) in met {
            self.0.remove(&(space, from));
            if from < start {
                self.0.insert((space, from), (start, found));
            }
            if to > end {
                self.0.insert((space, end), (to, found));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(regions: &mut FaultRegions, start: u64, end: u64, space: u32) {
        let mapping = Mapping {
            pages: Pages { start, end },
            rights: broadleaf_units::Rights::READ_WRITE,
            shared: false,
            backing: Backing::Anonymous,
        };
        let place = Place {
            space: SpaceId(space),
            page: start,
        };
        regions.note(place, start, Some(mapping));
    }

    #[test]
    fn each_page_knows_what_it_lay_in_last() {
        let mut regions = FaultRegions::default();
        noted(&mut regions, 100, 200, 1);
        noted(&mut regions, 120, 150, 1);
        noted(&mut regions, 190, 220, 1);
        noted(&mut regions, 100, 300, 2);
        let around = |unit| {
            let found = regions.around(SpaceId(1), unit);
            found.map(|(pages, _)| (pages.start, pages.end))
        };
        for (unit, expected) in [
            (99, None),
            (100, Some((100, 200))),
            (119, Some((100, 200))),
            (120, Some((120, 150))),
            (150, Some((100, 200))),
            (190, Some((190, 220))),
            (219, Some((190, 220))),
            (220, None),
        ] {
            assert_eq!(around(unit), expected, "{unit}");
        }
        noted(&mut regions, 110, 400, 1);
        let found = regions.around(SpaceId(1), 190).unwrap().0;
        assert_eq!((found.start, found.end), (110, 400));
        assert_eq!(regions.around(SpaceId(1), 105).unwrap().0.end, 200);
    }
}
