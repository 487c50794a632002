//! An organisation with its parameters, as a structure of a machine has it.

use super::{Organisation, set_associative};
use broadleaf_units::PageSize;

/// A parameter of an organisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StructureParameter {
    /// The key in a machine's description.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// The value if a description gives none, and the kind of all values.
    pub default: ParameterValue,
    /// The words that are values, the default first. Empty for parameters of another kind.
    pub words: &'static [&'static str],
}

/// A value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterValue {
    /// Yes or no.
    Flag(bool),
    /// A size in bytes. `None` if a description has to give the size.
    Size(Option<PageSize>),
    /// The number of one of the parameter's words.
    Word(usize),
}

/// An organisation with the values of its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrganisationChoice {
    organisation: &'static Organisation,
    /// In the order of [`Organisation::parameters`].
    values: Vec<ParameterValue>,
}

/// The reason why a parameter of an organisation cannot have a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrganisationError {
    /// The organisation has no parameter of that name.
    #[error("organisation {organisation} has no parameter {name:?}")]
    Unknown {
        /// The name of the organisation.
        organisation: &'static str,
        /// The name of the parameter.
        name: String,
    },
    /// The value is of another kind.
    #[error("{name} is {expected}")]
    Kind {
        /// The name of the parameter.
        name: &'static str,
        /// The values that the parameter can have, in words.
        expected: String,
    },
}

impl From<&'static Organisation> for OrganisationChoice {
    /// The organisation with the default values of its parameters.
    fn from(organisation: &'static Organisation) -> Self {
        let parameters = organisation.parameters.iter();
        Self {
            organisation,
            values: parameters.map(|parameter| parameter.default).collect(),
        }
    }
}

impl StructureParameter {
    /// A parameter that is true or false.
    pub const fn flag(name: &'static str, default: bool, summary: &'static str) -> Self {
        let (default, words) = (ParameterValue::Flag(default), &[] as _);
        Self {
            name,
            summary,
            default,
            words,
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
            default: ParameterValue::Word(0),
            words,
        }
    }

    /// A size that a description has to give.
    pub const fn size(name: &'static str, summary: &'static str) -> Self {
        Self {
            name,
            summary,
            default: ParameterValue::Size(None),
            words: &[],
        }
    }

    /// The value that a text gives.
    ///
    /// # Errors
    /// Returns an error if the parameter has no such value.
    pub fn parse(&self, text: &str) -> Result<ParameterValue, OrganisationError> {
        let value = match self.default {
            ParameterValue::Flag(_) => text.parse().ok().map(ParameterValue::Flag),
            ParameterValue::Size(_) => {
                PageSize::from_short_name(text).map(|size| ParameterValue::Size(Some(size)))
            }
            ParameterValue::Word(_) => {
                let at = self.words.iter().position(|word| *word == text);
                at.map(ParameterValue::Word)
            }
        };
        value.ok_or_else(|| OrganisationError::Kind {
            name: self.name,
            expected: match self.default {
                ParameterValue::Flag(_) => "true or false".to_owned(),
                ParameterValue::Size(_) => "a power of two such as \"16k\"".to_owned(),
                ParameterValue::Word(_) => self.words.join(", "),
            },
        })
    }
}

impl OrganisationChoice {
    /// Sets a parameter from its text in a description.
    ///
    /// # Errors
    /// Returns an error if the organisation has no such parameter, or the parameter no such value.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), OrganisationError> {
        let mut parameters = self.organisation.parameters.iter().zip(&mut self.values);
        let Some((parameter, place)) = parameters.find(|(one, _)| one.name == name) else {
            return Err(OrganisationError::Unknown {
                organisation: self.organisation.described.name,
                name: name.to_owned(),
            });
        };
        *place = parameter.parse(text)?;
        Ok(())
    }

    /// The organisation.
    pub const fn organisation(&self) -> &'static Organisation {
        self.organisation
    }

    /// Returns true if a flag of that name is set.
    pub fn flag(&self, name: &str) -> bool {
        self.value(name) == Some(ParameterValue::Flag(true))
    }

    /// The size of that name, if the description gave it.
    pub fn size(&self, name: &str) -> Option<PageSize> {
        match self.value(name) {
            Some(ParameterValue::Size(size)) => size,
            _ => None,
        }
    }

    /// The word that a parameter has.
    pub fn word(&self, name: &str) -> &'static str {
        let parameters = self.organisation.parameters.iter();
        let mut parameters = parameters.filter(|parameter| parameter.name == name);
        match (parameters.next(), self.value(name)) {
            (Some(parameter), Some(ParameterValue::Word(at))) => parameter.words[at],
            _ => "",
        }
    }

    fn value(&self, name: &str) -> Option<ParameterValue> {
        let mut parameters = self.organisation.parameters.iter().zip(&self.values);
        let found = parameters.find(|(parameter, _)| parameter.name == name);
        found.map(|(_, value)| *value)
    }

    /// Returns true for sets of ways with one page in each entry, in the set of the page.
    /// Accelerators rely on this.
    pub fn is_plain_sets(&self) -> bool {
        *self == Self::from(&set_associative::SET_ASSOCIATIVE)
    }
}

/// The name of the organisation, and the parameters that differ from their defaults.
impl std::fmt::Display for OrganisationChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.organisation.described.name)?;
        let mut before = "(";
        for (parameter, value) in self.organisation.parameters.iter().zip(&self.values) {
            if *value == parameter.default {
                continue;
            }
            write!(f, "{before}{}=", parameter.name)?;
            match value {
                ParameterValue::Flag(flag) => write!(f, "{flag}")?,
                ParameterValue::Size(Some(size)) => write!(f, "{}", size.short_name())?,
                ParameterValue::Size(None) => {}
                ParameterValue::Word(at) => f.write_str(parameter.words[*at])?,
            }
            before = ", ";
        }
        f.write_str(if before == "(" { "" } else { ")" })
    }
}
