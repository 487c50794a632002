//! Access rights of memory.

/// Access rights of a mapping, as in `mmap(2)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rights {
    /// Loads are allowed.
    pub read: bool,
    /// Stores are allowed.
    pub write: bool,
    /// Fetches are allowed.
    pub execute: bool,
}

impl Rights {
    /// Loads and stores.
    pub const READ_WRITE: Self = Self {
        read: true,
        write: true,
        execute: false,
    };
}
