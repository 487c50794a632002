//! The name of a policy: a text is refused, or is a policy whose name gives an equal policy.

use broadleaf_policy::{ParseError, parse};

use crate::assert_equal_policies;

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match parse(text) {
        Ok(policy) => {
            let name = policy.name();
            let again = parse(&name).unwrap_or_else(|error| panic!("{name:?}: {error}"));
            assert_equal_policies(&*again, &*policy);
        }
        Err(error) => check_error(text, &error),
    }
}

/// Asserts that the columns of an error lie in the text or at its end.
fn check_error(text: &str, error: &ParseError) {
    assert!(!error.to_string().is_empty());
    if let ParseError::NotClosed { opened, column, .. } = error {
        assert!(opened < column && *column <= text.chars().count() + 1);
    }
}
