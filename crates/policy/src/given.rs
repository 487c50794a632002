//! A policy given as a value: code outside the catalogue, such as a class of the user.

use alloc::string::String;
use alloc::sync::Arc;

use crate::{Effort, Needs, ParseError, Point, Policy, Verdict, View, parse};

/// A policy that its owner gives as a value. Clones share the policy. The name says which policy of
/// a run it is, and says nothing of its decisions.
#[derive(Clone)]
pub struct GivenPolicy(Arc<dyn Policy>);

/// The reason for which a policy cannot have its name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameRefused {
    /// The name is empty, or has a letter that names of policies never have.
    #[error("{0:?} is no name of a policy: a name is made of letters, digits, - and _")]
    Letters(String),
    /// The name means a policy of the catalogue.
    #[error("{0:?} means a policy of the catalogue: choose another name")]
    Taken(String),
}

impl GivenPolicy {
    /// Takes a policy as a value.
    ///
    /// # Errors
    /// If its name is invalid, or is the name of a policy of the catalogue.
    pub fn new(policy: impl Policy + 'static) -> Result<Self, NameRefused> {
        let name = policy.name();
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        if name.is_empty() || !name.chars().all(is_letter) {
            return Err(NameRefused::Letters(name));
        }
        match parse(&name) {
            Err(ParseError::Unknown { .. }) => Ok(Self(Arc::new(policy))),
            _ => Err(NameRefused::Taken(name)),
        }
    }
}

impl Policy for GivenPolicy {
    fn name(&self) -> String {
        self.0.name()
    }

    fn is_known_by_name(&self) -> bool {
        false
    }

    fn needs(&self) -> Needs {
        self.0.needs()
    }

    fn promotes(&self) -> bool {
        self.0.promotes()
    }

    fn decide(&self, point: Point, view: &View) -> Verdict {
        self.0.decide(point, view)
    }

    fn may_be_due(&self, charged: &View) -> bool {
        self.0.may_be_due(charged)
    }

    fn effort(&self, point: Point, view: &View) -> Effort {
        self.0.effort(point, view)
    }

    fn rank(&self, view: &View) -> u64 {
        self.0.rank(view)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    struct Named(&'static str);

    impl Policy for Named {
        fn name(&self) -> String {
            self.0.to_string()
        }

        fn decide(&self, _: Point, _: &View) -> Verdict {
            Verdict::Pass
        }
    }

    #[test]
    fn names_of_the_catalogue_and_odd_letters_are_refused() {
        let given = GivenPolicy::new(Named("mine")).expect("a free name");
        assert_eq!(given.name(), "mine");
        assert!(!given.is_known_by_name() && !given.clone().is_known_by_name());
        for taken in ["4k", "pop-64", "pop-9999", "linux", "pop", "promote"] {
            let refused = GivenPolicy::new(Named(taken)).err();
            assert_eq!(refused, Some(NameRefused::Taken(taken.to_string())));
        }
        for odd in ["", "a b", "a,b", "f(x)", "é"] {
            let refused = GivenPolicy::new(Named(odd)).err();
            assert_eq!(refused, Some(NameRefused::Letters(odd.to_string())));
        }
    }
}
