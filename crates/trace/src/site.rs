//! Allocation sites: the places in a program that make memory, and the memory that they made.

use broadleaf_units::{SiteId, VirtAddr};

/// A place in a program that makes memory: an allocator and the call stack of its caller. The
/// recorder resolves addresses to names, so a reader needs neither the program nor its debug
/// information.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Site {
    /// The name of the allocator: a function such as `malloc`, or a kind of memory such as
    /// `static data`.
    pub allocator: String,
    /// The frames of the stack, the caller of the allocator first. The frames of static data are
    /// one: the variable.
    pub frames: Vec<SiteFrame>,
}

/// One frame of a call stack. Unknown parts are empty or zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SiteFrame {
    /// The name of the function, or of the variable.
    pub function: String,
    /// The path of the source file. Without debug information, the path of the program or library.
    pub file: String,
    /// The line in the source file, counted from 1. Zero if the line is unknown.
    pub line: u32,
}

/// Memory that a site made: one allocation, or several close to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Allocation {
    /// The site, which an earlier event of this address space describes.
    pub site: SiteId,
    /// The first byte. It need not be the first of a page.
    pub start: VirtAddr,
    /// The bytes from the first byte of the lowest allocation to the last of the highest.
    pub len: u64,
    /// The number of allocations.
    pub count: u64,
    /// The sum of their sizes in bytes. Several sites may share the range, so the sum may be less
    /// than `len`. It may be more if memory was freed and allocated again.
    pub bytes: u64,
}
