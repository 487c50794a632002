//! The backing of memory.

/// The kind of memory that a mapping maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BackingKind {
    /// Private memory that begins as zeroes.
    Anonymous,
    /// Memory shared between processes that begins as zeroes.
    SharedMemory,
    /// A file's pages.
    File,
}
