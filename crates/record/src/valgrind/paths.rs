//! Predicts the next pattern from the current one.

use super::wire::{PATTERN, PATTERNS};

/// The number that means no pattern.
pub(super) const NO_PATTERN: u32 = 0;
/// The number of executions that are checked together.
pub(super) const BATCH: usize = 4096;

/// An execution that needs a closer look.
#[derive(Clone, Copy, Debug)]
#[repr(align(8))]
pub(super) struct Surprise {
    /// The index in the batch.
    pub(super) at: u32,
    /// The predicted pattern.
    pub(super) predicted: u32,
}

/// The path by which a pattern follows another, as numbered by the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Path(pub(super) u8);

impl Path {
    pub(super) const NAMED: Self = Self(2);
    pub(super) const NONE: Self = Self(3);
}

/// The two latest followers of each pattern.
pub(super) struct Paths {
    /// The latest follower in this chunk. Entry 0 belongs to no pattern and holds the first pattern
    /// of the chunk.
    next: Box<[u32; PATTERNS]>,
    /// The follower before `next`, for each described pattern.
    other: Vec<u32>,
    current: u32,
    /// The surprises of the latest batch.
    surprises: Box<[Surprise; BATCH]>,
}

/// Returns a table by pattern. Untouched parts of the table take no memory.
pub(super) fn table<T: Clone + Default>() -> Box<[T; PATTERNS]> {
    let rows = vec![T::default(); PATTERNS].into_boxed_slice();
    rows.try_into()
        .unwrap_or_else(|_| unreachable!("the vector has PATTERNS entries"))
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
                    predicted: NO_PATTERN,
                }; BATCH],
            ),
        }
    }

    /// Adds a pattern.
    pub(super) fn add(&mut self) {
        self.other.push(NO_PATTERN);
    }

    /// Returns the pattern of the latest execution.
    pub(super) const fn current(&self) -> u32 {
        self.current
    }

    /// Returns the number of surprises among at most `BATCH` executions: those that were not
    /// predicted, or whose references may have left a unit. Updates the followers.
    ///
    /// The loop has no branch on the result, so no branch can be mispredicted.
    pub(super) fn look(&mut self, words: &[u32]) -> usize {
        let mut before = self.current;
        let mut found = 0;
        for (at, &word) in words[..words.len().min(BATCH)].iter().enumerate() {
            let number = word & PATTERN;
            let predicted = std::mem::replace(&mut self.next[(before & PATTERN) as usize], number);
            self.surprises[found & (BATCH - 1)] = Surprise {
                at: at as u32,
                predicted,
            };
            // The word of an execution that left a unit has more bits than a pattern.
            found += usize::from(predicted != word);
            before = number;
        }
        self.current = before;
        found
    }

    /// Returns a surprise of the latest batch.
    #[inline]
    pub(super) fn surprise(&self, which: usize) -> Surprise {
        self.surprises[which & (BATCH - 1)]
    }

    /// Returns the path by which `number` came after `before`, and updates `other`.
    #[inline]
    pub(super) fn path(&mut self, before: u32, predicted: u32, number: u32) -> Path {
        let other = &mut self.other[before as usize];
        // Without a branch, because the branch would be mispredicted: all ones if the prediction
        // was right.
        let next = u32::from(predicted == number).wrapping_neg();
        let path = !next & (2 - u32::from(*other == number));
        *other = *other & next | predicted & !next;
        Path(path as u8)
    }

    /// Ends a chunk.
    pub(super) fn forget(&mut self) {
        self.next[..self.other.len()].fill(NO_PATTERN);
        self.other.fill(NO_PATTERN);
        self.current = NO_PATTERN;
    }
}
