//! Reservations that an instrumented kernel made, as a trace lists them.

use super::AddressSpaces;
use crate::{GEOMETRY, Pages};
use broadleaf_units::{BlockNumber, PageNumber, SpaceId};
use std::collections::BTreeMap;

/// The bytes of memory that a reservation takes. Nodes of a tree are a third empty.
const RESERVATION_BYTES: u64 = 48;

/// The reservations of a kernel: for each block of a space the time at which the kernel made it.
pub(super) type KernelReservations = BTreeMap<(SpaceId, BlockNumber), u64>;

impl AddressSpaces {
    /// From now on, the reservations are the kernel's alone.
    pub fn follow_kernel(&mut self) {
        self.kernel_reservations.get_or_insert_default();
    }

    /// Another trace begins: until its kernel reserves a block, faults reserve blocks by our rules.
    pub fn stop_following_kernel(&mut self) {
        self.kernel_reservations = None;
    }

    /// Bytes of memory that the kernel's reservations take, roughly.
    pub fn kernel_reservation_bytes(&self) -> u64 {
        let reserved = self.kernel_reservations.as_ref();
        reserved.map_or(0, |reserved| reserved.len() as u64 * RESERVATION_BYTES)
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
            let of_space = reserved.range((space, BlockNumber(0))..=(space, BlockNumber(u64::MAX)));
            let ended: Vec<_> = of_space.map(|(place, _)| *place).collect();
            for place in ended {
                reserved.remove(&place);
            }
        }
    }
}
