//! Miss-ratio curves: the misses of TLBs of every geometry, counted from LRU stack distances.
//!
//! A curve belongs to a policy and to the page sizes of a machine, and to nothing else of the
//! machine. Each size has TLBs of its own, of every geometry, with exact LRU replacement and one
//! entry for each page. Each core has its own. They see every reference to data at the size of the
//! page that the TLB of the machine would load. Fetches of instructions do not count. A TLB that
//! lacks a page size holds such a page as several smaller entries. The curves do the same.

use crate::shared::curve_points;
use broadleaf_memory::{Pages, Shootdown};
use broadleaf_metrics::CurvePoint;
use broadleaf_tlb::Stacks;
use broadleaf_units::{PageNumber, PageSize, SpaceId};

/// The pages of one level of a memory, as the TLBs of a machine hold them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CurveLevel {
    /// The size of the pages of the level.
    pub(crate) size: PageSize,
    /// The size of their entries.
    pub(crate) entry: PageSize,
    /// True if a page that is shot down takes all entries of its pieces along.
    pub(crate) is_fractured: bool,
}

/// The curves of the machines that observe a memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct WorldCurves {
    /// One for all machines whose TLBs hold the same entries.
    all: Vec<SizedCurve>,
    /// The core that runs.
    core: usize,
    last: Option<LastAccess>,
}

/// The core, the address space and the page of the last access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastAccess {
    core: usize,
    pub(crate) space: SpaceId,
    pub(crate) page: PageNumber,
}

/// TLBs of every geometry for each size of entries.
#[derive(Clone, Debug)]
struct SizedCurve {
    levels: Vec<CurveLevel>,
    /// Smallest size first.
    stacks: Vec<SizeStacks>,
    /// For each level, the number of its stacks.
    of_level: Vec<usize>,
}

/// TLBs of every geometry that hold entries of one size.
#[derive(Clone, Debug)]
struct SizeStacks {
    size: PageSize,
    /// One for each core, as far as they have run.
    cores: Vec<Stacks>,
}

/// The number of an entry of `size` that holds a page of 4 KiB.
#[inline]
fn number_of(page: PageNumber, size: PageSize) -> u64 {
    page.0 >> (size.shift() - PageSize::SIZE_4K.shift())
}

impl SizeStacks {
    /// Removes the entries that overlap pages of 4 KiB.
    fn remove(&mut self, space: SpaceId, pages: Pages) {
        if !pages.is_empty() {
            let number = |page| number_of(PageNumber(page), self.size);
            let (first, last) = (number(pages.start), number(pages.end - 1));
            for stacks in &mut self.cores {
                stacks.remove_range(space, first, last - first + 1);
            }
        }
    }
}

impl SizedCurve {
    fn new(levels: Vec<CurveLevel>) -> Self {
        let mut sizes: Vec<PageSize> = levels.iter().map(|level| level.entry).collect();
        // On a machine of 4 KiB pages alone, results show that no page was larger.
        if let [only] = levels[..]
            && only.entry == PageSize::SIZE_4K
        {
            sizes.push(PageSize::SIZE_2M);
        }
        sizes.sort_unstable();
        sizes.dedup();
        let of_level = levels.iter().map(|level| {
            let found = sizes.iter().position(|size| *size == level.entry);
            found.unwrap_or(0)
        });
        Self {
            of_level: of_level.collect(),
            stacks: (sizes.into_iter())
                .map(|size| SizeStacks {
                    size,
                    cores: vec![Stacks::new()],
                })
                .collect(),
            levels,
        }
    }

    fn forget(&mut self, shootdown: &Shootdown) {
        match *shootdown {
            Shootdown::Nothing => {}
            Shootdown::Superpage { space, run } => {
                let known = self.levels.iter().find(|level| level.size == run.size);
                if known.is_some_and(|level| level.is_fractured) {
                    let units = run.size.bytes() >> PageSize::SIZE_4K.shift();
                    self.remove(
                        space,
                        Pages {
                            start: run.first.0,
                            end: run.first.0 + units,
                        },
                    );
                } else if self.levels.iter().any(|level| level.entry == run.size)
                    && let Some(of) = self.stacks.iter_mut().find(|of| of.size == run.size)
                {
                    // Entries of smaller parts stay valid.
                    let number = number_of(run.first, run.size);
                    for stacks in &mut of.cores {
                        stacks.remove(space, number);
                    }
                }
            }
            Shootdown::Range { space, pages } => self.remove(space, pages),
            Shootdown::Space(space) => {
                for stacks in self.stacks.iter_mut().flat_map(|of| &mut of.cores) {
                    stacks.remove_space(space);
                }
            }
        }
    }

    fn remove(&mut self, space: SpaceId, pages: Pages) {
        for of in &mut self.stacks {
            of.remove(space, pages);
        }
    }
}

impl WorldCurves {
    /// Adds a curve for machines whose TLBs hold these entries, by level. One that is known stays.
    pub(crate) fn add(&mut self, levels: Vec<CurveLevel>) {
        if self.of(&levels).is_none() {
            self.all.push(SizedCurve::new(levels));
        }
    }

    fn of(&self, levels: &[CurveLevel]) -> Option<&SizedCurve> {
        self.all.iter().find(|curve| curve.levels == levels)
    }

    /// The points of the curve of machines whose TLBs hold these entries: the misses of all cores.
    /// `None` if none was added.
    pub(crate) fn points(&self, levels: &[CurveLevel]) -> Option<Vec<CurvePoint>> {
        let stacks = &self.of(levels)?.stacks;
        let cores = stacks.iter().map(|of| of.cores.len()).max().unwrap_or(0);
        let of_core = |core: usize| {
            let of_core = stacks.iter().map(move |of| (of.size, &of.cores[core]));
            curve_points(of_core)
        };
        (0..cores).map(of_core).reduce(|mut sums, points| {
            for (sum, point) in sums.iter_mut().zip(points) {
                sum.misses += point.misses;
            }
            sums
        })
    }

    /// Lets a core run from now on. Each core has TLBs of its own.
    pub(crate) fn run_on(&mut self, core: usize) {
        self.core = core;
        for of in self.all.iter_mut().flat_map(|curve| &mut curve.stacks) {
            let cores = of.cores.len().max(core + 1);
            of.cores.resize_with(cores, Stacks::new);
        }
    }

    /// Counts from zero. The TLBs stay as they are.
    pub(crate) fn begin(&mut self) {
        self.last = None;
        let curves = self.all.iter_mut().flat_map(|curve| &mut curve.stacks);
        let cores = curves.flat_map(|of| &mut of.cores);
        cores.for_each(Stacks::begin_counting);
    }

    /// Looks up a page of 4 KiB that a page of `level` maps.
    #[inline]
    pub(crate) fn look_up(&mut self, space: SpaceId, page: PageNumber, level: usize) {
        let core = self.core;
        self.look_up_again(LastAccess { core, space, page }, level);
    }

    /// Looks up the page of an access again, on its core. A page of `level` maps it.
    #[inline]
    pub(crate) fn look_up_again(&mut self, access: LastAccess, level: usize) {
        self.last = Some(access);
        let LastAccess { core, space, page } = access;
        for curve in &mut self.all {
            let of = &mut curve.stacks[curve.of_level[level]];
            of.cores[core].reference(space, number_of(page, of.size));
        }
    }

    /// The last access. `None` if an event came after it.
    pub(crate) const fn last(&self) -> Option<LastAccess> {
        self.last
    }

    /// Notes that an event follows the last access.
    pub(crate) fn end_accesses(&mut self) {
        self.last = None;
    }

    /// Drops entries that became stale.
    pub(crate) fn forget(&mut self, shootdown: &Shootdown) {
        for curve in &mut self.all {
            curve.forget(shootdown);
        }
    }
}

#[cfg(test)]
mod tests;
