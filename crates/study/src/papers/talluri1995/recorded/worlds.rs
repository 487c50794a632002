//! The memories in which each program is replayed, and the TLBs that observe them.

use broadleaf_model::{Files, MemoryLimits, Start};

use super::counts::WorldCounts;
use super::{designs, placement, table_memory, tendencies, walks};

/// A policy in a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct World {
    pub(super) policy: &'static str,
    pub(super) memory: WorldMemory,
}

/// The size and the state of a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorldMemory {
    /// Memory that never runs short.
    Plentiful,
    /// Memory with little room beside the program, and with little of it in one piece.
    Short,
}

/// The smallest short memory, in bytes.
const LEAST_SHORT: u64 = 32 << 20;

impl World {
    /// A world with plentiful memory.
    pub(super) const fn plentiful(policy: &'static str) -> Self {
        let memory = WorldMemory::Plentiful;
        Self { policy, memory }
    }

    /// A world with short memory.
    pub(super) const fn short(policy: &'static str) -> Self {
        let memory = WorldMemory::Short;
        Self { policy, memory }
    }

    /// Returns true if memory is short.
    pub(super) fn is_short(&self) -> bool {
        self.memory == WorldMemory::Short
    }

    /// Its name in files.
    pub(super) fn name(&self) -> String {
        match self.memory {
            WorldMemory::Plentiful => self.policy.to_owned(),
            WorldMemory::Short => format!("{} in short memory", self.policy),
        }
    }

    /// The memory of a program whose base pages take at most `peak` bytes.
    pub(super) fn limits(&self, peak: u64) -> MemoryLimits {
        let limits = match self.memory {
            WorldMemory::Plentiful => MemoryLimits::none(),
            // Half of the memory is occupied, so that a tenth is free beside the program. Half of
            // the free memory lies in pieces that hold no block.
            WorldMemory::Short => MemoryLimits {
                start: Start::Grouped {
                    occupied: 0.5,
                    fragmentation: Some(0.5),
                    movable: 0.0,
                    seed: 1,
                },
                ..MemoryLimits::new((peak / 5 * 11).max(LEAST_SHORT))
            },
        };
        MemoryLimits {
            files: Files::InMemory,
            ..limits
        }
    }
}

/// The worlds with the grids of their TLBs, each grid once. The first world has base pages: its
/// peak decides the size of short memories.
pub(super) fn worlds() -> Vec<(World, Vec<&'static str>)> {
    let mut worlds: Vec<(World, Vec<&'static str>)> = Vec::new();
    let all = (designs::observers())
        .chain(walks::observers())
        .chain(table_memory::observers())
        .chain(placement::observers())
        .chain(tendencies::observers());
    for (world, grid) in all {
        let place = worlds.iter().position(|(known, _)| *known == world);
        let place = place.unwrap_or_else(|| {
            worlds.push((world, Vec::new()));
            worlds.len() - 1
        });
        let (_, grids) = &mut worlds[place];
        if !grids.contains(&grid) {
            grids.push(grid);
        }
    }
    worlds
}

/// Returns true if the counts of a world have all its TLBs.
pub(super) fn are_whole(counts: &WorldCounts) -> bool {
    let mut worlds = worlds().into_iter();
    let world = worlds.find(|(world, _)| world.name() == counts.world);
    world.is_some_and(|(_, grids)| grids.iter().all(|grid| counts.design(grid).is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_without_a_tlb_are_not_whole() {
        let (world, grids) = worlds().swap_remove(0);
        let design = |grid: &&str| super::super::counts::DesignCounts {
            grid: (*grid).to_owned(),
            misses: 1,
            lines: 0,
            table_bytes: 0,
        };
        let mut counts = WorldCounts {
            world: world.name(),
            designs: grids.iter().map(design).collect(),
            ..WorldCounts::default()
        };
        assert!(are_whole(&counts));
        counts.designs.pop();
        assert!(!are_whole(&counts));
    }

    #[test]
    fn each_world_and_each_tlb_is_there_once_and_base_pages_come_first() {
        let worlds = worlds();
        assert_eq!(worlds[0].0, World::plentiful(designs::RANDOM));
        for (number, (world, grids)) in worlds.iter().enumerate() {
            assert!(worlds[..number].iter().all(|(other, _)| other != world));
            assert!(!grids.is_empty(), "{}", world.name());
            for (number, grid) in grids.iter().enumerate() {
                assert!(!grids[..number].contains(grid), "{grid}");
                let machines = broadleaf_machine::machines_of_grid(grid).expect("a grid");
                assert_eq!(machines.len(), 1, "{grid}");
                assert_eq!(machines[0].name, *grid);
            }
        }
    }
}
