//! Policies and machines by name, and what is answered to a name that is unknown.

use broadleaf_policy::{ParseError, Policy, catalogue, parse};
use broadleaf_report::nearest;
use broadleaf_translation::{Machine, NoMachine, machine_names};

use crate::failure::Failure;

/// The policy of that name.
pub(crate) fn policy(name: &str) -> Result<Box<dyn Policy>, Failure> {
    parse(name).map_err(|error| match error {
        ParseError::Unknown { name } => {
            let known = known_policies(&name);
            let known = known.iter().map(String::as_str);
            unknown("no policy", &name, known, "broadleaf list policies")
        }
        error => Failure::wrong(error),
    })
}

/// The names that someone may have meant who wrote `name`: those that are ready to use, and every family's member with the
/// number that was written, so that `pup-77` is answered with `pop-77`.
fn known_policies(name: &str) -> Vec<String> {
    let number = name.find(['-', '(']).map_or("", |at| &name[at..]);
    let mut known = Vec::new();
    for entry in catalogue() {
        known.extend(entry.examples.iter().map(|example| (*example).to_owned()));
        let member = [entry.name, number].concat();
        known.extend(parse(&member).map(|policy| policy.name()));
    }
    known
}

/// The built-in machine of that name.
pub(crate) fn machine(name: &str) -> Result<Machine, Failure> {
    broadleaf_translation::machine(name).map_err(|error| match error {
        NoMachine::Unknown(_) => unknown(
            "no machine",
            name,
            machine_names(),
            "broadleaf list machines",
        ),
        error => Failure::wrong(error),
    })
}

/// The refusal of an unknown name: `nothing` is called so, the nearest of the `known` are, and a command lists all.
pub(crate) fn unknown<'a>(
    nothing: &str,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
    list: &str,
) -> Failure {
    let near = match nearest(name, known).as_slice() {
        [] => String::new(),
        [one] => format!("; did you mean {one}?"),
        [others @ .., last] => format!("; did you mean {} or {last}?", others.join(", ")),
    };
    Failure::Wrong(format!(
        "{nothing} is called {name:?}{near} (`{list}` names all)"
    ))
}
