//! Fuzz targets. Each module holds one target: its function `run` takes one input.
//!
//! A target in `fuzz_targets` gives the function to libFuzzer. `tests/seeds.rs` runs it on the
//! seeds in `seeds`, without libFuzzer.

pub mod buddyinfo;
pub mod cache;
pub mod counters;
pub mod decode;
pub mod experiment;
pub mod expression;
mod failures;
pub mod import;
pub mod journal;
pub mod lackey;
pub mod machine;
pub mod pagetypeinfo;
pub mod phrases;
pub mod policies;
pub mod policies_file;
pub mod reduced;
pub mod replay;
pub mod rules;
pub mod sections;
pub mod trace_list;
mod traces;

use broadleaf_policy::{Point, Policy, View};

/// A target: its name and its function.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: &[Target] = &[
    ("buddyinfo", buddyinfo::run),
    ("cache", cache::run),
    ("counters", counters::run),
    ("decode", decode::run),
    ("experiment", experiment::run),
    ("expression", expression::run),
    ("import", import::run),
    ("journal", journal::run),
    ("lackey", lackey::run),
    ("machine", machine::run),
    ("pagetypeinfo", pagetypeinfo::run),
    ("phrases", phrases::run),
    ("policies", policies::run),
    ("policies_file", policies_file::run),
    ("reduced", reduced::run),
    ("replay", replay::run),
    ("rules", rules::run),
    ("sections", sections::run),
    ("trace_list", trace_list::run),
];

/// Asserts that two policies have one name and equal needs, and decide alike about a blank block.
fn assert_equal_policies(one: &dyn Policy, other: &dyn Policy) {
    assert_eq!((one.name(), one.needs()), (other.name(), other.needs()));
    for point in Point::ALL {
        let view = &View::BLANK;
        assert_eq!(one.decide(*point, view), other.decide(*point, view));
    }
}
