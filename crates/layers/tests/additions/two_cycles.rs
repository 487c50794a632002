//! A made-up hierarchy: each line costs two cycles.

use super::{CacheKind, Caches};
use alloc::boxed::Box;
use broadleaf_units::Described;

pub(super) static TWO_CYCLES: CacheKind = CacheKind {
    described: Described {
        name: "two-cycles",
        summary: "each access costs two cycles",
        explanation: "No line is ever missing.",
        source: "the test of the recipes",
    },
    build: Some(|| Box::new(TwoCycles)),
};

#[derive(Debug)]
struct TwoCycles;

impl Caches for TwoCycles {
    fn access(&mut self, _address: u64, _store: bool) -> u64 {
        2
    }
}
