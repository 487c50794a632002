//! The reasons for which a trace cannot be replayed.

use broadleaf_units::PageNumber;

/// The contents of a trace that the model cannot replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// An address in this page is not canonical.
    Page(PageNumber),
    /// No number is left for another block.
    Block,
    /// The model needs `needed` bytes of memory for `blocks` blocks, but may use `limit` bytes.
    Room {
        /// The bytes that the model needs.
        needed: u64,
        /// The bytes that the model may use.
        limit: u64,
        /// The number of blocks.
        blocks: usize,
    },
}
