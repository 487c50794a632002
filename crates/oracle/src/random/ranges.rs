//! Where the random traces have their memory, and ranges of it.

use std::ops::Range;

use broadleaf_trace::Range as ByteRange;
use broadleaf_units::VirtAddr;

use super::Rng;

/// The first page of the arena, where mappings come and go. Block-aligned.
pub(super) const ARENA: u64 = 0x20_0000;
/// Pages of the arena: four blocks, few enough to be met again.
pub(super) const ARENA_PAGES: u64 = 4 * 512;
/// The first page of the wide area, large enough for pages that share a second-level set. Block-aligned.
pub(super) const WIDE: u64 = 0x100_0000;
/// Pages of the wide area: fourteen times 256 MiB.
pub(super) const WIDE_PAGES: u64 = 14 << 16;
/// Where heaps begin, but for a few pages.
pub(super) const HEAP: u64 = 0x8_0000;
/// The block boundary at or below which stacks end.
pub(super) const STACK_END: u64 = 0x7000_0000;

/// The bytes of `pages`.
pub(super) fn bytes(pages: &Range<u64>) -> ByteRange {
    ByteRange {
        start: VirtAddr(pages.start * 4096),
        len: (pages.end - pages.start) * 4096,
    }
}

/// A range inside `within`: whole blocks, quarters of blocks, or any pages. Empty where `within` is.
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
