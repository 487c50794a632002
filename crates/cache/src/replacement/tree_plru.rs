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
        let levels = shape.ways.trailing_zeros();
        let rule = TreePlru {
            levels,
            paths: (0..shape.ways).map(|way| Path::to(way, levels)).collect(),
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
    /// By way.
    paths: Vec<Path>,
    bits: Vec<u64>,
}

/// The bits of the nodes on the path to a way.
#[derive(Clone, Copy, Debug, Default)]
struct Path {
    nodes: u64,
    /// The nodes whose lower half the way lies in.
    lower: u64,
}

impl Path {
    fn to(way: usize, levels: u32) -> Self {
        let (mut path, mut node) = (Self::default(), 1);
        for level in (0..levels).rev() {
            let upper = way >> level & 1;
            path.nodes |= 1 << node;
            path.lower |= (1 - upper as u64) << node;
            node = 2 * node + upper;
        }
        path
    }
}

impl LineRule for TreePlru {
    #[inline]
    fn hit(&mut self, set: usize, way: usize) {
        let path = self.paths[way];
        let bits = &mut self.bits[set];
        *bits = *bits & !path.nodes | path.lower;
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
