//! An expression policy: a text is refused with a position inside it, or is a policy whose name
//! gives an equal policy.
#![no_main]

use broadleaf_policy::{Expression, Point, Policy, View};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    // Without its first words, no other part of the text would be parsed.
    for text in [text, &["promote if ", text].concat()] {
        match Expression::parse(text) {
            Ok(policy) => {
                let again =
                    Expression::parse(&policy.name()).expect("the name of a policy is valid");
                assert_eq!(
                    (again.name(), again.needs()),
                    (policy.name(), policy.needs())
                );
                for point in Point::ALL {
                    let view = &View::BLANK;
                    assert_eq!(again.decide(*point, view), policy.decide(*point, view));
                }
                assert!(!policy.lines().is_empty() && !policy.asked().is_empty());
            }
            Err(error) => {
                assert!(text.is_char_boundary(error.offset()));
                assert!(error.to_string().contains(error.message()));
            }
        }
    }
});
