//! What stands in brackets behind `promote`.

use super::{ExpressionError, FORM};
use crate::parameter::{Given, Value, listed};
use crate::{Parameter, Sizes};
use alloc::string::ToString;
use alloc::vec::Vec;

/// What may be said beside the expression.
pub(super) const OPTIONS: &[Parameter] = &[
    Parameter::sizes(
        "sizes",
        Sizes::Block,
        "Which superpages there are, of those that the machine has; each piece of memory of such a size is asked about by itself.",
    ),
    Parameter::word(
        "frames",
        &["reserved", "any"],
        "reserved",
        "Whether an extent of frames is set aside for a block at its first fault; or each page gets any frame, and a superpage is made by copying, or at the first fault.",
    ),
    Parameter::switch(
        "copies",
        false,
        "Whether a block becomes a superpage too where it has no reservation or its pages lie elsewhere: they are copied together.",
    ),
    Parameter::period(
        "scan",
        0,
        0,
        "The time between two rounds of a daemon that asks about all blocks; 0 is no daemon. Accesses are those of a program that makes 1e9 per second; --rate gives another rate.",
    ),
];

/// What a text says in brackets, and the byte behind it.
pub(super) fn options(text: &str) -> Result<(Given, usize), ExpressionError> {
    let error = |from: usize, to: usize, message: &dyn ToString| {
        Err(ExpressionError::new(text, from..to, message.to_string()))
    };
    let start = text.len() - text.trim_start().len();
    if !text[start..].starts_with(FORM.name) {
        return error(start, start, &"expected `promote`");
    }
    let start = start + FORM.name.len();
    let open = text.len() - text[start..].trim_start().len();
    let mut told: Vec<(&Parameter, Value)> = Vec::new();
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
                // As `linux()` is `linux`.
                if inside.trim().is_empty() {
                    continue;
                }
                return error(
                    from,
                    from + part.len(),
                    &"options are told by name, as in promote(sizes=all)",
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
            if told.iter().any(|(known, _)| known.name == name) {
                return error(
                    from,
                    from + name.len(),
                    &alloc::format!("{name:?} is given twice"),
                );
            }
            let at = from + part.len() - value.trim_start().len();
            match option.read(FORM.name, value) {
                Ok(value) => told.push((option, value)),
                Err(wrong) => return error(at, from + part.len(), &wrong),
            }
        }
    }
    let of = |option: &'static Parameter| {
        let given = told.iter().find(|(known, _)| known.name == option.name);
        Some((option, given.map(|(_, value)| *value).or(option.default)?))
    };
    Ok((
        Given::new(FORM.name, OPTIONS.iter().filter_map(of).collect()),
        end,
    ))
}
