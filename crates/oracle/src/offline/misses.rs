//! The TLB: a list, the most recently used first.

use super::{Layout, Piece, Stream};

/// How often `stream` misses a fully associative TLB with so many entries that replaces the least recently used and is empty at first, where the superpages are those of
/// `layout` from the very beginning.
pub fn misses(stream: &Stream, entries: usize, layout: &Layout) -> u64 {
    let mut tlb: Vec<Piece> = Vec::new();
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
