//! The distinct visits of a chunk.

use std::collections::BTreeMap;

use super::MOST_WORDS;
use super::split::Sections;
use crate::error::{Bad, Section};
use crate::varint::{self, Cursor};
use crate::visit::{Lead, Visit};

/// Twice as many places as there can be words. A power of two.
const PLACES: usize = 2 * MOST_WORDS;
const FREE: u16 = u16::MAX;

/// The bits of the first byte of what a visit comes to.
const LEADS_LOAD: u8 = 1;
const LEADS_STORE: u8 = 2;
const FETCH: u8 = 4;

/// Numbers visits as they are met.
#[derive(Debug)]
pub(super) struct Numbering {
    places: Vec<u16>,
    met: Vec<Visit>,
}

impl Numbering {
    pub(super) fn new() -> Self {
        Self {
            places: vec![FREE; PLACES],
            met: Vec::new(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.places.fill(FREE);
        self.met.clear();
    }

    pub(super) fn is_full(&self) -> bool {
        self.met.len() == MOST_WORDS
    }

    /// The number of a visit. Not to be asked where it [is full](Self::is_full).
    #[inline]
    pub(super) fn number(&mut self, visit: &Visit) -> u16 {
        let mut place = hash(visit) & (PLACES - 1);
        loop {
            let number = self.places[place];
            if number == FREE {
                let number = self.met.len() as u16;
                self.met.push(*visit);
                self.places[place] = number;
                return number;
            }
            if self.met[usize::from(number)] == *visit {
                return number;
            }
            place = (place + 1) & (PLACES - 1);
        }
    }

    /// The vocabulary in order of units, and which of its words each number is.
    pub(super) fn in_order(&self) -> (Vec<Visit>, Vec<u16>) {
        let mut order: Vec<u16> = (0..self.met.len() as u16).collect();
        order.sort_unstable_by_key(|&number| {
            let visit = &self.met[usize::from(number)];
            (visit.unit, counts(visit))
        });
        let vocabulary = order.iter().map(|&number| self.met[usize::from(number)]);
        let vocabulary = vocabulary.collect();
        let mut word = vec![0; order.len()];
        for (at, &number) in order.iter().enumerate() {
            word[usize::from(number)] = at as u16;
        }
        (vocabulary, word)
    }
}

#[inline]
fn hash(visit: &Visit) -> usize {
    const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
    let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    let counts = pair(visit.loads, visit.stores)
        ^ pair(visit.loads_before_store, visit.instructions).rotate_left(13);
    let mixed = (visit.unit.wrapping_mul(MIX).rotate_left(26) ^ counts).wrapping_mul(MIX);
    (mixed >> 40) as usize
}

/// What a visit comes to, wherever it is.
type Counts = (u8, u32, u32, u32, u32);

fn counts(visit: &Visit) -> Counts {
    let lead = match visit.lead {
        Lead::None => 0,
        Lead::Load => LEADS_LOAD,
        Lead::Store => LEADS_STORE,
    };
    let manner = lead | if visit.fetch { FETCH } else { 0 };
    (
        manner,
        visit.loads,
        visit.stores,
        visit.loads_before_store,
        visit.instructions,
    )
}

/// Appends a vocabulary in order to three sections: units, counts, and which of both each word has.
pub(super) fn write(vocabulary: &[Visit], sections: &mut Sections) {
    let mut used: BTreeMap<Counts, (u32, usize)> = BTreeMap::new();
    for visit in vocabulary {
        used.entry(counts(visit)).or_default().0 += 1;
    }
    // What most words have gets the lowest numbers.
    let mut order: Vec<_> = used.iter_mut().collect();
    order.sort_by_key(|(_, (times, _))| std::cmp::Reverse(*times));
    for (number, (counts, (_, place))) in order.into_iter().enumerate() {
        *place = number;
        let &(manner, loads, stores, before, instructions) = counts;
        let out = &mut sections.counts;
        out.push(manner);
        varint::put(out, u64::from(loads));
        varint::put(out, u64::from(stores));
        if stores > 0 {
            varint::put(out, u64::from(before));
        }
        varint::put(out, u64::from(instructions));
    }
    let mut unit = 0;
    for of_unit in vocabulary.chunk_by(|one, other| one.unit == other.unit) {
        varint::put(&mut sections.units, of_unit[0].unit - unit);
        unit = of_unit[0].unit;
        let out = &mut sections.words;
        varint::put(out, of_unit.len() as u64);
        for visit in of_unit {
            varint::put(out, used[&counts(visit)].1 as u64);
        }
    }
}

/// The vocabulary of a chunk.
pub(super) fn read(
    sections: &Sections,
    most_unit: u64,
    vocabulary: &mut Vec<Visit>,
) -> Result<(), Bad> {
    let known =
        read_counts(&sections.counts).map_err(|reason| Bad::new(Section::Counts, reason))?;
    vocabulary.clear();
    let mut units = Cursor::new(&sections.units);
    let mut words = Cursor::new(&sections.words);
    let in_units = |reason| Bad::new(Section::Units, reason);
    let in_words = |reason| Bad::new(Section::Words, reason);
    let mut unit = 0u64;
    while !units.is_empty() {
        let distance = units.number().map_err(in_units)?;
        if distance == 0 && !vocabulary.is_empty() {
            return Err(in_units("a unit stands there twice"));
        }
        unit = unit
            .checked_add(distance)
            .filter(|&unit| unit <= most_unit)
            .ok_or(in_units("a unit lies past the last address"))?;
        let count = words.number().map_err(in_words)?;
        if count == 0 || count > (MOST_WORDS - vocabulary.len()) as u64 {
            return Err(in_words("a unit has none, or more than there may be"));
        }
        for _ in 0..count {
            let number = words.number().map_err(in_words)?;
            let counts = usize::try_from(number)
                .ok()
                .and_then(|number| known.get(number));
            let counts = counts.ok_or(in_words("one has counts that are not told"))?;
            vocabulary.push(Visit { unit, ..*counts });
        }
    }
    if words.is_empty() {
        Ok(())
    } else {
        Err(in_words("more are there than units have"))
    }
}

fn read_counts(section: &[u8]) -> Result<Vec<Visit>, &'static str> {
    let mut from = Cursor::new(section);
    let mut known = Vec::new();
    while !from.is_empty() {
        if known.len() == MOST_WORDS {
            return Err("there are more than there may be");
        }
        let manner = from.byte()?;
        let lead = match manner & !FETCH {
            0 => Lead::None,
            LEADS_LOAD => Lead::Load,
            LEADS_STORE => Lead::Store,
            _ => return Err("one is of no known manner"),
        };
        let fetch = manner & FETCH != 0;
        let loads = from.number32()?;
        let stores = from.number32()?;
        let loads_before_store = if stores > 0 { from.number32()? } else { loads };
        let instructions = from.number32()?;
        if loads_before_store > loads {
            return Err("more loads come before a store than there are");
        }
        if fetch && (lead != Lead::None || loads > 0 || stores > 0) {
            return Err("a fetch loads or stores");
        }
        known.push(Visit {
            unit: 0,
            loads,
            stores,
            loads_before_store,
            instructions,
            lead,
            fetch,
        });
    }
    Ok(known)
}
