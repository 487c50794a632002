//! Counts the resident pages of blocks with `PAGEMAP_SCAN`.
#![allow(unsafe_code, reason = "an ioctl")]

use crate::kernel::KernelError;
use crate::seen::{BLOCK_BYTES, BlockSeen, PAGE_BYTES, PAGES};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

/// A range of pages in the kernel's answer (`linux/fs.h`).
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct Region {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) categories: u64,
}

/// The argument of `PAGEMAP_SCAN` (`linux/fs.h`).
#[repr(C)]
#[derive(Default)]
struct Question {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vec: u64,
    vec_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

pub(super) const PRESENT: u64 = 1 << 3;
pub(super) const SWAPPED: u64 = 1 << 4;
pub(super) const ZERO: u64 = 1 << 5;
pub(super) const HUGE: u64 = 1 << 6;
/// `_IOWR('f', 16, struct pm_scan_arg)`.
const PAGEMAP_SCAN: libc::Ioctl = 0xc060_6610_u32 as libc::Ioctl;
/// The maximum number of regions in a call. With more, the kernel's own note of its last position
/// is stale (seen on Linux 6.12 and 6.18).
const REGIONS: usize = 512;

/// Consecutive blocks and their counted pages.
pub(super) struct Blocks {
    first: u64,
    seen: Vec<BlockSeen>,
    /// The block numbers.
    range: Range<u64>,
}

impl Blocks {
    /// Creates a list of blocks without pages.
    pub(super) fn in_range(range: Range<u64>) -> Self {
        Self {
            first: range.start,
            seen: Vec::new(),
            range,
        }
    }

    /// Adds a range of pages of one category.
    pub(super) fn add(&mut self, mut page: u64, end: u64, categories: u64) {
        let pages = u64::from(PAGES);
        while page < end {
            let block = page / pages;
            let until = ((block + 1) * pages).min(end);
            if block >= self.first {
                let count = (until - page) as u16;
                let seen = self.block(block);
                if categories & HUGE != 0 && categories & PRESENT != 0 {
                    // The kernel's own superpage of zeroes was read, and never stored to.
                    if categories & ZERO == 0 {
                        seen.huge = true;
                    } else {
                        seen.zero += count;
                    }
                } else if categories & SWAPPED != 0 {
                    seen.swapped += count;
                } else if categories & ZERO != 0 {
                    seen.zero += count;
                } else if categories & PRESENT != 0 {
                    seen.present += count;
                }
            }
            page = until;
        }
    }

    /// Returns the entry of a block. Ranges come in order, so the block is the last one or a later
    /// one.
    fn block(&mut self, block: u64) -> &mut BlockSeen {
        if self.seen.last().is_none_or(|last| last.block != block) {
            self.settle();
            self.seen.push(BlockSeen::empty(block));
        }
        let last = self.seen.len() - 1;
        &mut self.seen[last]
    }

    /// Finishes the last block. A block that became a superpage during the read was seen as both.
    fn settle(&mut self) {
        if let Some(last) = self.seen.last_mut().filter(|last| last.huge) {
            *last = BlockSeen::superpage(last.block);
        }
    }

    /// Returns the blocks with pages.
    pub(super) fn into_held(mut self) -> Vec<BlockSeen> {
        self.settle();
        self.seen
    }

    /// Returns all blocks.
    pub(super) fn into_all(mut self) -> Vec<BlockSeen> {
        self.settle();
        let mut found = self.seen.into_iter().peekable();
        let all = self.range.map(|block| {
            let held = found.next_if(|seen| seen.block == block);
            held.unwrap_or(BlockSeen::empty(block))
        });
        all.collect()
    }
}

/// Counts pages with `PAGEMAP_SCAN`.
pub(super) fn by_scanning(
    pagemap: &File,
    blocks: Range<u64>,
    found: &mut Blocks,
) -> Result<(), KernelError> {
    let question = Question {
        category_anyof_mask: PRESENT | SWAPPED,
        // No other category is asked for: some of them make the kernel look up a record of every
        // page, which takes ten times as long.
        return_mask: PRESENT | SWAPPED | ZERO | HUGE,
        ..Question::of(blocks)
    };
    ask(pagemap, question, |region| {
        found.add(
            region.start / PAGE_BYTES,
            region.end / PAGE_BYTES,
            region.categories,
        );
    })
}

/// Passes on the regions of a range of addresses whose pages have one of these categories.
pub(super) fn regions(
    pagemap: &File,
    addresses: Range<u64>,
    any_of: u64,
    take: &mut dyn FnMut(&Region),
) -> Result<(), KernelError> {
    let question = Question {
        start: addresses.start,
        end: addresses.end,
        category_anyof_mask: any_of,
        return_mask: PRESENT | SWAPPED | HUGE,
        ..Question::of(0..0)
    };
    ask(pagemap, question, take)
}

/// Returns the ranges of page numbers of a block that map the kernel's page of zeroes.
pub(super) fn zeroes(pagemap: &File, block: u64) -> Result<Vec<Range<u64>>, KernelError> {
    let question = Question {
        category_mask: ZERO,
        return_mask: ZERO,
        ..Question::of(block..block + 1)
    };
    let mut found = Vec::new();
    ask(pagemap, question, |region| {
        found.push(region.start / PAGE_BYTES..region.end / PAGE_BYTES);
    })?;
    Ok(found)
}

impl Question {
    fn of(blocks: Range<u64>) -> Self {
        Self {
            size: size_of::<Self>() as u64,
            start: blocks.start * BLOCK_BYTES,
            end: blocks.end * BLOCK_BYTES,
            ..Self::default()
        }
    }
}

/// Repeats the call until it has covered the whole range, and passes on each region of the answers.
fn ask(
    pagemap: &File,
    mut question: Question,
    mut take: impl FnMut(&Region),
) -> Result<(), KernelError> {
    let mut regions = [Region::default(); REGIONS];
    question.vec = regions.as_mut_ptr() as u64;
    question.vec_len = REGIONS as u64;
    while question.start < question.end {
        // SAFETY: both structures are local and have the kernel's layout. The kernel writes at most
        // `vec_len` regions to `vec`, and the field `walk_end`.
        let answered = unsafe { libc::ioctl(pagemap.as_raw_fd(), PAGEMAP_SCAN, &raw mut question) };
        if answered < 0 {
            return Err(super::no(&io::Error::last_os_error()));
        }
        regions[..(answered as usize).min(REGIONS)]
            .iter()
            .for_each(&mut take);
        if question.walk_end <= question.start {
            // The process has ended: the kernel walks nothing.
            return Err(KernelError::Gone);
        }
        question.start = question.walk_end;
    }
    Ok(())
}

/// Returns the first page of a block that is resident and not the kernel's page of zeroes. Returns
/// the block's first page if there is none. Without `PAGEMAP_SCAN`, pages of zeroes count like
/// other pages.
pub(super) fn first_stored(pagemap: &File, block: u64, scans: bool) -> Result<u64, KernelError> {
    let first = block * u64::from(PAGES);
    if !scans {
        let mut entries = [0_u8; PAGES as usize * 8];
        let read = pagemap
            .read_at(&mut entries, first * 8)
            .map_err(|error| super::no(&error))?;
        let mut entries = entries[..read].chunks_exact(8);
        let at = entries.position(|entry| entry[7] >> 7 == 1);
        return Ok(first + at.unwrap_or(0) as u64);
    }
    let mut region = Region::default();
    let mut question = Question {
        vec: &raw mut region as u64,
        vec_len: 1,
        max_pages: 1,
        category_inverted: ZERO,
        category_mask: PRESENT | ZERO,
        return_mask: PRESENT,
        ..Question::of(block..block + 1)
    };
    // SAFETY: both structures are local and have the kernel's layout. The kernel writes at most one
    // region, and the field `walk_end`.
    match unsafe { libc::ioctl(pagemap.as_raw_fd(), PAGEMAP_SCAN, &raw mut question) } {
        ..0 => Err(super::no(&io::Error::last_os_error())),
        0 => Ok(first),
        _ => Ok(region.start / PAGE_BYTES),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_counted_by_block() {
        let mut blocks = Blocks::in_range(2..6);
        blocks.add(2 * 512 + 500, 3 * 512 + 10, PRESENT);
        blocks.add(3 * 512 + 10, 3 * 512 + 11, PRESENT | ZERO);
        blocks.add(3 * 512 + 20, 3 * 512 + 25, SWAPPED);
        blocks.add(5 * 512, 5 * 512 + 7, PRESENT);
        blocks.add(5 * 512, 6 * 512, PRESENT | HUGE);
        let expected = [
            BlockSeen {
                block: 2,
                present: 12,
                ..BlockSeen::default()
            },
            BlockSeen {
                block: 3,
                present: 10,
                zero: 1,
                swapped: 5,
                huge: false,
            },
            BlockSeen::empty(4),
            BlockSeen::superpage(5),
        ];
        assert_eq!(blocks.into_all(), expected);
    }
}
