//! The cycles of page walks to a program.
//!
//! Walks that are close together overlap and are nearly free. Rare walks cost their full latency
//! and more, because the page table has left the caches. So the cost of a walk follows from the
//! number of instructions since the walk before, and from the memory that the program uses. The
//! cycles come from the loads that `probe` measured on the machine, or else from a table of one
//! server processor.

use broadleaf_machine::{LoadCycles, Machine};
use broadleaf_metrics::CellResult;
use broadleaf_units::PageSize;

/// The most cycles that one walk costs: two reads of a page table in memory.
const MOST_OF_WALK: f64 = 450.0;

/// The most cycles of a hit in the second level of the TLB: 7 on Intel's server cores.
pub(super) const SECOND_HIT: [f64; 3] = [0.0, 2.0, 7.0];

/// The cycles of an instruction without page walks: at the lowest and highest gain, and between.
/// The programs that were timed had 0.6 to 0.9 where walks were rare.
const INSTRUCTION: [f64; 3] = [1.2, 0.6, 0.45];

/// The cycles of an instruction without page walks, in the middle of the range, if the loads of the
/// machine are known. Fitted with [`BEHIND`].
const INSTRUCTION_WITH_LOADS: f64 = 0.8;

/// The cycles that the data of a page without a translation takes to arrive, besides the walk.
/// Such data is rarely in a near cache.
const DATA: [f64; 3] = [150.0, 45.0, 20.0];

/// The cycles that such data takes beyond the loads that were measured, whose lines fit near
/// caches. The programs that were timed spent 20 to 500 cycles there.
const BEHIND: f64 = 160.0;

/// The cost of a walk at the lowest and highest gain, in costs between.
const SPREAD: [f64; 3] = [1.0 / 3.0, 1.0, 3.0];

/// Below this number of instructions between walks, all walks may overlap and cost nothing.
const DENSE: f64 = 32.0;

/// From this number of instructions between walks on, a walk costs as much as dependent loads show.
/// Fitted, as [`INSTRUCTION_WITH_LOADS`], [`BEHIND`] and [`LEAST_ALONE`], to 21 programs on two
/// processors: the class is that of the measured gain for 16 of them.
const ALONE: f64 = 4000.0;

/// The part of a walk's latency that nothing hides, however close together walks are.
const LEAST_ALONE: f64 = 0.1;

/// The least part of the measured loads that counts as walking: below, other costs hide walks.
const LEAST_WALKING: f64 = 0.25;

/// The cycles that an independent load of a span of memory in MiB saves with huge pages: the base-2
/// logarithm of the span, and the cycles. Measured on one server processor; between, a line.
const INDEPENDENT: [(f64, f64); 6] = [
    (4.0, 0.0),
    (6.0, 4.0),
    (8.0, 17.0),
    (9.0, 29.0),
    (10.0, 40.0),
    (12.0, 80.0),
];

/// The walks of a result that find pages as far from the root as base pages. Walks to fractured
/// pages are not among them: a superpage made them shorter.
pub(super) fn long_walks(result: &CellResult, machine: &Machine) -> u64 {
    let fractured = machine.fractured.iter();
    let short: u64 = fractured.map(|size| result.walks.of(*size)).sum();
    result.whole_misses().saturating_sub(short)
}

/// The lookups of a result that hit below the first level of the TLB.
pub(super) fn lower_hits(result: &CellResult) -> u64 {
    result.l1_misses.saturating_sub(result.whole_misses())
}

/// Returns the cycles of hits below the first level of the TLB, in the middle of the range. A hit
/// in a third level counts as one in the second.
pub(super) fn cycles_of_hits(hits: u64) -> f64 {
    hits as f64 * SECOND_HIT[1]
}

/// The costs of walks to a program on a machine.
#[derive(Clone, Debug)]
pub(super) struct WalkCost {
    /// The memory that the program uses, in bytes.
    bytes: u64,
    /// The loads of base pages and of huge pages over such memory, if the machine has both.
    loads: Option<[LoadCycles; 2]>,
    /// The part of the measured loads of base pages that walk.
    walking: f64,
    /// The part of a walk that a huge page spares: all of it, or less if it is fractured.
    spared: f64,
}

impl WalkCost {
    /// The costs of walks on a machine, to a program that touches this number of base pages.
    pub(super) fn new(pages: u64, machine: &Machine) -> Self {
        let bytes = pages * PageSize::SIZE_4K.bytes();
        let of = |size| machine.loads.of(size, bytes);
        let both = of(PageSize::SIZE_4K).zip(of(PageSize::SIZE_2M));
        let held = machine.design.capacity(PageSize::SIZE_4K) as f64;
        Self {
            bytes,
            loads: both.map(|(base, huge)| [base, huge]),
            walking: (1.0 - held / pages.max(1) as f64).max(LEAST_WALKING),
            spared: spared(machine),
        }
    }

    /// Returns the cycles that a program saves by a walk less, or by a shorter one, if there is one
    /// walk in `between` instructions. `at` is 0 for the least, 1 for the middle and 2 for the
    /// most.
    pub(super) fn walk(&self, between: f64, at: usize) -> f64 {
        let between = between.max(1.0);
        if between < DENSE && at == 0 {
            return 0.0;
        }
        let middle = match self.loads {
            Some([base, huge]) => {
                let part = LEAST_ALONE + (1.0 - LEAST_ALONE) * alone(between);
                let dependent = (base.dependent - huge.dependent).max(0.0);
                let independent = (base.independent - huge.independent).max(0.0);
                (independent + part * (dependent - independent)) / self.walking
            }
            // Fitted to twelve programs: 7 cycles at 18 instructions, 92 at 1,400, 235 at 6,400.
            None => self.spared * between.powf(0.62).max(independent(self.bytes as f64)),
        };
        (middle * SPREAD[at]).min(MOST_OF_WALK)
    }

    /// Returns the cycles that the data takes to arrive after a walk.
    pub(super) fn data(&self, between: f64, at: usize) -> f64 {
        match self.loads {
            Some([_, huge]) => {
                let part = alone(between);
                let measured = huge.independent + part * (huge.dependent - huge.independent);
                (measured + BEHIND) * DATA[at] / DATA[1]
            }
            None => DATA[at],
        }
    }

    /// Returns the cycles of an instruction without page walks.
    pub(super) fn instruction(&self, at: usize) -> f64 {
        match (&self.loads, at) {
            (Some(_), 1) => INSTRUCTION_WITH_LOADS,
            _ => INSTRUCTION[at],
        }
    }

    /// Returns the cycles that a policy loses to long walks and to hits below the first level of
    /// the TLB, in the middle of the range. Base pages have one walk in `between` instructions.
    pub(super) fn lost(&self, result: &CellResult, machine: &Machine, between: f64) -> f64 {
        let walks = long_walks(result, machine) as f64;
        walks * self.walk(between, 1) + cycles_of_hits(lower_hits(result))
    }
}

/// Returns the part of a walk that a huge page spares on a machine, by its costs of walks.
fn spared(machine: &Machine) -> f64 {
    let cost = |size| machine.costs.of(size).unwrap_or(0) as f64;
    let Some(size) = machine.fractured.first() else {
        return 1.0;
    };
    let base = machine
        .design
        .sizes()
        .first()
        .map_or(0.0, |base| cost(*base));
    match base > 0.0 {
        true => (1.0 - cost(*size) / base).clamp(0.0, 1.0),
        false => 0.0,
    }
}

/// Returns the part of a walk's latency that no other work hides.
fn alone(between: f64) -> f64 {
    (between / ALONE).min(1.0)
}

/// Returns the cycles that an independent load saves with huge pages: [`INDEPENDENT`].
fn independent(bytes: f64) -> f64 {
    let span = (bytes / f64::from(1 << 20)).max(1.0).log2();
    let (first, last) = (INDEPENDENT[0], INDEPENDENT[INDEPENDENT.len() - 1]);
    if span <= first.0 {
        return first.1;
    }
    for pair in INDEPENDENT.windows(2) {
        let ((from, low), (to, high)) = (pair[0], pair[1]);
        if span <= to {
            return low + (high - low) * (span - from) / (to - from);
        }
    }
    last.1
}
