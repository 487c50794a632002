//! From a name to a policy.
//!
//! A policy is a catalogue name (`greedy`), a name with its number after a dash (`pop-64`, `life-1e6`), or a name with
//! its number in brackets (`pop(64)`, `life(x=1000000)`).

use crate::{Entry, Policy, entry};
use alloc::boxed::Box;
use alloc::string::{String, ToString};

/// Why a name is not a policy's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// No policy has that name.
    #[error("no policy is called {name:?}")]
    Unknown {
        /// What was asked.
        name: String,
    },
    /// The policy takes a number, and none was given.
    #[error("the policy {name} takes a number of {unit}: {syntax}, for example {example}")]
    Missing {
        /// The policy.
        name: String,
        /// How to write it.
        syntax: &'static str,
        /// What the number counts.
        unit: &'static str,
        /// A name that would do.
        example: &'static str,
    },
    /// The policy takes no number.
    #[error("the policy {name} takes no number")]
    Unwanted {
        /// The policy.
        name: String,
    },
    /// What stands in the number's place is none.
    #[error("{text:?} is not a number of {unit} for the policy {name}; write it as 64 or 1e6")]
    NotANumber {
        /// The policy.
        name: String,
        /// What was found.
        text: String,
        /// What the number counts.
        unit: &'static str,
    },
    /// The number is too small or too large.
    #[error("the policy {name} takes {least} to {most} {unit}")]
    OutOfRange {
        /// The policy.
        name: String,
        /// What the number counts.
        unit: &'static str,
        /// The least that is allowed.
        least: u64,
        /// The most that is allowed.
        most: u64,
    },
    /// The brackets hold another parameter's name.
    #[error("the policy {name} has no parameter {found:?}; its parameter is {parameter:?}")]
    UnknownParameter {
        /// The policy.
        name: String,
        /// What was found.
        found: String,
        /// What there is.
        parameter: &'static str,
    },
}

/// Makes the policy of that name.
///
/// ```
/// assert_eq!(broadleaf_policy::parse("life(x=1000000)").unwrap().name(), "life-1e6");
/// ```
///
/// # Errors
/// Says what is wrong with the name or its number.
pub fn parse(name: &str) -> Result<Box<dyn Policy>, ParseError> {
    let name = name.trim();
    known(name).unwrap_or_else(|| {
        Err(ParseError::Unknown {
            name: name.to_string(),
        })
    })
}

/// The policy of that name, or `None` where no entry of the catalogue has it.
fn known(name: &str) -> Option<Result<Box<dyn Policy>, ParseError>> {
    if let Some(entry) = entry(name) {
        return Some(entry.with(None));
    }
    if let Some((family, rest)) = name.split_once('(') {
        let (entry, inside) = (entry(family)?, rest.strip_suffix(')')?);
        return Some(in_brackets(entry, inside).and_then(|text| with_text(entry, text)));
    }
    let (family, text) = name.split_once('-')?;
    Some(with_text(entry(family)?, text))
}

/// The number inside brackets, with or without the parameter's name before it.
fn in_brackets<'a>(entry: &Entry, inside: &'a str) -> Result<&'a str, ParseError> {
    let Some((found, text)) = inside.split_once('=') else {
        return Ok(inside.trim());
    };
    match entry.parameter {
        Some(parameter) if parameter.name == found.trim() => Ok(text.trim()),
        Some(parameter) => Err(ParseError::UnknownParameter {
            name: entry.name.to_string(),
            found: found.trim().to_string(),
            parameter: parameter.name,
        }),
        None => Err(ParseError::Unwanted {
            name: entry.name.to_string(),
        }),
    }
}

fn with_text(entry: &Entry, text: &str) -> Result<Box<dyn Policy>, ParseError> {
    let Some(parameter) = entry.parameter else {
        return Err(ParseError::Unwanted {
            name: entry.name.to_string(),
        });
    };
    match number(text) {
        Number::Is(value) => entry.with(Some(value)),
        Number::TooLarge => entry.with(Some(u64::MAX)),
        Number::None => Err(ParseError::NotANumber {
            name: entry.name.to_string(),
            text: text.to_string(),
            unit: parameter.unit,
        }),
    }
}

enum Number {
    Is(u64),
    TooLarge,
    None,
}

/// Reads `64`, `1e6`, `25e5`.
fn number(text: &str) -> Number {
    let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let all_digits =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits(digits) || !all_digits(exponent) {
        return Number::None;
    }
    let value = digits.parse::<u64>().ok().zip(exponent.parse::<u32>().ok());
    match value.and_then(|(digits, exponent)| digits.checked_mul(10u64.checked_pow(exponent)?)) {
        Some(value) => Number::Is(value),
        None => Number::TooLarge,
    }
}

/// Writes a number as [`number`] reads it, the shorter way: three zeroes or more at the end become an exponent.
pub(crate) fn write_number(value: u64) -> String {
    let (mut digits, mut exponent) = (value, 0);
    while digits != 0 && digits.is_multiple_of(10) {
        digits /= 10;
        exponent += 1;
    }
    if exponent >= 3 {
        alloc::format!("{digits}e{exponent}")
    } else {
        value.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(name: &str) -> ParseError {
        parse(name)
            .err()
            .unwrap_or_else(|| panic!("{name} was taken for a policy"))
    }

    #[test]
    fn every_way_to_write_a_number() {
        for (written, name) in [
            ("pop-64", "pop-64"),
            ("pop(64)", "pop-64"),
            ("pop(n=64)", "pop-64"),
            ("pop( n = 64 )", "pop-64"),
            (" pop-64 ", "pop-64"),
            ("pop-1", "pop-1"),
            ("greedy", "greedy"),
            ("life-1e6", "life-1e6"),
            ("life-1000000", "life-1e6"),
            ("life(x=1000000)", "life-1e6"),
            ("life-25E5", "life-25e5"),
            ("life-1234", "life-1234"),
            ("thp-always", "thp-always"),
            ("4k", "4k"),
        ] {
            assert_eq!(parse(written).unwrap().name(), name, "{written}");
        }
    }

    #[test]
    fn unknown_names_are_told_apart_from_bad_numbers() {
        for name in ["", "gredy", "pup-64", "Freebsd", "4K", "pop(64"] {
            let unknown = ParseError::Unknown { name: name.into() };
            assert_eq!(error(name), unknown);
        }
    }

    #[test]
    fn bad_numbers_are_told_apart() {
        assert!(matches!(error("pop"), ParseError::Missing { .. }));
        assert!(matches!(error("pop-x"), ParseError::NotANumber { .. }));
        assert!(matches!(error("pop-"), ParseError::NotANumber { .. }));
        assert!(matches!(error("pop--1"), ParseError::NotANumber { .. }));
        assert!(matches!(
            error("pop-0"),
            ParseError::OutOfRange {
                least: 1,
                most: 512,
                ..
            }
        ));
        assert!(matches!(error("pop-513"), ParseError::OutOfRange { .. }));
        assert!(matches!(error("life-1e99"), ParseError::OutOfRange { .. }));
        assert!(matches!(
            error("life-1e99999999999"),
            ParseError::OutOfRange { .. }
        ));
        assert!(matches!(error("greedy-1"), ParseError::Unwanted { .. }));
        assert!(matches!(error("greedy(n=1)"), ParseError::Unwanted { .. }));
        assert!(matches!(
            error("pop(x=1)"),
            ParseError::UnknownParameter { .. }
        ));
        assert_eq!(
            error("pop-513").to_string(),
            "the policy pop takes 1 to 512 base pages"
        );
    }
}
