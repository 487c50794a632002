//! The memory of a replay: its size, its costs and its initial state.

use crate::Plan;
use broadleaf_machine::Machine;
use broadleaf_memory::frames::{Allocator, Layout, MOST_ORDER, Start, StartError, room_for};
use broadleaf_memory::system::{Costs, Files, Spec};
use broadleaf_policy::{NOMINAL_RATE, Needs, Policy};
use broadleaf_units::SizeSet as Wanted;
use broadleaf_units::{PageSize, PageSizes};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

/// The maximum number of frames: the capacity of the page daemon's lists.
const MOST_FRAMES: u64 = 1 << 31;

/// The memory of a replay: its size, its costs and its initial state.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryLimits {
    /// The size of memory, in bytes. A rest that does not fill a base page is ignored.
    pub memory: u64,
    /// The contents of memory before the trace begins.
    pub start: Start,
    /// The size of the swap, in bytes.
    pub swap: u64,
    /// The initial place of files' pages: memory or disk.
    pub files: Files,
    /// The costs of events, in cycles.
    pub costs: Costs,
    /// True if the memory also holds pages that instructions are fetched from, if the trace records
    /// fetches.
    pub code: bool,
    /// The rule that chooses frames.
    pub allocator: &'static Allocator,
    /// The share of memory, from 0 to 1, for superpages of an allocator that divides memory.
    pub pools: f64,
    /// The accesses that the program makes per second: the time scale of policies' daemons.
    pub rate: u64,
}

impl MemoryLimits {
    /// Empty memory of `memory` bytes, with a swap that is never full.
    pub fn new(memory: u64) -> Self {
        Self {
            memory,
            start: Start::Empty,
            swap: 1 << 60,
            files: Files::default(),
            costs: Costs::default(),
            code: false,
            allocator: Allocator::buddy(),
            pools: 0.5,
            rate: NOMINAL_RATE,
        }
    }

    /// Memory that never runs short, and is empty at first.
    pub fn none() -> Self {
        Self::new(MOST_FRAMES << PageSize::SIZE_4K.shift())
    }

    /// The memory of machines with these page sizes, smallest first, under a policy that needs the
    /// frame-level model.
    pub(crate) fn spec(
        &self,
        sizes: &[PageSize],
        needs: &Needs,
        layouts: &Layouts,
    ) -> Result<Spec, String> {
        let Some(base) = sizes.first().copied() else {
            return Err("it has no page size".to_string());
        };
        if needs.colours.is_some() && base != PageSize::SIZE_4K {
            return Err(format!(
                "pages of {} have no colours here: policies that place pages by colour need base \
                 pages of 4k",
                base.short_name()
            ));
        }
        if needs.colours.is_some() && self.allocator.divides {
            return Err(format!(
                "the allocator {} divides memory by page size, and the policy divides memory by \
                 colour: choose another --allocator",
                self.allocator.described.name
            ));
        }
        let block = sizes
            .iter()
            .find(|size| size.shift() >= PageSize::SIZE_2M.shift());
        let used = |size: &&PageSize| match needs.sizes {
            Wanted::Block => block == Some(*size),
            wanted => wanted.holds(size.shift()),
        };
        let mut shifts: BTreeSet<u8> = sizes.iter().filter(used).map(|size| size.shift()).collect();
        if needs.allocates_sizes
            && let Wanted::These(_) = needs.sizes
        {
            // A kernel allocates extents up to the size that a whole page table maps.
            let smaller = 0..block.unwrap_or(&PageSize::SIZE_2M).shift();
            shifts.extend((smaller).filter(|shift| needs.sizes.holds(*shift)));
        }
        shifts.insert(base.shift());
        let larger = shifts.range(base.shift()..);
        let orders: Vec<u8> = larger.map(|shift| shift - base.shift()).collect();
        let sizes = PageSizes::new(&orders).map_err(|error| error.to_string())?;
        let frames = self.memory >> base.shift();
        if frames > MOST_FRAMES {
            let most = MOST_FRAMES << base.shift() >> 40;
            return Err(format!(
                "more than {most} TiB of memory are not modelled down to the frame"
            ));
        }
        if frames == 0 {
            return Err(format!(
                "memory of {} bytes has no room for a page of {} bytes: write a larger size, such \
                 as 512M",
                self.memory,
                base.bytes()
            ));
        }
        // Linux's greatest order is 10. Larger pages have larger extents.
        let most_order = orders.iter().copied().max().unwrap_or(0).max(10);
        let most_order = most_order.min(MOST_ORDER);
        let start = layouts
            .of(frames, most_order, || {
                // Linux groups memory in blocks of its huge page, for any base page size.
                let block = PageSize::SIZE_2M.shift().saturating_sub(base.shift());
                self.start.lay_out_in(frames, most_order, block)
            })
            .map_err(|error| self.no_layout(&error, base, most_order))?;
        Ok(Spec {
            base,
            sizes,
            start,
            swap: self.swap >> base.shift(),
            files: self.files,
            costs: self.costs,
            allocator: self.allocator,
            pools: self.pools,
            rate: self.rate,
        })
    }

    /// The memory of a machine under a policy.
    pub(crate) fn spec_on(
        &self,
        machine: &Machine,
        policy: &dyn Policy,
        plan: &Plan,
    ) -> Result<Spec, String> {
        let spec = self.spec(&plan.sizes_on(machine), &policy.needs(), plan.layouts());
        spec.map_err(|why| format!("{}: {why}", machine.name))
    }

    /// The message for an impossible initial state, with the largest possible share of occupied
    /// memory.
    fn no_layout(&self, error: &StartError, base: PageSize, most_order: u8) -> String {
        let would_do = match (&self.start, error) {
            (Start::Recorded { free, .. }, StartError::Room { .. }) => {
                Some(room_for(free, most_order))
            }
            (_, StartError::Regions { needed, .. }) => Some(*needed),
            _ => None,
        };
        match would_do {
            Some(frames @ ..=MOST_FRAMES) => {
                let mib = (frames << base.shift()).div_ceil(1 << 20);
                format!("{error}; --memory {mib}M would do")
            }
            _ => error.to_string(),
        }
    }
}

/// Initial layouts of a pool, by the number of frames and the greatest order. Policies and machines
/// share the layouts.
#[derive(Debug, Default)]
pub(crate) struct Layouts(Mutex<BTreeMap<(u64, u8), Arc<Layout>>>);

impl Layouts {
    fn of(
        &self,
        frames: u64,
        most_order: u8,
        lay_out: impl FnOnce() -> Result<Layout, StartError>,
    ) -> Result<Arc<Layout>, StartError> {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(layout) = made.get(&(frames, most_order)) {
            return Ok(layout.clone());
        }
        let layout = Arc::new(lay_out()?);
        made.insert((frames, most_order), layout.clone());
        Ok(layout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_oracle::random::Rng;

    #[test]
    fn what_would_do_does() {
        for seed in 0..200 {
            let mut rng = Rng::new(seed);
            let free: Vec<u64> = (0..=rng.below(11))
                .map(|_| rng.pick(&[0, 0, 1, 5]) * rng.below(9))
                .collect();
            let recorded = Start::Recorded {
                free: free.clone(),
                movable: 0.5,
                seed,
            };
            for most_order in [10, 11, 14] {
                let frames = room_for(&free, most_order).max(1 << most_order);
                let layout = recorded.lay_out(frames, most_order);
                let layout = layout.unwrap_or_else(|error| panic!("{free:?}: {error}"));
                let held: u64 = (free.iter().zip(0..)).map(|(n, order)| n << order).sum();
                assert_eq!(layout.buddy.free_frames(), held);
                // The suggested pool is not much larger than necessary.
                assert!(frames <= 2 * held + (1 << most_order), "{free:?}");
            }
        }
    }
}
