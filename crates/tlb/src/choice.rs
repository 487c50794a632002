//! An organisation or a replacement rule with its parameters, as a structure of a machine has it.

use crate::{
    Organisation, Replacement, StructureParameter, StructureParameterError, StructureValue,
};
use broadleaf_units::PageSize;

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

/// An organisation with the values of its parameters.
pub type OrganisationChoice = CatalogueChoice<Organisation>;

/// A replacement rule with the values of its parameters.
pub type ReplacementChoice = CatalogueChoice<Replacement>;

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

    fn value(&self, name: &str) -> Option<StructureValue> {
        let mut parameters = self.entry.parameters().iter().zip(&self.values);
        let found = parameters.find(|(parameter, _)| parameter.name == name);
        found.map(|(_, value)| *value)
    }
}

impl OrganisationChoice {
    /// The organisation.
    pub const fn organisation(&self) -> &'static Organisation {
        self.entry
    }

    /// Returns true for sets of ways with one page in each entry, in the set of the page.
    /// Accelerators rely on this.
    pub fn is_plain_sets(&self) -> bool {
        *self == Self::from(Organisation::set_associative())
    }
}

impl ReplacementChoice {
    /// The rule.
    pub const fn rule(&self) -> &'static Replacement {
        self.entry
    }

    /// Returns true if the rule is exact LRU. Accelerators rely on the order of last use.
    pub fn is_lru(&self) -> bool {
        *self == Replacement::lru()
    }
}

/// The name, the numbers, and other parameters that differ from their defaults: `random(seed=1)`.
impl<E: Parametric> std::fmt::Display for CatalogueChoice<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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
