//! The catalogue: which policies there are. A new one is one file under `policies/` and one line here.

use crate::parameter::Given;
use crate::{Kind, Parameter, ParseError, Policy, parse, policies};
use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec::Vec;

/// One policy, or one family of them that differ in a number.
#[derive(Clone, Copy)]
pub struct Entry {
    /// The name, without a parameter.
    pub name: &'static str,
    /// How to write it: `pop-N`, `fixed-SIZE`, `linux(...)`.
    pub syntax: &'static str,
    /// One line.
    pub summary: &'static str,
    /// What it does and when it is worth having, in a few sentences.
    pub explanation: &'static str,
    /// Where it comes from: work and section.
    pub source: &'static str,
    /// What it takes. A family has one, which has no default; the others have as many as they like, all with a default. Where there is one, it may stand
    /// behind a dash.
    pub parameters: &'static [Parameter],
    /// Names that are ready to use: the policy itself, or the members of the family that its source studies.
    pub examples: &'static [&'static str],
    /// Whether these are what is compared where nobody says which policies: those of Zhu's study, and Linux's at faults alone.
    pub by_default: bool,
    pub(crate) build: fn(Given) -> Box<dyn Policy>,
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
    policies::advice::ENTRY,
    policies::two_stage::ENTRY,
    policies::navarro::ENTRY,
    policies::freebsd14::ENTRY,
    policies::linux::ENTRY,
    policies::ingens::ENTRY,
    policies::hawkeye::ENTRY,
    policies::fixed::ENTRY,
    policies::asap::ENTRY,
    policies::asap::HALF,
    policies::online::APPROXIMATE,
    policies::online::ENTRY,
    policies::offline::ENTRY,
];

/// Every policy that there is, in the order in which they are listed.
pub fn catalogue() -> &'static [Entry] {
    CATALOGUE
}

/// The entry of that name (without a parameter).
pub fn entry(name: &str) -> Option<&'static Entry> {
    CATALOGUE.iter().find(|entry| entry.name == name)
}

/// The policies that are compared where nobody says which, in the order in which they are listed: the examples of the entries that are so
/// [`Entry::by_default`]. A host whose memory never runs short can replay them all.
///
/// # Errors
/// Never, unless an entry has an example that it does not know.
pub fn examples() -> Result<Vec<Box<dyn Policy>>, ParseError> {
    examples_where(|entry| entry.by_default)
}

/// Every policy that is ready to use, in the order in which they are listed. [`crate::Needs::needs_frames`] tells which of them need a host with limited memory.
///
/// # Errors
/// Never, unless an entry has an example that it does not know.
pub fn all_examples() -> Result<Vec<Box<dyn Policy>>, ParseError> {
    examples_where(|_| true)
}

fn examples_where(wanted: fn(&&Entry) -> bool) -> Result<Vec<Box<dyn Policy>>, ParseError> {
    let names = (CATALOGUE.iter())
        .filter(wanted)
        .flat_map(|entry| entry.examples);
    names.map(|name| parse(name)).collect()
}

/// The policy `4k`, against which the others are measured.
pub fn base_pages() -> Box<dyn Policy> {
    let entry = policies::base_pages::ENTRY;
    (entry.build)(Given::new(entry.name, Vec::new()))
}

impl Entry {
    /// The number without which a family's name is none.
    pub fn number(&self) -> Option<&'static Parameter> {
        self.parameters
            .iter()
            .find(|parameter| parameter.default.is_none())
    }

    /// The parameter that needs no name, because there is no other: what is given for it may stand behind a dash.
    pub fn only(&self) -> Option<&'static Parameter> {
        match self.parameters {
            [one] => Some(one),
            _ => None,
        }
    }

    /// Makes the policy of these parameters: names, and what is given for them, as it is written. The others are what they are by default.
    ///
    /// # Errors
    /// Where a parameter is missing, unknown or given twice, or cannot be what is given for it.
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
        Ok((self.build)(Given::new(name, values)))
    }

    fn parameter(&self, name: &str) -> Option<&'static Parameter> {
        self.parameters.iter().find(|known| known.name == name)
    }

    fn missing(&self, parameter: &Parameter) -> ParseError {
        ParseError::Missing {
            name: self.name,
            syntax: self.syntax,
            unit: match parameter.kind {
                Kind::Number { unit, .. } => unit,
                Kind::Word(_) | Kind::Sizes => parameter.name,
            },
            example: self.examples[0],
        }
    }
}
