//! A replacement rule with its parameters, as a structure of a machine has it.

use super::{Replacement, lru};

/// A parameter of a replacement rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleParameter {
    /// The key in a machine's description.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// The value if a description gives none.
    pub default: u64,
    /// The smallest and the largest value.
    pub range: (u64, u64),
}

/// A replacement rule with the values of its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplacementChoice {
    rule: &'static Replacement,
    /// In the order of [`Replacement::parameters`].
    values: Vec<u64>,
}

/// The reason why a rule has no such parameter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplacementError {
    /// The rule has no parameter of that name.
    #[error("replacement {rule} has no parameter {name:?}")]
    Unknown {
        /// The name of the rule.
        rule: &'static str,
        /// The name of the parameter.
        name: String,
    },
    /// The value is outside the range of the parameter.
    #[error("{name} is {least} to {most}")]
    Range {
        /// The name of the parameter.
        name: &'static str,
        /// The smallest value.
        least: u64,
        /// The largest value.
        most: u64,
    },
}

impl From<&'static Replacement> for ReplacementChoice {
    /// The rule with the default values of its parameters.
    fn from(rule: &'static Replacement) -> Self {
        let values = rule.parameters.iter().map(|parameter| parameter.default);
        Self {
            rule,
            values: values.collect(),
        }
    }
}

impl ReplacementChoice {
    /// Sets a parameter.
    ///
    /// # Errors
    /// Returns an error if the rule has no such parameter, or if the value is outside its range.
    pub fn set(&mut self, name: &str, value: u64) -> Result<(), ReplacementError> {
        let mut parameters = self.rule.parameters.iter().zip(&mut self.values);
        let Some((parameter, place)) = parameters.find(|(one, _)| one.name == name) else {
            return Err(ReplacementError::Unknown {
                rule: self.rule.described.name,
                name: name.to_owned(),
            });
        };
        let (least, most) = parameter.range;
        if !(least..=most).contains(&value) {
            let name = parameter.name;
            return Err(ReplacementError::Range { name, least, most });
        }
        *place = value;
        Ok(())
    }

    /// The rule.
    pub const fn rule(&self) -> &'static Replacement {
        self.rule
    }

    /// The values of the parameters, in the order of [`Replacement::parameters`].
    pub fn values(&self) -> &[u64] {
        &self.values
    }

    /// Returns true if the rule is exact LRU. Accelerators rely on the order of last use.
    pub fn is_lru(&self) -> bool {
        *self.rule == lru::LRU
    }
}

/// The name of the rule, and the values of its parameters: `random(seed=1)`.
impl std::fmt::Display for ReplacementChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.rule.described.name)?;
        for (at, (parameter, value)) in self.rule.parameters.iter().zip(&self.values).enumerate() {
            let before = if at == 0 { "(" } else { ", " };
            write!(f, "{before}{}={value}", parameter.name)?;
        }
        f.write_str(if self.values.is_empty() { "" } else { ")" })
    }
}
