//! Names of things that a trace numbers.

/// An address space: one process between two `exec` calls. Numbered from 0 in the order in which a trace meets them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpaceId(pub u32);

/// A thread of one address space. Numbered as the recorder saw it; unique inside its space at any one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(pub u32);

/// A file that was mapped. Numbered from 0 in the order in which a trace meets them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);
