//! The TLB as a list, the most recently used page first.

use super::{Layout, LayoutPiece, ReferenceStream};

/// The number of misses of `stream` in a fully associative LRU TLB with `entries` entries,
/// initially empty, under `layout`.
pub fn misses(stream: &ReferenceStream, entries: usize, layout: &Layout) -> u64 {
    let mut tlb: Vec<LayoutPiece> = Vec::new();
    let mut misses = 0;
    for &(space, page) in &stream.0 {
        let page = layout.page_around(space, page);
        if !tlb.contains(&page) {
            misses += 1;
        }
        tlb.retain(|&other| other != page);
        tlb.insert(0, page);
        tlb.truncate(entries);
    }
    misses
}
