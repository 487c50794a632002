//! The faults of a chunk's executions, in one byte, so that valid executions cost nothing.

use crate::error::{Bad, Section};

/// A fault of a chunk's executions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExecutionFault {
    Run,
    Executions,
    LeftByNone,
    Left,
    SharedMask,
    NotPredicted,
    FewPatterns,
    NotDefined,
    LostDefinition,
    FewMasks,
    Mask,
    FewUnits,
    NotPlaced,
    Place,
    Address,
    Reach,
    SeveralReach,
}

impl From<ExecutionFault> for Bad {
    fn from(fault: ExecutionFault) -> Self {
        let (section, reason) = match fault {
            ExecutionFault::Run => (Section::Runs, "a number is cut short or too long"),
            ExecutionFault::Executions => (
                Section::Runs,
                "there are more executions than the chunk's totals",
            ),
            ExecutionFault::LeftByNone => (
                Section::Heads,
                "a head without an execution moves references",
            ),
            ExecutionFault::Left => (Section::Heads, "a head has an unknown kind"),
            ExecutionFault::SharedMask => (
                Section::Heads,
                "a pattern of more than 8 references needs a separate mask",
            ),
            ExecutionFault::NotPredicted => (
                Section::Heads,
                "a head predicts a pattern, and none followed before",
            ),
            ExecutionFault::FewPatterns => (Section::Patterns, "there are too few"),
            ExecutionFault::NotDefined => (Section::Patterns, "an executed pattern is not defined"),
            ExecutionFault::LostDefinition => (
                Section::Patterns,
                "the definition of an executed pattern was lost",
            ),
            ExecutionFault::FewMasks => (Section::Masks, "there are too few"),
            ExecutionFault::Mask => (
                Section::Masks,
                "a mask names references that the pattern lacks",
            ),
            ExecutionFault::FewUnits => (Section::Units, "there are too few"),
            ExecutionFault::NotPlaced => (
                Section::Units,
                "a reference repeats its unit before its first unit",
            ),
            ExecutionFault::Place => (Section::Places, "a number is cut short or too long"),
            ExecutionFault::Address => (Section::Places, "a unit lies past the last address"),
            ExecutionFault::Reach => (Section::Places, "accesses reach too far"),
            ExecutionFault::SeveralReach => (
                Section::Places,
                "a reference of several accesses reaches into further units",
            ),
        };
        Self::new(section, reason)
    }
}
