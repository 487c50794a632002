//! DAMON's files in `/sys/kernel/mm/damon/admin`
//! (`Documentation/admin-guide/mm/damon/usage.rst`).
//!
//! One `kdamond` watches one target. Its scheme has the action `stat`, which changes nothing, and
//! matches every region, so that `tried_regions` lists all regions with their access counts. The
//! files belong to the whole machine. If a kdamond exists already, it is left as it is.

use super::frames::{WatchedPage, held, summed, watched};
use super::kdamonds::{KdamondList, MADE};
use super::{BlockHeat, FoundHeat, HeatMeter, no};
use crate::seen::{BLOCK_BYTES, LivePages, PAGE_BYTES, PAGES, ProcessId};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The time between two samples of a region.
const SAMPLE: Duration = Duration::from_millis(5);
/// The time between two looks for new mappings.
const UPDATE: Duration = Duration::from_secs(1);
/// The aggregations in a window, unless they would be too short or too long. Each begins its counts
/// again, and may split and join regions.
const AGGREGATIONS: u32 = 10;
/// The shortest aggregation: ten samples of a region.
const SHORTEST: Duration = Duration::from_millis(50);
/// The longest aggregation. One access makes a whole region count as used, so long aggregations
/// overstate use.
const LONGEST: Duration = Duration::from_secs(2);
/// The numbers of regions between which DAMON splits and merges.
const REGIONS: [(&str, u64); 2] = [("min", 100), ("max", 4_000)];
/// The greatest number of ranges of frames that are given to DAMON.
const RANGES: usize = 512;
/// The greatest number of runs of frames that DAMON tells apart. It splits regions at random
/// places, so it needs several regions for each run.
const MOST_RUNS: usize = 1_000;

/// A range of addresses or frames, with accesses in an aggregation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct HotRegion {
    start: u64,
    end: u64,
}

/// A kdamond that was made for one measurement. Dropping it removes it.
pub(super) struct Kdamond<'a> {
    /// The folder of all kdamonds.
    all: PathBuf,
    list: &'a KdamondList,
    meter: &'a HeatMeter,
    window: Duration,
}

impl Drop for Kdamond<'_> {
    fn drop(&mut self) {
        self.list.remove(&self.all);
    }
}

impl<'a> Kdamond<'a> {
    /// Makes a kdamond for a span of time, unless any exists or the kernel lacks the operations.
    pub(super) fn new(
        meter: &'a HeatMeter,
        operations: &str,
        window: Duration,
        list: &'a KdamondList,
    ) -> Result<Self, String> {
        let all = meter.mm.join("damon/admin/kdamonds");
        let number = all.join("nr_kdamonds");
        let text = std::fs::read_to_string(&number).map_err(|error| no(&number, &error))?;
        if text.trim() != "0" {
            return Err(format!(
                "DAMON is in use: {} kdamonds exist, and they are left as they are",
                text.trim()
            ));
        }
        list.make(&all).map_err(|error| no(&number, &error))?;
        let made = Self {
            all,
            list,
            meter,
            window,
        };
        write(&made.own().join("contexts/nr_contexts"), 1)?;
        let context = made.context();
        let available = context.join("avail_operations");
        let text = std::fs::read_to_string(&available).map_err(|error| no(&available, &error))?;
        if !text.split_whitespace().any(|known| known == operations) {
            return Err(format!(
                "this kernel's DAMON has no {operations} (CONFIG_DAMON_{})",
                operations.to_uppercase()
            ));
        }
        write(&context.join("operations"), operations)?;
        let attributes = context.join("monitoring_attrs");
        for (name, time) in [
            ("sample_us", SAMPLE),
            ("aggr_us", aggregation(window)),
            ("update_us", UPDATE),
        ] {
            let file = attributes.join("intervals").join(name);
            write(&file, time.as_micros())?;
        }
        for (name, value) in REGIONS {
            write(&attributes.join("nr_regions").join(name), value)?;
        }
        write(&context.join("targets/nr_targets"), 1)?;
        write(&context.join("schemes/nr_schemes"), 1)?;
        let scheme = context.join("schemes/0");
        write(&scheme.join("action"), "stat")?;
        for name in ["sz", "nr_accesses", "age"] {
            let pattern = scheme.join("access_pattern").join(name);
            write(&pattern.join("min"), 0)?;
            // The kernel's counts of accesses and ages have 32 bits.
            let most = if name == "sz" {
                u64::MAX
            } else {
                u32::MAX.into()
            };
            write(&pattern.join("max"), most)?;
        }
        Ok(made)
    }

    fn own(&self) -> PathBuf {
        self.all.join("0")
    }

    fn context(&self) -> PathBuf {
        self.own().join("contexts/0")
    }

    fn target(&self) -> PathBuf {
        self.context().join("targets/0")
    }

    /// Watches for the window, and returns the regions that were used in any aggregation.
    fn watch(&self) -> Result<Vec<HotRegion>, String> {
        let state = self.own().join("state");
        write(&state, "on")?;
        let aggregation = aggregation(self.window);
        let began = Instant::now();
        let mut found = Vec::new();
        let mut last = began;
        loop {
            // The kernel waits for the end of the aggregation. No process can stop the kdamond
            // until then. So the request is made shortly before that end.
            let until_request = (aggregation * 3 / 4).saturating_sub(last.elapsed());
            self.meter.rest(until_request)?;
            write(&state, "update_schemes_tried_regions")?;
            last = Instant::now();
            found.extend(self.regions()?);
            found = united(found);
            // A measurement ends with the aggregation whose end is next to that of the window.
            if last - began + aggregation / 2 > self.window {
                return Ok(found);
            }
        }
    }

    /// Reads the regions in use, as the kernel last wrote them.
    fn regions(&self) -> Result<Vec<HotRegion>, String> {
        let folder = self.context().join("schemes/0/tried_regions");
        let entries = std::fs::read_dir(&folder).map_err(|error| no(&folder, &error))?;
        let mut found = Vec::new();
        for region in entries.flatten().filter(|entry| entry.path().is_dir()) {
            let number = |name: &str| {
                let text = std::fs::read_to_string(region.path().join(name)).ok()?;
                text.trim().parse::<u64>().ok()
            };
            // Most regions are not in use, and reading their files takes time.
            if number("nr_accesses").is_none_or(|accesses| accesses == 0) {
                continue;
            }
            if let (Some(start), Some(end)) = (number("start"), number("end")) {
                found.push(HotRegion { start, end });
            }
        }
        Ok(found)
    }
}

/// Returns the time of an aggregation in a window.
pub(super) fn aggregation(window: Duration) -> Duration {
    (window / AGGREGATIONS).clamp(SHORTEST, LONGEST)
}

fn write(path: &Path, value: impl ToString) -> Result<(), String> {
    std::fs::write(path, value.to_string()).map_err(|error| no(path, &error))
}

/// Watches the addresses of the process.
pub(super) fn virtual_regions(
    meter: &HeatMeter,
    process: ProcessId,
    pages: &LivePages,
    window: Duration,
) -> Result<FoundHeat, String> {
    let kdamond = Kdamond::new(meter, "vaddr", window, &MADE)?;
    write(&kdamond.target().join("pid_target"), process.pid)?;
    let hot = kdamond.watch()?;
    let blocks = pages.blocks.iter().map(|seen| {
        let (start, end) = (seen.block * BLOCK_BYTES, (seen.block + 1) * BLOCK_BYTES);
        // The pages of a block are taken as evenly spread.
        let within = bytes_within(&hot, start, end) / PAGE_BYTES;
        let used = within * u64::from(held(seen)) / u64::from(PAGES);
        BlockHeat {
            block: seen.block,
            used: used as u16,
        }
    });
    Ok(FoundHeat {
        blocks: blocks.collect(),
        ..FoundHeat::default()
    })
}

/// Watches the frames of the process. Where frames of distant blocks lie side by side, a region
/// holds pages of several blocks, and all of them would seem to be used.
pub(super) fn frame_regions(
    meter: &HeatMeter,
    process: ProcessId,
    pages: &LivePages,
    window: Duration,
) -> Result<FoundHeat, String> {
    let kdamond = Kdamond::new(meter, "paddr", window, &MADE)?;
    let frames = watched(meter, process, pages)?;
    let runs = runs(&frames);
    if runs > MOST_RUNS {
        return Err(format!(
            "memory is fragmented: the frames of the process lie in {runs} runs, and DAMON tells \
             {MOST_RUNS} apart"
        ));
    }
    let ranges = ranges(frames.iter().map(|page| page.frame));
    let regions = kdamond.target().join("regions");
    write(&regions.join("nr_regions"), ranges.len())?;
    for (number, range) in ranges.iter().enumerate() {
        let region = regions.join(number.to_string());
        write(&region.join("start"), range.start * PAGE_BYTES)?;
        write(&region.join("end"), range.end * PAGE_BYTES)?;
    }
    let hot = kdamond.watch()?;
    // Frames may have moved. The pages are found by the frames that they have now.
    let used = watched(meter, process, pages)?.into_iter().filter(|page| {
        let start = page.frame * PAGE_BYTES;
        bytes_within(&hot, start, start + PAGE_BYTES) > 0
    });
    Ok(FoundHeat {
        blocks: summed(pages, used),
        ..FoundHeat::default()
    })
}

/// The runs of pages, sorted by frame, in each of which blocks are the same or neighbours.
fn runs(pages: &[WatchedPage]) -> usize {
    pages
        .chunk_by(|one, next| one.index.abs_diff(next.index) <= 1)
        .count()
}

/// Returns at most [`RANGES`] ranges that hold sorted frames: the largest gaps are left out.
fn ranges(frames: impl Iterator<Item = u64>) -> Vec<std::ops::Range<u64>> {
    let mut ranges: Vec<std::ops::Range<u64>> = Vec::new();
    for frame in frames {
        match ranges.last_mut() {
            Some(last) if last.end >= frame => last.end = last.end.max(frame + 1),
            _ => ranges.push(frame..frame + 1),
        }
    }
    if ranges.len() <= RANGES {
        return ranges;
    }
    let gaps = ranges.windows(2).map(|pair| pair[1].start - pair[0].end);
    let mut gaps: Vec<u64> = gaps.collect();
    gaps.sort_unstable_by(|one, other| other.cmp(one));
    let least = gaps[RANGES - 2];
    let mut joined: Vec<std::ops::Range<u64>> = Vec::new();
    for range in ranges {
        let is_full = joined.len() == RANGES;
        match joined.last_mut() {
            Some(last) if is_full || range.start - last.end < least => last.end = range.end,
            _ => joined.push(range),
        }
    }
    joined
}

/// Returns the union of regions, sorted.
fn united(mut regions: Vec<HotRegion>) -> Vec<HotRegion> {
    regions.sort_unstable_by_key(|region| region.start);
    let mut united: Vec<HotRegion> = Vec::new();
    for region in regions {
        match united.last_mut() {
            Some(last) if last.end >= region.start => last.end = last.end.max(region.end),
            _ => united.push(region),
        }
    }
    united
}

/// Returns the bytes between two addresses that lie in the regions.
fn bytes_within(hot: &[HotRegion], start: u64, end: u64) -> u64 {
    let first = hot.partition_point(|region| region.end <= start);
    let inside = hot[first..].iter().take_while(|region| region.start < end);
    inside
        .map(|region| region.end.min(end) - region.start.max(start))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_ranges_are_joined_at_their_smallest_gaps() {
        // Pairs with a gap of one frame, far from one another.
        let frames = (0..600_u64).flat_map(|at| [at * 1000, at * 1000 + 2]);
        let joined = ranges(frames);
        assert_eq!(joined.len(), RANGES);
        assert_eq!(joined[0], 0..3);
        assert_eq!(joined[RANGES - 1].end, 599_003);
        assert_eq!(ranges([3, 4, 9].into_iter()), [3..5, 9..10]);
    }

    #[test]
    fn runs_end_where_blocks_are_no_neighbours() {
        let page = |frame, index| WatchedPage {
            frame,
            index,
            pages: 1,
        };
        assert_eq!(runs(&[]), 0);
        let in_order = [page(1, 0), page(2, 0), page(7, 1), page(8, 2)];
        assert_eq!(runs(&in_order), 1);
        let mixed = [page(1, 0), page(2, 5), page(3, 4), page(4, 0)];
        assert_eq!(runs(&mixed), 3);
    }

    #[test]
    fn a_union_counts_each_byte_once() {
        let region = |start, end| HotRegion { start, end };
        let hot = united(vec![region(50, 80), region(0, 10), region(60, 90)]);
        assert_eq!(hot, [region(0, 10), region(50, 90)]);
        assert_eq!(bytes_within(&hot, 5, 55), 10);
        assert_eq!(bytes_within(&hot, 10, 50), 0);
    }
}
