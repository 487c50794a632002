//! The patterns of an encoder: one for each distinct visit shape, with at most one reference.

use crate::block::{BlockDef, BlockItem, MOST_PATTERNS};
use crate::error::WriteError;

/// The counts of a visit, without its unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) loads: u32,
    pub(super) stores: u32,
    pub(super) loads_before_store: u32,
    /// The instructions that begin before the last access.
    pub(super) instructions: u32,
}

impl Shape {
    pub(super) const fn is_reference(&self) -> bool {
        self.loads != 0 || self.stores != 0
    }

    const fn key(&self) -> ShapeKey {
        ShapeKey(
            (self.instructions as u64) << 32 | self.loads as u64,
            (self.stores as u64) << 32 | self.loads_before_store as u64,
        )
    }

    fn block(&self) -> BlockDef {
        let instructions = BlockItem::Instructions(self.instructions);
        let several = BlockItem::Several {
            loads: self.loads,
            stores: self.stores,
            loads_before_store: self.loads_before_store,
        };
        let instructions = (self.instructions > 0).then_some(instructions);
        let several = self.is_reference().then_some(several);
        let items = instructions.into_iter().chain(several);
        BlockDef::new(items.chain([BlockItem::Exit]))
    }
}

/// The maximum number of shapes with a pattern each. The encoder writes further shapes as pieces
/// that many shapes share. The decoded visit is the same, and a decoder's tables stay small. A
/// program has some thousands of shapes.
const MOST_SHAPES: usize = 1 << 18;

/// The patterns of one process.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    accesses: PatternTable,
    fetches: PatternTable,
    patterns: u32,
    /// The blocks that no definitions chunk holds yet.
    new: Vec<BlockDef>,
}

impl Shapes {
    /// The number of patterns.
    pub(super) const fn patterns(&self) -> u32 {
        self.patterns
    }

    /// Takes the blocks that no definitions chunk holds yet, and the number of their first pattern.
    pub(super) fn take_new(&mut self) -> (u32, Vec<BlockDef>) {
        let new = std::mem::take(&mut self.new);
        (self.patterns - new.len() as u32, new)
    }

    /// The pattern of this shape; `None` if the encoder must write pieces.
    #[inline]
    pub(super) fn pattern(&mut self, shape: &Shape) -> Option<u32> {
        let known = self.accesses.find(shape.key());
        known.or_else(|| self.add(shape))
    }

    #[cold]
    fn add(&mut self, shape: &Shape) -> Option<u32> {
        if self.patterns as usize >= MOST_SHAPES {
            return None;
        }
        self.accesses.insert(shape.key(), self.patterns);
        Some(self.define(shape.block()))
    }

    /// The pattern of a piece of a shape.
    pub(super) fn piece(&mut self, shape: &Shape) -> Result<u32, WriteError> {
        if let Some(pattern) = self.accesses.find(shape.key()) {
            return Ok(pattern);
        }
        self.room()?;
        self.accesses.insert(shape.key(), self.patterns);
        Ok(self.define(shape.block()))
    }

    /// The pattern of `count` instructions in one unit of code; `None` if the encoder must write
    /// pieces.
    pub(super) fn fetch(&mut self, unit: u64, count: u32) -> Option<u32> {
        let known = self.fetches.find(ShapeKey(unit, count.into()));
        if known.is_some() || self.patterns as usize >= MOST_SHAPES {
            return known;
        }
        self.fetch_piece(unit, count).ok()
    }

    /// The pattern of a piece of a fetch.
    pub(super) fn fetch_piece(&mut self, unit: u64, count: u32) -> Result<u32, WriteError> {
        let key = ShapeKey(unit, count.into());
        if let Some(pattern) = self.fetches.find(key) {
            return Ok(pattern);
        }
        self.room()?;
        self.fetches.insert(key, self.patterns);
        let again = (count > 1).then_some(BlockItem::FetchAgain(count - 1));
        let items = [BlockItem::Fetch { unit }].into_iter().chain(again);
        Ok(self.define(BlockDef::new(items.chain([BlockItem::Exit]))))
    }

    fn room(&self) -> Result<(), WriteError> {
        if (self.patterns as usize) < MOST_PATTERNS {
            Ok(())
        } else {
            let reason = "a process has more kinds of visits than patterns are allowed";
            Err(WriteError::TooLarge(reason))
        }
    }

    fn define(&mut self, block: BlockDef) -> u32 {
        self.new.push(block);
        self.patterns += 1;
        self.patterns - 1
    }
}

/// Splits a shape into pieces: powers of two of one count each. Their order gives the same visit.
pub(super) fn pieces(shape: &Shape) -> impl Iterator<Item = Shape> {
    let before = if shape.stores == 0 {
        shape.loads
    } else {
        shape.loads_before_store
    };
    let after = shape.loads - before;
    let loads = |loads| Shape {
        loads,
        loads_before_store: loads,
        ..Shape::default()
    };
    let instructions = powers(shape.instructions).map(|instructions| Shape {
        instructions,
        ..Shape::default()
    });
    let stores = powers(shape.stores).map(|stores| Shape {
        stores,
        ..Shape::default()
    });
    instructions
        .chain(powers(before).map(loads))
        .chain(stores)
        .chain(powers(after).map(loads))
}

/// Splits `number` into powers of two.
pub(super) fn powers(number: u32) -> impl Iterator<Item = u32> {
    (0..32)
        .map(move |bit| number & 1 << bit)
        .filter(|&power| power != 0)
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ShapeKey(u64, u64);

impl ShapeKey {
    #[inline]
    const fn hash(self) -> u64 {
        let mixed = (self.0 ^ self.1.rotate_left(23)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ self.1).wrapping_mul(0xff51_afd7_ed55_8ccd)
    }
}

const NO_PATTERN: u32 = u32::MAX;

/// A hash table from keys to patterns: open addressing, at most half full.
#[derive(Debug, Default)]
struct PatternTable {
    slots: Vec<(ShapeKey, u32)>,
    used: usize,
}

impl PatternTable {
    #[inline]
    fn find(&self, key: ShapeKey) -> Option<u32> {
        let mask = self.slots.len().wrapping_sub(1);
        if self.slots.is_empty() {
            return None;
        }
        let mut at = (key.hash() >> 32) as usize & mask;
        loop {
            let (held, pattern) = self.slots[at];
            if pattern == NO_PATTERN {
                return None;
            }
            if held == key {
                return Some(pattern);
            }
            at = (at + 1) & mask;
        }
    }

    fn insert(&mut self, key: ShapeKey, pattern: u32) {
        if self.used * 2 >= self.slots.len() {
            let room = (self.slots.len() * 2).max(1024);
            let old = std::mem::replace(&mut self.slots, vec![(ShapeKey(0, 0), NO_PATTERN); room]);
            for (key, pattern) in old {
                if pattern != NO_PATTERN {
                    self.put(key, pattern);
                }
            }
        }
        self.used += 1;
        self.put(key, pattern);
    }

    fn put(&mut self, key: ShapeKey, pattern: u32) {
        let mask = self.slots.len() - 1;
        let mut at = (key.hash() >> 32) as usize & mask;
        while self.slots[at].1 != NO_PATTERN {
            at = (at + 1) & mask;
        }
        self.slots[at] = (key, pattern);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_has_one_pattern_and_pieces_that_come_to_it() {
        let mut shapes = Shapes::default();
        for seed in 0u32..3000 {
            let shape = Shape {
                loads: seed % 17,
                stores: seed % 5,
                loads_before_store: if seed % 5 == 0 {
                    seed % 17
                } else {
                    seed % 17 / 2
                },
                instructions: seed,
            };
            let first = shapes.pattern(&shape);
            assert_eq!(shapes.pattern(&shape), first);
            let mut sum = Shape::default();
            for piece in pieces(&shape) {
                if sum.stores == 0 {
                    sum.loads_before_store += piece.loads_before_store;
                }
                sum.loads += piece.loads;
                sum.stores += piece.stores;
                sum.instructions += piece.instructions;
            }
            assert_eq!(sum, shape);
        }
        assert_eq!(shapes.patterns(), 3000);
    }
}
