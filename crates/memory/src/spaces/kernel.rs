//! Reservations that an instrumented kernel made, as a trace tells them.

use super::AddressSpaces;
use crate::{GEOMETRY, Pages};
use broadleaf_units::{BlockNumber, PageNumber, SpaceId};
use std::collections::BTreeMap;

/// The reservations of a kernel: for each block of a space the time at which the kernel made it.
pub(super) type KernelReservations = BTreeMap<(SpaceId, BlockNumber), u64>;

impl AddressSpaces {
    /// From now on, the reservations are the kernel's alone.
    pub fn follow_kernel(&mut self) {
        self.kernel_reservations.get_or_insert_default();
    }

    /// Returns true if the reservations are the kernel's.
    pub const fn follows_kernel(&self) -> bool {
        self.kernel_reservations.is_some()
    }

    /// The kernel reserved a block at this time.
    pub fn reserved_by_kernel(&mut self, space: SpaceId, block: BlockNumber, time: u64) {
        if let Some(reserved) = &mut self.kernel_reservations {
            reserved.insert((space, block), time);
        }
    }

    /// The kernel ended the reservation of a block.
    pub fn unreserved_by_kernel(&mut self, space: SpaceId, block: BlockNumber) {
        if let Some(reserved) = &mut self.kernel_reservations {
            reserved.remove(&(space, block));
        }
    }

    /// The time at which the kernel reserved the block with this page, if it did.
    pub fn kernel_reserved_at(&self, space: SpaceId, page: PageNumber) -> Option<u64> {
        let reserved = self.kernel_reservations.as_ref()?;
        reserved.get(&(space, GEOMETRY.block_of(page))).copied()
    }

    /// Returns true if a fault may reserve a piece, which the mappings allow or refuse. The pieces
    /// that a kernel reserves are whole blocks.
    pub(super) fn may_reserve(&self, space: SpaceId, piece: Pages, allowed: bool) -> bool {
        let Some(reserved) = &self.kernel_reservations else {
            return allowed;
        };
        let block = GEOMETRY.block_of(PageNumber(piece.start));
        piece == Pages::of_block(block) && reserved.contains_key(&(space, block))
    }

    /// The kernel's reservations of a space end with it.
    pub(super) fn end_kernel_reservations(&mut self, space: SpaceId) {
        if let Some(reserved) = &mut self.kernel_reservations {
            reserved.retain(|(of, _), _| *of != space);
        }
    }
}
