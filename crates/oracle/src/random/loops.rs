//! Random streams of references that go over the same pages again and again.

use super::Rng;
use crate::offline::Stream;

/// So many references to the first `pages` pages of so many address spaces, of which there must be at least one each: loops over a few of them, steadily or with strides, and now and
/// then a page of any space among them.
pub fn loops(rng: &mut Rng, spaces: u32, pages: u64, length: usize) -> Stream {
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
    Stream(stream)
}
