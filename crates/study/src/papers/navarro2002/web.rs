//! A web server with many small files: popular files are requested far more often, and memory
//! cannot hold all files.

use std::collections::{BTreeMap, BTreeSet};

use broadleaf_trace::synth::SplitMix64;

use super::setting::{MIB, PAGE};
use crate::papers::generated::{Said, file, map, map_file, sweep, touch, unmap};

/// A server with its files.
#[derive(Clone, Copy, Debug)]
pub(super) struct Web {
    /// The number of files.
    pub(super) files: u64,
    /// The number of bytes that it keeps mapped.
    pub(super) keeps: u64,
    pub(super) seed: u64,
}

/// The address of the first file; each file has a separate place.
const FILES: u64 = 1 << 36;
/// The maximum number of pages of a file: too few for the extents of other programs.
const MOST_PAGES: u64 = 48;
/// The distance between two files, in bytes.
const APART: u64 = 64 * PAGE;
const HEAP: u64 = 1 << 34;

impl Web {
    /// A server for memory of `bytes` bytes. The paper's data were seven times as large as memory:
    /// 3.6 GB to 512 MB.
    pub(super) const fn for_memory(bytes: u64) -> Self {
        Self {
            // The mean size of files is 3.22 pages.
            files: 7 * bytes * 100 / (PAGE * 322),
            keeps: bytes / 8,
            seed: 5,
        }
    }

    /// The number of pages of a file: half of the files have one, and one in fifty the maximum.
    const fn pages(number: u64) -> u64 {
        match number * 31 % 50 {
            0..25 => 1,
            25..37 => 2,
            37..45 => 4,
            45..49 => 8,
            _ => MOST_PAGES,
        }
    }

    /// The initial references, in the running address space.
    pub(super) fn starts(self) -> impl Iterator<Item = Said> + Send {
        let heap = [map(HEAP, MIB)].into_iter();
        heap.chain(sweep(HEAP, MIB, 0, 512))
    }

    /// A reference to the server's own memory.
    pub(super) fn idles() -> Said {
        touch(HEAP, 1, 0)
    }

    /// A started server.
    pub(super) fn serves(self) -> Serving {
        const ONE: u64 = 1 << 32;
        let mut sum = 0;
        let weight = |rank| {
            sum += ONE / rank;
            sum
        };
        Serving {
            web: self,
            random: SplitMix64::new(self.seed),
            sums: (1..=self.files).map(weight).collect(),
            known: BTreeSet::new(),
            used: BTreeMap::new(),
            mapped: BTreeMap::new(),
            bytes: 0,
            requests: 0,
        }
    }
}

/// A running server.
#[derive(Clone, Debug)]
pub(super) struct Serving {
    web: Web,
    random: SplitMix64,
    /// The cumulative popularity of files by Zipf's law.
    sums: Vec<u64>,
    /// The named files.
    known: BTreeSet<u64>,
    /// The last use of each mapped file, in both directions.
    used: BTreeMap<u64, u64>,
    mapped: BTreeMap<u64, u64>,
    bytes: u64,
    requests: u64,
}

impl Serving {
    /// The references for the next request.
    pub(super) fn request(&mut self) -> Vec<Said> {
        let mut said = Vec::new();
        self.requests += 1;
        let drawn = self.random.below(self.sums.last().copied().unwrap_or(1));
        let rank = self.sums.partition_point(|end| *end <= drawn) as u64;
        // Popularity depends on neither size nor place.
        let number = rank.wrapping_mul(0x9e37_79b1) % self.web.files;
        let pages = Web::pages(number);
        let (start, bytes) = (FILES + number * APART, pages * PAGE);
        if self.known.insert(number) {
            said.push(file(number as u32, bytes));
        }
        if let Some(before) = self.mapped.insert(number, self.requests) {
            self.used.remove(&before);
        } else {
            self.bytes += bytes;
            said.push(map_file(start, bytes, number as u32));
        }
        self.used.insert(self.requests, number);
        for _ in 0..4 {
            said.push(touch(HEAP + self.random.below(MIB), 400, 100));
        }
        // Each load covers eight bytes.
        said.extend(sweep(start, bytes, 512, 0));
        while self.bytes > self.web.keeps
            && let Some((_, oldest)) = self.used.pop_first()
        {
            self.mapped.remove(&oldest);
            let bytes = Web::pages(oldest) * PAGE;
            self.bytes -= bytes;
            said.push(unmap(FILES + oldest * APART, bytes));
        }
        said
    }
}
