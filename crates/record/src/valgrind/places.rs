//! Where references go: the unit of each the last time, and the units of late.

use super::stack::Stack;
use super::streams::Streams;
use super::totals::Totaler;
use super::wire::{self, ABSENT};

const PLACE: u8 = 255;
/// A reference of a block.
#[derive(Clone, Copy)]
struct Reference {
    /// Where it was made the last time.
    before: u64,
    /// From the base to its first byte, or its address if there is no base.
    offset: u64,
    /// How many bytes it touches behind its first.
    last_byte: u32,
    base: u16,
    /// Whether it has one.
    based: bool,
    store: bool,
    /// In which chunk a pattern that has it was executed for the first time, the last time that one was.
    told_in: u32,
}

/// In a unit that no program can reach, and another than `ABSENT`.
const NOWHERE: u64 = 1 << 63;

/// How many references are looked at together: as many as a mask has bits.
const LANES: usize = 8;

/// The references of all blocks of a process.
pub(super) struct Places {
    unit_shift: u32,
    references: Vec<Reference>,
    recent: [u64; 256],
    last_told: u64,
    /// The chunk that is being made; counts from 1.
    chunk: u32,
    pub(super) stack: Stack,
    /// The stack has grown since this was last made false.
    pub(super) stack_grew: bool,
}

/// Where a unit stands in the table of recent ones: 1 to 254.
const fn place_of(unit: u64) -> u8 {
    (1 + (((unit.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) * 254) >> 32)) as u8
}

impl Places {
    pub(super) fn new(unit_shift: u32) -> Self {
        Self {
            unit_shift,
            references: Vec::new(),
            recent: [0; 256],
            last_told: 0,
            chunk: 1,
            stack: Stack::default(),
            stack_grew: false,
        }
    }

    /// How many references there are: the number of the next.
    pub(super) fn references(&self) -> u32 {
        self.references.len() as u32
    }

    /// A reference of a block that is being described.
    pub(super) fn add(&mut self, reference: &wire::Reference) {
        self.references.push(Reference {
            before: NOWHERE,
            offset: reference.offset,
            last_byte: reference.bytes.saturating_sub(1),
            base: reference.base.unwrap_or(0),
            based: reference.base.is_some(),
            store: reference.store,
            told_in: 0,
        });
    }

    /// Tells where those of up to eight references went that left their unit. Answers which did. `bases` are those of the pattern, the first last.
    /// The units go to `end` of their stream, where there is room for as many.
    #[inline(always)]
    pub(super) fn left(
        &mut self,
        first: usize,
        steps: usize,
        bases: &[u64],
        end: &mut usize,
        streams: &mut Streams,
        totals: &mut Totaler,
    ) -> u8 {
        let shift = self.unit_shift & 63;
        // Which they are is found out first, without a branch for each: it cannot be foreseen.
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
            self.tell(first + i, addresses[i], end, streams, totals);
        }
        mask
    }

    /// The same for a pattern that is executed for the first time in this chunk: where references are that stayed has to be told too, unless another
    /// pattern of the block has told it. `bases` are missing where none left. `None` if a reference stayed that was never made.
    pub(super) fn first(
        &mut self,
        first: usize,
        steps: usize,
        bases: Option<&[u64]>,
        end: &mut usize,
        streams: &mut Streams,
        totals: &mut Totaler,
    ) -> Option<u8> {
        let mut mask = 0;
        for i in 0..steps.min(LANES) {
            let reference = &mut self.references[first + i];
            let told = std::mem::replace(&mut reference.told_in, self.chunk) == self.chunk;
            let address = match bases {
                Some(bases) => reference.address(bases),
                // All that is known of it is the unit.
                None if reference.based => reference.before >> self.unit_shift << self.unit_shift,
                None => reference.offset,
            };
            let last = address.wrapping_add(u64::from(reference.last_byte));
            let left =
                ((address ^ reference.before) | (last ^ reference.before)) >> self.unit_shift;
            if address == NOWHERE {
                return None;
            } else if address == ABSENT && !told {
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
            } else if !told {
                self.tell(first + i, address, end, streams, totals);
                mask |= 1 << i;
            }
        }
        Some(mask)
    }

    /// Tells where one reference goes.
    #[inline(always)]
    fn tell(
        &mut self,
        which: usize,
        address: u64,
        end: &mut usize,
        streams: &mut Streams,
        totals: &mut Totaler,
    ) {
        let shift = self.unit_shift & 63;
        let reference = &mut self.references[which];
        let unit = address >> shift;
        let last = address.wrapping_add(u64::from(reference.last_byte)) >> shift;
        let place = place_of(unit);
        let recent = &mut self.recent[usize::from(place)];
        let same = unit == self.last_told;
        let known = (same | (*recent == unit)) & (last == unit);
        let told = if same { 0 } else { place };
        streams
            .units
            .put_if(end, true, [if known { told } else { PLACE }]);
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
            let delta = unit.wrapping_sub(self.last_told) as i64;
            let zigzag = ((delta << 1) ^ (delta >> 63)) as u64;
            let reach = last.wrapping_sub(unit);
            streams.places.varint(zigzag << 1 | u64::from(reach != 0));
            if reach != 0 {
                streams.places.varint(reach);
            }
        }
        reference.before = address;
        *recent = unit;
        self.last_told = unit;
    }

    /// The end of a chunk: the reader of the next knows of no reference where it is.
    pub(super) const fn forget(&mut self) {
        self.chunk += 1;
        self.recent = [0; 256];
        self.last_told = 0;
    }
}

impl Reference {
    /// Where it goes, with these bases, the first last.
    #[inline]
    fn address(&self, bases: &[u64]) -> u64 {
        let at = bases.len().wrapping_sub(1 + usize::from(self.base));
        let base = bases.get(at).copied().unwrap_or(0);
        self.offset.wrapping_add(if self.based { base } else { 0 })
    }
}
