//! The page frames of blocks.

use super::HeatMeter;
use crate::seen::{LivePages, PAGES, ProcessId};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// The bit of an entry of `pagemap` whose page is in memory.
const PRESENT: u64 = 1 << 63;
/// The frame number in an entry of `pagemap`.
const FRAME: u64 = (1 << 55) - 1;
/// The greatest number of pages that are looked at. Larger processes are sampled.
const MOST: u64 = 1 << 20;

/// A page that is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WatchedPage {
    /// Its frame.
    pub(super) frame: u64,
    /// The index of its block.
    pub(super) index: u32,
    /// The number of pages for which the page is a sample.
    pub(super) pages: u16,
}

/// Returns pages of the blocks, sorted by frame: every page, or a sample of each block if there are
/// many. A superpage has its first frame alone.
pub(super) fn watched(
    meter: &HeatMeter,
    process: ProcessId,
    pages: &LivePages,
) -> Result<Vec<WatchedPage>, String> {
    let path = meter.of_process(process, "pagemap");
    let pagemap = File::open(&path).map_err(|error| super::no(&path, &error))?;
    let (all, most) = (pages.blocks.len() as u64 * u64::from(PAGES), MOST);
    let step = all.div_ceil(most).clamp(1, u64::from(PAGES)) as usize;
    let mut found = Vec::new();
    let mut bytes = [0_u8; PAGES as usize * 8];
    for (index, seen) in pages.blocks.iter().enumerate() {
        let offset = seen.block * u64::from(PAGES) * 8;
        let read = pagemap.read_at(&mut bytes, offset);
        let read = read.map_err(|error| super::no(&path, &error))?;
        let entries = bytes[..read].chunks_exact(8);
        let entries = entries.map(|entry| u64::from_le_bytes(entry.try_into().unwrap_or_default()));
        let step = if seen.huge { PAGES as usize } else { step };
        for entry in entries.step_by(step).filter(|entry| entry & PRESENT != 0) {
            if entry & FRAME == 0 {
                return Err("frame numbers need CAP_SYS_ADMIN; try as root".to_owned());
            }
            found.push(WatchedPage {
                frame: entry & FRAME,
                index: index as u32,
                pages: step as u16,
            });
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Returns the heat of the blocks whose used pages are given.
pub(super) fn summed(
    pages: &LivePages,
    used: impl Iterator<Item = WatchedPage>,
) -> Vec<super::BlockHeat> {
    let mut sums = vec![0_u32; pages.blocks.len()];
    used.for_each(|page| sums[page.index as usize] += u32::from(page.pages));
    let each = pages.blocks.iter().zip(sums);
    each.map(|(seen, used)| super::BlockHeat {
        block: seen.block,
        used: used.min(held(seen)) as u16,
    })
    .collect()
}

/// The base pages that a block holds.
pub(super) fn held(seen: &crate::seen::BlockSeen) -> u32 {
    match seen.huge {
        true => PAGES,
        false => u32::from(seen.present) + u32::from(seen.zero),
    }
}
