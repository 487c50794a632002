//! Names of the catalogues, for shells that complete an argument.

use broadleaf_machine::machine_names;
use broadleaf_study::catalogues::{explained_names, policy_names};
use broadleaf_study::native::NATIVE;
use broadleaf_study::papers::PAPERS;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};

/// A parser that takes any text, and offers names to shells. There are more names than can be
/// listed, such as `pop-77` or a machine's file. The command itself refuses names that are wrong.
#[derive(Clone, Debug)]
pub(crate) struct Offered(Vec<&'static str>);

/// Names of policies.
pub(crate) fn policies() -> Offered {
    Offered(policy_names().collect())
}

/// Names of machines, and the name for those of this computer.
pub(crate) fn machines() -> Offered {
    Offered(machine_names().chain([NATIVE]).collect())
}

/// Names of papers.
pub(crate) fn papers() -> Offered {
    Offered(PAPERS.iter().map(|paper| paper.name).collect())
}

/// Names of everything that can be explained.
pub(crate) fn everything() -> Offered {
    Offered(explained_names())
}

impl TypedValueParser for Offered {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().copied().map(PossibleValue::new)))
    }
}
