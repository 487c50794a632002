//! The options in brackets after `promote`.

use super::{ExpressionError, FORM};
use crate::Parameter;
use crate::parameter::{GivenParameters, ParameterValue, listed};
use alloc::string::ToString;
use alloc::vec::Vec;
use broadleaf_units::SizeSet;

/// The options of an expression.
pub(super) const OPTIONS: &[Parameter] = &[
    Parameter::sizes(
        "sizes",
        SizeSet::Block,
        "The superpage sizes in use, of those that the machine has. The policy is asked about each \
         piece of such a size separately.",
    ),
    Parameter::word(
        "frames",
        &["reserved", "any"],
        "reserved",
        "With `reserved`, a block's first fault reserves an extent of frames. With `any`, each \
         page gets any frame, and a superpage is made by copying, or at the first fault.",
    ),
    Parameter::switch(
        "copies",
        false,
        "Promotion of blocks without a reservation, and of blocks with pages outside their \
         reservation, by copying.",
    ),
    Parameter::period(
        "scan",
        0,
        0,
        "The time between two rounds of a daemon that asks about all blocks; 0 is no daemon. \
         Accesses are those of a program that makes 1e9 per second; --rate gives another rate.",
    ),
];

/// Parses the options in brackets. Returns their values, and the offset of the byte after the
/// bracket.
pub(super) fn options(text: &str) -> Result<(GivenParameters, usize), ExpressionError> {
    let error = |from: usize, to: usize, message: &dyn ToString| {
        Err(ExpressionError::new(text, from..to, message.to_string()))
    };
    let start = text.len() - text.trim_start().len();
    if !text[start..].starts_with(FORM.name) {
        return error(start, start, &"expected `promote`");
    }
    let start = start + FORM.name.len();
    let open = text.len() - text[start..].trim_start().len();
    let mut given: Vec<(&Parameter, ParameterValue)> = Vec::new();
    let mut end = start;
    if let Some(rest) = text[open..].strip_prefix('(') {
        let Some(inside) = rest
            .split(')')
            .next()
            .filter(|inside| inside.len() < rest.len())
        else {
            return error(open, open + 1, &"this bracket is not closed");
        };
        end = open + inside.len() + 2;
        let mut next = open + 1;
        for part in inside.split(',') {
            let from = next + part.len() - part.trim_start().len();
            next += part.len() + 1;
            let part = part.trim();
            let names: Vec<&str> = OPTIONS.iter().map(|known| known.name).collect();
            let Some((name, value)) = part.split_once('=') else {
                // An empty list is valid, as in `linux()`.
                if inside.trim().is_empty() {
                    continue;
                }
                return error(
                    from,
                    from + part.len(),
                    &"options are given by name, as in promote(sizes=all)",
                );
            };
            let name = name.trim_end();
            let Some(option) = OPTIONS.iter().find(|known| known.name == name) else {
                let message = alloc::format!(
                    "no option is called {name:?}: there are {}",
                    listed(&names, "and")
                );
                return error(from, from + name.len(), &message);
            };
            if given.iter().any(|(known, _)| known.name == name) {
                return error(
                    from,
                    from + name.len(),
                    &alloc::format!("{name:?} is given twice"),
                );
            }
            let at = from + part.len() - value.trim_start().len();
            match option.read(FORM.name, value) {
                Ok(value) => given.push((option, value)),
                Err(wrong) => return error(at, from + part.len(), &wrong),
            }
        }
    }
    let of = |option: &'static Parameter| {
        let given = given.iter().find(|(known, _)| known.name == option.name);
        Some((option, given.map(|(_, value)| *value).or(option.default)?))
    };
    Ok((
        GivenParameters::new(FORM.name, OPTIONS.iter().filter_map(of).collect()),
        end,
    ))
}
