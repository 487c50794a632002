//! Idle page tracking (`Documentation/admin-guide/mm/idle_page_tracking.rst`).
//!
//! The file `page_idle/bitmap` has a bit for each page frame, in words of eight bytes. A set bit
//! marks a page idle; the kernel clears the bit when the page is used.

use super::frames::{WatchedPage, summed, watched};
use super::{FoundHeat, HeatMeter, no};
use crate::seen::{LivePages, ProcessId};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// The first page of a large folio, in `/proc/kpageflags`.
const COMPOUND_HEAD: u64 = 1 << 15;
/// Another page of a large folio. The kernel keeps no bit for it.
const COMPOUND_TAIL: u64 = 1 << 16;
/// The base-two logarithm of the pages of the largest folio.
const LARGEST: u32 = 9;

/// Marks the pages idle, waits, and counts those that are not idle any more.
pub(super) fn measure(
    meter: &HeatMeter,
    process: ProcessId,
    pages: &LivePages,
    window: Duration,
) -> Result<FoundHeat, String> {
    let path = meter.mm.join("page_idle/bitmap");
    let bitmap = OpenOptions::new().read(true).write(true).open(&path);
    let bitmap = bitmap.map_err(|error| no(&path, &error))?;
    let mut frames = watched(meter, process, pages)?;
    // Without the flags, each page counts by its own bit.
    if let Ok(flags) = File::open(meter.proc.join("kpageflags")) {
        for page in &mut frames {
            page.frame = head(&flags, page.frame);
        }
        frames.sort_unstable();
    }
    let wrong = |error: io::Error| no(&path, &error);
    for word in words(&frames) {
        let mask = word.iter().fold(0, |mask, page| mask | bit(page));
        let offset = word[0].frame / 64 * 8;
        bitmap
            .write_all_at(&u64::to_ne_bytes(mask), offset)
            .map_err(wrong)?;
    }
    std::thread::sleep(window);
    let mut used = Vec::new();
    for word in words(&frames) {
        let mut bytes = [0; 8];
        let offset = word[0].frame / 64 * 8;
        bitmap.read_exact_at(&mut bytes, offset).map_err(wrong)?;
        let idle = u64::from_ne_bytes(bytes);
        used.extend(word.iter().filter(|page| idle & bit(page) == 0));
    }
    Ok(FoundHeat {
        blocks: summed(pages, used.into_iter()),
        ..FoundHeat::default()
    })
}

/// Returns the pages of each word of the bitmap.
fn words(frames: &[WatchedPage]) -> impl Iterator<Item = &[WatchedPage]> {
    frames.chunk_by(|one, other| one.frame / 64 == other.frame / 64)
}

const fn bit(page: &WatchedPage) -> u64 {
    1 << (page.frame % 64)
}

/// Returns the first frame of the folio that holds a frame. Folios are aligned to their size.
fn head(flags: &File, frame: u64) -> u64 {
    let has = |frame: u64, flag: u64| {
        let mut bytes = [0; 8];
        let read = flags.read_exact_at(&mut bytes, frame * 8);
        read.is_ok() && u64::from_ne_bytes(bytes) & flag != 0
    };
    if !has(frame, COMPOUND_TAIL) {
        return frame;
    }
    let mut heads = (1..=LARGEST).map(|shift| frame >> shift << shift);
    heads
        .find(|head| has(*head, COMPOUND_HEAD))
        .unwrap_or(frame)
}
