//! The memory areas of random traces, and ranges in them.

use std::ops::Range;

use broadleaf_trace::Range as ByteRange;
use broadleaf_units::VirtAddr;

use super::Rng;

/// The first page of the arena, an area of changing mappings. Block-aligned.
pub(super) const ARENA: u64 = 0x20_0000;
/// The number of pages of the arena: four blocks, few enough for reuse.
pub(super) const ARENA_PAGES: u64 = 4 * 512;
/// The first page of the wide area, large enough for pages that share a second-level set.
/// Block-aligned.
pub(super) const WIDE: u64 = 0x100_0000;
/// The number of pages of the wide area: fourteen times 256 MiB.
pub(super) const WIDE_PAGES: u64 = 14 << 16;
/// The approximate first page of heaps.
pub(super) const HEAP: u64 = 0x8_0000;
/// The block boundary at or below the end of stacks.
pub(super) const STACK_END: u64 = 0x7000_0000;

/// The bytes of `pages`.
pub(super) fn bytes(pages: &Range<u64>) -> ByteRange {
    ByteRange {
        start: VirtAddr(pages.start * 4096),
        len: (pages.end - pages.start) * 4096,
    }
}

/// A range inside `within`: whole blocks, quarters of blocks, or any pages. Empty if `within` is.
pub(super) fn some_range(rng: &mut Rng, within: &Range<u64>) -> Range<u64> {
    let unit = rng.pick(&[512, 512, 128, 1, 1]);
    let start = within.start + rng.below(within.end - within.start) / unit * unit;
    let length = match unit {
        512 => 512 * (1 + rng.below(3)),
        128 => 128 * (1 + rng.below(6)),
        _ => {
            let most = rng.pick(&[8, 700]);
            1 + rng.below(most)
        }
    };
    start.min(within.end)..(start + length).min(within.end)
}
