//! A web server: many small files, the popular ones far more often, and more of them than memory holds.

use std::collections::{BTreeMap, BTreeSet};

use broadleaf_trace::synth::SplitMix64;

use super::setting::{MIB, PAGE};
use crate::papers::generated::{Said, file, map, map_file, sweep, touch, unmap};

/// A server, and what it is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Web {
    /// How many files there are.
    pub(super) files: u64,
    /// How many bytes of them it keeps mapped.
    pub(super) keeps: u64,
    pub(super) seed: u64,
}

/// Where files are mapped, each at a place of its own.
const FILES: u64 = 1 << 36;
/// The most pages that a file has: too few for the extents that others seek.
const MOST_PAGES: u64 = 48;
/// Bytes from one file's place to the next.
const APART: u64 = 64 * PAGE;
const HEAP: u64 = 1 << 34;

impl Web {
    /// A server for memory of so many bytes: the paper's data were seven times as much, 3.6 GB to 512 MB.
    pub(super) const fn for_memory(bytes: u64) -> Self {
        Self {
            // They have 3.22 pages in the mean.
            files: 7 * bytes * 100 / (PAGE * 322),
            keeps: bytes / 8,
            seed: 5,
        }
    }

    /// Pages of a file: half of them have one, and one in fifty the most.
    const fn pages(number: u64) -> u64 {
        match number * 31 % 50 {
            0..25 => 1,
            25..37 => 2,
            37..45 => 4,
            45..49 => 8,
            _ => MOST_PAGES,
        }
    }

    /// What it does at first, in the address space that runs.
    pub(super) fn starts(self) -> impl Iterator<Item = Said> + Send {
        let heap = [map(HEAP, MIB)].into_iter();
        heap.chain(sweep(HEAP, MIB, 0, 512))
    }

    /// A sign of life.
    pub(super) fn idles() -> Said {
        touch(HEAP, 1, 0)
    }

    /// A server that has started.
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

/// A server at work.
#[derive(Clone, Debug)]
pub(super) struct Serving {
    web: Web,
    random: SplitMix64,
    /// Popularity by Zipf's law, added up.
    sums: Vec<u64>,
    /// Files that were named.
    known: BTreeSet<u64>,
    /// When each mapped file was last used, both ways.
    used: BTreeMap<u64, u64>,
    mapped: BTreeMap<u64, u64>,
    bytes: u64,
    requests: u64,
}

impl Serving {
    /// What it does for the next request.
    pub(super) fn request(&mut self) -> Vec<Said> {
        let mut said = Vec::new();
        self.requests += 1;
        let drawn = self.random.below(self.sums.last().copied().unwrap_or(1));
        let rank = self.sums.partition_point(|end| *end <= drawn) as u64;
        // Popular files are not larger or smaller than others, and do not lie together.
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
        // Eight bytes at a time.
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
