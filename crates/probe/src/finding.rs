//! A value that chases determine, or the reason why they do not.

use crate::Verdict;

/// A value with its confidence, or the reason why it is open.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding<T> {
    /// The value. `None` if the chases do not determine it.
    pub value: Option<T>,
    /// The agreement of the answers that determine the value, from 0 to 1.
    pub confidence: f64,
    /// The reason why the value is open. Empty if it is determined.
    pub reason: String,
}

impl<T> Finding<T> {
    /// A value that these answers determine. The least certain answer counts.
    pub fn of(value: T, answers: &[Verdict]) -> Self {
        let least = answers.iter().map(|answer| answer.confidence);
        Self {
            value: Some(value),
            confidence: least.fold(1.0, f64::min),
            reason: String::new(),
        }
    }

    /// An open value.
    pub fn open(reason: impl Into<String>) -> Self {
        Self {
            value: None,
            confidence: 0.0,
            reason: reason.into(),
        }
    }

    /// The value of a function, with the same confidence.
    pub fn map<U>(&self, change: impl FnOnce(&T) -> U) -> Finding<U> {
        Finding {
            value: self.value.as_ref().map(change),
            confidence: self.confidence,
            reason: self.reason.clone(),
        }
    }
}
