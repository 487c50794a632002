//! The catalogue of machines. A new machine is one file under `machines/` and one line here.

use crate::{Machine, MachineError};
use broadleaf_tlb::Described;

/// Names and descriptions of the machines that are built in, in the order in which they are listed.
const MACHINES: &[(&str, &str)] = &[
    ("skylake", include_str!("../../../machines/skylake.toml")),
    (
        "skylake-va23",
        include_str!("../../../machines/skylake-va23.toml"),
    ),
    (
        "skylake-unified-64",
        include_str!("../../../machines/skylake-unified-64.toml"),
    ),
    (
        "skylake-unified-96",
        include_str!("../../../machines/skylake-unified-96.toml"),
    ),
    (
        "romer1995",
        include_str!("../../../machines/romer1995.toml"),
    ),
    (
        "alpha21264",
        include_str!("../../../machines/alpha21264.toml"),
    ),
    (
        "skylake-1g",
        include_str!("../../../machines/skylake-1g.toml"),
    ),
    (
        "neoverse-n1",
        include_str!("../../../machines/neoverse-n1.toml"),
    ),
    (
        "neoverse-n1-16k",
        include_str!("../../../machines/neoverse-n1-16k.toml"),
    ),
];

/// The page tables that a walk can go through.
pub const PAGE_TABLES: &[Described] = &[Described {
    name: "x86-64",
    summary: "the radix tree of x86-64, whose leaves are 4 KiB and 2 MiB pages",
    explanation: "A superpage is a leaf one level nearer to the root. What a walk costs comes from the machine's table of \
                  cycles for each page size; the tree's own memory references and the caches of its upper levels are in \
                  that mean and are not modelled one by one. With --memory, leaves are of whichever sizes a machine has.",
    source: "Intel SDM volume 3, section 4.5; Zhu 2018, chapter 6",
}];

/// A name that no machine has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no machine is called {name:?}")]
pub struct UnknownMachine {
    /// What was asked.
    pub name: String,
}

/// The names of the machines that are built in.
pub fn machine_names() -> impl Iterator<Item = &'static str> {
    MACHINES.iter().map(|(name, _)| *name)
}

/// The description of the built-in machine of that name, as its file has it.
///
/// # Errors
/// Where no machine has that name.
pub fn machine_text(name: &str) -> Result<&'static str, UnknownMachine> {
    let found = MACHINES.iter().find(|(known, _)| *known == name);
    let unknown = || UnknownMachine {
        name: name.to_string(),
    };
    found.map(|(_, text)| *text).ok_or_else(unknown)
}

/// Why a built-in machine is not to be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub enum NoMachine {
    /// No machine has that name.
    Unknown(#[from] UnknownMachine),
    /// Its description is wrong.
    Wrong(#[from] MachineError),
}

/// The built-in machine of that name.
///
/// # Errors
/// Where no machine has that name.
pub fn machine(name: &str) -> Result<Machine, NoMachine> {
    Ok(Machine::from_toml(machine_text(name)?)?)
}
