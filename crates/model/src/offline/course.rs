//! A course: the part of a trace that matters to OFFLINE, in a few bytes per reference.

use super::numbers::Numbers;
use super::regions::FaultRegions;
use broadleaf_memory::system::{Appraisal, Place};

/// An item of a course.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// A page was used that would not have missed.
    Used(u32),
    /// A page was used that would have missed.
    Missed(u32),
    /// A rare event, with its time.
    Event(u64, Event),
}

/// A rare event of a course.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A page fault: the page that is about to be used is not resident.
    Fault(u32, Appraisal),
    /// A promotion chance: the page that is about to be used is resident. The pieces around the
    /// page may be promoted again, since a break has ended.
    Chance(u32, Appraisal),
    /// A shootdown: the translations of a range left the TLB.
    ShotDown(Place, u64),
    /// The resident pages of a range move. The first page of the range comes to lie at the last
    /// number.
    Moved(Place, u64, u64),
    /// A range was unmapped.
    Gone(Place, u64),
}

/// A course: the references and events of a trace that matter to OFFLINE.
#[derive(Clone, Debug, Default)]
pub(crate) struct Course {
    bytes: Vec<u8>,
    events: Vec<(u64, Event)>,
    last: u32,
}

/// The form of an item. The lowest bits hold the item's kind. The bits above hold the distance of
/// its page's number from the previous one, zigzag-coded.
const USED: u64 = 0;
const MISSED: u64 = 1;
const EVENT: u64 = 2;

impl Course {
    /// The size of the course, in bytes.
    pub(super) fn size(&self) -> usize {
        self.bytes.len() + self.events.len() * size_of::<(u64, Event)>()
    }

    pub(super) fn add(&mut self, item: Item) {
        match item {
            Item::Used(number) => self.page(number, USED),
            Item::Missed(number) => self.page(number, MISSED),
            Item::Event(time, event) => {
                self.events.push((time, event));
                self.write(EVENT);
            }
        }
    }

    fn page(&mut self, number: u32, kind: u64) {
        let step = i64::from(number) - i64::from(self.last);
        self.last = number;
        let step = ((step << 1) ^ (step >> 63)) as u64;
        self.write(step << 2 | kind);
    }

    fn write(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    /// The rare events, in order, each with its time.
    pub(super) fn events(&self) -> impl Iterator<Item = &(u64, Event)> {
        self.events.iter()
    }

    /// The items, in order.
    pub(super) fn items(&self) -> impl Iterator<Item = Item> + '_ {
        let mut bytes = self.bytes.iter();
        let mut events = self.events.iter();
        let mut last = 0_u32;
        std::iter::from_fn(move || {
            let (mut value, mut shift) = (0_u64, 0);
            loop {
                let byte = *bytes.next()?;
                value |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte < 0x80 {
                    break;
                }
            }
            if value & 3 == EVENT {
                return events
                    .next()
                    .map(|(time, event)| Item::Event(*time, *event));
            }
            let step = value >> 2;
            let step = (step >> 1) as i64 ^ -((step & 1) as i64);
            last = (i64::from(last) + step) as u32;
            Some(match value & 3 {
                USED => Item::Used(last),
                _ => Item::Missed(last),
            })
        })
    }
}

/// A course with its numbered pages and its mappings.
#[derive(Debug)]
pub(crate) struct KeptCourse {
    pub(super) numbers: Numbers,
    pub(super) course: Course,
    pub(super) regions: FaultRegions,
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_oracle::random::Rng;
    use broadleaf_units::SpaceId;

    #[test]
    fn what_is_kept_is_what_was_told() {
        let mut rng = Rng::new(1);
        let place = Place {
            space: SpaceId(3),
            page: 77,
        };
        let items: Vec<Item> = (0..3000)
            .map(|_| {
                let number = (rng.below(1 << 32) >> rng.below(32)) as u32;
                match rng.below(5) {
                    0 => Item::Event(7, Event::Gone(place, number.into())),
                    1 => Item::Event(8, Event::Fault(number, Appraisal::default())),
                    2 => Item::Missed(number),
                    _ => Item::Used(number),
                }
            })
            .collect();
        let mut course = Course::default();
        items.iter().for_each(|item| course.add(*item));
        assert!(course.items().eq(items));
    }
}
