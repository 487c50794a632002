//! Tree-PLRU: a binary tree of bits that point away from recent uses.

use super::parts::tree::{PlruTrees, tree_keeps};
use super::{Replace, Replacement, WayUse};
use broadleaf_units::Described;

pub(super) static TREE_PLRU: Replacement = Replacement {
    described: Described {
        name: "tree-plru",
        summary: "a tree of bits points away from recent uses",
        explanation: "The entries of a set are the leaves of a binary tree of bits. A hit and a \
                       fill let all bits above the entry point away from it. The entry that the \
                       bits point to makes room. The number of ways is a power of two.",
        source: "Handy 1993; Tatar and others 2022 (TLB;DR) for Intel's first levels",
    },
    parameters: &[],
    refuses: refuse,
    needs: &[],
    ignores_hits: false,
    keeps_last: tree_keeps,
    build: |shape| Box::new(TreePlru(PlruTrees::new(shape.sets, shape.ways))),
};

fn refuse(ways: usize) -> Option<String> {
    let wrong = !ways.is_power_of_two();
    wrong.then(|| format!("tree-plru needs a power of two of ways, not {ways}"))
}

/// The trees of all sets.
#[derive(Clone, Debug)]
struct TreePlru(PlruTrees);

impl Replace for TreePlru {
    fn hit(&mut self, set: usize, way: usize) {
        self.0.turn_away(set, way);
    }

    fn fill(&mut self, set: usize, way: usize) {
        self.0.turn_away(set, way);
    }

    fn victim(&mut self, set: usize, ways: &[WayUse]) -> usize {
        self.0.pointed(set, |way| ways[way] != WayUse::Locked)
    }

    fn copy(&self) -> Box<dyn Replace> {
        Box::new(self.clone())
    }
}
