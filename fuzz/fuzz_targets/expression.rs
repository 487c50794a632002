//! An expression policy: any text is refused with a place inside it, or is a policy that its own name gives again.
#![no_main]

use broadleaf_policy::{Expression, Point, Policy, View};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    // Without its first words nothing else would be looked at.
    for text in [text, &["promote if ", text].concat()] {
        match Expression::parse(text) {
            Ok(policy) => {
                let again = Expression::parse(&policy.name()).expect("a name says what it names");
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
