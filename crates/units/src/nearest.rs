//! Suggestions for an unknown name: the nearest known names.

use crate::distance::edit_distance;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Returns at most three known names that are near to `unknown`, nearest first.
///
/// A name is near if one of both names begins with the other, or if it contains the typed name. It
/// is also near if at most a third of the longer name's letters must change.
fn nearest<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    const SHOWN: usize = 3;
    let wanted = plain(unknown);
    let mut found: Vec<(usize, &str)> = known
        .into_iter()
        .filter_map(|name| {
            let candidate = plain(name);
            let begins = wanted.len() >= 2
                && (candidate.starts_with(&wanted) || wanted.starts_with(&candidate));
            let holds = wanted.len() >= 3 && candidate.contains(&wanted);
            let changes = edit_distance(&wanted, &candidate);
            let allowed = wanted.len().max(candidate.len()).div_ceil(3);
            (begins || holds || changes <= allowed).then_some((changes, name))
        })
        .collect();
    // The sort is stable, so equally near names keep the catalogue's order.
    found.sort_by_key(|&(changes, _)| changes);
    let mut names = Vec::new();
    for (_, name) in found {
        if names.len() < SHOWN && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Returns a question with the nearest names, to append to a refusal: `; did you mean lru?`. It is
/// empty if no name is near.
pub fn did_you_mean<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    match nearest(unknown, known).as_slice() {
        [] => String::new(),
        [one] => format!("; did you mean {one}?"),
        [others @ .., last] => format!("; did you mean {} or {last}?", others.join(", ")),
    }
}

/// The refusal of a key that a table of a file does not have, with the nearest keys and all.
pub fn no_key(found: &str, known: &[&str]) -> String {
    let near = did_you_mean(found, known.iter().copied());
    let known = known.join(", ");
    format!("no key is called {found:?} here{near} (there are {known})")
}

/// Returns letters and digits in lower case, so that `THP_always` equals `thp-always`.
fn plain(name: &str) -> String {
    name.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|letter| letter.to_ascii_lowercase())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 7] = [
        "4k",
        "freebsd",
        "foresight",
        "greedy",
        "pop-64",
        "dirty-64",
        "thp-always",
    ];

    #[test]
    fn a_slip_finds_its_name_first() {
        for (typed, meant) in [
            ("freebds", "freebsd"),
            ("FreeBSD", "freebsd"),
            ("greddy", "greedy"),
            ("pop64", "pop-64"),
            ("thp", "thp-always"),
            ("lway", "thp-always"),
            ("thp_always", "thp-always"),
            ("4kb", "4k"),
            ("dirty-64k", "dirty-64"),
            ("pop(64", "pop-64"),
        ] {
            assert_eq!(nearest(typed, KNOWN).first(), Some(&meant), "{typed}");
        }
    }

    #[test]
    fn a_name_that_is_known_twice_is_suggested_once() {
        assert_eq!(
            nearest("gredy", ["greedy", "freebsd", "greedy"]),
            ["greedy"]
        );
    }

    #[test]
    fn nothing_is_near_to_nonsense() {
        assert_eq!(nearest("zzzzzzzzzzz", KNOWN), [""; 0]);
        assert_eq!(nearest("", KNOWN), [""; 0]);
    }
}
