//! Families: machines with equal first levels, and the lanes that the machines share.

use super::{PageId, Size, Tlbs};
use crate::bits::numbers;
use broadleaf_tlb::{Design, Structure};
use broadleaf_units::PageNumber;

/// Some machines of a family, a bit for each.
pub(crate) type FamilyMachines = u64;

/// All of `count` machines.
pub(super) fn all(count: usize) -> FamilyMachines {
    assert!(
        count <= FamilyMachines::BITS as usize,
        "a family is too large"
    );
    FamilyMachines::MAX >> (FamilyMachines::BITS as usize - count)
}

/// Returns true if the first levels of two designs differ in names alone.
pub(crate) fn have_one_first_level(one: &Design, other: &Design) -> bool {
    let first = |design: &Design| -> Vec<Structure> {
        let structures = design.structures().iter();
        let first = structures.filter(|structure| structure.level == 1);
        let nameless = first.cloned().map(|structure| Structure {
            name: String::new(),
            ..structure
        });
        nameless.collect()
    };
    first(one) == first(other)
}

impl Tlbs {
    /// The machines of a lane.
    pub(crate) fn machines(&self, lane: usize) -> FamilyMachines {
        self.machines[lane]
    }

    /// Gives some machines of a lane, not all, a lane of their own, the last one.
    pub(crate) fn part_machines(&mut self, lane: usize, machines: FamilyMachines) {
        let others = self.machines[lane] & !machines;
        debug_assert!(machines != 0 && others != 0, "a lane without a machine");
        self.copy(lane);
        let own = self.count - 1;
        for (machine, below) in self.below.iter_mut().enumerate() {
            if others >> machine & 1 == 0 {
                below.leave(lane);
            }
            if machines >> machine & 1 == 0 {
                below.leave(own);
            }
        }
        self.machines[lane] = others;
        self.machines[own] = machines;
    }

    /// Ends a lookup that [`Stop::Sizes`] interrupted. The machines that found a superpage get a
    /// lane of their own, the last one.
    ///
    /// [`Stop::Sizes`]: super::Stop::Sizes
    pub(crate) fn part_sizes(
        &mut self,
        lane: usize,
        superpages: FamilyMachines,
        (page, id): (PageNumber, PageId),
    ) {
        self.part_machines(lane, superpages);
        let places = [
            (lane, Size::Base, &self.base_pages),
            (self.count - 1, Size::Superpage, &self.superpages),
        ];
        for (lane, size, place) in places {
            let rows = &mut self.first[place.structure];
            rows.put_in_lane(place.index.set_of(page), (lane, self.lanes), id.entry(size));
        }
    }

    /// Unites two lanes of different machines if their first levels hold the same entries in the
    /// same order. The last lane takes the number of `other`. Returns false, and changes nothing,
    /// if the lanes cannot be united.
    pub(crate) fn unite(&mut self, lane: usize, other: usize) -> bool {
        let machines = self.machines[other];
        let unites = self.apart.is_none()
            && self.machines[lane] & machines == 0
            && self.have_equal_first(lane, other);
        if unites {
            for machine in numbers(machines) {
                self.below[machine].move_to(other, lane);
            }
            self.machines[lane] |= machines;
            self.remove(other);
        }
        unites
    }
}
