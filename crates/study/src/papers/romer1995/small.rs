//! Small streams of references for machines of any size. Each stream shows one mechanism.

use std::ops::ControlFlow;

use broadleaf_accel::run;
use broadleaf_machine::Machine;
use broadleaf_model::{Items, Outcome, Plan};
use broadleaf_trace::{Grain, Visit};

use super::policies::memory;
use crate::failure::Failure;
use crate::names;

/// References to base pages, in order, with `instructions` instructions per reference.
pub(super) struct SmallStream {
    pub(super) pages: Vec<u64>,
    pub(super) instructions: u32,
}

impl SmallStream {
    /// The references, with three instructions each.
    pub(super) const fn of(pages: Vec<u64>) -> Self {
        Self {
            pages,
            instructions: 3,
        }
    }
}

/// An isolated page: no candidate holds two such pages.
pub(super) const fn alone(number: u64) -> u64 {
    (1000 + number) << 11
}

/// Replays a stream at the paper's costs.
pub(super) fn replay(
    stream: &SmallStream,
    machine: Machine,
    policies: &[&str],
) -> Result<Outcome, Failure> {
    let mut items = Items::new(Grain::Page);
    items.visits(stream.pages.iter().map(|page| Visit {
        unit: *page,
        loads: 1,
        loads_before_store: 1,
        instructions: stream.instructions,
        ..Visit::default()
    }));
    let policies: Result<Vec<_>, Failure> =
        policies.iter().map(|name| names::policy(name)).collect();
    let plan = Plan::within(policies?, vec![machine], memory()).map_err(Failure::failed)?;
    let outcome = run(&mut items, &plan, &mut |_| ControlFlow::Continue(()));
    outcome.map_err(|error| Failure::failed(error.to_string()))
}

/// A fully associative TLB of one entry for pages of 4 and 8 KiB.
pub(super) fn one_entry() -> Result<Machine, Failure> {
    let text = "name = \"one-entry\"\nsummary = \"one entry\"\nexplanation = \"\"\nsource = \
                \"Romer 1995, section 6.1\"\n\
         [[tlb]]\nname = \"dtb\"\nlevel = 1\nentries = 1\nways = 1\nreplacement = \"lru\"\nindex = \
         { 4k = \"none\", 8k = \"none\" }\n\
         [walk-cycles]\n4k = 30\n8k = 30\n";
    Machine::from_toml(text).map_err(|error| Failure::failed(error.to_string()))
}
