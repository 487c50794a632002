//! Counts that are kept apart for files and for all other memory.

use broadleaf_units::BackingKind;
use std::ops::Sub;

/// A count, apart for files and for all other memory (spec model 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByKind {
    /// The count of anonymous memory: private and shared memory without a file.
    pub anonymous: u64,
    /// The count of memory that maps a file.
    pub file: u64,
}

impl ByKind {
    /// Adds to the count of that kind.
    pub fn add(&mut self, kind: BackingKind, count: u64) {
        match kind {
            BackingKind::File => self.file += count,
            BackingKind::Anonymous | BackingKind::SharedMemory => self.anonymous += count,
        }
    }

    /// Both counts together.
    pub const fn total(self) -> u64 {
        self.anonymous + self.file
    }
}

impl Sub for ByKind {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            anonymous: self.anonymous - other.anonymous,
            file: self.file - other.file,
        }
    }
}
