//! An entry of a catalogue with its parameters, as a structure of a machine has it.

use crate::{PageSize, StructureParameter, StructureParameterError, StructureValue};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// An entry of a catalogue whose parameters a machine's description sets.
pub trait Parametric: PartialEq + 'static {
    /// The key of a description that names the entry.
    const KIND: &'static str;

    /// The name.
    fn name(&self) -> &'static str;

    /// The parameters.
    fn parameters(&self) -> &'static [StructureParameter];

    /// All entries of the catalogue.
    fn catalogue() -> &'static [&'static Self];
}

/// An entry of a catalogue with the values of its parameters.
#[derive(Debug, PartialEq, Eq)]
pub struct CatalogueChoice<E: 'static> {
    entry: &'static E,
    /// In the order of [`Parametric::parameters`].
    values: Vec<StructureValue>,
}

impl<E> Clone for CatalogueChoice<E> {
    fn clone(&self) -> Self {
        Self {
            entry: self.entry,
            values: self.values.clone(),
        }
    }
}

/// The entry with the default values of its parameters.
impl<E: Parametric> From<&'static E> for CatalogueChoice<E> {
    fn from(entry: &'static E) -> Self {
        let parameters = entry.parameters().iter();
        Self {
            entry,
            values: parameters.map(|parameter| parameter.default).collect(),
        }
    }
}

impl<E: Parametric> CatalogueChoice<E> {
    /// Reads a name with parameters: `hashed`, or `hashed(buckets=1024)`. Returns `None` if the
    /// catalogue has no entry of that name.
    ///
    /// # Errors
    /// Returns an error if a bracket is missing, the entry has no such parameter, or the parameter
    /// no such value.
    pub fn parse(text: &str) -> Result<Option<Self>, StructureParameterError> {
        let wrong = || StructureParameterError::Form {
            text: text.to_owned(),
        };
        let (name, given) = match text.split_once('(') {
            Some((name, rest)) => (name, rest.strip_suffix(')').ok_or_else(wrong)?),
            None => (text, ""),
        };
        let mut all = E::catalogue().iter().copied();
        let Some(entry) = all.find(|entry| entry.name() == name.trim()) else {
            return Ok(None);
        };
        let mut choice = Self::from(entry);
        for pair in given.split(',').filter(|pair| !pair.trim().is_empty()) {
            let (key, value) = pair.split_once('=').ok_or_else(wrong)?;
            choice.set(key.trim(), value.trim())?;
        }
        Ok(Some(choice))
    }

    /// The entry.
    pub const fn entry(&self) -> &'static E {
        self.entry
    }

    /// Sets a parameter from its text in a description.
    ///
    /// # Errors
    /// Returns an error if the entry has no such parameter, or the parameter no such value.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), StructureParameterError> {
        let mut parameters = self.entry.parameters().iter().zip(&mut self.values);
        let Some((parameter, place)) = parameters.find(|(one, _)| one.name == name) else {
            return Err(StructureParameterError::Unknown {
                kind: E::KIND,
                owner: self.entry.name(),
                name: name.to_owned(),
            });
        };
        *place = parameter.parse(text)?;
        Ok(())
    }

    /// The values of the parameters, in the order of [`Parametric::parameters`].
    pub fn values(&self) -> &[StructureValue] {
        &self.values
    }

    /// Returns true if a flag of that name is set.
    pub fn flag(&self, name: &str) -> bool {
        self.value(name) == Some(StructureValue::Flag(true))
    }

    /// The size of that name, if the description gave it.
    pub fn size(&self, name: &str) -> Option<PageSize> {
        match self.value(name)? {
            StructureValue::Size(size) => size,
            _ => None,
        }
    }

    /// The word that a parameter has. Empty if there is no parameter of that name.
    pub fn word(&self, name: &str) -> &'static str {
        match self.value(name) {
            Some(StructureValue::Word(word)) => word,
            _ => "",
        }
    }

    /// The number that a parameter has, if there is one of that name.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.value(name)?.number()
    }

    /// The name, with the parameters that differ from their defaults: `hashed(buckets=64)`.
    pub fn short(&self) -> String {
        let parameters = self.entry.parameters().iter().zip(&self.values);
        let given: Vec<String> = parameters
            .filter(|(parameter, value)| **value != parameter.default)
            .map(|(parameter, value)| format!("{}={value}", parameter.name))
            .collect();
        match given.is_empty() {
            true => self.entry.name().to_owned(),
            false => format!("{}({})", self.entry.name(), given.join(", ")),
        }
    }

    fn value(&self, name: &str) -> Option<StructureValue> {
        let mut parameters = self.entry.parameters().iter().zip(&self.values);
        let found = parameters.find(|(parameter, _)| parameter.name == name);
        found.map(|(_, value)| *value)
    }
}

/// The parts of a text between separators that are outside brackets: `a(b=1, c=2),d` has two.
pub fn split_outside_brackets(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    text.split(move |letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == separator && depth == 0
    })
}

/// The name, the numbers, and other parameters that differ from their defaults: `random(seed=1)`.
impl<E: Parametric> fmt::Display for CatalogueChoice<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry.name())?;
        let mut before = "(";
        for (parameter, value) in self.entry.parameters().iter().zip(&self.values) {
            // A result that depends on a number, such as a seed, names the number.
            if *value != parameter.default || value.number().is_some() {
                write!(f, "{before}{}={value}", parameter.name)?;
                before = ", ";
            }
        }
        f.write_str(if before == "(" { "" } else { ")" })
    }
}
