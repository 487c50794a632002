//! Tree-PLRU: a binary tree of bits for each set.

use super::{LineReplacement, LineRule};
use crate::sets::Sets;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use broadleaf_units::Described;

pub(super) static TREE_PLRU: LineReplacement = LineReplacement {
    described: Described {
        name: "tree-plru",
        summary: "a binary tree of bits points away from recent uses, to the line that makes room",
        explanation: "Each inner node of a binary tree over the ways has one bit, which names a \
                      half. A use sets the bits on its path to the other halves. The path that the \
                      bits name leads to the line that makes room.",
        source: "Hennessy and Patterson 2017, appendix B.1 (pseudo-LRU)",
    },
    parameters: &[],
    refuses,
    build: |shape| {
        let rule = TreePlru {
            levels: shape.ways.trailing_zeros(),
            bits: vec![0; shape.sets],
        };
        Sets::boxed(shape, rule)
    },
};

fn refuses(_sets: usize, ways: usize) -> Option<String> {
    let message = || format!("a tree of bits needs a power of two of ways, and {ways} is none");
    (!ways.is_power_of_two()).then(message)
}

/// The trees. Bit `n` is node `n`, whose children are `2n` and `2n + 1`; the root is node 1. A set
/// bit names the upper half.
#[derive(Debug)]
struct TreePlru {
    levels: u32,
    bits: Vec<u64>,
}

impl LineRule for TreePlru {
    #[inline]
    fn hit(&mut self, set: usize, way: usize) {
        let bits = &mut self.bits[set];
        let mut node = 1;
        for level in (0..self.levels).rev() {
            let upper = way >> level & 1;
            *bits = *bits & !(1 << node) | (1 - upper as u64) << node;
            node = 2 * node + upper;
        }
    }

    #[inline]
    fn fill(&mut self, set: usize, way: usize) {
        self.hit(set, way);
    }

    #[inline]
    fn victim(&mut self, set: usize) -> usize {
        let mut node = 1;
        for _ in 0..self.levels {
            node = 2 * node + (self.bits[set] >> node & 1) as usize;
        }
        node - (1 << self.levels)
    }
}
