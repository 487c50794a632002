//! Policies and machines by name, and the errors for unknown names.

use broadleaf_machine::{Machine, NoMachine, grid_kinds, machine_names};
use broadleaf_policy::{GivenPolicy, ParseError, Policy, catalogue, parse};
use broadleaf_units::did_you_mean;

use crate::failure::Failure;
use crate::policies_file::Named;

/// Returns the policy with this name.
///
/// # Errors
/// [`Failure::Wrong`] if the name is unknown or a parameter is wrong.
pub fn policy(name: &str) -> Result<Box<dyn Policy>, Failure> {
    policy_or(name, &[])
}

/// Makes a policy of an earlier replay again, by its name in results. `given` holds those that have
/// no name in the catalogue.
pub(crate) fn again(name: &str, given: &[GivenPolicy]) -> Result<Box<dyn Policy>, ParseError> {
    match given.iter().find(|given| given.name() == name) {
        Some(given) => Ok(Box::new(given.clone())),
        None => parse(name),
    }
}

/// Returns the policy with this name, or the user's expression with this name.
pub(crate) fn policy_or(name: &str, named: &[Named]) -> Result<Box<dyn Policy>, Failure> {
    if let Some(named) = named.iter().find(|named| named.name == name.trim()) {
        return Ok(Box::new(named.policy.clone()));
    }
    parse(name).map_err(|error| match error {
        ParseError::Unknown { name } => {
            let mut known = known_policies(&name);
            known.extend(named.iter().map(|named| named.name.clone()));
            let known = known.iter().map(String::as_str);
            unknown("no policy", &name, known, "broadleaf list policies")
        }
        error => no_policy(error),
    })
}

/// The failure for an invalid policy name. For an unknown parameter, the failure suggests the
/// nearest parameter.
pub fn no_policy(error: ParseError) -> Failure {
    match error {
        ParseError::UnknownParameter { name, found, known } => {
            let nothing = format!("no parameter of the policy {name}");
            unknown(
                &nothing,
                &found,
                known,
                &format!("broadleaf explain {name}"),
            )
        }
        error => Failure::wrong(error),
    }
}

/// Splits an argument into names at commas. A comma inside brackets belongs to its name.
pub fn apart(names: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    names
        .split(|letter| {
            match letter {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            letter == ',' && depth == 0
        })
        .collect()
}

/// The names that a user may have meant by `name`: the examples of all policies, and every family's
/// member with the given number. For `pup-77`, one of them is `pop-77`.
pub fn known_policies(name: &str) -> Vec<String> {
    // `pop64` lacks its dash.
    let at = name
        .find(['-', '('])
        .or_else(|| name.find(|letter: char| letter.is_ascii_digit()))
        .unwrap_or(name.len());
    let (word, number) = name.split_at(at);
    let number = number.trim_start_matches('-');
    let mut known = Vec::new();
    for entry in catalogue() {
        let dashed = [entry.name, "-", number].concat();
        let bracketed = [entry.name, number].concat();
        let member = parse(&dashed).or_else(|_| parse(&bracketed));
        let member = member.map(|policy| policy.name());
        // A user who writes a family's name and a number means this number.
        if entry.name == word && member.is_ok() {
            return member.into_iter().collect();
        }
        known.extend(entry.examples.iter().map(|example| (*example).to_owned()));
        known.extend(member);
        // A family's name needs a number, so the name alone is not a suggestion.
        known.extend(parse(entry.name).map(|policy| policy.name()));
    }
    known
}

/// Returns the built-in machine with this name.
///
/// # Errors
/// [`Failure::Wrong`] if the name is unknown.
pub fn machine(name: &str) -> Result<Machine, Failure> {
    broadleaf_machine::machine(name).map_err(|error| match (error, name.split_once(':')) {
        // Only grids have keys with values after a colon.
        (NoMachine::Unknown(_), Some((kind, keys))) if keys.contains('=') => unknown(
            "no TLB of a grid",
            kind,
            grid_kinds().map(|(kind, _)| kind.name),
            "broadleaf compare --help",
        ),
        (NoMachine::Unknown(_), _) => unknown(
            "no machine",
            name,
            machine_names(),
            "broadleaf list machines",
        ),
        (error, _) => Failure::wrong(error),
    })
}

/// The failure for an unknown name. It suggests the nearest of the `known` names, and the command
/// `list`, which lists all names.
pub fn unknown<'a>(
    nothing: &str,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
    list: &str,
) -> Failure {
    let near = did_you_mean(name, known);
    Failure::Wrong(format!(
        "{nothing} is called {name:?}{near} (`{list}` names all)"
    ))
}

#[cfg(test)]
mod tests {
    use super::{apart, policy};
    use crate::failure::Failure;

    #[test]
    fn commas_stand_between_names_and_not_inside_them() {
        assert_eq!(apart("4k,freebsd"), ["4k", "freebsd"]);
        assert_eq!(apart("f(a, b),4k"), ["f(a, b)", "4k"]);
        assert_eq!(apart("4k"), ["4k"]);
        assert_eq!(apart("4k,"), ["4k", ""]);
        assert_eq!(
            apart("4k,promote(sizes=all,copies=on) if (dirty > 1); demote if writable,pop-64"),
            [
                "4k",
                "promote(sizes=all,copies=on) if (dirty > 1); demote if writable",
                "pop-64"
            ]
        );
        assert_eq!(
            apart("4k,linux(enabled=madvise,defrag=defer),pop-64"),
            ["4k", "linux(enabled=madvise,defrag=defer)", "pop-64"]
        );
    }

    #[test]
    fn a_parameter_that_is_unknown_is_answered_with_the_nearest() {
        let answer = |name: &str| match policy(name) {
            Err(Failure::Wrong(text)) => text,
            _ => panic!("{name} was taken for a policy"),
        };
        assert_eq!(
            answer("linux(enable=never)"),
            "no parameter of the policy linux is called \"enable\"; did you mean enabled? \
             (`broadleaf explain linux` names all)"
        );
        assert!(answer("linux(max_ptes=0)").contains("max_ptes_none"));
        assert!(answer("linx").contains("did you mean linux?"));
        assert!(answer("linux(enabled=on)").contains("always, madvise and never"));
    }
}
