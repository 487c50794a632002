//! Machines: TLBs, page table, caches and walk costs, read from one TOML description.
//!
//! A [`Machine`] is a validated value. It holds no state of a run, such as mapped pages.
#![forbid(unsafe_code)]

mod caches;
mod catalogue;
mod costs;
mod description;
mod error;
mod far_memory;
mod fractured;
mod grid;
mod lines;
mod loads;
mod native;
mod parameters;
mod price;
mod structure;
mod walk_caches;

pub use broadleaf_cache::HierarchySpec;
pub use caches::{CoreSpec, MachineCaches};
pub use catalogue::{
    NoMachine, UnknownMachine, machine, machine_names, machine_text, part_parameters, parts,
};
pub use costs::WalkCosts;
pub use description::Machine;
pub use error::MachineError;
pub use far_memory::FarMemory;
pub use grid::{GridError, grid_kinds, is_grid, machines_of_grid};
pub use lines::WalkLines;
pub use loads::{LoadCycles, LoadTable};
pub use native::{
    CPUID_FEATURES, Contradiction, CoreFacts, CoreIdentity, CoreType, CpuidFeature, CpuidRegisters,
    NativeFit, NoFit, ProcessorPattern, TranslationLeaf, Unfit, cpuid_facts, native_machine,
};
pub use price::tlb_plan;
