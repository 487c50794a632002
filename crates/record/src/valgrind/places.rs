//! The places of references: the latest unit of each reference, and a table of recent units.

use super::stack::Stack;
use super::streams::Streams;
use super::totals::ChunkTotals;
use super::wire::{self, ABSENT};

const PLACE: u8 = 255;
/// A reference of a block, with its latest place.
#[derive(Clone, Copy)]
struct BlockReference {
    /// The address at the latest execution.
    before: u64,
    /// The offset from the base to the first byte, or the address if there is no base.
    offset: u64,
    /// The number of bytes after the first.
    last_byte: u32,
    base: u16,
    /// True if the reference has a base.
    based: bool,
    store: bool,
    /// The chunk in which a pattern with this reference was first executed, at the latest such
    /// time.
    known_in: u32,
}

/// An address in a unit that no program can reach. It differs from `ABSENT`.
const NOWHERE: u64 = 1 << 63;

/// The number of references that are checked together: the bits of a mask.
const LANES: usize = 8;

/// The references of all blocks of a process.
pub(super) struct PlaceTable {
    unit_shift: u32,
    references: Vec<BlockReference>,
    recent: [u64; 256],
    last_unit: u64,
    /// The number of the current chunk, counted from 1.
    chunk: u32,
    pub(super) stack: Stack,
    /// True if the stack has grown since the flag was last cleared.
    pub(super) stack_grew: bool,
}

/// Returns the place of a unit in the table of recent units: 1 to 254.
const fn place_of(unit: u64) -> u8 {
    (1 + (((unit.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) * 254) >> 32)) as u8
}

impl PlaceTable {
    pub(super) fn new(unit_shift: u32) -> Self {
        Self {
            unit_shift,
            references: Vec::new(),
            recent: [0; 256],
            last_unit: 0,
            chunk: 1,
            stack: Stack::default(),
            stack_grew: false,
        }
    }

    /// Returns the number of references, which is the number of the next one.
    pub(super) fn references(&self) -> u32 {
        self.references.len() as u32
    }

    /// Adds a reference of a described block.
    pub(super) fn add(&mut self, reference: &wire::WireReference) {
        self.references.push(BlockReference {
            before: NOWHERE,
            offset: reference.offset,
            last_byte: reference.bytes.saturating_sub(1),
            base: reference.base.unwrap_or(0),
            based: reference.base.is_some(),
            store: reference.store,
            known_in: 0,
        });
    }

    /// Writes the units of those of up to eight references that left their unit. Returns their
    /// mask. `bases` are the bases of the pattern in reverse order. The units go to `end` of their
    /// stream, which must have room for eight.
    #[inline(always)]
    pub(super) fn left(
        &mut self,
        first: usize,
        steps: usize,
        bases: &[u64],
        end: &mut usize,
        streams: &mut Streams,
        totals: &mut ChunkTotals,
    ) -> u8 {
        let shift = self.unit_shift & 63;
        // The mask is computed first and without branches, because these branches would be
        // mispredicted.
        let mut addresses = [0; LANES];
        let mut mask = 0;
        let references = &self.references[first..first + steps.min(LANES)];
        for (i, (reference, kept)) in references.iter().zip(&mut addresses).enumerate() {
            let address = reference.address(bases);
            let last = address.wrapping_add(u64::from(reference.last_byte));
            let left = ((address ^ reference.before) | (last ^ reference.before)) >> shift != 0;
            mask |= u8::from(left) << i;
            *kept = address;
        }
        let mut rest = mask;
        while rest != 0 {
            let i = rest.trailing_zeros() as usize % LANES;
            rest &= rest - 1;
            self.write_place(first + i, addresses[i], end, streams, totals);
        }
        mask
    }

    /// Writes the units of a pattern's first execution in this chunk. References that stayed are
    /// written too, unless another pattern of the block has written them. `bases` is `None` if no
    /// reference left its unit. Returns `None` if a reference stayed that was never made.
    pub(super) fn first(
        &mut self,
        first: usize,
        steps: usize,
        bases: Option<&[u64]>,
        end: &mut usize,
        streams: &mut Streams,
        totals: &mut ChunkTotals,
    ) -> Option<u8> {
        let mut mask = 0;
        for i in 0..steps.min(LANES) {
            let reference = &mut self.references[first + i];
            let known = std::mem::replace(&mut reference.known_in, self.chunk) == self.chunk;
            let address = match bases {
                Some(bases) => reference.address(bases),
                // Only the unit is known.
                None if reference.based => reference.before >> self.unit_shift << self.unit_shift,
                None => reference.offset,
            };
            let last = address.wrapping_add(u64::from(reference.last_byte));
            let left =
                ((address ^ reference.before) | (last ^ reference.before)) >> self.unit_shift;
            if address == NOWHERE {
                return None;
            } else if address == ABSENT && !known {
                reference.before = NOWHERE;
            }
            if left != 0 && bases.is_some() {
                mask |= self.left(
                    first + i,
                    1,
                    bases.unwrap_or_default(),
                    end,
                    streams,
                    totals,
                ) << i;
            } else if !known {
                self.write_place(first + i, address, end, streams, totals);
                mask |= 1 << i;
            }
        }
        Some(mask)
    }

    /// Writes the place of one reference.
    #[inline(always)]
    fn write_place(
        &mut self,
        which: usize,
        address: u64,
        end: &mut usize,
        streams: &mut Streams,
        totals: &mut ChunkTotals,
    ) {
        let shift = self.unit_shift & 63;
        let reference = &mut self.references[which];
        let unit = address >> shift;
        let last = address.wrapping_add(u64::from(reference.last_byte)) >> shift;
        let place = place_of(unit);
        let recent = &mut self.recent[usize::from(place)];
        let same = unit == self.last_unit;
        let known = (same | (*recent == unit)) & (last == unit);
        let code = if same { 0 } else { place };
        streams
            .units
            .put_if(end, true, [if known { code } else { PLACE }]);
        if !known {
            if address == ABSENT {
                totals.absent(reference.store);
                streams.places.varint(1);
                streams.places.varint(0);
                return;
            }
            if self.stack.grows_by(address) {
                self.stack.grow(address);
                self.stack_grew = true;
            }
            let delta = unit.wrapping_sub(self.last_unit) as i64;
            let zigzag = ((delta << 1) ^ (delta >> 63)) as u64;
            let reach = last.wrapping_sub(unit);
            streams.places.varint(zigzag << 1 | u64::from(reach != 0));
            if reach != 0 {
                streams.places.varint(reach);
            }
        }
        reference.before = address;
        *recent = unit;
        self.last_unit = unit;
    }

    /// Ends a chunk. The reader of the next chunk knows no place of any reference.
    pub(super) const fn forget(&mut self) {
        self.chunk += 1;
        self.recent = [0; 256];
        self.last_unit = 0;
    }
}

impl BlockReference {
    /// Returns the address of the reference for these bases in reverse order.
    #[inline]
    fn address(&self, bases: &[u64]) -> u64 {
        let at = bases.len().wrapping_sub(1 + usize::from(self.base));
        let base = bases.get(at).copied().unwrap_or(0);
        self.offset.wrapping_add(if self.based { base } else { 0 })
    }
}
