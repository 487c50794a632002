//! A cache of mappings in memory, in front of another table: buckets of a fixed number of slots.

use crate::TableRead;
use broadleaf_units::{SpaceId, StructureParameter};

/// A cache of values by space and number. Each bucket replaces its slots in turn.
#[derive(Clone, Debug)]
pub(crate) struct Front<V> {
    slots: Vec<Option<((SpaceId, u64), V)>>,
    /// For each bucket, the slot that makes room next.
    turns: Vec<usize>,
    ways: usize,
    /// The bytes of a slot's tag, and of the rest, which lies in an array of its own.
    tag_bytes: u32,
    data_bytes: u32,
}

/// The number of buckets of a cache.
pub(crate) const SETS: StructureParameter =
    StructureParameter::number("sets", (1, 1 << 16), 1024, "the buckets of the cache");

/// The number of slots of a bucket.
pub(crate) const WAYS: StructureParameter =
    StructureParameter::number("ways", (1, 64), 4, "the slots of a bucket of the cache");

/// The address bits of the tags, and of the data after them.
const REGION: u64 = 1 << 56;
const DATA: u64 = 1 << 55;

impl<V: Clone> Front<V> {
    /// An empty cache.
    pub(crate) fn new(buckets: usize, ways: usize, tag_bytes: u32, data_bytes: u32) -> Self {
        Self {
            slots: vec![None; buckets * ways],
            turns: vec![0; buckets],
            ways,
            tag_bytes,
            data_bytes,
        }
    }

    fn bucket(&self, (space, number): (SpaceId, u64)) -> usize {
        ((u64::from(space.0) << 4) ^ number) as usize % self.turns.len()
    }

    /// Looks a value up. All tags of the bucket are read at once. `part` is the place of the bytes
    /// of the value that are read after a match, and their number.
    pub(crate) fn find(
        &self,
        key: (SpaceId, u64),
        part: (u32, u32),
        reads: &mut dyn FnMut(TableRead),
    ) -> Option<&V> {
        let first = self.bucket(key) * self.ways;
        let tags = REGION + first as u64 * u64::from(self.tag_bytes);
        reads(TableRead::of_node(tags, self.ways as u32 * self.tag_bytes));
        let slots = self.slots[first..first + self.ways].iter();
        let found = slots.enumerate().find_map(|(way, slot)| match slot {
            Some((known, value)) if *known == key => Some((way, value)),
            _ => None,
        });
        let (way, value) = found?;
        if part.1 > 0 {
            let data = REGION + DATA + (first + way) as u64 * u64::from(self.data_bytes);
            reads(TableRead::further(data + u64::from(part.0), part.1));
        }
        Some(value)
    }

    /// Stores a value. Returns the value that makes room.
    pub(crate) fn store(&mut self, key: (SpaceId, u64), value: V) -> Option<V> {
        let bucket = self.bucket(key);
        let first = bucket * self.ways;
        let own = &mut self.slots[first..first + self.ways];
        let known = own
            .iter()
            .position(|slot| slot.as_ref().is_some_and(|(of, _)| *of == key));
        let unused = || own.iter().position(Option::is_none);
        let way = known.or_else(unused).unwrap_or_else(|| {
            let way = self.turns[bucket];
            self.turns[bucket] = (way + 1) % self.ways;
            way
        });
        let before = self.slots[first + way].replace((key, value));
        before.map(|(_, value)| value)
    }

    /// Takes the value of a key.
    pub(crate) fn forget(&mut self, key: (SpaceId, u64)) -> Option<V> {
        let first = self.bucket(key) * self.ways;
        let own = &mut self.slots[first..first + self.ways];
        let taken = own
            .iter_mut()
            .find_map(|slot| slot.take_if(|(known, _)| *known == key));
        taken.map(|(_, value)| value)
    }

    /// Takes the values of a space.
    pub(crate) fn end(&mut self, space: SpaceId) -> Vec<V> {
        let slots = self.slots.iter_mut();
        let taken = slots.filter_map(|slot| slot.take_if(|((of, _), _)| *of == space));
        taken.map(|(_, value)| value).collect()
    }

    /// The bytes of all slots, used or not.
    pub(crate) fn bytes(&self) -> u64 {
        self.slots.len() as u64 * u64::from(self.tag_bytes + self.data_bytes)
    }
}
