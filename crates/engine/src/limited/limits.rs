//! How much memory there is, and how it stands at first.

use broadleaf_memory::frames::{MOST_ORDER, Start};
use broadleaf_memory::population::Sizes;
use broadleaf_memory::system::{Costs, Files, Spec};
use broadleaf_policy::{Needs, Sizes as Wanted};
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
        let start = self
            .start
            .lay_out(frames, most_order.min(MOST_ORDER))
            .map_err(|error| error.to_string())?;
        Ok(Spec {
            base,
            sizes,
            start,
            swap: self.swap >> base.shift(),
            files: self.files,
            costs: self.costs,
        })
    }
}
