//! Advice by range as a layout for Mosalloc, the allocator of Agbarya and others (2020). Mosalloc
//! backs windows of its pools with larger pages.

use std::collections::BTreeMap;
use std::ops::Range;

use broadleaf_metrics::{AdvisedRange, BackingName, RangeAdvice};
use broadleaf_report::{of_one_process, process_of};
use broadleaf_units::{PageSize, SpaceId};

use super::places::{Pools, TracePlaces};

/// The page sizes of a layout, the largest first.
const SIZES: [u64; 2] = [1 << 30, PageSize::SIZE_2M.bytes()];

/// A pool of Mosalloc.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PoolKind {
    Brk,
    Mmap,
    File,
}

impl PoolKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Brk => "brk",
            Self::Mmap => "mmap",
            Self::File => "file",
        }
    }
}

/// Windows by pool and first byte, with the byte after the last, and the page size.
type Windows = BTreeMap<(PoolKind, u64), (u64, u64)>;

/// Returns the layout of one process's pools, with windows for the best `most` ranges that have a
/// place in the pools. Also returns notes on better ranges that a layout cannot express.
pub fn layout(advice: &RangeAdvice, places: &TracePlaces, most: usize) -> (String, Vec<String>) {
    let (ranges, others) = of_one_process(advice);
    let mut notes: Vec<String> = others.into_iter().collect();
    let space = match ranges.first() {
        Some(range) => Some(SpaceId(range.space)),
        None => places.pools.keys().next().copied(),
    };
    let pools = space.and_then(|space| places.pools.get(&space));
    let pools = pools.cloned().unwrap_or_default();
    let mut placed = Vec::new();
    for range in ranges {
        if placed.len() == most {
            break;
        }
        match parts(range, &pools) {
            Ok((kind, parts)) => placed.push((range, kind, parts)),
            Err(why) => notes.push(left_out(range, why)),
        }
    }
    let mut windows = Windows::new();
    // Larger pages have precedence.
    for size in SIZES {
        for (range, kind, parts) in &placed {
            if range.superpage_bytes == size {
                let added = add(&mut windows, *kind, parts, size);
                notes.extend(added.err().map(|why| left_out(range, why)));
            }
        }
    }
    (written(&windows, &pools), notes)
}

fn left_out(range: &AdvisedRange, why: &str) -> String {
    format!(
        "{:#x}-{:#x} of process {} is left out: {why}",
        range.start,
        range.end,
        process_of(range)
    )
}

/// The pool of a range and its places there, if a layout has pages of its size.
fn parts(range: &AdvisedRange, pools: &Pools) -> Result<(PoolKind, Vec<Range<u64>>), &'static str> {
    if !SIZES.contains(&range.superpage_bytes) {
        return Err("a layout has pages of 4 KiB, 2 MiB and 1 GiB");
    }
    match range.mapping.as_ref().map(|mapping| mapping.backing) {
        Some(BackingName::Heap) => {
            let begins = pools.heap.map(|(start, _)| start);
            let begins = begins.filter(|begins| *begins <= range.start);
            let begins = begins.ok_or("the trace does not contain the start of the heap")?;
            let part = range.start - begins..range.end - begins;
            Ok((PoolKind::Brk, vec![part]))
        }
        Some(BackingName::Anonymous) => {
            let parts = pools.anonymous.parts(range.start, range.end);
            let parts = parts.ok_or("the trace does not contain its mapping")?;
            Ok((PoolKind::Mmap, parts))
        }
        Some(_) => Err("a layout covers the heap and anonymous mappings only"),
        None => Err("the trace does not contain its mapping"),
    }
}

/// Adds windows for parts of a pool. The windows consist of whole pages of this size, and merge
/// with adjacent windows of the same size.
fn add(
    windows: &mut Windows,
    kind: PoolKind,
    parts: &[Range<u64>],
    size: u64,
) -> Result<(), &'static str> {
    for part in parts {
        let (mut start, mut end) = (part.start / size * size, part.end.next_multiple_of(size));
        let met: Vec<(u64, u64, u64)> = (windows.range((kind, 0)..=(kind, end)))
            .map(|((_, from), (to, size))| (*from, *to, *size))
            .filter(|(_, to, _)| *to >= start)
            .collect();
        let overlaps =
            |(from, to, other): &(u64, u64, u64)| *other != size && *from < end && *to > start;
        if met.iter().any(overlaps) {
            return Err("a window of larger pages is there");
        }
        for (from, to, _) in met.into_iter().filter(|(_, _, other)| *other == size) {
            windows.remove(&(kind, from));
            (start, end) = (start.min(from), end.max(to));
        }
        windows.insert((kind, start), (end, size));
    }
    Ok(())
}

/// Formats the layout as CSV: a row for each pool, with page size -1, and a row for each window.
fn written(windows: &Windows, pools: &Pools) -> String {
    let mut out = String::from("type,pageSize,startOffset,endOffset\n");
    let heap = pools.heap.map_or(0, |(start, end)| end - start);
    for (kind, used) in [
        (PoolKind::Brk, heap),
        (PoolKind::Mmap, pools.anonymous.furthest()),
        (PoolKind::File, pools.files.furthest()),
    ] {
        let own = windows.range((kind, 0)..=(kind, u64::MAX));
        let furthest = own.map(|(_, (end, _))| *end).max().unwrap_or(0);
        // A pool has at least one page.
        let len = used.max(furthest).max(1);
        let len = len.next_multiple_of(PageSize::SIZE_2M.bytes());
        out.push_str(&format!("{},-1,0,{len}\n", kind.name()));
    }
    for ((kind, start), (end, size)) in windows {
        out.push_str(&format!("{},{size},{start},{end}\n", kind.name()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn windows_are_whole_pages_and_merge_where_they_meet() {
        let mut windows = Windows::new();
        let size = 2 * MIB;
        let mut put = |kind, part: Range<u64>, size| add(&mut windows, kind, &[part], size);
        put(PoolKind::Mmap, MIB..3 * MIB, size).unwrap();
        put(PoolKind::Mmap, 3 * MIB..5 * MIB, size).unwrap();
        put(PoolKind::Mmap, 8 * MIB..10 * MIB, size).unwrap();
        put(PoolKind::Brk, 4 * MIB..6 * MIB, size).unwrap();
        put(PoolKind::Mmap, 1024 * MIB..2048 * MIB, 1024 * MIB).unwrap();
        assert!(put(PoolKind::Mmap, 1023 * MIB..1025 * MIB, size).is_err());
        put(PoolKind::Mmap, 1022 * MIB..1024 * MIB, size).unwrap();
        let expected: Windows = [
            ((PoolKind::Brk, 4 * MIB), (6 * MIB, size)),
            ((PoolKind::Mmap, 0), (6 * MIB, size)),
            ((PoolKind::Mmap, 8 * MIB), (10 * MIB, size)),
            ((PoolKind::Mmap, 1022 * MIB), (1024 * MIB, size)),
            ((PoolKind::Mmap, 1024 * MIB), (2048 * MIB, 1024 * MIB)),
        ]
        .into();
        assert_eq!(windows, expected);
        let pools = Pools {
            heap: Some((5, 5 + 7 * MIB)),
            ..Pools::default()
        };
        assert_eq!(
            written(&windows, &pools),
            "type,pageSize,startOffset,endOffset\n\
             brk,-1,0,8388608\nmmap,-1,0,2147483648\nfile,-1,0,2097152\n\
             brk,2097152,4194304,6291456\n\
             mmap,2097152,0,6291456\nmmap,2097152,8388608,10485760\n\
             mmap,2097152,1071644672,1073741824\nmmap,1073741824,1073741824,2147483648\n"
        );
    }
}
