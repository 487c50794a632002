//! TLB designs: the model against the oracle's lists, closed forms, and what each mechanism does.

mod closed_forms;
mod differential;
mod families;
mod hierarchies;
mod invariants;
mod mechanisms;
mod refusals;
mod rig;
mod roles;
mod scattered;
mod walk_entries;
mod wired;
mod world;

use broadleaf_machine::{Machine, MachineError};
use broadleaf_tlb::Design;

/// A machine of these `[[tlb]]` tables.
fn machine_of(tables: &str) -> Result<Machine, MachineError> {
    Machine::from_toml(&format!(
        "name = \"designs\"\nsummary = \"designs\"\n{tables}\n[walk-cycles]\n4k = 30\n8k = 30\n\
         16k = 30\n32k = 30\n64k = 30\n"
    ))
}

/// The design of these `[[tlb]]` tables.
fn design_of(tables: &str) -> Design {
    let machine = machine_of(tables);
    let machine = machine.unwrap_or_else(|error| panic!("{error}\n{tables}"));
    machine.design
}
