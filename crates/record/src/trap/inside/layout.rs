//! The places of the program's memory. The engine decides all of them, so that they are the same in
//! each run.
//!
//! The program has the addresses below [`END`]. Byte `a` of the program's memory is byte `a` of
//! one memory file. The file is mapped twice: at `a` for the program, where pages are closed
//! and opened, and at `a + END` for the engine and for system calls, where all pages are open.

/// The bytes of a page.
pub(super) const PAGE: u64 = 4096;

/// The first address that the program cannot have.
pub(super) const END: u64 = 1 << 44;

/// The lowest address of a mapping.
pub(super) const LOWEST: u64 = 1 << 16;

/// Where a position-independent program begins.
pub(super) const PROGRAM: u64 = 0x0555_5555_4000;

/// The end of the stack.
pub(super) const STACK_END: u64 = END - (1 << 30);

/// Where the search for a free place begins, downwards.
pub(super) const PLACES_END: u64 = STACK_END - (1 << 36);

/// The bytes of the stack if its limit is "unlimited".
pub(super) const MOST_STACK: u64 = 1 << 30;

/// The bytes of the memory file: a place for each address, and more for addresses whose place a
/// forked process has.
pub(super) const FILE_END: u64 = END << 8;

/// The second address of a byte of the program's memory.
pub(super) const fn second(address: u64) -> u64 {
    address + END
}

/// The first byte of the page of an address.
pub(super) const fn page_start(address: u64) -> u64 {
    address & !(PAGE - 1)
}

/// An address or a length, rounded up to whole pages. `None` if it does not fit.
pub(super) const fn page_end(address: u64) -> Option<u64> {
    address.checked_next_multiple_of(PAGE)
}
