//! The distinct visits of a chunk.

use std::collections::BTreeMap;

use super::MOST_WORDS;
use super::split::PhraseSections;
use crate::error::{Bad, Section};
use crate::varint::{self, Cursor};
use crate::visit::{Lead, Visit};

/// The size of the hash table: twice the maximum number of words. A power of two.
const PLACES: usize = 2 * MOST_WORDS;
const FREE: u16 = u16::MAX;

/// The bits of the first byte of a visit's counts.
const LEADS_LOAD: u8 = 1;
const LEADS_STORE: u8 = 2;
const FETCH: u8 = 4;

/// A numbering of visits in the order of their first occurrence.
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

    /// Returns the number of a visit. The numbering must not be [full](Self::is_full).
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

    /// Returns the vocabulary in order of units, and the word of each number.
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

/// The counts of a visit: its manner, loads, stores, loads before the first store, and
/// instructions.
type VisitCounts = (u8, u32, u32, u32, u32);

fn counts(visit: &Visit) -> VisitCounts {
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

/// Encodes a sorted vocabulary into three sections: units, counts, and the counts' numbers of each
/// word.
pub(super) fn write(vocabulary: &[Visit], sections: &mut PhraseSections) {
    let mut used: BTreeMap<VisitCounts, (u32, usize)> = BTreeMap::new();
    for visit in vocabulary {
        used.entry(counts(visit)).or_default().0 += 1;
    }
    // Frequent counts get low numbers.
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

/// Decodes the vocabulary of a chunk.
pub(super) fn read(
    sections: &PhraseSections,
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
            return Err(in_units("a unit occurs twice"));
        }
        unit = unit
            .checked_add(distance)
            .filter(|&unit| unit <= most_unit)
            .ok_or(in_units("a unit lies past the last address"))?;
        let count = words.number().map_err(in_words)?;
        if count == 0 || count > (MOST_WORDS - vocabulary.len()) as u64 {
            return Err(in_words("a unit has none, or more than the limit"));
        }
        for _ in 0..count {
            let number = words.number().map_err(in_words)?;
            let counts = usize::try_from(number)
                .ok()
                .and_then(|number| known.get(number));
            let counts = counts.ok_or(in_words("one has counts that are not defined"))?;
            vocabulary.push(Visit { unit, ..*counts });
        }
    }
    if words.is_empty() {
        Ok(())
    } else {
        Err(in_words("there are more than the units have"))
    }
}

fn read_counts(section: &[u8]) -> Result<Vec<Visit>, &'static str> {
    let mut from = Cursor::new(section);
    let mut known = Vec::new();
    while !from.is_empty() {
        if known.len() == MOST_WORDS {
            return Err("there are more than the limit");
        }
        let manner = from.byte()?;
        let lead = match manner & !FETCH {
            0 => Lead::None,
            LEADS_LOAD => Lead::Load,
            LEADS_STORE => Lead::Store,
            _ => return Err("one has an unknown manner"),
        };
        let fetch = manner & FETCH != 0;
        let loads = from.number32()?;
        let stores = from.number32()?;
        let loads_before_store = if stores > 0 { from.number32()? } else { loads };
        let instructions = from.number32()?;
        if loads_before_store > loads {
            return Err("there are more loads before a store than loads");
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
            execution: 0,
        });
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST_UNIT: u64 = u64::MAX >> 12;

    fn bytes(numbers: impl IntoIterator<Item = u64>) -> Vec<u8> {
        let mut bytes = Vec::new();
        for number in numbers {
            varint::put(&mut bytes, number);
        }
        bytes
    }

    fn known(units: &[u64], counts: &[u8], words: &[u64]) -> Result<Vec<Visit>, Bad> {
        let sections = PhraseSections {
            units: bytes(units.iter().copied()),
            counts: counts.to_vec(),
            words: bytes(words.iter().copied()),
            ..PhraseSections::default()
        };
        let mut vocabulary = vec![Visit::default()];
        read(&sections, MOST_UNIT, &mut vocabulary).map(|()| vocabulary)
    }

    fn refused(units: &[u64], counts: &[u8], words: &[u64], section: Section, why: &str) {
        let bad = known(units, counts, words).expect_err(why);
        assert_eq!(bad.section, section, "{bad}");
        assert!(bad.reason.contains(why), "{bad}");
    }

    /// A load with two instructions; a fetch of one.
    const COUNTS: [u8; 8] = [0, 1, 0, 2, FETCH, 0, 0, 1];

    #[test]
    fn words_are_units_with_counts() {
        let visit = |unit, loads, instructions, fetch| Visit {
            unit,
            loads,
            loads_before_store: loads,
            instructions,
            fetch,
            ..Visit::default()
        };
        let words = known(&[5, 2], &COUNTS, &[2, 0, 1, 1, 0]);
        let expected = [
            visit(5, 1, 2, false),
            visit(5, 0, 1, true),
            visit(7, 1, 2, false),
        ];
        assert_eq!(words, Ok(expected.to_vec()));
        assert_eq!(
            known(&[0], &COUNTS, &[1, 1]),
            Ok(vec![visit(0, 0, 1, true)])
        );
        assert_eq!(known(&[], &[], &[]), Ok(vec![]));
        let last = known(&[MOST_UNIT], &COUNTS, &[1, 0]);
        assert_eq!(last, Ok(vec![visit(MOST_UNIT, 1, 2, false)]));
    }

    #[test]
    fn a_vocabulary_round_trips() {
        let mut numbering = Numbering::new();
        let mut visits: Vec<Visit> = (0..1000u32)
            .map(|at| Visit {
                unit: u64::from(at % 300) << 20,
                loads: at % 7,
                stores: at % 2,
                loads_before_store: if at % 2 > 0 { at % 3 } else { at % 7 },
                instructions: at % 5,
                lead: [Lead::None, Lead::Load, Lead::Store][at as usize % 3],
                fetch: false,
                execution: 0,
            })
            .filter(|visit| visit.loads_before_store <= visit.loads)
            .collect();
        visits.push(Visit {
            fetch: true,
            ..Visit::default()
        });
        let numbers: Vec<u16> = visits.iter().map(|visit| numbering.number(visit)).collect();
        let (vocabulary, word) = numbering.in_order();
        assert!(vocabulary.is_sorted_by_key(|visit| visit.unit));
        for (visit, number) in visits.iter().zip(numbers) {
            assert_eq!(vocabulary[usize::from(word[usize::from(number)])], *visit);
        }
        let mut sections = PhraseSections::default();
        write(&vocabulary, &mut sections);
        let mut found = Vec::new();
        read(&sections, MOST_UNIT, &mut found).expect("a written vocabulary");
        assert_eq!(found, vocabulary);
    }

    #[test]
    fn invalid_counts_are_refused() {
        for (counts, why) in [
            (&[LEADS_LOAD | LEADS_STORE, 0, 0, 0][..], "unknown manner"),
            (&[8, 0, 0, 0], "unknown manner"),
            (&[FETCH | LEADS_LOAD, 0, 0, 1], "a fetch loads"),
            (&[FETCH, 1, 0, 1], "a fetch loads"),
            (&[FETCH, 0, 1, 0, 1], "a fetch loads"),
            (&[0, 1, 1, 2, 0], "more loads before a store"),
            (&[0, 1, 0], "ends"),
            (&[0, 0xff, 0xff, 0xff, 0xff, 0x10, 0, 0], "32 bits"),
        ] {
            refused(&[5], counts, &[1, 0], Section::Counts, why);
        }
        let too_many = [0; 4 * (MOST_WORDS + 1)];
        refused(&[5], &too_many, &[1, 0], Section::Counts, "more than");
        assert!(known(&[5], &too_many[4..], &[1, 0]).is_ok());
    }

    #[test]
    fn invalid_units_and_words_are_refused() {
        let of_units = |units: &[u64], why| {
            refused(units, &COUNTS, &[1, 0, 1, 0], Section::Units, why);
        };
        of_units(&[5, 0], "twice");
        of_units(&[MOST_UNIT + 1], "past the last address");
        of_units(&[5, u64::MAX], "past the last address");
        let of_words = |words: &[u64], why| {
            refused(&[5, 1], &COUNTS, words, Section::Words, why);
        };
        of_words(&[0], "has none");
        of_words(&[1, 0, 0], "has none");
        of_words(&[1, 2, 1, 0], "not defined");
        of_words(&[1, 0, 1, u64::MAX], "not defined");
        of_words(&[1, 0, 1], "ends");
        of_words(&[1, 0], "ends");
        of_words(&[1, 0, 1, 0, 0], "there are more");
        of_words(&[u64::MAX], "more than the limit");
        // One unit has the maximum number of words, and one more exceeds it.
        let most = |more: u64| {
            let count = MOST_WORDS as u64 - 1;
            let mut words = vec![count];
            words.extend(std::iter::repeat_n(0, count as usize));
            words.push(more);
            words.extend(std::iter::repeat_n(0, more as usize));
            words
        };
        let all = known(&[5, 1], &COUNTS, &most(1)).map(|all| all.len());
        assert_eq!(all, Ok(MOST_WORDS));
        of_words(&most(2), "more than the limit");
    }
}
