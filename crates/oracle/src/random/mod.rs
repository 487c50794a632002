//! Random traces that reach corner cases: hot TLB sets, blocks filled to each threshold, fragmented
//! mappings.
//!
//! A trace comes from a [`Script`], a list of steps. Each step has its own seed, so a step does not
//! depend on its neighbours. A script without some steps gives a valid trace: [`shrink`] minimises
//! a failing case in this way.

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

/// The action of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Reference the pages of a block in order, up to a number near a threshold.
    Fill,
    /// Reference random pages.
    Wander,
    /// Loop over a few pages of the same TLB sets.
    Chase,
    /// Access memory across a boundary.
    Straddle,
    /// Reference one page for a long time, so that reservations come of age.
    Wait,
    /// Map anonymous memory, shared memory, a file or kernel pages.
    Map,
    /// Map a block in two pieces, and use it.
    Tile,
    /// Unmap a range.
    Unmap,
    /// Change rights.
    Protect,
    /// Give advice.
    Advise,
    /// Let the kernel populate a range.
    Populate,
    /// Move, grow or shrink a mapping.
    Remap,
    /// Move the end of the heap.
    Brk,
    /// Grow the stack.
    StackGrow,
    /// Run another address space.
    Switch,
    /// End the address space, or replace its program, and run another.
    Leave,
    /// Emit events and fetches that no model of data translation uses.
    Noise,
}

impl Action {
    /// All actions.
    pub const ALL: [Self; 17] = [
        Self::Fill,
        Self::Wander,
        Self::Chase,
        Self::Straddle,
        Self::Wait,
        Self::Map,
        Self::Tile,
        Self::Unmap,
        Self::Protect,
        Self::Advise,
        Self::Populate,
        Self::Remap,
        Self::Brk,
        Self::StackGrow,
        Self::Switch,
        Self::Leave,
        Self::Noise,
    ];
}

/// One step of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptStep {
    /// The action.
    pub action: Action,
    /// The seed of all other choices of the step.
    pub seed: u64,
}

/// The source of a random trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// The trace's grain.
    pub grain: Grain,
    /// Bit `i`: address space `i` (modulo 8) has map events.
    pub mapped_spaces: u8,
    /// The steps, in order.
    pub steps: Vec<ScriptStep>,
}

impl Script {
    /// The script of this seed. Scripts differ in kind: some mostly reference, some mostly change
    /// mappings, some have no map events.
    pub fn from_seed(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let grain = if rng.one_in(4) {
            Grain::Line
        } else {
            Grain::Page
        };
        let mapped_spaces = if rng.one_in(5) {
            0
        } else {
            rng.pick(&[0xff, 0xff, 0xff, 0xaa, 0x55, 0xfe])
        };
        let churn = rng.below(4);
        let length = 4 + rng.below(32);
        let mut steps: Vec<ScriptStep> = (0..length)
            .map(|_| ScriptStep {
                action: Self::action(&mut rng, churn),
                seed: rng.next(),
            })
            .collect();
        if rng.one_in(6) {
            // Some spaces end without a following event.
            let leave = |rng: &mut Rng| ScriptStep {
                action: Action::Leave,
                seed: rng.next(),
            };
            steps.extend([leave(&mut rng), leave(&mut rng)]);
        }
        Self {
            grain,
            mapped_spaces,
            steps,
        }
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

    /// The trace of this script.
    pub fn recording(&self) -> Recording {
        let mut writer = Writer::new(self.grain, self.mapped_spaces);
        for step in &self.steps {
            writer.step(step.action, &mut Rng::new(step.seed));
        }
        writer.finish()
    }
}
