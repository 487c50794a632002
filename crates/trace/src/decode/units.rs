//! The new units of references that left their units.

use super::MOST_REACH;
use super::fault::ExecutionFault;
use super::tables::{LAST_UNIT, RECENT, ReferenceState, recent_place};
use crate::section::SectionBytes;
use crate::varint;

const UNIT_SAME: u8 = 0;
const UNIT_PLACE: u8 = 255;

/// A special property of one reference of an execution.
#[derive(Clone, Copy, Debug)]
pub(super) enum Special {
    /// The execution skips the reference.
    Absent,
    /// The access reaches into this number of further units.
    Reach(u64),
}

/// The encoded units, and the tables that decoding them changes.
pub(super) struct Units<'a> {
    pub(super) codes: &'a [u8],
    pub(super) at: usize,
    pub(super) places: &'a mut SectionBytes,
    pub(super) recent: &'a mut [u64; RECENT],
    pub(super) references: &'a mut [ReferenceState],
    pub(super) most_unit: u64,
}

impl Units<'_> {
    /// Decodes the new units of the references in `mask`, which covers 8 references from reference
    /// `from` of a block. `first` is the index of the block's first reference. `reach` is the reach
    /// of the execution so far.
    #[inline(always)]
    pub(super) fn leave(
        &mut self,
        first: u32,
        from: u16,
        mask: u8,
        reach: &mut u64,
        specials: &mut Vec<(u16, Special)>,
    ) -> Result<(), ExecutionFault> {
        let mut mask = mask;
        while mask != 0 {
            let step = from + mask.trailing_zeros() as u16;
            mask &= mask - 1;
            let code = *self.codes.get(self.at).ok_or(ExecutionFault::FewUnits)?;
            self.at += 1;
            let mut unit = self.recent[usize::from(code)];
            if code == UNIT_PLACE {
                if let Some(plain) = self.plain_place() {
                    unit = plain;
                } else {
                    let special;
                    (unit, special) = self.place(reach)?;
                    if let Some(special) = special {
                        specials.push((step, special));
                        if let Special::Absent = special {
                            continue;
                        }
                    }
                }
                self.recent[recent_place(unit)] = unit;
            } else if unit == 0 && code != UNIT_SAME {
                // An empty element names unit 0, whose own index is another.
                self.recent[recent_place(0)] = 0;
            }
            self.recent[LAST_UNIT] = unit;
            self.references[(first + u32::from(step)) as usize].unit = unit;
        }
        Ok(())
    }

    /// Decodes at most `most` units that come from the section of places, without a special
    /// property. Stops before the first other unit. Calls `each` with each unit, and returns their
    /// number.
    #[inline(always)]
    pub(super) fn jumps(&mut self, most: usize, mut each: impl FnMut(u64)) -> usize {
        // Local variables stay in registers.
        let codes = &self.codes[self.at..];
        let codes = &codes[..most.min(codes.len())];
        let places = self.places.bytes.as_slice();
        let (mut at, mut last) = (self.places.at, self.recent[LAST_UNIT]);
        let mut made = 0;
        for two in codes.as_chunks::<2>().0 {
            let Some((values, length)) = varint::peek_two(places, at) else {
                break;
            };
            let units = [
                last.wrapping_add(distance(values[0])),
                last.wrapping_add(distance(values[0]))
                    .wrapping_add(distance(values[1])),
            ];
            let special = (values[0] | values[1]) & 1 != 0;
            if (*two != [UNIT_PLACE; 2]) | special | (units[0].max(units[1]) > self.most_unit) {
                break;
            }
            at += length;
            last = units[1];
            for unit in units {
                self.recent[recent_place(unit)] = unit;
                each(unit);
            }
            made += 2;
        }
        for &code in &codes[made..] {
            let Some((value, length)) = varint::peek(places, at) else {
                break;
            };
            let unit = last.wrapping_add(distance(value));
            if (code != UNIT_PLACE) | (value & 1 != 0) | (unit > self.most_unit) {
                break;
            }
            at += length;
            last = unit;
            self.recent[recent_place(unit)] = unit;
            each(unit);
            made += 1;
        }
        self.recent[LAST_UNIT] = last;
        self.places.at = at;
        self.at += made;
        made
    }

    /// Decodes a unit without a special property. Reads nothing if the unit has one, is invalid, or
    /// lies at the end of the section.
    #[inline(always)]
    fn plain_place(&mut self) -> Option<u64> {
        let (value, length) = varint::peek(&self.places.bytes, self.places.at)?;
        let unit = self.recent[LAST_UNIT].wrapping_add(distance(value));
        if value & 1 != 0 || unit > self.most_unit {
            return None;
        }
        self.places.at += length;
        Some(unit)
    }

    /// Decodes a unit from the section of places, and its special property.
    #[cold]
    fn place(&mut self, reach: &mut u64) -> Result<(u64, Option<Special>), ExecutionFault> {
        let value = self.places.number().map_err(|_| ExecutionFault::Place)?;
        let span = match value & 1 {
            0 => 0,
            _ => self.places.number().map_err(|_| ExecutionFault::Place)?,
        };
        if value == 1 && span == 0 {
            return Ok((0, Some(Special::Absent)));
        }
        let unit = self.recent[LAST_UNIT].wrapping_add(distance(value));
        let end = unit.checked_add(span);
        if end.is_none_or(|end| end > self.most_unit) {
            return Err(ExecutionFault::Address);
        }
        if span == 0 {
            return Ok((unit, None));
        }
        *reach += span;
        if *reach > MOST_REACH {
            return Err(ExecutionFault::Reach);
        }
        Ok((unit, Some(Special::Reach(span))))
    }
}

/// The distance from the last unit in a number of the section of places.
#[inline(always)]
const fn distance(value: u64) -> u64 {
    let zigzag = value >> 1;
    (zigzag >> 1) ^ (zigzag & 1).wrapping_neg()
}
