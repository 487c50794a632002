//! The structures of a TLB at their places, and the order in which a lookup probes them.

use crate::design::MOST_TLB_LEVELS;
use crate::role::{ProbeOrder, Role};
use crate::{Entries, ReferenceKind, Structure};
use broadleaf_units::PageSize;
use std::cmp::Reverse;

/// For each level, the probes in their order: a structure, and a page size.
pub(crate) type Probes = [Vec<(usize, PageSize)>; MOST_TLB_LEVELS];

/// A structure and its place.
#[derive(Debug)]
pub(crate) struct Placed {
    pub(crate) entries: Box<dyn Entries>,
    pub(crate) level: usize,
    pub(crate) role: Role,
    pub(crate) sizes: Vec<PageSize>,
    /// The walk entries that the structure holds.
    pub(crate) walk_entries: Vec<PageSize>,
    /// For each size, the last turn.
    turns: Vec<u64>,
}

impl Placed {
    /// The empty structure of a design.
    pub(crate) fn new(of: &Structure) -> Self {
        Self {
            entries: (of.organisation.entry().build)(of),
            level: of.level,
            role: of.role,
            sizes: of.pages.iter().map(|(size, _)| *size).collect(),
            walk_entries: of.walk_entries.iter().map(|(span, _)| *span).collect(),
            turns: vec![0; of.pages.len()],
        }
    }

    /// The last turn in which the structure received a page of the size.
    pub(crate) fn last_turn(&self, size: PageSize) -> u64 {
        let mut turns = self.sizes.iter().zip(&self.turns);
        turns
            .find(|(held, _)| **held == size)
            .map_or(0, |(_, turn)| *turn)
    }

    pub(crate) fn take_turn(&mut self, size: PageSize, turn: u64) {
        let turns = self.sizes.iter().zip(&mut self.turns);
        for (_, last) in turns.filter(|(held, _)| **held == size) {
            *last = turn;
        }
    }
}

impl Clone for Placed {
    fn clone(&self) -> Self {
        Self {
            entries: self.entries.copy(),
            level: self.level,
            role: self.role,
            sizes: self.sizes.clone(),
            walk_entries: self.walk_entries.clone(),
            turns: self.turns.clone(),
        }
    }
}

/// The probes of each level for references of a kind.
pub(crate) fn probes(structures: &[Placed], kind: ReferenceKind) -> Probes {
    std::array::from_fn(|level| {
        let of_level = structures
            .iter()
            .enumerate()
            .filter(|(_, placed)| placed.level == level + 1 && placed.role.serves.has(kind));
        let mut probes: Vec<(usize, PageSize)> = of_level
            .flat_map(|(number, placed)| placed.sizes.iter().map(move |size| (number, *size)))
            .collect();
        // Structures of one size keep the order of the description.
        probes.sort_by_key(|(_, size)| Reverse(*size));
        // A structure that is probed in the other order keeps its places among the probes.
        for (number, placed) in structures.iter().enumerate() {
            if placed.role.probes == ProbeOrder::SmallestFirst {
                let of_structure = probes.iter_mut().filter(|(at, _)| *at == number);
                let mut places: Vec<&mut (usize, PageSize)> = of_structure.collect();
                let mut sizes: Vec<PageSize> = places.iter().map(|(_, size)| *size).collect();
                sizes.reverse();
                for (place, size) in places.iter_mut().zip(sizes) {
                    place.1 = size;
                }
            }
        }
        probes
    })
}
