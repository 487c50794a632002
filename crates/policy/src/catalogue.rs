//! The catalogue: which policies there are. A new one is one file under `policies/` and one line here.

use crate::{ParseError, Policy, parse, policies};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

/// A number that a policy takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name, for the form in brackets: `life(x=1000000)`.
    pub name: &'static str,
    /// What one of it is.
    pub unit: &'static str,
    /// The least that is allowed.
    pub least: u64,
    /// The most that is allowed.
    pub most: u64,
    /// What it means, in one sentence.
    pub meaning: &'static str,
}

/// One policy, or one family of them that differ in a number.
#[derive(Clone, Copy)]
pub struct Entry {
    /// The name, without a parameter.
    pub name: &'static str,
    /// How to write it: `pop-N`.
    pub syntax: &'static str,
    /// One line.
    pub summary: &'static str,
    /// What it does and when it is worth having, in a few sentences.
    pub explanation: &'static str,
    /// Where it comes from: work and section.
    pub source: &'static str,
    /// The number that it takes, where it takes one.
    pub parameter: Option<Parameter>,
    /// Names that are ready to use: the policy itself, or the members of the family that its source studies.
    pub examples: &'static [&'static str],
    pub(crate) build: fn(u64) -> Box<dyn Policy>,
}

/// Every policy, in the order in which they are listed.
const CATALOGUE: &[Entry] = &[
    policies::base_pages::ENTRY,
    policies::freebsd::ENTRY,
    policies::foresight::ENTRY,
    policies::population::GREEDY,
    policies::population::ENTRY,
    policies::dirty::ENTRY,
    policies::life::ENTRY,
    policies::thp_always::ENTRY,
];

/// Every policy that there is, in the order in which they are listed.
pub fn catalogue() -> &'static [Entry] {
    CATALOGUE
}

/// The entry of that name (without a parameter).
pub fn entry(name: &str) -> Option<&'static Entry> {
    CATALOGUE.iter().find(|entry| entry.name == name)
}

/// The policies that are ready to use, in the order in which they are listed: every entry's examples.
///
/// # Errors
/// Never, unless an entry has an example that it does not know.
pub fn examples() -> Result<Vec<Box<dyn Policy>>, ParseError> {
    let names = CATALOGUE.iter().flat_map(|entry| entry.examples);
    names.map(|name| parse(name)).collect()
}

/// The policy `4k`, against which the others are measured.
pub fn base_pages() -> Box<dyn Policy> {
    (policies::base_pages::ENTRY.build)(0)
}

impl Entry {
    /// Makes the policy.
    ///
    /// # Errors
    /// Where the parameter is missing, not wanted or out of range.
    pub fn with(&self, value: Option<u64>) -> Result<Box<dyn Policy>, ParseError> {
        match (self.parameter, value) {
            (None, None) => Ok((self.build)(0)),
            (Some(parameter), Some(value))
                if (parameter.least..=parameter.most).contains(&value) =>
            {
                Ok((self.build)(value))
            }
            (Some(parameter), Some(_)) => Err(ParseError::OutOfRange {
                name: String::from(self.name),
                unit: parameter.unit,
                least: parameter.least,
                most: parameter.most,
            }),
            (Some(parameter), None) => Err(ParseError::Missing {
                name: String::from(self.name),
                syntax: self.syntax,
                unit: parameter.unit,
                example: self.examples[0],
            }),
            (None, Some(_)) => Err(ParseError::Unwanted {
                name: String::from(self.name),
            }),
        }
    }
}
