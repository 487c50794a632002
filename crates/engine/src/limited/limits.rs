//! How much memory there is, and how it stands at first.

use broadleaf_memory::frames::{MOST_ORDER, Start, StartError};
use broadleaf_memory::population::Sizes;
use broadleaf_memory::system::{Costs, Files, Spec};
use broadleaf_policy::{Needs, Policy, Sizes as Wanted};
use broadleaf_translation::Machine;
use broadleaf_units::PageSize;

/// How many frames there are at most: as many as have a place on the lists of the page daemon.
const MOST_FRAMES: u64 = 1 << 31;

/// How much memory a replay has, and how it stands at first.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// How large memory is, in bytes. What does not fill a base page is left out.
    pub memory: u64,
    /// What stands in it before the trace begins.
    pub start: Start,
    /// How large the swap is, in bytes.
    pub swap: u64,
    /// Where the pages of files are at first.
    pub files: Files,
    /// What things cost.
    pub costs: Costs,
    /// Whether pages that instructions are fetched from are in this memory too, where a trace tells of them.
    pub code: bool,
}

impl Limits {
    /// Empty memory of that size, with a swap that is never full.
    pub fn new(memory: u64) -> Self {
        Self {
            memory,
            start: Start::Empty,
            swap: 1 << 60,
            files: Files::default(),
            costs: Costs::default(),
            code: false,
        }
    }

    /// Memory that never runs short, and is empty at first.
    pub fn none() -> Self {
        Self::new(MOST_FRAMES << PageSize::SIZE_4K.shift())
    }

    /// The memory of a machine under a policy that needs that.
    pub(crate) fn spec(&self, machine: &Machine, needs: &Needs) -> Result<Spec, String> {
        let sizes = machine.design.sizes();
        let Some(base) = sizes.first().copied() else {
            return Err("it has no page size".to_string());
        };
        let block = sizes
            .iter()
            .find(|size| size.shift() >= PageSize::SIZE_2M.shift());
        let used = |size: &&PageSize| match needs.sizes {
            Wanted::Block => block == Some(*size),
            wanted => wanted.holds(size.shift()),
        };
        let larger = sizes[1..].iter().filter(used);
        let orders: Vec<u8> = std::iter::once(0)
            .chain(larger.map(|size| size.shift() - base.shift()))
            .collect();
        let sizes = Sizes::new(&orders).map_err(|error| error.to_string())?;
        let frames = self.memory >> base.shift();
        if frames > MOST_FRAMES {
            let most = MOST_FRAMES << base.shift() >> 40;
            return Err(format!(
                "more than {most} TiB of memory are not modelled down to the frame"
            ));
        }
        if frames == 0 {
            return Err(format!(
                "{} bytes of memory hold no page of {} bytes",
                self.memory,
                base.bytes()
            ));
        }
        // Linux's greatest order is 10; where pages are larger, so are extents.
        let most_order = orders.iter().copied().max().unwrap_or(0).max(10);
        let most_order = most_order.min(MOST_ORDER);
        let start = (self.start.lay_out(frames, most_order))
            .map_err(|error| self.no_layout(&error, base, most_order))?;
        Ok(Spec {
            base,
            sizes,
            start,
            swap: self.swap >> base.shift(),
            files: self.files,
            costs: self.costs,
        })
    }

    /// The memory of a machine under a policy.
    pub(super) fn spec_on(&self, machine: &Machine, policy: &dyn Policy) -> Result<Spec, String> {
        let spec = self.spec(machine, &policy.needs());
        spec.map_err(|why| format!("{}: {why}", machine.name))
    }

    /// Why memory cannot stand at first as was asked, and how much of it could.
    fn no_layout(&self, error: &StartError, base: PageSize, most_order: u8) -> String {
        match (&self.start, error) {
            (Start::Recorded { free, .. }, StartError::Room { .. }) => {
                match room_for(free, most_order) {
                    frames @ ..=MOST_FRAMES => {
                        let mib = (frames << base.shift()).div_ceil(1 << 20);
                        format!("{error}; --memory {mib}M would do")
                    }
                    _ => error.to_string(),
                }
            }
            _ => error.to_string(),
        }
    }
}

/// How many frames surely have room for so many free extents of each order that do not merge, where the greatest order is that.
///
/// Each extent needs its other half to be of something else. The halves that larger extents leave do for smaller ones, so that an order needs
/// twice what is free of it, beside what is free of larger ones.
fn room_for(free: &[u64], most_order: u8) -> u64 {
    let (mut larger, mut room) = (0_u64, 0_u64);
    for (order, free) in free.iter().enumerate().rev() {
        let frames = free.saturating_mul(1 << order);
        room = room.max(larger.saturating_add(frames.saturating_mul(2)));
        larger = larger.saturating_add(frames);
    }
    room.checked_next_multiple_of(1 << most_order)
        .unwrap_or(u64::MAX)
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
                // It is not much more than what is needed.
                assert!(frames <= 2 * held + (1 << most_order), "{free:?}");
            }
        }
    }
}
