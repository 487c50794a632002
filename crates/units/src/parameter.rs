//! Parameters of entries of catalogues: keys of a description of a machine.

use crate::PageSize;
use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use core::fmt;

/// A parameter of a structure of a machine: of a TLB organisation, a replacement rule or a page
/// table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StructureParameter {
    /// The key in a machine's description.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// The value if a description gives none.
    pub default: StructureValue,
    /// The values that a description can give.
    pub allowed: AllowedValues,
}

/// The values that a parameter can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllowedValues {
    /// Yes or no.
    Flags,
    /// Sizes in bytes.
    Sizes,
    /// One of these words.
    Words(&'static [&'static str]),
    /// The whole numbers from the first to the second.
    Numbers(u64, u64),
}

/// A value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StructureValue {
    /// Yes or no.
    Flag(bool),
    /// A size in bytes. `None` if a description has to give the size.
    Size(Option<PageSize>),
    /// A word.
    Word(&'static str),
    /// A number.
    Number(u64),
}

/// The reason why an entry of a catalogue cannot have a parameter of a name, or the parameter a
/// value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StructureParameterError {
    /// There is no parameter of that name.
    Unknown {
        /// The catalogue of the owner, in the singular.
        kind: &'static str,
        /// The name of the entry.
        owner: &'static str,
        /// The name of the parameter.
        name: String,
    },
    /// The text is no name with parameters in brackets.
    Form {
        /// The text.
        text: String,
    },
    /// The parameter has no such value.
    Value {
        /// The name of the parameter.
        name: &'static str,
        /// The values that the parameter can have, in words.
        expected: String,
        /// The text that is no such value.
        found: String,
    },
}

impl fmt::Display for StructureParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { kind, owner, name } => {
                write!(f, "{kind} {owner} has no parameter {name:?}")
            }
            Self::Form { text } => {
                write!(
                    f,
                    "{text:?} is no name with parameters; write name(key=value, key=value)"
                )
            }
            Self::Value {
                name,
                expected,
                found,
            } => write!(f, "{name} is {expected}, not {found:?}"),
        }
    }
}

impl core::error::Error for StructureParameterError {}

impl StructureParameter {
    /// A parameter that is true or false.
    pub const fn flag(name: &'static str, default: bool, summary: &'static str) -> Self {
        Self {
            name,
            summary,
            default: StructureValue::Flag(default),
            allowed: AllowedValues::Flags,
        }
    }

    /// A parameter that is one of some words. The first word is the default.
    pub const fn word(
        name: &'static str,
        words: &'static [&'static str],
        summary: &'static str,
    ) -> Self {
        Self {
            name,
            summary,
            default: StructureValue::Word(words[0]),
            allowed: AllowedValues::Words(words),
        }
    }

    /// A size that a description has to give.
    pub const fn size(name: &'static str, summary: &'static str) -> Self {
        Self {
            name,
            summary,
            default: StructureValue::Size(None),
            allowed: AllowedValues::Sizes,
        }
    }

    /// A whole number with a smallest and a largest value.
    pub const fn number(
        name: &'static str,
        (least, most): (u64, u64),
        default: u64,
        summary: &'static str,
    ) -> Self {
        Self {
            name,
            summary,
            default: StructureValue::Number(default),
            allowed: AllowedValues::Numbers(least, most),
        }
    }

    /// The smallest and the largest value of a number.
    pub const fn range(&self) -> Option<(u64, u64)> {
        match self.allowed {
            AllowedValues::Numbers(least, most) => Some((least, most)),
            _ => None,
        }
    }

    /// The value that a text gives.
    ///
    /// # Errors
    /// Returns an error if the parameter has no such value.
    pub fn parse(&self, text: &str) -> Result<StructureValue, StructureParameterError> {
        let wrong = |expected: String| StructureParameterError::Value {
            name: self.name,
            expected,
            found: text.to_owned(),
        };
        let value = match self.allowed {
            AllowedValues::Flags => text.parse().ok().map(StructureValue::Flag),
            AllowedValues::Sizes => {
                PageSize::from_short_name(text).map(|size| StructureValue::Size(Some(size)))
            }
            AllowedValues::Words(words) => {
                let found = words.iter().find(|word| **word == text);
                found.map(|word| StructureValue::Word(word))
            }
            AllowedValues::Numbers(least, most) => {
                let number: Result<u64, _> = text.parse();
                let number = number.map_err(|_| wrong("a whole number".to_owned()))?;
                let is_inside = (least..=most).contains(&number);
                is_inside.then_some(StructureValue::Number(number))
            }
        };
        value.ok_or_else(|| wrong(self.allowed.to_string()))
    }
}

/// The values in words.
impl fmt::Display for AllowedValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flags => f.write_str("true or false"),
            Self::Sizes => f.write_str("a power of two such as \"16k\""),
            Self::Words(words) => write!(f, "one of {}", words.join(", ")),
            Self::Numbers(least, most) => write!(f, "{least} to {most}"),
        }
    }
}

impl StructureValue {
    /// The number, if the value is one.
    pub const fn number(self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(number),
            _ => None,
        }
    }
}

/// The value as a description gives it. A size that is still to be given is empty.
impl fmt::Display for StructureValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => flag.fmt(f),
            Self::Size(Some(size)) => size.short_name().fmt(f),
            Self::Size(None) => Ok(()),
            Self::Word(word) => f.write_str(word),
            Self::Number(number) => number.fmt(f),
        }
    }
}
