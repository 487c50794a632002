//! An expression policy: a text is refused with a position inside it, or is a policy whose name
//! gives an equal policy.

use broadleaf_policy::{Expression, Policy};

use crate::assert_equal_policies;

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    // Without its first words, no other part of the text would be parsed.
    for text in [text, &["promote if ", text].concat()] {
        match Expression::parse(text) {
            Ok(policy) => {
                let again =
                    Expression::parse(&policy.name()).expect("the name of a policy is valid");
                assert_equal_policies(&again, &policy);
                assert!(!policy.lines().is_empty() && !policy.asked().is_empty());
            }
            Err(error) => {
                assert!(text.is_char_boundary(error.offset()));
                assert!(error.to_string().contains(error.message()));
            }
        }
    }
}
