//! The use of blocks from two figures that every kernel since 5.10 has: the referenced memory of a
//! process, and advice that marks a range of its pages unused.
//!
//! The reference bits are cleared first, and the program runs for a while. The pages of a group of
//! blocks are then marked unused again and again while the kernel counts the referenced memory of
//! the process. The count falls by the pages of the group that were used. Without the repetition, a
//! busy program would use the pages again before they are counted.

use super::frames::held;
use super::{BlockHeat, FoundHeat, HeatMeter, no, referenced};
use crate::kernel::KernelError;
use crate::linux::{Linux, ProcessCooler};
use crate::seen::{BLOCK_BYTES, BlockSeen, LivePages, PAGE_BYTES, PAGES, ProcessId};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A process whose reference bits can be counted, and cleared in a range of blocks.
pub(super) trait Coolable: Sync {
    /// Marks the pages of blocks unused.
    fn cool(&self, blocks: std::ops::Range<u64>) -> Result<(), KernelError>;

    /// Counts the referenced bytes of the process.
    fn referenced(&self) -> Result<u64, String>;
}

/// The least times that pages are marked during a count that is believed.
const LEAST_MARKS: u32 = 8;
/// The greatest number of counts of one group.
const TRIES: u32 = 6;
/// The counts without any change after which a group is unused. One count may miss a group whose
/// marking waited for a processor.
const AT_REST_TWICE: u32 = 2;
/// The difference of two counts of a program at rest, in bytes.
const AT_REST: u64 = 4 * PAGE_BYTES;
/// The greatest number of counts that wait until marked pages are in use again.
const RECOVERY: u32 = 5;
/// The counts of an average group.
const COUNTS: u32 = 3;
/// The longest time of all counts. Memory in many mappings has many groups, and large memory is
/// counted slowly.
const LONGEST: Duration = Duration::from_secs(30);

/// A live process.
struct LiveProcess<'a> {
    meter: &'a HeatMeter,
    rollup: std::path::PathBuf,
    cooler: ProcessCooler<'a>,
}

impl Coolable for LiveProcess<'_> {
    fn cool(&self, blocks: std::ops::Range<u64>) -> Result<(), KernelError> {
        self.cooler.cool(blocks)
    }

    fn referenced(&self) -> Result<u64, String> {
        // Counts go on after the window. An early end must not wait for all of them.
        self.meter.rest(Duration::ZERO)?;
        let text = std::fs::read_to_string(&self.rollup);
        let text = text.map_err(|error| no(&self.rollup, &error))?;
        let mut lines = text.lines();
        let bytes = lines.find_map(|line| referenced::kilobytes(line, "Referenced:"));
        bytes.ok_or_else(|| format!("{}: no line `Referenced`", self.rollup.display()))
    }
}

/// Clears the reference bits, waits, and finds the blocks that were used.
pub(super) fn measure(
    meter: &HeatMeter,
    linux: &mut Linux,
    process: ProcessId,
    pages: &LivePages,
    window: Duration,
) -> Result<FoundHeat, String> {
    let cooler = linux.cooler(process).map_err(|error| error.to_string())?;
    let target = LiveProcess {
        meter,
        rollup: meter.of_process(process, "smaps_rollup"),
        cooler,
    };
    let Some(first) = pages.blocks.first().map(|seen| seen.block) else {
        return Err("no block of memory lies wholly in one mapping".to_owned());
    };
    // The first group says whether the kernel allows it, before the program is watched.
    match target.cool(first..first + 1) {
        Err(KernelError::NotAllowed) => {
            return Err("process_madvise(MADV_COLD) needs CAP_SYS_NICE; try as root".to_owned());
        }
        Err(KernelError::Gone) => return Err(KernelError::Gone.to_string()),
        _ => {}
    }
    referenced::clear(meter, process)?;
    meter.rest(window)?;
    let mappings = referenced::mappings(meter, process)?;
    let counting = Instant::now();
    target.referenced()?;
    let count = counting.elapsed().max(Duration::from_micros(10));
    let groups = (window.as_nanos() / (count * COUNTS).as_nanos()).max(1) as usize;
    let group = pages.blocks.len().div_ceil(groups);
    Ok(FoundHeat {
        blocks: located(&target, pages, group)?,
        group: group as u64,
        mappings,
    })
}

/// Returns the used pages of each block that can be marked, with at most `group` neighbouring
/// blocks measured together.
pub(super) fn located(
    target: &impl Coolable,
    pages: &LivePages,
    group: usize,
) -> Result<Vec<BlockHeat>, String> {
    let mut found = Vec::with_capacity(pages.blocks.len());
    let began = Instant::now();
    let mut before = target.referenced()?;
    for blocks in groups(pages, group) {
        if began.elapsed() > LONGEST {
            return Err(format!(
                "counting the use of {} blocks takes longer than {} s",
                pages.blocks.len(),
                LONGEST.as_secs()
            ));
        }
        let range = blocks[0].block..blocks[blocks.len() - 1].block + 1;
        // Some memory cannot be marked, such as locked memory. Its use stays unknown.
        if target.cool(range.clone()).is_err() {
            continue;
        }
        let (mut dropped, mut at_rest) = (0, 0);
        for _ in 0..TRIES {
            let (after, marks) = counted_while_cooling(target, &range)?;
            dropped = dropped.max(before.saturating_sub(after));
            at_rest += u32::from(after == before && marks >= LEAST_MARKS);
            if at_rest == AT_REST_TWICE {
                break;
            }
            if after != before {
                before = rested(target)?;
            }
            if dropped * 2 >= bytes(blocks) {
                break;
            }
        }
        let mut left = dropped / PAGE_BYTES;
        // The use of a group is shared out evenly, by the pages that its blocks hold.
        let mut of_all: u64 = blocks.iter().map(|seen| u64::from(held(seen))).sum();
        for seen in blocks {
            let holds = u64::from(held(seen));
            let used = (left * holds).checked_div(of_all).unwrap_or(0);
            found.push(BlockHeat {
                block: seen.block,
                used: used.min(holds) as u16,
            });
            left = left.saturating_sub(used);
            of_all -= holds;
        }
    }
    Ok(found)
}

/// Counts until the count does not rise any more: the program uses its marked pages again.
fn rested(target: &impl Coolable) -> Result<u64, String> {
    let mut last = target.referenced()?;
    for _ in 0..RECOVERY {
        let now = target.referenced()?;
        if now <= last + AT_REST {
            return Ok(now.max(last));
        }
        last = now;
    }
    Ok(last)
}

/// Counts the referenced bytes of the process while blocks are marked unused. Returns the count,
/// and how often the blocks were marked.
fn counted_while_cooling(
    target: &impl Coolable,
    range: &std::ops::Range<u64>,
) -> Result<(u64, u32), String> {
    let (has_counted, marks) = (AtomicBool::new(false), AtomicU32::new(0));
    let count = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !has_counted.load(Ordering::Relaxed) && target.cool(range.clone()).is_ok() {
                marks.fetch_add(1, Ordering::Relaxed);
            }
        });
        let count = target.referenced();
        has_counted.store(true, Ordering::Relaxed);
        count
    });
    Ok((count?, marks.load(Ordering::Relaxed)))
}

/// Returns groups of neighbouring blocks of one mapping.
fn groups(pages: &LivePages, group: usize) -> impl Iterator<Item = &[BlockSeen]> {
    let mapping = |seen: &BlockSeen| {
        crate::LiveMapping::of_block(&pages.mappings, seen.block).map(|mapping| mapping.start)
    };
    let neighbours = pages
        .blocks
        .chunk_by(move |one, other| one.block + 1 == other.block && mapping(one) == mapping(other));
    neighbours.flat_map(move |blocks| blocks.chunks(group.max(1)))
}

fn bytes(blocks: &[BlockSeen]) -> u64 {
    let each = blocks.iter().map(|seen| match seen.huge {
        true => BLOCK_BYTES,
        false => u64::from(held(seen).min(PAGES)) * PAGE_BYTES,
    });
    each.sum()
}
