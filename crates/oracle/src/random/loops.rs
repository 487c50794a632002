//! Random streams of references in loops over the same pages.

use super::Rng;
use crate::offline::ReferenceStream;

/// `length` references to the first `pages` pages of `spaces` address spaces; both must be at least
/// 1. The references are loops over a few pages, with and without strides, and some random pages.
pub fn loops(rng: &mut Rng, spaces: u32, pages: u64, length: usize) -> ReferenceStream {
    let mut stream = Vec::new();
    while stream.len() < length {
        let space = rng.below(u64::from(spaces)) as u32;
        let (start, stride) = (rng.below(pages), rng.pick(&[1, 1, 1, 2, 3, 5]));
        let count = 1 + rng.below(pages);
        let mut round: Vec<(u32, u64)> = (0..count)
            .map(|i| (space, (start + i * stride) % pages))
            .collect();
        for reference in &mut round {
            if rng.one_in(8) {
                *reference = (rng.below(u64::from(spaces)) as u32, rng.below(pages));
            }
        }
        for _ in 0..rng.pick(&[1, 1, 2, 4, 8]) {
            stream.extend(&round);
        }
    }
    stream.truncate(length);
    ReferenceStream(stream)
}
