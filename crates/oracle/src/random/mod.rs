//! Random traces that reach the corners: hot TLB sets, blocks filled up to each threshold, mappings cut to pieces.
//!
//! A trace comes from a [`Script`], a list of steps each of which carries its own seed, so that a step does the same
//! whatever stands around it. Taking steps away leaves a valid trace: that is how [`shrink`] makes a failing case small.

mod changes;
mod loops;
mod near;
mod noise;
mod ranges;
mod rng;
mod shrink;
mod space;
mod visits;
mod writer;

use broadleaf_trace::Grain;

use crate::Recording;
pub use loops::loops;
pub use near::near;
pub use rng::Rng;
pub use shrink::{shrink, thin};
use writer::Writer;

/// What a step of a script does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// References pages of a block one after another, up to just before, at or past a threshold.
    Fill,
    /// References pages here and there.
    Wander,
    /// Goes around a few pages that fall into the same TLB sets.
    Chase,
    /// Accesses that reach over a boundary.
    Straddle,
    /// One page for a long time, so that reservations come of age.
    Wait,
    /// Maps anonymous memory, shared memory, a file or kernel pages.
    Map,
    /// Maps a block in two pieces and uses it.
    Tile,
    /// Unmaps a range.
    Unmap,
    /// Changes rights.
    Protect,
    /// Gives advice.
    Advise,
    /// Has the kernel populate a range.
    Populate,
    /// Moves, grows or shrinks a mapping.
    Remap,
    /// Moves the end of the heap.
    Brk,
    /// Grows the stack.
    StackGrow,
    /// Runs another address space.
    Switch,
    /// Ends the address space, or replaces its program, and runs another.
    Leave,
    /// Events and fetches that no model of data translation heeds.
    Noise,
}

/// One step of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What it does.
    pub action: Action,
    /// How: everything else about the step follows from this number.
    pub seed: u64,
}

/// What a random trace is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// The trace's grain.
    pub grain: Grain,
    /// Bit `i` says whether address space `i` (modulo 8) has map events.
    pub told: u8,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

impl Script {
    /// The script of this seed. Scripts come in flavours: some mostly reference, some mostly change mappings, some have
    /// no map events at all.
    pub fn from_seed(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let grain = if rng.one_in(4) {
            Grain::Line
        } else {
            Grain::Page
        };
        let told = if rng.one_in(5) {
            0
        } else {
            rng.pick(&[0xff, 0xff, 0xff, 0xaa, 0x55, 0xfe])
        };
        let churn = rng.below(4);
        let length = 4 + rng.below(32);
        let mut steps: Vec<Step> = (0..length)
            .map(|_| Step {
                action: Self::action(&mut rng, churn),
                seed: rng.next(),
            })
            .collect();
        if rng.one_in(6) {
            // Spaces whose end nothing follows.
            let leave = |rng: &mut Rng| Step {
                action: Action::Leave,
                seed: rng.next(),
            };
            steps.extend([leave(&mut rng), leave(&mut rng)]);
        }
        Self { grain, told, steps }
    }

    fn action(rng: &mut Rng, churn: u64) -> Action {
        use Action::{
            Advise, Brk, Chase, Fill, Leave, Map, Noise, Populate, Protect, Remap, StackGrow,
            Straddle, Switch, Tile, Unmap, Wait, Wander,
        };
        let changes = [
            Map, Tile, Tile, Unmap, Unmap, Unmap, Protect, Protect, Protect, Advise, Advise,
            Advise, Remap, Remap, Remap, Brk, Brk, StackGrow, StackGrow, Populate, Populate,
            Populate,
        ];
        let references = [
            Fill, Fill, Fill, Fill, Fill, Wander, Wander, Chase, Straddle, Straddle, Wait, Wait,
        ];
        let runs = [Switch, Switch, Leave, Noise, Map];
        if rng.below(6) < churn {
            rng.pick(&changes)
        } else if rng.one_in(8) {
            rng.pick(&runs)
        } else {
            rng.pick(&references)
        }
    }

    /// The trace that this script tells.
    pub fn recording(&self) -> Recording {
        let mut writer = Writer::new(self.grain, self.told);
        for step in &self.steps {
            writer.step(step.action, &mut Rng::new(step.seed));
        }
        writer.finish()
    }
}
