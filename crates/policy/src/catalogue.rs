//! The catalogue of policies. A new policy is one file of `policies/` and one line of [`POLICIES`].

use crate::parameter::GivenParameters;
use crate::policies::{BASELINE, POLICIES};
use crate::{Parameter, ParameterKind, ParseError, Policy, parse};
use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec::Vec;

/// The catalogue entry of one policy, or of a family of policies that differ in a number.
#[derive(Clone, Copy)]
pub struct PolicyEntry {
    /// The name, without a parameter.
    pub name: &'static str,
    /// The notation: `pop-N`, `fixed-SIZE`, `linux(...)`.
    pub syntax: &'static str,
    /// A summary in one line.
    pub summary: &'static str,
    /// The policy's rules and uses, in a few sentences.
    pub explanation: &'static str,
    /// The source: work and section.
    pub source: &'static str,
    /// The parameters. A family has one parameter, without a default. Other policies have any
    /// number of parameters, all with defaults. A single parameter may follow a dash.
    pub parameters: &'static [Parameter],
    /// Complete names: the policy itself, or the members of the family that the source studies.
    pub examples: &'static [&'static str],
    /// True if a comparison without a choice of policies includes the examples: the policies of
    /// Zhu's study, and Linux's at faults alone. Other policies have `false`.
    pub by_default: bool,
    pub(crate) build: fn(GivenParameters) -> Box<dyn Policy>,
}

/// Returns all policies, in listing order.
pub fn catalogue() -> &'static [&'static PolicyEntry] {
    POLICIES
}

/// Returns the entry with this name (without a parameter).
pub fn entry(name: &str) -> Option<&'static PolicyEntry> {
    POLICIES.iter().copied().find(|entry| entry.name == name)
}

/// Returns the policies of a comparison without a choice, in listing order: the examples of entries
/// with [`PolicyEntry::by_default`]. A host whose memory never runs short can replay them all.
///
/// # Errors
/// Returns an error only if an entry has an invalid example.
pub fn examples() -> Result<Vec<Box<dyn Policy>>, ParseError> {
    examples_where(|entry| entry.by_default)
}

/// Returns the examples of all policies, in listing order. [`crate::Needs::needs_frames`] is true
/// for those that need a host with limited memory.
///
/// # Errors
/// Returns an error only if an entry has an invalid example.
pub fn all_examples() -> Result<Vec<Box<dyn Policy>>, ParseError> {
    examples_where(|_| true)
}

fn examples_where(included: fn(&&PolicyEntry) -> bool) -> Result<Vec<Box<dyn Policy>>, ParseError> {
    let names = (POLICIES.iter().copied())
        .filter(included)
        .flat_map(|entry| entry.examples);
    names.map(|name| parse(name)).collect()
}

/// Returns the policy `4k`, the baseline of all others.
pub fn base_pages() -> Box<dyn Policy> {
    (BASELINE.build)(GivenParameters::new(BASELINE.name, Vec::new()))
}

impl PolicyEntry {
    /// Returns the family's number, if this is a family.
    pub fn number(&self) -> Option<&'static Parameter> {
        self.parameters
            .iter()
            .find(|parameter| parameter.default.is_none())
    }

    /// Returns the only parameter, whose value may follow a dash.
    pub fn only(&self) -> Option<&'static Parameter> {
        match self.parameters {
            [one] => Some(one),
            _ => None,
        }
    }

    /// Makes the policy with these parameters, given as names and texts. Other parameters have
    /// their defaults.
    ///
    /// # Errors
    /// Returns an error if a parameter is missing, unknown, given twice or invalid.
    pub fn with(&self, given: &[(&str, &str)]) -> Result<Box<dyn Policy>, ParseError> {
        let name = self.name;
        if let Some((found, _)) = (given.iter()).find(|(found, _)| self.parameter(found).is_none())
        {
            return Err(ParseError::UnknownParameter {
                name,
                found: found.to_string(),
                known: self.parameters.iter().map(|known| known.name).collect(),
            });
        }
        let mut values = Vec::new();
        for parameter in self.parameters {
            let mut texts = given.iter().filter(|(known, _)| *known == parameter.name);
            let value = match (texts.next(), parameter.default) {
                (Some((_, text)), _) => parameter.read(name, text)?,
                (None, Some(default)) => default,
                (None, None) => return Err(self.missing(parameter)),
            };
            if texts.next().is_some() {
                return Err(ParseError::GivenTwice {
                    name,
                    parameter: parameter.name,
                });
            }
            values.push((parameter, value));
        }
        for (parameter, value) in &values {
            let is_met = |(other, wanted): &(&str, &str)| {
                let mut values = values.iter();
                values.any(|(known, value)| known.name == *other && value.written() == *wanted)
            };
            let others = parameter.only_with;
            if parameter.default != Some(*value) && !others.is_empty() && !others.iter().any(is_met)
            {
                let others = others.iter();
                return Err(ParseError::NoEffect {
                    name,
                    parameter: parameter.name,
                    value: value.written(),
                    others: others
                        .map(|(of, value)| alloc::format!("{of}={value}"))
                        .collect(),
                });
            }
        }
        Ok((self.build)(GivenParameters::new(name, values)))
    }

    fn parameter(&self, name: &str) -> Option<&'static Parameter> {
        self.parameters.iter().find(|known| known.name == name)
    }

    fn missing(&self, parameter: &Parameter) -> ParseError {
        ParseError::Missing {
            name: self.name,
            syntax: self.syntax,
            unit: match parameter.kind {
                ParameterKind::Number { unit, .. } => unit,
                ParameterKind::Word(_) | ParameterKind::Sizes | ParameterKind::Shares => {
                    parameter.name
                }
            },
            example: self.examples[0],
        }
    }
}
