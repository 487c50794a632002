//! The ids of objects that a trace numbers.

/// An address space: one process between two `exec` calls. Numbers start at 0, in the order of the
/// first occurrence in a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpaceId(pub u32);

/// A thread of one address space. The number is the recorder's, and unique in the space at any one
/// time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(pub u32);

/// A mapped file. Numbers start at 0, in the order of the first occurrence in a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);
