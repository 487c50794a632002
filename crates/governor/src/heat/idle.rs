//! Idle page tracking (`Documentation/admin-guide/mm/idle_page_tracking.rst`).
//!
//! The file `page_idle/bitmap` has a bit for each page frame, in words of eight bytes. A set bit
//! marks a page idle; the kernel clears the bit when the page is used. The bits of pages that the
//! kernel does not track, such as the page of zeroes, always read as 0.

use super::frames::{WatchedPage, summed, watched};
use super::{FoundHeat, HeatMeter, no};
use crate::seen::{LivePages, ProcessId};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

/// The first page of a large folio, in `/proc/kpageflags`.
const COMPOUND_HEAD: u64 = 1 << 15;
/// Another page of a large folio. The kernel keeps no bit for it.
const COMPOUND_TAIL: u64 = 1 << 16;
/// The base-two logarithm of the pages of the largest folio.
const LARGEST: u32 = 9;
/// The tries to mark a page. A page that is used between a mark and its check has no mark either,
/// but hardly ever several times in a row.
const TRIES: u32 = 8;

/// The bits of page frames.
pub(super) trait IdleBits {
    /// Marks frames of a word idle.
    fn mark(&self, word: u64, frames: u64) -> io::Result<()>;

    /// Returns the idle frames of a word.
    fn idle(&self, word: u64) -> io::Result<u64>;
}

impl IdleBits for File {
    fn mark(&self, word: u64, frames: u64) -> io::Result<()> {
        self.write_all_at(&frames.to_ne_bytes(), word * 8)
    }

    fn idle(&self, word: u64) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.read_exact_at(&mut bytes, word * 8)?;
        Ok(u64::from_ne_bytes(bytes))
    }
}

/// Marks the pages idle, waits, and counts those that are not idle any more.
pub(super) fn measure(
    meter: &HeatMeter,
    process: ProcessId,
    pages: &LivePages,
    window: Duration,
) -> Result<FoundHeat, String> {
    let path = path(meter);
    let bitmap = OpenOptions::new().read(true).write(true).open(&path);
    let bitmap = bitmap.map_err(|error| no(&path, &error))?;
    measure_in(&bitmap, meter, process, pages, || meter.rest(window))
}

/// Measures by the bits of a bitmap. `rest` waits while the program runs.
pub(super) fn measure_in(
    bitmap: &impl IdleBits,
    meter: &HeatMeter,
    process: ProcessId,
    pages: &LivePages,
    rest: impl FnOnce() -> Result<(), String>,
) -> Result<FoundHeat, String> {
    let mut frames = watched(meter, process, pages)?;
    // Without the flags, each page counts by its own bit.
    if let Ok(flags) = File::open(meter.proc.join("kpageflags")) {
        for page in &mut frames {
            page.frame = head(&flags, page.frame);
        }
        frames.sort_unstable();
    }
    let path = path(meter);
    let marked = marked(bitmap, &path, &frames)?;
    rest()?;
    let used = not_idle(bitmap, &path, &marked)?;
    Ok(FoundHeat {
        blocks: summed(pages, used.into_iter()),
        ..FoundHeat::default()
    })
}

/// Marks pages idle. Returns those whose mark is there: the kernel tracks no others.
fn marked(
    bitmap: &impl IdleBits,
    path: &Path,
    frames: &[WatchedPage],
) -> Result<Vec<WatchedPage>, String> {
    let mut marked = Vec::with_capacity(frames.len());
    for word in words(frames) {
        let number = number(word);
        let all = word.iter().fold(0, |all, page| all | bit(page));
        let mut idle = 0;
        for _ in 0..TRIES {
            let tried = bitmap.mark(number, all).and_then(|()| bitmap.idle(number));
            idle |= tried.map_err(|error| no(path, &error))?;
            if idle & all == all {
                break;
            }
        }
        marked.extend(word.iter().filter(|page| idle & bit(page) != 0));
    }
    Ok(marked)
}

/// Returns the pages that are not idle.
fn not_idle(
    bitmap: &impl IdleBits,
    path: &Path,
    frames: &[WatchedPage],
) -> Result<Vec<WatchedPage>, String> {
    let mut used = Vec::new();
    for word in words(frames) {
        let idle = bitmap.idle(number(word));
        let idle = idle.map_err(|error| no(path, &error))?;
        used.extend(word.iter().filter(|page| idle & bit(page) == 0));
    }
    Ok(used)
}

fn path(meter: &HeatMeter) -> std::path::PathBuf {
    meter.mm.join("page_idle/bitmap")
}

/// Returns the pages of each word of the bitmap.
fn words(frames: &[WatchedPage]) -> impl Iterator<Item = &[WatchedPage]> {
    frames.chunk_by(|one, other| one.frame / 64 == other.frame / 64)
}

/// Returns the number of the word that holds pages.
fn number(word: &[WatchedPage]) -> u64 {
    word[0].frame / 64
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
