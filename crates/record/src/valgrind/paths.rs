//! Which pattern follows which: what was foretold and what was not.

use super::wire::{PATTERN, PATTERNS};

/// In place of a pattern: none yet.
pub(super) const NO_PATTERN: u32 = 0;
/// How many executions are looked at together.
pub(super) const BATCH: usize = 4096;

/// An execution that has to be looked at more closely.
#[derive(Clone, Copy, Debug)]
#[repr(align(8))]
pub(super) struct Surprise {
    /// Which of the batch.
    pub(super) at: u32,
    /// What was foretold.
    pub(super) foretold: u32,
}

/// By which path a pattern follows the one before, as the format counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Path(pub(super) u8);

impl Path {
    pub(super) const NAMED: Self = Self(2);
    pub(super) const NONE: Self = Self(3);
}

/// For each pattern, which two followed it.
pub(super) struct Paths {
    /// The last time, in this chunk. At 0, where no pattern is, the first of the chunk.
    next: Box<[u32; PATTERNS]>,
    /// The one before `next`, as far as blocks were described.
    other: Vec<u32>,
    current: u32,
    /// Of the executions that were looked at last: which were not foretold, and what was instead.
    surprises: Box<[Surprise; BATCH]>,
}

/// A table by pattern, which takes memory only where something was entered.
pub(super) fn table<T: Clone + Default>() -> Box<[T; PATTERNS]> {
    let rows = vec![T::default(); PATTERNS].into_boxed_slice();
    rows.try_into()
        .unwrap_or_else(|_| unreachable!("it has as many"))
}

impl Paths {
    pub(super) fn new() -> Self {
        Self {
            next: table(),
            other: vec![NO_PATTERN],
            current: NO_PATTERN,
            surprises: Box::new(
                [Surprise {
                    at: 0,
                    foretold: NO_PATTERN,
                }; BATCH],
            ),
        }
    }

    /// There is a pattern more.
    pub(super) fn add(&mut self) {
        self.other.push(NO_PATTERN);
    }

    /// The pattern that ran last.
    pub(super) const fn current(&self) -> u32 {
        self.current
    }

    /// How many of these executions, `BATCH` at most, were not foretold, or may have left a unit. What follows what is noted.
    ///
    /// Nothing here depends on what comes out, so no branch can be mispredicted.
    pub(super) fn look(&mut self, words: &[u32]) -> usize {
        let mut before = self.current;
        let mut found = 0;
        for (at, &word) in words[..words.len().min(BATCH)].iter().enumerate() {
            let number = word & PATTERN;
            let foretold = std::mem::replace(&mut self.next[(before & PATTERN) as usize], number);
            self.surprises[found & (BATCH - 1)] = Surprise {
                at: at as u32,
                foretold,
            };
            // The word of an execution that left a unit has more bits than a pattern.
            found += usize::from(foretold != word);
            before = number;
        }
        self.current = before;
        found
    }

    /// The surprise of this number that was found last.
    #[inline]
    pub(super) fn surprise(&self, which: usize) -> Surprise {
        self.surprises[which & (BATCH - 1)]
    }

    /// By which path `number` came after `before`; `other` is noted.
    #[inline]
    pub(super) fn path(&mut self, before: u32, foretold: u32, number: u32) -> Path {
        let other = &mut self.other[before as usize];
        // Without a branch, which could not be foreseen: all ones if it was foretold.
        let next = u32::from(foretold == number).wrapping_neg();
        let path = !next & (2 - u32::from(*other == number));
        *other = *other & next | foretold & !next;
        Path(path as u8)
    }

    /// The end of a chunk.
    pub(super) fn forget(&mut self) {
        self.next[..self.other.len()].fill(NO_PATTERN);
        self.other.fill(NO_PATTERN);
        self.current = NO_PATTERN;
    }
}
