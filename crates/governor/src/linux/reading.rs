//! Counts the resident pages of blocks from one `pagemap` entry per page.

use super::scan::{Blocks, HUGE, PRESENT, SWAPPED, ZERO};
use super::zeroes::{FRAME, Frames, is_huge_zero};
use crate::kernel::KernelError;
use crate::seen::PAGES;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// Counts pages by reading one entry per page. Frame numbers identify superpages and pages of
/// zeroes, and the kernel shows frame numbers only to `CAP_SYS_ADMIN`. A block counts as a
/// superpage if its frames are consecutive and begin at a multiple of its size.
pub(super) fn by_reading(
    pagemap: &File,
    frames: &mut Frames,
    blocks: Range<u64>,
    found: &mut Blocks,
) -> Result<(), KernelError> {
    const AT_ONCE: u64 = 64;
    let mut bytes = vec![0_u8; (AT_ONCE * u64::from(PAGES) * 8) as usize];
    let mut block = blocks.start;
    while block < blocks.end {
        let count = AT_ONCE.min(blocks.end - block);
        let wanted = (count * u64::from(PAGES) * 8) as usize;
        let first = block * u64::from(PAGES);
        let read = pagemap
            .read_at(&mut bytes[..wanted], first * 8)
            .map_err(|error| super::no(&error))?;
        if read == 0 {
            return Err(KernelError::Gone);
        }
        let entries = bytes[..read].chunks_exact(8);
        let entries = entries.map(|entry| u64::from_le_bytes(entry.try_into().unwrap_or_default()));
        let entries: Vec<u64> = entries.collect();
        let mut extent_end = 0;
        for (at, entry) in entries.iter().enumerate() {
            let page = first + at as u64;
            if at % PAGES as usize == 0 && is_extent(&entries[at..]) {
                let zero = if is_huge_zero(entry & FRAME) { ZERO } else { 0 };
                extent_end = page + u64::from(PAGES);
                found.add(page, extent_end, PRESENT | HUGE | zero);
            }
            if page < extent_end {
                continue;
            }
            let categories = if frames.is_zero(*entry) {
                PRESENT | ZERO
            } else if entry >> 63 & 1 == 1 {
                PRESENT
            } else if entry >> 62 & 1 == 1 {
                SWAPPED
            } else {
                continue;
            };
            found.add(page, page + 1, categories);
        }
        block += count;
    }
    Ok(())
}

/// Returns true if `entries` begins with a block whose frames are one extent.
fn is_extent(entries: &[u64]) -> bool {
    let Some(first) = entries.first().map(|entry| entry & FRAME) else {
        return false;
    };
    let is_next =
        |(at, entry): (usize, &u64)| entry >> 63 == 1 && entry & FRAME == first + at as u64;
    first != 0
        && first % u64::from(PAGES) == 0
        && entries.len() >= PAGES as usize
        && entries[..PAGES as usize].iter().enumerate().all(is_next)
}

/// Returns true for the `pagemap` entry of a resident page whose bit 56, "exclusively mapped", is
/// clear. The kernel's page of zeroes also lacks this bit.
pub(super) const fn is_shared(entry: u64) -> bool {
    entry >> 63 & 1 == 1 && entry >> 56 & 1 == 0
}
