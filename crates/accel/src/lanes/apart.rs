//! TLBs apart: each looks up all pages before the next does.

use super::alone::{self, Alone, AloneShape};
use super::{PageId, Stop, Tlbs, Walks, room_for};
use broadleaf_units::PageNumber;

impl Tlbs {
    /// The shape of TLBs that are apart; `None` if the design lacks the structures for it.
    pub(super) fn shape_apart(&self) -> Option<AloneShape> {
        let (base, superpage) = (self.base_pages, self.superpages);
        let (base, superpage) = ((base.0, base.1?), (superpage.0, superpage.1?));
        let [super_rows, base_rows] = self.first.as_slice() else {
            return None;
        };
        let [second] = self.second.as_slice() else {
            return None;
        };
        let fits = (superpage.0.structure, base.0.structure) == (0, 1)
            && [super_rows.ways(), base_rows.ways()] == [alone::FIRST; 2]
            && second.ways == alone::SECOND;
        if !fits {
            return None;
        }
        AloneShape::new(base, superpage, super_rows.sets())
    }

    /// Looks pages up in each TLB by itself from now on if `apart` is true, otherwise in all TLBs
    /// at once. Returns false, and changes nothing, if TLBs of the design cannot be apart.
    pub fn set_apart(&mut self, apart: bool) -> bool {
        if apart && self.shape.is_none() {
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
            let second = self.second.iter().flat_map(|second| &second.entries[lane]);
            Alone::new(&first, second.copied().collect())
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
        for structure in &mut self.second {
            let second = apart.iter().map(|alone| alone.second().to_vec());
            structure.entries = second.collect();
        }
    }

    /// The entries of one TLB: structure by structure and set by set, newest first. Two TLBs of a
    /// design with equal entries give equal answers to equal lookups. No TLB is joined to this one.
    pub fn entries(&self, lane: usize) -> Vec<u32> {
        let (mut entries, second): (Vec<u32>, Vec<&[_]>) = match &self.apart {
            Some(apart) => (apart[lane].first().to_vec(), vec![apart[lane].second()]),
            None => {
                let rows = self.first.iter();
                let first = rows.flat_map(|rows| rows.lane(lane, self.lanes));
                let second = self.second.iter().map(|second| &*second.entries[lane]);
                (first.collect(), second.collect())
            }
        };
        entries.extend(second.into_iter().flatten().flat_map(|group| group.0));
        entries
    }

    /// Searches TLBs that are apart for base pages. Lookups are faster in a TLB without base pages.
    pub fn find_strays(&mut self) {
        if let (Some(apart), Some(shape)) = (&mut self.apart, &self.shape) {
            apart.iter_mut().for_each(|alone| alone.find_strays(shape));
        }
    }

    /// Joins the TLB `other` to the TLB `lane` if both are [apart](Self::set_apart) and differ in
    /// strays alone. `owners` are those of `other`, a bit for each. The last TLB takes the number
    /// of `other`. Returns false, and changes nothing, if the TLBs cannot be joined.
    ///
    /// A joined TLB makes the lookups of all its owners. They have equal counts.
    pub fn join(&mut self, lane: usize, other: usize, owners: u64) -> bool {
        let (Some(apart), Some(shape)) = (&mut self.apart, &self.shape) else {
            return false;
        };
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
    pub fn part_at(&mut self, lane: usize, page: PageNumber, id: PageId) -> Vec<u64> {
        self.part_by(lane, |alone, shape| alone.part_at(shape, page, id))
    }

    /// Separates all joined TLBs of a lane. Appends the new TLBs, and returns their owners.
    pub fn part(&mut self, lane: usize) -> Vec<u64> {
        self.part_by(lane, Alone::part)
    }

    fn part_by(
        &mut self,
        lane: usize,
        part: impl Fn(&mut Alone, &AloneShape) -> Vec<(u64, Alone)>,
    ) -> Vec<u64> {
        let (Some(apart), Some(shape)) = (&mut self.apart, &self.shape) else {
            return Vec::new();
        };
        if !apart[lane].is_joined() {
            return Vec::new();
        }
        let (owners, parted): (Vec<u64>, Vec<Alone>) =
            part(&mut apart[lane], shape).into_iter().unzip();
        self.count += parted.len();
        apart.extend(parted);
        owners
    }

    /// Looks base pages up in one of the TLBs, which must be [apart](Self::set_apart). The effect
    /// is that of [`Tlbs::look_up`]. Returns where and why the lookups stop early.
    ///
    /// # Panics
    /// If there are fewer ids than pages, or the TLBs are not apart.
    pub fn look_up_alone(
        &mut self,
        lane: usize,
        pages: &[PageNumber],
        ids: &[PageId],
        walks: &mut impl Walks,
    ) -> Option<Stop> {
        let (Some(apart), Some(shape)) = (&mut self.apart, &self.shape) else {
            panic!("a lookup in one TLB, which are side by side");
        };
        let ids = &ids[..pages.len()];
        apart[lane].look_up(shape, self.vectors, lane, (pages, ids), walks)
    }
}
