//! Empty recency tables for the designs of a plan.

use super::pages::{NO_LARGER_PAGES, NO_PAGES};
use super::places::PLACES;
use super::window::Window;
use super::{DEPTH, Recency, RecencyPlaces, SETS};
use broadleaf_tlb::{Compiled, Design, IndexFunction, Structure};
use broadleaf_units::PageSize;

/// The window of a group may keep this many times fewer pages than that of one of its TLBs.
const MOST_WIDER: usize = 4;

impl Recency {
    /// An empty table for TLBs of these designs.
    pub fn new<'a>(designs: impl IntoIterator<Item = &'a Design>) -> Self {
        let designs: Vec<&Design> = designs.into_iter().collect();
        let mut recency = Self::for_any_design();
        if !designs.iter().all(|design| design.is_sets_with_lru())
            && let Some(count) = last_pages(&designs)
        {
            let has_larger = designs.iter().any(|design| design.sizes().len() > 1);
            recency.window = Some(Window::new(count, has_larger));
            return recency;
        }
        if !designs.iter().all(|design| design.is_sets_by_last_use()) {
            return recency;
        }
        let mut known: Vec<&Structure> = Vec::new();
        // Structures of base pages and of larger pages, each kind as one with the sets that all of
        // them have in common.
        let (mut base, mut larger): (Option<IndexFunction>, Option<(PageSize, IndexFunction)>) =
            (None, None);
        let mut ways = DEPTH;
        let first = designs
            .into_iter()
            .flat_map(|design| design.structures())
            .filter(|structure| structure.level == 1);
        for structure in first {
            ways = ways.min(structure.keeps_last().unwrap_or(1));
            let alike = |other: &&Structure| {
                (other.sets(), &other.pages) == (structure.sets(), &structure.pages)
            };
            if known.iter().any(alike) {
                continue;
            }
            known.push(structure);
            let is_added = match &structure.pages[..] {
                [(PageSize::SIZE_4K, index)] => {
                    let common = (base.as_ref()).map_or(Some(index.clone()), |it| it.common(index));
                    common.map(|index| base = Some(index)).is_some()
                }
                [(size, index)] if larger.as_ref().is_none_or(|(known, _)| known == size) => {
                    let common =
                        (larger.as_ref()).map_or(Some(index.clone()), |(_, it)| it.common(index));
                    common.map(|index| larger = Some((*size, index))).is_some()
                }
                _ => false,
            };
            if !is_added {
                recency.strict.add(structure);
            }
        }
        recency.has_strict = !recency.strict.is_empty();
        if !recency.has_strict && base.is_some() && larger.is_some() {
            recency.depth = ways;
            recency.shallow = ways == 1;
        }
        // Without a structure for base pages alone, or for larger pages alone, an index as fine as
        // that of another structure takes its place. The other structures decide.
        let mixed = known.iter().find(|structure| structure.pages.len() > 1);
        let finest = |mixed: &&Structure| mixed.pages.first().map(|(_, index)| index.clone());
        let largest = |mixed: &&Structure| {
            let larger = mixed.pages.iter().rev();
            let mut larger = larger.filter(|(size, _)| *size > PageSize::SIZE_4K);
            larger.next().cloned()
        };
        if let Some(index) = base.or_else(|| mixed.and_then(finest)) {
            recency.index = index.compile();
        }
        if let Some((size, index)) = larger.or_else(|| mixed.and_then(largest)) {
            recency.larger_index = index.compile();
            recency.shift = u32::from(size.shift() - PageSize::SIZE_4K.shift());
        }
        recency
    }

    /// Returns true if the filter knows TLBs of all these designs: their first levels have sets
    /// that keep the translations used last, or all keep the last pages.
    pub fn covers<'a>(designs: impl IntoIterator<Item = &'a Design>) -> bool {
        let designs: Vec<&Design> = designs.into_iter().collect();
        let mut all = designs.iter();
        all.all(|design| design.is_sets_by_last_use()) || last_pages(&designs).is_some()
    }

    /// Parts designs into groups: the filter knows all TLBs of a group together, about as well as
    /// each alone. Each design joins the first group that it fits. A design that the filter does
    /// not know is in no group. Equal designs are in one group.
    pub fn groups<'d>(designs: impl IntoIterator<Item = &'d Design>) -> Vec<Vec<&'d Design>> {
        let mut groups: Vec<Vec<&Design>> = Vec::new();
        for design in designs.into_iter().filter(|design| Self::covers([*design])) {
            if let Some(known) = groups.iter_mut().find(|group| group.contains(&design)) {
                known.push(design);
                continue;
            }
            let fits = |group: &&mut Vec<&Design>| {
                let joined = || group.iter().copied().chain([design]);
                let is_alike =
                    |filter: &Self| joined().all(|one| filter.leaves_out_like(&Self::new([one])));
                Self::covers(joined()) && is_alike(&Self::new(joined()))
            };
            match groups.iter_mut().find(fits) {
                Some(group) => group.push(design),
                None => groups.push(vec![design]),
            }
        }
        groups
    }

    /// Returns true if the filter of these TLBs leaves out about as much as the other. Both keep
    /// the last pages of sets, or both keep the last pages of all, and this one at least a fourth.
    fn leaves_out_like(&self, other: &Self) -> bool {
        match (&self.window, &other.window) {
            (Some(window), Some(other)) => MOST_WIDER * window.capacity() >= other.capacity(),
            (None, None) => (self.has_strict, self.shallow) == (other.has_strict, other.shallow),
            _ => false,
        }
    }

    /// An empty table for TLBs of any design. Only a repeated lookup of the last page changes
    /// nothing in all of them.
    fn for_any_design() -> Self {
        Self {
            index: Compiled::default(),
            pages: [NO_PAGES; SETS],
            larger_index: Compiled::default(),
            shift: u32::from(PageSize::SIZE_2M.shift() - PageSize::SIZE_4K.shift()),
            larger: [NO_LARGER_PAGES; SETS],
            strict: Box::default(),
            has_strict: false,
            depth: 1,
            shallow: true,
            when: [0; PLACES],
            made: [0; PLACES],
            made_last: [0; SETS],
            larger_place: [0; PLACES],
            with_larger: [RecencyPlaces::NONE; PLACES],
            left_out: RecencyPlaces::NONE,
            clock: 0,
            window: None,
        }
    }
}

/// The number of last pages that all TLBs of these designs keep.
fn last_pages(designs: &[&Design]) -> Option<usize> {
    let kept: Option<Vec<usize>> = designs.iter().map(|design| design.last_pages()).collect();
    kept?.into_iter().min()
}
