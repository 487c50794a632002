//! Identifiers of what a trace numbers.

/// An address space: one process between two `exec` calls. A trace numbers address spaces from 0,
/// in order of appearance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpaceId(pub u32);

/// A thread of one address space. The recorder assigns the number, which is unique inside its space
/// at any one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(pub u32);

/// A mapped file. A trace numbers files from 0, in order of appearance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);
