//! What can be wrong with the executions of a chunk, in one byte, so that what is right costs nothing.

use crate::error::{Bad, Section};

/// What is wrong with the executions of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Run,
    Executions,
    LeftByNone,
    Left,
    NoMaskOfItsOwn,
    NotForetold,
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

impl From<Fault> for Bad {
    fn from(fault: Fault) -> Self {
        let (section, reason) = match fault {
            Fault::Run => (Section::Runs, "a number is cut short or too long"),
            Fault::Executions => (Section::Runs, "more executions than the chunk says it has"),
            Fault::LeftByNone => (
                Section::Heads,
                "references of no execution leave their units",
            ),
            Fault::Left => (Section::Heads, "a head is of no known kind"),
            Fault::NoMaskOfItsOwn => (
                Section::Heads,
                "a pattern of more than 8 references has no mask of its own",
            ),
            Fault::NotForetold => (
                Section::Heads,
                "a pattern is foretold where none followed before",
            ),
            Fault::FewPatterns => (Section::Patterns, "there are too few"),
            Fault::NotDefined => (
                Section::Patterns,
                "a pattern is executed that is not defined",
            ),
            Fault::LostDefinition => (
                Section::Patterns,
                "a pattern is executed whose definition was lost",
            ),
            Fault::FewMasks => (Section::Masks, "there are too few"),
            Fault::Mask => (
                Section::Masks,
                "references leave their units that the pattern does not have",
            ),
            Fault::FewUnits => (Section::Units, "there are too few"),
            Fault::NotPlaced => (
                Section::Units,
                "a reference stays where it was before it was anywhere",
            ),
            Fault::Place => (Section::Places, "a number is cut short or too long"),
            Fault::Address => (Section::Places, "a unit lies past the last address"),
            Fault::Reach => (Section::Places, "accesses reach further than they may"),
            Fault::SeveralReach => (
                Section::Places,
                "a reference of several accesses reaches into further units",
            ),
        };
        Self::new(section, reason)
    }
}
