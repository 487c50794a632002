//! Walk caches: small caches of entries of the page table above the leaves.

use crate::structure::by_size;
use broadleaf_pagetable::WalkCacheShape;
use broadleaf_units::PageSize;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// A cache of a description.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WalkCacheText {
    entries: usize,
    /// Without it, the cache is fully associative.
    ways: Option<usize>,
}

/// The most entries of a cache.
const MOST_ENTRIES: usize = 1 << 16;

/// Reads the table. `spans` are the ranges that entries of the page table cover.
///
/// # Errors
/// The place in the text, and the reason.
pub(crate) fn walk_caches(
    text: &BTreeMap<String, Spanned<WalkCacheText>>,
    table: &str,
    spans: &[PageSize],
) -> Result<Vec<WalkCacheShape>, (usize, String)> {
    let mut caches = Vec::new();
    for (span, cache) in by_size(text)? {
        let wrong = |message: String| (cache.span().start, message);
        if spans.is_empty() {
            let message = format!("page table {table} has no entries above its pages to cache");
            return Err(wrong(message));
        }
        if !spans.contains(&span) {
            let known: Vec<String> = spans
                .iter()
                .map(|one| one.short_name().to_string())
                .collect();
            return Err(wrong(format!(
                "entries of the page table {table} cover {}, and none {}",
                known.join(", "),
                span.short_name()
            )));
        }
        let WalkCacheText { entries, ways } = *cache.get_ref();
        let ways = ways.unwrap_or(entries);
        if !(1..=MOST_ENTRIES).contains(&entries) {
            return Err(wrong(format!(
                "a walk cache has 1 to {MOST_ENTRIES} entries"
            )));
        }
        let sets = entries.checked_div(ways).unwrap_or(0);
        if sets * ways != entries || !sets.is_power_of_two() {
            return Err(wrong(format!(
                "{entries} entries in {ways} ways are no power of two of sets"
            )));
        }
        caches.push(WalkCacheShape {
            span,
            entries,
            ways,
        });
    }
    Ok(caches)
}

/// The table of the walk caches `2m:32x8+1g:4`: 32 entries in 8 ways for entries that cover 2 MiB,
/// and 4 entries for those that cover 1 GiB. `none` has no caches.
///
/// # Errors
/// The reason, in a sentence.
pub(crate) fn written_walk_caches(text: &str) -> Result<String, String> {
    if text == "none" {
        return Ok(String::new());
    }
    let mut table = "[walk-caches]\n".to_owned();
    for cache in text.split('+') {
        let wrong = || {
            format!(
                "{cache:?} is no walk cache; write SPAN:ENTRIES or SPAN:ENTRIESxWAYS, as 2m:32x8"
            )
        };
        let number = |text: &str| text.parse::<u32>().map_err(|_| wrong());
        let (span, shape) = cache.split_once(':').ok_or_else(wrong)?;
        let span = PageSize::from_short_name(span).ok_or_else(wrong)?;
        let (entries, ways) = match shape.split_once('x') {
            Some((entries, ways)) => (number(entries)?, format!(", ways = {}", number(ways)?)),
            None => (number(shape)?, String::new()),
        };
        let span = span.short_name();
        table += &format!("{span} = {{ entries = {entries}{ways} }}\n");
    }
    Ok(table)
}
