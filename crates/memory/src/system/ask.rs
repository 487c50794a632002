//! What a policy is shown.

use super::{Piece, System};
use crate::AddressSpaces;
use broadleaf_policy::{Coverage, View};
use broadleaf_units::{BlockNumber, PageSize};

impl System<'_> {
    /// What a policy is shown of a piece, seen from one of its pages. `more` pages are about to become resident.
    pub(super) fn view(&self, spaces: &AddressSpaces, piece: Piece, page: u64, more: u32) -> View {
        let pages = self.pages(piece.level);
        let counts = self.tables.counts(piece.first, pages);
        let facts = self.facts(spaces, piece, page);
        let reservation = self.reservation_of(piece);
        let promoted = self.tables.get(piece.first).level() >= piece.level && piece.level > 0;
        let order = self.sizes.order(piece.level);
        View {
            populated: counts.present + more,
            dirty: counts.dirty,
            pages: pages as u32,
            base_bytes: self.base.bytes(),
            reservation_age: reservation.map(|(_, made)| self.now.saturating_sub(made)),
            promoted,
            coverage: facts.coverage,
            backing: facts.backing,
            writable: facts.writable,
            advised_against: facts.advised_against,
            advised_for: facts.advised_for,
            referenced: counts.referenced,
            referenced_on_average: self.tables.average(piece.first, pages),
            swapped: counts.swapped,
            shared: counts.shared,
            zero: counts.zero,
            extent_free: reservation.is_some() || self.has_extent(order),
            memory_short: self.is_short(),
            foreseen: self.is_foreseen(piece),
            copy_cycles: self.costs.copy(self.base, pages),
            ..View::BLANK
        }
    }

    /// Foresight knows of blocks of 2 MiB; of a piece of another size it knows what it knows of the block that holds it.
    fn is_foreseen(&self, piece: Piece) -> bool {
        let Some(foreseen) = self.foreseen else {
            return false;
        };
        let shift = PageSize::SIZE_2M.shift() - PageSize::SIZE_4K.shift();
        let block = BlockNumber(self.units(piece.first.page, 1).start >> shift);
        foreseen.contains(&(piece.first.space, block))
    }

    /// Why a piece cannot be mapped as one page, whatever the policy says.
    pub(super) fn cannot_be_mapped(coverage: Coverage) -> Option<broadleaf_policy::Refusal> {
        match coverage {
            Coverage::Covered => None,
            Coverage::NotCovered => Some(broadleaf_policy::Refusal::NotCovered),
            Coverage::MixedProtection => Some(broadleaf_policy::Refusal::MixedProtection),
        }
    }
}
