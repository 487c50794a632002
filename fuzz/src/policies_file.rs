//! A file of named policies: a text is refused at a place inside the text, or its policies have
//! names that no policy of the catalogue has.

use broadleaf_policy::{Policy, parse};
use broadleaf_study::policies_file;

use crate::assert_equal_policies;
use crate::failures::check_failure;

/// The name of the file, for messages.
const FILE: &str = "x.toml";

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match policies_file::parse(FILE, text) {
        Ok(all) => {
            assert!(!all.is_empty(), "a file without policies is refused");
            for named in &all {
                assert!(parse(&named.name).is_err(), "{named:?}");
                let again = parse(&named.policy.name()).expect("the name of an expression");
                assert_equal_policies(&*again, &named.policy);
            }
        }
        Err(failure) => check_failure(FILE, text, &failure),
    }
}
