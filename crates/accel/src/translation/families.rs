//! The families of a team's machines, and the misses of each machine.

use super::groups::Group;
use super::{Misses, OFTEN, TeamTranslation};
use crate::members::Members;
use crate::{MOST_LANES, Tlbs, have_one_first_level};
use broadleaf_machine::Machine;

impl<'a> TeamTranslation<'a> {
    /// The families of some machines under `count` policies, at least one if there are machines.
    /// Leaves out machines whose page sizes [`Tlbs`] do not take.
    ///
    /// TLBs of all machines of a family can be apart, or of none. Otherwise the TLBs that cannot be
    /// apart would keep the others side by side.
    pub(crate) fn families(machines: &'a [Machine], count: usize) -> Vec<Self> {
        if machines.is_empty() {
            return Vec::new();
        }
        let most = MOST_LANES / count;
        let mut families: Vec<(bool, Vec<(usize, &'a Machine)>)> = Vec::new();
        for (number, machine) in machines.iter().enumerate() {
            let Some(tlbs) = Tlbs::new(&[&machine.design]) else {
                continue;
            };
            let may_be_apart = tlbs.may_be_apart();
            let fits = |(apart, family): &&mut (bool, Vec<(usize, &Machine)>)| {
                *apart == may_be_apart
                    && family.len() < most
                    && have_one_first_level(&family[0].1.design, &machine.design)
            };
            match families.iter_mut().find(fits) {
                Some((_, family)) => family.push((number, machine)),
                None => families.push((may_be_apart, vec![(number, machine)])),
            }
        }
        let families = families.into_iter();
        let families = families.map(|(_, family)| Self::new(family, count));
        families.flatten().collect()
    }

    /// Returns true if any of these machines are of one family, under one policy.
    pub(crate) fn any_share(machines: &'a [Machine]) -> bool {
        let families = Self::families(machines, 1);
        families.iter().any(|family| family.machines.len() > 1)
    }

    /// A family under `count` policies. `None` if [`Tlbs`] do not take the machines' page sizes.
    fn new(machines: Vec<(usize, &'a Machine)>, count: usize) -> Option<Self> {
        let designs: Vec<_> = machines
            .iter()
            .map(|(_, machine)| &machine.design)
            .collect();
        let tlbs = Tlbs::new(&designs)?;
        Some(Self {
            groups: vec![Group {
                members: Members::MAX >> (Members::BITS as usize - count),
                machines: tlbs.machines(0),
                misses: vec![Misses::default(); machines.len()],
            }],
            misses: vec![vec![Misses::default(); count]; machines.len()],
            machines,
            tlbs,
            until_merge: OFTEN,
            between: OFTEN,
            until_layout: OFTEN,
            apart: false,
            lookups: 0,
            missed: 0,
            progress: Vec::new(),
        })
    }

    /// The machines, with their numbers among all machines of the team, and the misses of a member.
    pub(crate) fn misses_of(
        &self,
        member: usize,
    ) -> impl Iterator<Item = (usize, &'a Machine, Misses)> {
        let machines = self.machines.iter().enumerate();
        machines.map(move |(at, &(number, machine))| (number, machine, self.misses(at, member)))
    }

    /// The misses of one member on one machine of the family.
    pub(super) fn misses(&self, machine: usize, member: usize) -> Misses {
        let mut misses = self.misses[machine][member];
        let of_group = (self.groups.iter())
            .find(|group| group.members >> member & group.machines >> machine & 1 != 0);
        if let Some(group) = of_group {
            misses.add(&group.misses[machine]);
        }
        misses
    }
}
