//! What a policy can be told in its name: numbers, words and sets of page sizes.

use crate::written::{Number, number, period, sizes, write_number, write_sizes};
use crate::{NOMINAL_RATE, ParseError, Sizes};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// Something that a policy takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name, for the form in brackets: `life(x=1000000)`.
    pub name: &'static str,
    /// What may be given.
    pub kind: Kind,
    /// What it is unless something else is given. `None` where something has to be: the number of a family (`pop-N`).
    pub default: Option<Value>,
    /// What it means, in one sentence.
    pub meaning: &'static str,
}

/// What may be given for a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number.
    Number {
        /// What one of it is.
        unit: &'static str,
        /// The least that is allowed.
        least: u64,
        /// The most that is allowed.
        most: u64,
    },
    /// One of these words.
    Word(&'static [&'static str]),
    /// A set of page sizes.
    Sizes,
}

/// What a parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Number(u64),
    /// One of the words.
    Word(&'static str),
    /// A set of page sizes.
    Sizes(Sizes),
}

/// The words of what is done or not done.
const SWITCH: &[&str] = &["on", "off"];

impl Parameter {
    /// A number that is `default` unless another is given.
    pub(crate) const fn number(
        name: &'static str,
        unit: &'static str,
        (least, most): (u64, u64),
        default: u64,
        meaning: &'static str,
    ) -> Self {
        let kind = Kind::Number { unit, least, most };
        let default = Some(Value::Number(default));
        Self {
            name,
            kind,
            default,
            meaning,
        }
    }

    /// The unit of a period, which may be given in seconds too.
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

    /// One of the words, the first of which is the default.
    pub(crate) const fn word(
        name: &'static str,
        words: &'static [&'static str],
        default: &'static str,
        meaning: &'static str,
    ) -> Self {
        let kind = Kind::Word(words);
        let default = Some(Value::Word(default));
        Self {
            name,
            kind,
            default,
            meaning,
        }
    }

    /// Something that is done or not done.
    pub(crate) const fn switch(name: &'static str, on: bool, meaning: &'static str) -> Self {
        Self::word(name, SWITCH, if on { "on" } else { "off" }, meaning)
    }

    /// A set of page sizes.
    pub(crate) const fn sizes(name: &'static str, default: Sizes, meaning: &'static str) -> Self {
        let default = Some(Value::Sizes(default));
        Self {
            name,
            kind: Kind::Sizes,
            default,
            meaning,
        }
    }

    /// Reads what is given for it to the policy of that name.
    pub(crate) fn read(&self, policy: &'static str, text: &str) -> Result<Value, ParseError> {
        let text = text.trim();
        match self.kind {
            Kind::Number { unit, least, most } => {
                // A family has one number, which needs no name.
                let parameter = self.default.map(|_| self.name);
                let read = if unit == Self::PERIOD {
                    period(text, NOMINAL_RATE)
                } else {
                    number(text)
                };
                match read {
                    Number::Is(value) if (least..=most).contains(&value) => {
                        Ok(Value::Number(value))
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
            Kind::Word(known) => match known.iter().find(|word| **word == text) {
                Some(word) => Ok(Value::Word(word)),
                None => Err(ParseError::UnknownWord {
                    name: policy,
                    parameter: self.name,
                    found: text.to_string(),
                    known,
                }),
            },
            Kind::Sizes => match sizes(text) {
                Some(sizes) => Ok(Value::Sizes(sizes)),
                None => Err(ParseError::NotSizes {
                    name: policy,
                    parameter: self.name,
                    text: text.to_string(),
                }),
            },
        }
    }
}

impl Kind {
    /// What may be given, in words: `0 to 511 base pages`.
    pub fn in_words(&self) -> String {
        match self {
            Self::Number { unit, least, most } => {
                alloc::format!("{} to {} {unit}", write_number(*least), write_number(*most))
            }
            Self::Word(words) => listed(words, "or"),
            Self::Sizes => "page sizes such as 64k+2m, all or none".to_string(),
        }
    }
}

impl Value {
    /// As it is written in a name.
    pub fn written(&self) -> String {
        match self {
            Self::Number(number) => write_number(*number),
            Self::Word(word) => word.to_string(),
            Self::Sizes(sizes) => write_sizes(*sizes),
        }
    }
}

/// Names with commas between them, and this word before the last: `a, b or c`.
pub(crate) fn listed(names: &[&str], last: &str) -> String {
    match names {
        [] => String::new(),
        [one] => one.to_string(),
        [others @ .., end] => alloc::format!("{} {last} {end}", others.join(", ")),
    }
}

/// What a policy was told: a value for each of its parameters, in their order.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    policy: &'static str,
    values: Vec<(&'static Parameter, Value)>,
}

impl Given {
    pub(crate) const fn new(
        policy: &'static str,
        values: Vec<(&'static Parameter, Value)>,
    ) -> Self {
        Self { policy, values }
    }

    fn value(&self, name: &str) -> Option<Value> {
        let mut values = self.values.iter();
        values
            .find(|(parameter, _)| parameter.name == name)
            .map(|(_, value)| *value)
    }

    /// The number of that name; 0 where the policy has none, which a test of the catalogue finds.
    pub(crate) fn number(&self, name: &str) -> u64 {
        match self.value(name) {
            Some(Value::Number(number)) => number,
            _ => 0,
        }
    }

    /// The same, for numbers that are no larger.
    pub(crate) fn small(&self, name: &str) -> u32 {
        u32::try_from(self.number(name)).unwrap_or(u32::MAX)
    }

    /// The word of that name; empty where the policy has none.
    pub(crate) fn word(&self, name: &str) -> &'static str {
        match self.value(name) {
            Some(Value::Word(word)) => word,
            _ => "",
        }
    }

    /// Whether the switch of that name is on.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.word(name) == "on"
    }

    /// The set of page sizes of that name; empty where the policy has none.
    pub(crate) fn sizes(&self, name: &str) -> Sizes {
        match self.value(name) {
            Some(Value::Sizes(sizes)) => sizes,
            _ => Sizes::These(0),
        }
    }

    /// The policy's name with whatever is not as it would be anyway: `linux(enabled=madvise)`. For policies whose parameters all have a default.
    pub(crate) fn name(&self) -> String {
        let told = self.values.iter();
        let told: Vec<String> = told
            .filter(|(parameter, value)| parameter.default != Some(*value))
            .map(|(parameter, value)| alloc::format!("{}={}", parameter.name, value.written()))
            .collect();
        if told.is_empty() {
            String::from(self.policy)
        } else {
            alloc::format!("{}({})", self.policy, told.join(","))
        }
    }
}
