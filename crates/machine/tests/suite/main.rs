//! The tests of the `machine` crate: one binary, one module for each subject.

mod caches;
mod chases;
mod designs;
mod figures;
mod guests;
mod invalidation;
mod machines;
mod native;
mod oracle;
mod organisations;
mod price;
mod replacement;
mod rule_chases;
mod sources;

/// How many of `all` random cases are tried: a quarter, or `BROADLEAF_CASES` of each thousand.
fn cases(all: u64) -> u64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "how much a test does is the tester's to say"
    )]
    let asked = std::env::var("BROADLEAF_CASES");
    let of_thousand: u64 = asked.ok().and_then(|text| text.parse().ok()).unwrap_or(250);
    (all * of_thousand).div_ceil(1000)
}
