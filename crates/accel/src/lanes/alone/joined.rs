//! TLBs that differ in strays alone, as one TLB.
//!
//! A stray is the entry of a base page whose block was promoted. Once all pages that a TLB looks up
//! lie in superpages, its structure for base pages at the first level keeps the last strays for
//! ever. Two TLBs that hold different strays and are otherwise equal give equal answers, except to
//! lookups of these strays. So one TLB makes the lookups of both until a stray is looked up.

use super::{Alone, AloneShape, FIRST, Holding, PageId, Size};
use broadleaf_units::PageNumber;

/// The strays of one of the TLBs that are joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Strays {
    /// The TLB's owners, a bit for each.
    owners: u64,
    /// The first level's sets for base pages.
    sets: Vec<[u32; FIRST]>,
}

/// The number of bits that show which strays there may be. A power of two.
const BITS: u32 = 1 << 15;

/// A bit for each stray of a TLB and of the TLBs that are joined to it. Two strays may share a bit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Watched(Box<[u64; BITS as usize / 64]>);

impl Watched {
    /// No stray.
    pub(super) fn nothing() -> Self {
        Self(Box::new([0; BITS as usize / 64]))
    }

    /// Returns true if a base page may be a stray.
    #[inline(always)]
    pub(super) fn may_hold(&self, id: PageId) -> bool {
        let bit = id.entry(Size::Base) % BITS;
        self.0[bit as usize / 64] >> (bit % 64) & 1 != 0
    }

    fn add(&mut self, entry: u32) {
        let bit = entry % BITS;
        self.0[bit as usize / 64] |= 1 << (bit % 64);
    }
}

impl Alone {
    /// Notes all strays, which must be at the first level alone.
    pub(super) fn watch(&mut self, shape: &AloneShape) {
        self.watched.0.fill(0);
        let own = self.first[shape.base.start..].as_flattened();
        let joined = self.joined.iter().flat_map(|strays| &strays.sets);
        for entry in own.iter().chain(joined.flatten()) {
            if *entry != super::EMPTY {
                self.watched.add(*entry);
            }
        }
    }

    /// Returns true if other TLBs are joined to this one.
    pub(in crate::lanes) const fn is_joined(&self) -> bool {
        !self.joined.is_empty()
    }

    /// Returns true if a base page is a stray of this TLB or of a joined one.
    pub(super) fn is_stray(&self, shape: &AloneShape, page: PageNumber, id: PageId) -> bool {
        let (set, entry) = (shape.base.first.set_of(page), id.entry(Size::Base));
        let joined = self.joined.iter().map(|strays| &strays.sets[set]);
        let own = &self.first[shape.base.start + set];
        joined.chain([own]).any(|set| set.contains(&entry))
    }

    /// Joins another TLB, of these owners, if it differs in strays alone. Returns whether it does.
    pub(in crate::lanes) fn join(&mut self, shape: &AloneShape, other: &Self, owners: u64) -> bool {
        let start = shape.base.start;
        let settled = [Holding::NoBasePage, Holding::BasePagesFirst];
        let fits = settled.contains(&self.holding)
            && settled.contains(&other.holding)
            && self.first[..start] == other.first[..start]
            && self.second == other.second;
        if !fits {
            return false;
        }
        let own = Strays {
            owners: owners & !owners_of(&other.joined),
            sets: other.first[start..].to_vec(),
        };
        self.joined.push(own);
        self.joined.extend_from_slice(&other.joined);
        self.holding = Holding::BasePagesFirst;
        self.watch(shape);
        true
    }

    /// Separates the TLBs that hold a stray from those that do not. If all do, or none, separates
    /// all. Returns the new TLBs, each with all its owners.
    pub(in crate::lanes) fn part_at(
        &mut self,
        shape: &AloneShape,
        page: PageNumber,
        id: PageId,
    ) -> Vec<(u64, Self)> {
        let (set, entry) = (shape.base.first.set_of(page), id.entry(Size::Base));
        let holds = self.first[shape.base.start + set].contains(&entry);
        let (mut others, same) = (self.joined.iter().cloned())
            .partition::<Vec<_>, _>(|strays| strays.sets[set].contains(&entry) != holds);
        if others.is_empty() {
            return self.part(shape);
        }
        self.joined = same;
        self.watch(shape);
        let first = others.swap_remove(0);
        let owners = first.owners | owners_of(&others);
        let mut parted = self.with_strays(shape, &first);
        parted.joined = others;
        parted.watch(shape);
        vec![(owners, parted)]
    }

    /// Separates all joined TLBs. Returns them with their owners.
    pub(in crate::lanes) fn part(&mut self, shape: &AloneShape) -> Vec<(u64, Self)> {
        let joined = std::mem::take(&mut self.joined);
        self.watch(shape);
        let parted = joined.iter().map(|strays| {
            let mut parted = self.with_strays(shape, strays);
            parted.watch(shape);
            (strays.owners, parted)
        });
        parted.collect()
    }

    /// A copy with other strays.
    fn with_strays(&self, shape: &AloneShape, strays: &Strays) -> Self {
        let mut copy = self.clone();
        copy.first[shape.base.start..].copy_from_slice(&strays.sets);
        copy.joined = Vec::new();
        copy
    }

    /// Removes strays of the joined TLBs.
    pub(super) fn remove_joined_where(&mut self, unwanted: &mut dyn FnMut(u32) -> bool) {
        for strays in &mut self.joined {
            for set in &mut strays.sets {
                broadleaf_tlb::set::remove_where(set, &mut *unwanted);
            }
        }
    }
}

/// The owners of all these strays.
fn owners_of(strays: &[Strays]) -> u64 {
    strays.iter().fold(0, |all, strays| all | strays.owners)
}
