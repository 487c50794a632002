//! The owners of memory: the allocation sites that made it, from the events of a trace.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use broadleaf_trace::{Allocation, Event, Site};
use broadleaf_units::{SiteId, SpaceId};

/// Runs of small allocations are kept by blocks of this size. The recorder's runs lie in one block.
const BLOCK: u64 = 2 << 20;

/// The sites of a trace, and the memory of each.
#[derive(Debug, Default)]
pub(super) struct SiteOwners {
    /// All different sites.
    pub(super) sites: Vec<OwnerSite>,
    index: HashMap<Site, usize>,
    spaces: BTreeMap<SpaceId, OwnedMemory>,
    /// The initial memory of forked processes that have not run yet, by process id.
    forked: BTreeMap<u32, OwnedMemory>,
}

/// A site, with the sum of its allocations.
#[derive(Debug)]
pub(super) struct OwnerSite {
    pub(super) site: Site,
    pub(super) allocations: u64,
    pub(super) bytes: u64,
}

/// The memory of one address space.
#[derive(Clone, Debug, Default)]
struct OwnedMemory {
    /// The space's numbers of sites, as indices of [`SiteOwners::sites`].
    numbers: BTreeMap<SiteId, usize>,
    /// Ranges that one allocation fills: by the first byte, the byte after the last, and the site.
    /// They do not overlap. The latest allocation of a byte owns it.
    filled: BTreeMap<u64, (u64, usize)>,
    /// The sites of mappings. Small allocations lie inside mappings, and beside other ranges.
    mappings: BTreeSet<usize>,
    /// Runs of small allocations, by their blocks.
    runs: BTreeMap<u64, Vec<SmallRun>>,
}

/// The allocators that map memory, in which others make allocations.
const MAPPING_ALLOCATORS: [&str; 6] = [
    "mmap",
    "mremap",
    "brk",
    "shmat",
    "Python arena",
    "JVM memory",
];

/// Small allocations of a site in one block.
#[derive(Clone, Copy, Debug)]
struct SmallRun {
    start: u64,
    end: u64,
    bytes: u64,
    site: usize,
}

impl SiteOwners {
    /// True if the trace has no sites.
    pub(super) fn is_empty(&self) -> bool {
        self.sites.is_empty()
    }

    /// Adds the next event of the trace, which happens in the address space `running`.
    pub(super) fn add(&mut self, running: SpaceId, event: &Event) {
        match event {
            Event::SpaceStart { pid, .. } => {
                // A number of a space that ended may be used again.
                let memory = self.forked.remove(pid).unwrap_or_default();
                self.spaces.insert(running, memory);
            }
            Event::Fork { child } => {
                if let Some(memory) = self.spaces.get(&running) {
                    let memory = OwnedMemory {
                        numbers: BTreeMap::new(),
                        ..memory.clone()
                    };
                    self.forked.insert(*child, memory);
                }
            }
            Event::Site(number, site) => {
                let index = self.index_of(site);
                let space = self.spaces.entry(running).or_default();
                space.numbers.insert(*number, index);
                if MAPPING_ALLOCATORS.contains(&&*site.allocator) {
                    space.mappings.insert(index);
                }
            }
            Event::Allocation(allocation) => {
                let space = self.spaces.entry(running).or_default();
                // A damaged trace may lack the site.
                if let Some(&site) = space.numbers.get(&allocation.site) {
                    space.add(site, allocation);
                    let site = &mut self.sites[site];
                    site.allocations = site.allocations.saturating_add(allocation.count);
                    site.bytes = site.bytes.saturating_add(allocation.bytes);
                }
            }
            _ => {}
        }
    }

    fn index_of(&mut self, site: &Site) -> usize {
        if let Some(&index) = self.index.get(site) {
            return index;
        }
        let index = self.sites.len();
        self.sites.push(OwnerSite {
            site: site.clone(),
            allocations: 0,
            bytes: 0,
        });
        self.index.insert(site.clone(), index);
        index
    }

    /// Returns the sites of a range's memory with their bytes in it. A site occurs once.
    pub(super) fn of_range(&self, space: SpaceId, start: u64, end: u64) -> BTreeMap<usize, u64> {
        let memory = self.spaces.get(&space);
        memory.map_or_else(BTreeMap::new, |memory| memory.of_range(start, end))
    }
}

impl OwnedMemory {
    fn add(&mut self, site: usize, allocation: &Allocation) {
        let start = allocation.start.0;
        let end = start.saturating_add(allocation.len);
        // Each allocation lies in the range, so all of them fill it if their sum says so.
        let all = u128::from(allocation.len) * u128::from(allocation.count);
        if u128::from(allocation.bytes) >= all {
            self.fill(start, end, site);
            return;
        }
        let runs = self.runs.entry(start / BLOCK).or_default();
        runs.push(SmallRun {
            start,
            end,
            // Memory that was freed and made again counts once.
            bytes: allocation.bytes.min(allocation.len),
            site,
        });
    }

    /// Gives a range to a site, and takes it from others.
    fn fill(&mut self, start: u64, end: u64, site: usize) {
        if start >= end {
            return;
        }
        if let Some((&from, &(to, owner))) = self.filled.range(..start).next_back()
            && to > start
        {
            self.filled.insert(from, (start, owner));
            if to > end {
                self.filled.insert(end, (to, owner));
            }
        }
        while let Some((&from, &(to, owner))) = self.filled.range(start..end).next() {
            self.filled.remove(&from);
            if to > end {
                self.filled.insert(end, (to, owner));
            }
        }
        self.filled.insert(start, (end, site));
    }

    fn of_range(&self, start: u64, end: u64) -> BTreeMap<usize, u64> {
        let mut shares: BTreeMap<usize, u64> = BTreeMap::new();
        let mut small = 0;
        for (_, runs) in self.runs.range(start / BLOCK..end.div_ceil(BLOCK)) {
            for run in runs {
                let bytes = self.small_bytes(run, start, end);
                *shares.entry(run.site).or_default() += bytes;
                small += bytes;
            }
        }
        let before = self.filled.range(..start).next_back();
        for (&from, &(to, site)) in before.into_iter().chain(self.filled.range(start..end)) {
            let bytes = to.min(end).saturating_sub(from.max(start));
            // Small allocations lie inside a mapping that another call made for them.
            let cut = match self.mappings.contains(&site) {
                true => bytes.min(small),
                false => 0,
            };
            small -= cut;
            *shares.entry(site).or_default() += bytes - cut;
        }
        shares.retain(|_, bytes| *bytes > 0);
        shares
    }
}

impl OwnedMemory {
    /// A run's bytes in a range, if they are spread evenly beside what larger allocations fill.
    fn small_bytes(&self, run: &SmallRun, start: u64, end: u64) -> u64 {
        let whole = self.beside_filled(run.start, run.end);
        let common = self.beside_filled(run.start.max(start), run.end.min(end));
        let bytes = run.bytes.min(whole);
        (u128::from(bytes) * u128::from(common) / u128::from(whole.max(1))) as u64
    }

    /// The bytes of a range that no allocation fills but mappings.
    fn beside_filled(&self, start: u64, end: u64) -> u64 {
        if start >= end {
            return 0;
        }
        let before = self.filled.range(..start).next_back();
        let filled = before.into_iter().chain(self.filled.range(start..end));
        let filled = filled.filter(|(_, (_, site))| !self.mappings.contains(site));
        let bytes = filled.map(|(&from, &(to, _))| to.min(end).saturating_sub(from.max(start)));
        (end - start).saturating_sub(bytes.sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_units::VirtAddr;

    const SPACE: SpaceId = SpaceId(0);

    fn site(name: &str) -> Site {
        Site {
            allocator: name.to_owned(),
            frames: Vec::new(),
        }
    }

    fn made(site: u32, start: u64, len: u64, bytes: u64) -> Event {
        Event::Allocation(Allocation {
            site: SiteId(site),
            start: VirtAddr(start),
            len,
            count: 1,
            bytes,
        })
    }

    fn owners(events: &[Event]) -> SiteOwners {
        let mut owners = SiteOwners::default();
        for event in events {
            owners.add(SPACE, event);
        }
        owners
    }

    #[test]
    fn the_latest_allocation_of_a_byte_owns_it() {
        let owners = owners(&[
            Event::Site(SiteId(0), site("a")),
            Event::Site(SiteId(1), site("b")),
            made(0, 100, 100, 100),
            made(1, 120, 10, 10),
            made(1, 190, 20, 20),
            made(7, 100, 100, 100), // no such site
        ]);
        let shares = |start, end| owners.of_range(SPACE, start, end);
        assert_eq!(shares(0, 1000), BTreeMap::from([(0, 80), (1, 30)]));
        assert_eq!(shares(110, 125), BTreeMap::from([(0, 10), (1, 5)]));
        assert_eq!(shares(210, 300), BTreeMap::new());
        assert_eq!(owners.of_range(SpaceId(1), 0, 1000), BTreeMap::new());
        assert_eq!(owners.sites[1].bytes, 30);
    }

    #[test]
    fn small_allocations_share_a_block_and_its_mapping() {
        let owners = owners(&[
            Event::Site(SiteId(0), site("mmap")),
            Event::Site(SiteId(1), site("small")),
            made(0, 0, BLOCK, BLOCK),
            made(1, 0, BLOCK, BLOCK / 4),
        ]);
        let shares = owners.of_range(SPACE, 0, BLOCK / 2);
        assert_eq!(shares, BTreeMap::from([(0, BLOCK * 3 / 8), (1, BLOCK / 8)]));
    }

    /// A run of small allocations on both sides of a table, whose memory was made again and again,
    /// does not take the table.
    #[test]
    fn small_allocations_around_a_table_do_not_own_it() {
        let owners = owners(&[
            Event::Site(SiteId(0), site("table")),
            Event::Site(SiteId(1), site("small")),
            made(0, 1000, 8000, 8000),
            Event::Allocation(Allocation {
                site: SiteId(1),
                start: VirtAddr(0),
                len: 10_000,
                count: 300,
                bytes: 300_000,
            }),
        ]);
        let shares = |start, end| owners.of_range(SPACE, start, end);
        assert_eq!(shares(1000, 9000), BTreeMap::from([(0, 8000)]));
        assert_eq!(shares(0, 10_000), BTreeMap::from([(0, 8000), (1, 2000)]));
    }

    /// Small allocations in several mappings are counted once.
    #[test]
    fn small_allocations_take_from_all_mappings_around_them() {
        let owners = owners(&[
            Event::Site(SiteId(0), site("mmap")),
            Event::Site(SiteId(1), site("malloc")),
            made(0, 0, 100, 100),
            made(0, 100, 100, 100),
            made(1, 0, 200, 150),
        ]);
        let shares = owners.of_range(SPACE, 0, 200);
        assert_eq!(shares, BTreeMap::from([(0, 50), (1, 150)]));
    }

    #[test]
    fn a_forked_process_keeps_the_owners_and_numbers_sites_anew() {
        let mut owners = owners(&[
            Event::Site(SiteId(0), site("a")),
            made(0, 0, 10, 10),
            Event::Fork { child: 8 },
        ]);
        let child = SpaceId(1);
        for event in [
            Event::SpaceStart {
                pid: 8,
                parent: 7,
                command: Vec::new(),
            },
            made(0, 0, 10, 10),
            Event::Site(SiteId(0), site("b")),
            made(0, 20, 10, 10),
        ] {
            owners.add(child, &event);
        }
        assert_eq!(
            owners.of_range(child, 0, 30),
            BTreeMap::from([(0, 10), (1, 10)])
        );
    }

    /// Compares with an array of bytes.
    #[test]
    fn filled_ranges_agree_with_an_array() {
        let mut memory = OwnedMemory::default();
        let mut bytes = [None; 64];
        let mut random = broadleaf_units::SplitMix64::new(7);
        let mut below = |n: u64| random.below(n);
        for _ in 0..500 {
            let (start, site) = (below(60), below(5) as usize);
            let end = start + below(64 - start);
            memory.fill(start, end, site);
            bytes[start as usize..end as usize].fill(Some(site));
            let (from, to) = (below(32), 32 + below(32));
            let mut naive = BTreeMap::new();
            for owner in bytes[from as usize..to as usize].iter().flatten() {
                *naive.entry(*owner).or_default() += 1;
            }
            assert_eq!(memory.of_range(from, to), naive);
        }
    }
}
