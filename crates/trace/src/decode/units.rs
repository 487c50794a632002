//! Where references go that left their units.

use super::MOST_REACH;
use super::fault::Fault;
use super::tables::{LAST_TOLD, RECENT, Reference, recent_place};
use crate::section::Stream;

const UNIT_SAME: u8 = 0;
const UNIT_PLACE: u8 = 255;

/// What is out of the ordinary about one reference of an execution.
#[derive(Clone, Copy, Debug)]
pub(super) enum Special {
    /// It was not made.
    Absent,
    /// It reaches into so many further units.
    Reach(u64),
}

/// The units that are told, and the tables that they change.
pub(super) struct Units<'a> {
    pub(super) told: &'a [u8],
    pub(super) at: usize,
    pub(super) places: &'a mut Stream,
    pub(super) recent: &'a mut [u64; RECENT],
    pub(super) references: &'a mut [Reference],
    pub(super) most_unit: u64,
}

impl Units<'_> {
    /// Those of 8 references, the first of which is reference `from` of a block that begins with `first`, that a mask names.
    /// `reach` is how far those of this execution reached before.
    #[inline(always)]
    pub(super) fn leave(
        &mut self,
        first: u32,
        from: u16,
        mask: u8,
        reach: &mut u64,
        specials: &mut Vec<(u16, Special)>,
    ) -> Result<(), Fault> {
        let mut mask = mask;
        while mask != 0 {
            let step = from + mask.trailing_zeros() as u16;
            mask &= mask - 1;
            let told = *self.told.get(self.at).ok_or(Fault::FewUnits)?;
            self.at += 1;
            let mut unit = self.recent[usize::from(told)];
            if told == UNIT_PLACE {
                let special;
                (unit, special) = self.place(reach)?;
                if let Some(special) = special {
                    specials.push((step, special));
                    if let Special::Absent = special {
                        continue;
                    }
                }
                self.recent[recent_place(unit)] = unit;
            } else if unit == 0 && told != UNIT_SAME {
                // A place that nothing was entered in names unit 0, whose own place is another.
                self.recent[recent_place(0)] = 0;
            }
            self.recent[LAST_TOLD] = unit;
            self.references[(first + u32::from(step)) as usize].unit = unit;
        }
        Ok(())
    }

    /// A unit from the places, and what is special about it.
    #[inline]
    fn place(&mut self, reach: &mut u64) -> Result<(u64, Option<Special>), Fault> {
        let value = self.places.number().map_err(|_| Fault::Place)?;
        let span = match value & 1 {
            0 => 0,
            _ => self.places.number().map_err(|_| Fault::Place)?,
        };
        if value == 1 && span == 0 {
            return Ok((0, Some(Special::Absent)));
        }
        let zigzag = value >> 1;
        let distance = (zigzag >> 1) ^ (zigzag & 1).wrapping_neg();
        let unit = self.recent[LAST_TOLD].wrapping_add(distance);
        let end = unit.checked_add(span);
        if end.is_none_or(|end| end > self.most_unit) {
            return Err(Fault::Address);
        }
        if span == 0 {
            return Ok((unit, None));
        }
        *reach += span;
        if *reach > MOST_REACH {
            return Err(Fault::Reach);
        }
        Ok((unit, Some(Special::Reach(span))))
    }
}
