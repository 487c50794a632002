//! Ranges: runs of pages whose frames follow each other, in a sorted table beside the radix tree.

use super::no_spans;
use crate::parts::last_used::LastUsed;
use crate::parts::radix::Radix;
use crate::{LevelSize, PageTable, PageTableChoice, PageTableKind, TableRead, TableSize};
use broadleaf_units::{
    AlignedRun, Described, Leaf, PageNumber, PageSize, Rights, SpaceId, StructureParameter,
};
use std::collections::BTreeMap;

pub(crate) static RANGES: PageTableKind = PageTableKind {
    described: Described {
        name: "ranges",
        summary: "a table of ranges beside the radix tree, for memory that is contiguous",
        explanation: "Pages in a row whose frames are in a row make a range: its first page, its \
                      last page and its first frame. A walk searches the sorted ranges by halves, \
                      in nodes of 4 KiB with 128 ranges each; the size of a node is chosen. The \
                      radix tree of x86-64 stays, and takes its memory too. A range TLB can hold \
                      the ranges used last: a walk whose range is there reads nothing. The \
                      original has 32 entries.",
        source: "Karakostas and others 2015, Redundant Memory Mappings (ISCA)",
    },
    parameters: &[RANGE_TLB],
    build: |base, choice| Box::new(Ranges::new(base, choice)),
    spans: no_spans,
    cost_by_size: false,
};

/// The entries of the range TLB.
const RANGE_TLB: StructureParameter = StructureParameter::number(
    "range-tlb",
    (0, 4096),
    0,
    "the entries of a range TLB, fully associative with LRU replacement",
);

const ADDRESS_BITS: u32 = 48;
/// The bytes of a range.
const RANGE_BYTES: u32 = 32;
/// The ranges of a node.
const FANOUT: usize = 128;
/// The region of the range tables' addresses.
const REGION: u64 = 1 << 56;
/// The address bits of one space's ranges.
const SPACE_SHIFT: u32 = 32;

/// Pages in a row, and frames in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    first: u64,
    after: u64,
    frame: Option<u64>,
    rights: Rights,
}

impl Range {
    /// Returns true if the next range continues this one, with the same rights.
    fn is_continued_by(&self, next: &Self) -> bool {
        let frame = self.frame.map(|frame| frame + (self.after - self.first));
        let is_next = self.after == next.first && self.rights == next.rights;
        is_next && frame.is_some() && frame == next.frame
    }
}

/// The trees and ranges of all address spaces.
#[derive(Clone, Debug)]
struct Ranges {
    tree: Radix,
    /// The ranges of each space, in order.
    ranges: BTreeMap<SpaceId, Vec<Range>>,
    /// The number of all ranges.
    count: u64,
    /// The ranges used last, by space, first page and page after the last.
    range_tlb: LastUsed<(SpaceId, u64, u64)>,
}

impl Ranges {
    fn new(base: PageSize, choice: &PageTableChoice) -> Self {
        let entries = choice.number(RANGE_TLB.name).unwrap_or(0);
        let tree = Radix::of_pages(base, ADDRESS_BITS);
        Self {
            tree,
            ranges: BTreeMap::new(),
            count: 0,
            range_tlb: LastUsed::new(entries as usize),
        }
    }
}

impl PageTable for Ranges {
    fn map(&mut self, space: SpaceId, leaf: Leaf) {
        self.tree.map(space, leaf);
        let (first, after) = leaf.run.bounds();
        let own = self.ranges.entry(space).or_default();
        let before = own.len();
        let mut at = own.partition_point(|range| range.first < first);
        own.insert(
            at,
            Range {
                first,
                after,
                // A scattered superpage is a range of its own.
                frame: leaf.frame.filter(|_| leaf.scattering.is_none()),
                rights: leaf.rights,
            },
        );
        if at > 0 && own[at - 1].is_continued_by(&own[at]) {
            own[at - 1].after = after;
            own.remove(at);
            at -= 1;
        }
        if at + 1 < own.len() && own[at].is_continued_by(&own[at + 1]) {
            own[at].after = own[at + 1].after;
            own.remove(at + 1);
        }
        self.count = self.count + own.len() as u64 - before as u64;
    }

    fn unmap(&mut self, space: SpaceId, run: AlignedRun) {
        self.tree.unmap(space, run);
        let (first, after) = run.bounds();
        self.range_tlb
            .retain(|(of, from, to)| *of != space || *to <= first || *from >= after);
        let Some(own) = self.ranges.get_mut(&space) else {
            return;
        };
        let before = own.len();
        let from = own.partition_point(|range| range.after <= first);
        let to = own.partition_point(|range| range.first < after);
        let cut: Vec<Range> = own[from..to].to_vec();
        let kept = cut.iter().flat_map(|range| {
            let shifted = range
                .frame
                .map(|frame| frame + after.saturating_sub(range.first));
            let low = Range {
                after: first.min(range.after),
                ..*range
            };
            let high = Range {
                first: after.max(range.first),
                frame: shifted,
                ..*range
            };
            [low, high]
                .into_iter()
                .filter(|part| part.first < part.after)
        });
        let kept: Vec<Range> = kept.collect();
        own.splice(from..to, kept);
        self.count = self.count + own.len() as u64 - before as u64;
        if own.is_empty() {
            self.ranges.remove(&space);
        }
    }

    fn end(&mut self, space: SpaceId) {
        self.tree.end(space);
        self.range_tlb.retain(|(of, _, _)| *of != space);
        let own = self.ranges.remove(&space).unwrap_or_default();
        self.count -= own.len() as u64;
    }

    fn walk(
        &mut self,
        space: SpaceId,
        page: PageNumber,
        reads: &mut dyn FnMut(TableRead),
    ) -> Option<Leaf> {
        let known =
            |(of, from, to): &(SpaceId, u64, u64)| *of == space && (*from..*to).contains(&page.0);
        if self.range_tlb.finds(known).is_some() {
            return self.tree.walk(space, page, &mut |_| {});
        }
        let own = self.ranges.get(&space).map_or(&[][..], Vec::as_slice);
        let found = own.partition_point(|range| range.first <= page.0);
        if let Some(range) = own[..found].last().filter(|range| page.0 < range.after) {
            self.range_tlb.add((space, range.first, range.after));
        }
        let begin = REGION + (u64::from(space.0) << SPACE_SHIFT);
        // The nodes of the tree from the root down: each covers FANOUT times the one below.
        let mut width = FANOUT;
        while width < own.len() {
            width *= FANOUT;
        }
        let (mut low, mut high) = (0, own.len());
        let mut level = 0;
        while width > 1 && low < high {
            width /= FANOUT;
            let mut is_first = true;
            let (mut left, mut right) = (0, (high - low).div_ceil(width));
            while right - left > 1 {
                let middle = left.midpoint(right);
                let rank = low + middle * width;
                let place = (level << (SPACE_SHIFT - 4)) + rank as u64 * u64::from(RANGE_BYTES);
                reads(TableRead {
                    address: begin + place,
                    bytes: RANGE_BYTES,
                    begins_node: is_first,
                });
                is_first = false;
                if own[rank].first <= page.0 {
                    left = middle;
                } else {
                    right = middle;
                }
            }
            low += left * width;
            let place = (level << (SPACE_SHIFT - 4)) + low as u64 * u64::from(RANGE_BYTES);
            reads(TableRead {
                address: begin + place,
                bytes: RANGE_BYTES,
                begins_node: is_first,
            });
            high = high.min(low + width);
            level += 1;
        }
        self.tree.walk(space, page, &mut |_| {})
    }

    fn size(&self) -> TableSize {
        let mut size = self.tree.size();
        let nodes = self.count.div_ceil(FANOUT as u64);
        let bytes = self.count * u64::from(RANGE_BYTES);
        size.levels.push(LevelSize { nodes, bytes });
        size
    }
}
