//! The file of rules, and what is said of one that is wrong.

use std::path::Path;

use broadleaf_governor::service::{Fault, Service, Wrong};
use broadleaf_policy::ParseError;

use crate::commands::in_file::InFile;
use crate::commands::names;
use crate::failure::Failure;

/// What a file says.
///
/// # Errors
/// With line and column: the first thing that is wrong with it.
pub(super) fn read(path: &Path) -> Result<Service, Failure> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| Failure::reading(&name, &error))?;
    let users = |name: &str| uzers::get_user_by_name(name).map(|user| user.uid());
    let file = InFile {
        name: &name,
        text: &text,
    };
    Service::parse(&text, &users).map_err(|wrong| refusal(&file, &wrong))
}

fn refusal(file: &InFile<'_>, wrong: &Wrong) -> Failure {
    let at = wrong.at.clone();
    match &wrong.fault {
        Fault::NoPolicy { text, error } => match error {
            ParseError::Expression(error) => file.inside(text, &at, error),
            _ => match names::policy(text) {
                // What was said of the name, with the names that may have been meant.
                Err(said) => file.wrong(at, &said.to_string()),
                Ok(_) => file.wrong(at, &error.to_string()),
            },
        },
        Fault::UnknownKey { found, known } => file.wrong(at, &names::no_key(found, known)),
        fault => file.wrong(at, &fault.to_string()),
    }
}
