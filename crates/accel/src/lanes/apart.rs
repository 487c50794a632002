//! TLBs apart: each looks up all pages before the next does.

use super::alone::{Alone, AloneShape};
use super::{PageId, Stop, Tlbs, Walks, room_for};
use broadleaf_units::PageNumber;

impl Tlbs {
    /// The TLB of a lane and its shape, if TLBs are apart.
    pub(super) fn alone(&mut self, lane: usize) -> Option<(&mut Alone, &AloneShape)> {
        let shape = self.below[self.only_machine(lane)].shape()?;
        Some((self.apart.as_mut()?.get_mut(lane)?, shape))
    }

    /// The machine of a lane that has no other.
    fn only_machine(&self, lane: usize) -> usize {
        self.machines[lane].trailing_zeros() as usize
    }

    /// Returns true if TLBs of all machines [can be apart](Self::set_apart).
    pub(crate) fn may_be_apart(&self) -> bool {
        self.below.iter().all(|below| below.shape().is_some())
    }

    /// Looks pages up in each TLB by itself from now on if `apart` is true, otherwise in all lanes
    /// at once. Returns false, and changes nothing, if TLBs of any machine cannot be apart.
    ///
    /// # Panics
    /// If machines share a lane, and TLBs are to be apart.
    pub(crate) fn set_apart(&mut self, apart: bool) -> bool {
        if apart && !self.may_be_apart() {
            return false;
        }
        match self.apart.take() {
            None if apart => self.take_apart(),
            Some(alone) if !apart => self.put_together(&alone),
            same => self.apart = same,
        }
        true
    }

    fn take_apart(&mut self) {
        let alone = |lane: usize| {
            let rows = self.first.iter();
            let first: Vec<u32> = rows.flat_map(|rows| rows.lane(lane, self.lanes)).collect();
            let machines = self.machines[lane];
            assert_eq!(machines.count_ones(), 1, "machines share a lane");
            let below = &self.below[self.only_machine(lane)];
            Alone::new(&first, below.sets(lane).to_vec())
        };
        self.apart = Some((0..self.count).map(alone).collect());
    }

    fn put_together(&mut self, apart: &[Alone]) {
        self.resize(room_for(self.count));
        for (lane, alone) in apart.iter().enumerate() {
            let mut first = alone.first().iter().copied();
            for rows in &mut self.first {
                rows.fill_lane(lane, self.lanes, &mut first);
            }
        }
        for (machine, below) in self.below.iter_mut().enumerate() {
            let lanes = apart.iter().zip(&self.machines);
            let sets = lanes.map(|(alone, machines)| match machines >> machine & 1 {
                0 => Vec::new(),
                _ => alone.second().to_vec(),
            });
            below.fill(sets.collect());
        }
    }

    /// The entries of a lane at the first level: structure by structure and set by set, newest
    /// first. Two TLBs of a design with equal entries at all levels give equal answers to equal
    /// lookups, if no TLB is joined to either.
    pub(crate) fn first_entries(&self, lane: usize) -> Vec<u32> {
        match &self.apart {
            Some(apart) => apart[lane].first().to_vec(),
            None => {
                let rows = self.first.iter();
                rows.flat_map(|rows| rows.lane(lane, self.lanes)).collect()
            }
        }
    }

    /// The entries of a lane below the first level of a machine, in the same order.
    pub(crate) fn entries_below(&self, lane: usize, machine: usize) -> Vec<u32> {
        let flat = |group: &super::sixteen::WayGroup| group.0;
        match &self.apart {
            Some(apart) => apart[lane].second().iter().flat_map(flat).collect(),
            None => self.below[machine]
                .sets(lane)
                .iter()
                .flat_map(flat)
                .collect(),
        }
    }

    /// Returns true if a TLB is joined to another.
    #[cfg(test)]
    pub(crate) fn has_joined(&self) -> bool {
        let mut apart = self.apart.iter().flatten();
        apart.any(Alone::is_joined)
    }

    /// Searches TLBs that are apart for base pages. Lookups are faster in a TLB without base pages.
    pub(crate) fn find_strays(&mut self) {
        for lane in 0..self.count {
            if let Some((alone, shape)) = self.alone(lane) {
                alone.find_strays(shape);
            }
        }
    }

    /// Joins the TLB `other` to the TLB `lane` if both are [apart](Self::set_apart), of one
    /// machine, and differ in strays alone. `owners` are those of `other`, a bit for each. The last
    /// TLB takes the number of `other`. Returns false, and changes nothing, if the TLBs cannot be
    /// joined.
    ///
    /// A joined TLB makes the lookups of all its owners. They have equal counts.
    pub(crate) fn join(&mut self, lane: usize, other: usize, owners: u64) -> bool {
        let machine = self.only_machine(lane);
        let (Some(apart), Some(shape)) = (&mut self.apart, self.below[machine].shape()) else {
            return false;
        };
        if self.machines[lane] != self.machines[other] {
            return false;
        }
        let Ok([alone, joining]) = apart.get_disjoint_mut([lane, other]) else {
            return false;
        };
        let joins = alone.join(shape, joining, owners);
        if joins {
            self.remove(other);
        }
        joins
    }

    /// Separates joined TLBs of a lane whose next lookup is this page, after
    /// [`Stop::Strays`]. Appends the new TLBs, and returns their owners.
    pub(crate) fn part_at(&mut self, lane: usize, page: PageNumber, id: PageId) -> Vec<u64> {
        self.part_by(lane, |alone, shape| alone.part_at(shape, page, id))
    }

    /// Separates all joined TLBs of a lane. Appends the new TLBs, and returns their owners.
    pub(crate) fn part(&mut self, lane: usize) -> Vec<u64> {
        self.part_by(lane, Alone::part)
    }

    fn part_by(
        &mut self,
        lane: usize,
        part: impl Fn(&mut Alone, &AloneShape) -> Vec<(u64, Alone)>,
    ) -> Vec<u64> {
        let Some((alone, shape)) = self.alone(lane) else {
            return Vec::new();
        };
        if !alone.is_joined() {
            return Vec::new();
        }
        let (owners, parted): (Vec<u64>, Vec<Alone>) = part(alone, shape).into_iter().unzip();
        self.count += parted.len();
        self.machines.resize(self.count, self.machines[lane]);
        if let Some(apart) = &mut self.apart {
            apart.extend(parted);
        }
        owners
    }

    /// Looks base pages up in one of the TLBs, which must be [apart](Self::set_apart). The effect
    /// is that of [`Tlbs::look_up`]. Returns where and why the lookups stop early.
    ///
    /// # Panics
    /// If there are fewer ids than pages, or the TLBs are not apart.
    pub(crate) fn look_up_alone(
        &mut self,
        lane: usize,
        pages: &[PageNumber],
        ids: &[PageId],
        walks: &mut impl Walks,
    ) -> Option<Stop> {
        let vectors = self.vectors;
        let machine = self.only_machine(lane);
        let Some((alone, shape)) = self.alone(lane) else {
            panic!("a lookup in one TLB, which are side by side");
        };
        let ids = &ids[..pages.len()];
        alone.look_up(shape, vectors, (lane, machine), (pages, ids), walks)
    }
}
