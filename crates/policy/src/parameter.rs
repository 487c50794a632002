//! The parameters of policies: numbers, words, sets of page sizes and shares of a cache.

use crate::written::{
    Number, number, period, shares, sizes, write_number, write_shares, write_sizes,
};
use crate::{NOMINAL_RATE, ParseError};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use broadleaf_units::{SizeSet, WantedShares};

/// A parameter of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The name in brackets: `life(x=1000000)`.
    pub name: &'static str,
    /// The valid values.
    pub kind: ParameterKind,
    /// The default. `None` if the name must give a value: the number of a family (`pop-N`).
    pub default: Option<ParameterValue>,
    /// The meaning, as a noun phrase or a sentence.
    pub meaning: &'static str,
    /// Other parameters with their values, as written. Another value than the default has an effect
    /// only beside one of them. Empty if it has one beside any values.
    pub only_with: &'static [(&'static str, &'static str)],
}

/// The kind of a parameter's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// A number.
    Number {
        /// The unit.
        unit: &'static str,
        /// The minimum.
        least: u64,
        /// The maximum.
        most: u64,
    },
    /// One of these words.
    Word(&'static [&'static str]),
    /// A set of page sizes.
    Sizes,
    /// Shares of a cache.
    Shares,
}

/// The value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterValue {
    /// A number.
    Number(u64),
    /// One of the words.
    Word(&'static str),
    /// A set of page sizes.
    Sizes(SizeSet),
    /// Shares of a cache.
    Shares(WantedShares),
}

/// The words of a switch.
const SWITCH: &[&str] = &["on", "off"];

impl Parameter {
    /// A number with a default.
    pub(crate) const fn number(
        name: &'static str,
        unit: &'static str,
        (least, most): (u64, u64),
        default: u64,
        meaning: &'static str,
    ) -> Self {
        let kind = ParameterKind::Number { unit, least, most };
        let default = Some(ParameterValue::Number(default));
        Self {
            name,
            kind,
            default,
            meaning,
            only_with: &[],
        }
    }

    /// The unit of a period. The value may also be in seconds.
    const PERIOD: &str = "accesses, or time such as 10s or 100ms";

    /// The time between two turns of a daemon, in accesses at [`NOMINAL_RATE`].
    pub(crate) const fn period(
        name: &'static str,
        least: u64,
        default: u64,
        meaning: &'static str,
    ) -> Self {
        let most = 1_000_000_000_000_000_000;
        Self::number(name, Self::PERIOD, (least, most), default, meaning)
    }

    /// A choice among words.
    pub(crate) const fn word(
        name: &'static str,
        words: &'static [&'static str],
        default: &'static str,
        meaning: &'static str,
    ) -> Self {
        let kind = ParameterKind::Word(words);
        let default = Some(ParameterValue::Word(default));
        Self {
            name,
            kind,
            default,
            meaning,
            only_with: &[],
        }
    }

    /// A switch with the values `on` and `off`.
    pub(crate) const fn switch(name: &'static str, on: bool, meaning: &'static str) -> Self {
        Self::word(name, SWITCH, if on { "on" } else { "off" }, meaning)
    }

    /// A set of page sizes.
    pub(crate) const fn sizes(name: &'static str, default: SizeSet, meaning: &'static str) -> Self {
        let default = Some(ParameterValue::Sizes(default));
        Self {
            name,
            kind: ParameterKind::Sizes,
            default,
            meaning,
            only_with: &[],
        }
    }

    /// Shares of a cache.
    pub(crate) const fn shares(
        name: &'static str,
        default: WantedShares,
        meaning: &'static str,
    ) -> Self {
        let default = Some(ParameterValue::Shares(default));
        Self {
            name,
            kind: ParameterKind::Shares,
            default,
            meaning,
            only_with: &[],
        }
    }

    /// Refuses another value than the default, unless one of these parameters has this value.
    pub(crate) const fn only_with(
        mut self,
        others: &'static [(&'static str, &'static str)],
    ) -> Self {
        self.only_with = others;
        self
    }

    /// Reads the text of a value. `policy` names the policy in errors.
    pub(crate) fn read(
        &self,
        policy: &'static str,
        text: &str,
    ) -> Result<ParameterValue, ParseError> {
        let text = text.trim();
        match self.kind {
            ParameterKind::Number { unit, least, most } => {
                // The number of a family has no name in errors.
                let parameter = self.default.map(|_| self.name);
                let read = if unit == Self::PERIOD {
                    period(text, NOMINAL_RATE)
                } else {
                    number(text)
                };
                match read {
                    Number::Is(value) if (least..=most).contains(&value) => {
                        Ok(ParameterValue::Number(value))
                    }
                    Number::Is(_) | Number::TooLarge => Err(ParseError::OutOfRange {
                        name: policy,
                        parameter,
                        unit,
                        least,
                        most,
                    }),
                    Number::None => Err(ParseError::NotANumber {
                        name: policy,
                        parameter,
                        text: text.to_string(),
                        unit,
                    }),
                }
            }
            ParameterKind::Word(known) => match known.iter().find(|word| **word == text) {
                Some(word) => Ok(ParameterValue::Word(word)),
                None => Err(ParseError::UnknownWord {
                    name: policy,
                    parameter: self.name,
                    found: text.to_string(),
                    known,
                }),
            },
            ParameterKind::Sizes => match sizes(text) {
                Some(sizes) => Ok(ParameterValue::Sizes(sizes)),
                None => Err(ParseError::NotSizes {
                    name: policy,
                    parameter: self.name,
                    text: text.to_string(),
                }),
            },
            ParameterKind::Shares => match shares(text) {
                Some(shares) => Ok(ParameterValue::Shares(shares)),
                None => Err(ParseError::NotShares {
                    name: policy,
                    parameter: self.name,
                    text: text.to_string(),
                    most: WantedShares::MOST,
                }),
            },
        }
    }
}

impl ParameterKind {
    /// The valid values in words: `0 to 511 base pages`.
    pub fn in_words(&self) -> String {
        match self {
            Self::Number { unit, least, most } => {
                alloc::format!("{} to {} {unit}", write_number(*least), write_number(*most))
            }
            Self::Word(words) => listed(words, "or"),
            Self::Sizes => "page sizes such as 64k+2m, all or none".to_string(),
            Self::Shares => "shares such as 1/4+1/2+1/8+1/8".to_string(),
        }
    }
}

impl ParameterValue {
    /// The value in the notation of a policy's name.
    pub fn written(&self) -> String {
        match self {
            Self::Number(number) => write_number(*number),
            Self::Word(word) => word.to_string(),
            Self::Sizes(sizes) => write_sizes(*sizes),
            Self::Shares(shares) => write_shares(shares),
        }
    }
}

/// Joins names with commas, and with `last` before the last name: `a, b or c`.
pub(crate) fn listed(names: &[&str], last: &str) -> String {
    match names {
        [] => String::new(),
        [one] => one.to_string(),
        [others @ .., end] => alloc::format!("{} {last} {end}", others.join(", ")),
    }
}

/// The parameter values of a policy, in the order of its parameters.
#[derive(Clone, Debug)]
pub(crate) struct GivenParameters {
    policy: &'static str,
    values: Vec<(&'static Parameter, ParameterValue)>,
}

impl GivenParameters {
    pub(crate) const fn new(
        policy: &'static str,
        values: Vec<(&'static Parameter, ParameterValue)>,
    ) -> Self {
        Self { policy, values }
    }

    fn value(&self, name: &str) -> Option<ParameterValue> {
        let mut values = self.values.iter();
        values
            .find(|(parameter, _)| parameter.name == name)
            .map(|(_, value)| *value)
    }

    /// The number with this name. Returns 0 if the policy has none; a test of the catalogue detects
    /// that.
    pub(crate) fn number(&self, name: &str) -> u64 {
        match self.value(name) {
            Some(ParameterValue::Number(number)) => number,
            _ => 0,
        }
    }

    /// The number with this name, limited to 32 bits.
    pub(crate) fn small(&self, name: &str) -> u32 {
        u32::try_from(self.number(name)).unwrap_or(u32::MAX)
    }

    /// The word with this name; empty if the policy has none.
    pub(crate) fn word(&self, name: &str) -> &'static str {
        match self.value(name) {
            Some(ParameterValue::Word(word)) => word,
            _ => "",
        }
    }

    /// Returns true if the switch with this name is on.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.word(name) == "on"
    }

    /// The set of page sizes with this name; empty if the policy has none.
    pub(crate) fn sizes(&self, name: &str) -> SizeSet {
        match self.value(name) {
            Some(ParameterValue::Sizes(sizes)) => sizes,
            _ => SizeSet::These(0),
        }
    }

    /// The shares with this name; `None` if the policy has none.
    pub(crate) fn shares(&self, name: &str) -> Option<WantedShares> {
        match self.value(name) {
            Some(ParameterValue::Shares(shares)) => Some(shares),
            _ => None,
        }
    }

    /// The policy's name with all parameters that differ from their defaults:
    /// `linux(enabled=madvise)`. For policies whose parameters all have defaults.
    pub(crate) fn name(&self) -> String {
        let given = self.values.iter();
        let given: Vec<String> = given
            .filter(|(parameter, value)| parameter.default != Some(*value))
            .map(|(parameter, value)| alloc::format!("{}={}", parameter.name, value.written()))
            .collect();
        if given.is_empty() {
            String::from(self.policy)
        } else {
            alloc::format!("{}({})", self.policy, given.join(","))
        }
    }
}
