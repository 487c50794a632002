//! Chases on this processor, in cycles of its core.

use std::collections::BTreeMap;

use broadleaf_governor::{ChaseBacking, ChaseTimer, core_clock};
use broadleaf_probe::{ChaseCosts, ChaseReading};
use broadleaf_units::PageSize;

/// The address bits that are tried as those above every index, in this order. User addresses have
/// 47 bits, and chases begin at bit 44. The walks of very far pages need entries of the page table
/// of their own, which some second levels hold too. Some first-level caches confuse pages that are
/// alike in the lower 32 bits, if a chase has more than 64.
pub(super) const ABOVE: [u32; 3] = [34, 26, 24];
/// The same for pages of 2 MiB, whose index bits are higher, and of 1 GiB.
const ABOVE_HUGE: u32 = 36;
const ABOVE_GIANT: u32 = 40;
/// The chases after which the core clock is measured again.
const CLOCK_EVERY: u32 = 64;
/// The most base pages of a chase.
const MOST_PAGES: usize = 16 << 10;

/// Chases over pages of one size.
pub(super) struct HardwareChases<'a> {
    timer: &'a mut ChaseTimer,
    size: PageSize,
    /// The lowest address bit above every index.
    above: u32,
    /// The samples of each order. The quickest counts.
    samples: usize,
    /// The nanoseconds of control chases, by the number of nodes.
    controls: BTreeMap<usize, f64>,
    /// Cycles of the core in a nanosecond.
    clock: f64,
    until_clock: u32,
}

impl<'a> HardwareChases<'a> {
    pub(super) fn new(timer: &'a mut ChaseTimer, size: PageSize, samples: usize) -> Self {
        Self {
            timer,
            size,
            above: match size {
                PageSize::SIZE_4K => ABOVE[0],
                PageSize::SIZE_2M => ABOVE_HUGE,
                _ => ABOVE_GIANT,
            },
            samples,
            controls: BTreeMap::new(),
            clock: core_clock(),
            until_clock: CLOCK_EVERY,
        }
    }

    /// Takes the address bits from this one up as those above every index.
    pub(super) const fn set_above(&mut self, above: u32) {
        self.above = above;
    }

    fn backing(&self) -> ChaseBacking {
        match self.size {
            PageSize::SIZE_4K => ChaseBacking::Base,
            PageSize::SIZE_2M => ChaseBacking::Huge,
            _ => ChaseBacking::Giant,
        }
    }

    /// Cycles of the core in a nanosecond, now.
    pub(super) const fn clock(&self) -> f64 {
        self.clock
    }

    /// The nanoseconds of a load of a control chase. The least of all trials counts.
    fn control(&mut self, nodes: usize) -> Option<f64> {
        if self.until_clock == 0 {
            self.clock = core_clock();
            self.until_clock = CLOCK_EVERY;
        }
        self.until_clock -= 1;
        let known = self.controls.get(&nodes).copied();
        let cost = match known {
            Some(known) => known,
            None => {
                self.timer
                    .time_control(nodes, 2 * self.samples)?
                    .nanoseconds
            }
        };
        self.controls.insert(nodes, cost);
        Some(cost)
    }

    /// The cycles beyond those of the control.
    fn extra(&mut self, nodes: usize, nanoseconds: f64) -> Option<f64> {
        let control = self.control(nodes)?;
        Some((nanoseconds - control) * self.clock)
    }
}

impl ChaseCosts for HardwareChases<'_> {
    fn reading(&mut self, pages: &[u64]) -> Option<ChaseReading> {
        let backing = self.backing();
        // The first control of a number of lines takes the place of the pages.
        self.control(pages.len())?;
        let cost = self.timer.time(pages, backing, self.samples)?;
        Some(ChaseReading {
            extra: self.extra(pages.len(), cost.nanoseconds)?,
            misses: cost.misses,
        })
    }

    fn string(&mut self, pages: &[u64]) -> Option<f64> {
        let backing = self.backing();
        let cost = self.timer.time_string(pages, backing, self.samples)?;
        self.extra(pages.len(), cost.nanoseconds)
    }

    fn above(&self) -> u32 {
        self.above
    }

    fn unit(&self) -> u64 {
        self.size.bytes()
    }

    fn most_pages(&self) -> usize {
        self.timer.most_pages(self.backing()).min(MOST_PAGES)
    }
}
