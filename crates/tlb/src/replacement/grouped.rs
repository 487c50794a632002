//! Three groups of ways with a tree of bits in each, as in 12-way second-level TLBs.

use super::parts::ages::WayAges;
use super::parts::tree::{PlruTrees, tree_keeps};
use super::{Replace, Replacement, RuleShape, WayUse, first_free};
use broadleaf_units::Described;

pub(super) static MRU3_PLRU: Replacement = Replacement {
    described: Described {
        name: "mru3-plru",
        summary: "the group after the one used last makes room, by a tree of bits inside",
        explanation: "The ways form three groups. The group after the group of the last hit or \
                      fill makes room, in turn; inside it, the entry that a tree of bits points \
                      to. Kaby Lake's second level has the rule, written (MRU+1)%3PLRU4. The \
                      number of ways is 3 times a power of two.",
        source: "Tatar and others 2022 (TLB;DR), Kaby Lake",
    },
    parameters: &[],
    refuses: refuse,
    needs: &[],
    ignores_hits: false,
    keeps_last: keep,
    build: |shape| {
        Box::new(Grouped::new(
            shape,
            GroupOrder::AfterLast(vec![0; shape.sets]),
        ))
    },
};

pub(super) static LRU3_PLRU: Replacement = Replacement {
    described: Described {
        name: "lru3-plru",
        summary: "the group whose last use is longest ago makes room, by a tree of bits inside",
        explanation: "The ways form three groups. The group whose last hit or fill is longest ago \
                      makes room; inside it, the entry that a tree of bits points to. The number \
                      of ways is 3 times a power of two.",
        source: "Tatar and others 2022 (TLB;DR), the rule LRU3PLRU4",
    },
    parameters: &[],
    refuses: refuse,
    needs: &[],
    ignores_hits: false,
    keeps_last: keep,
    build: |shape| {
        let ages = WayAges::new(shape.sets, GROUPS);
        Box::new(Grouped::new(shape, GroupOrder::Ages(ages)))
    },
};

const GROUPS: usize = 3;

/// The tree of a group keeps its last translations, whichever groups the others are in.
fn keep(ways: usize) -> Option<usize> {
    tree_keeps(ways / GROUPS)
}

fn refuse(ways: usize) -> Option<String> {
    let fits = ways.is_multiple_of(GROUPS) && (ways / GROUPS).is_power_of_two();
    (!fits).then(|| format!("three groups need 3 times a power of two of ways, not {ways}"))
}

/// The state that chooses a group.
#[derive(Clone, Debug)]
enum GroupOrder {
    /// The group of the last use, for each set.
    AfterLast(Vec<usize>),
    /// The ages of the groups since their last use.
    Ages(WayAges),
}

/// The groups of all sets.
#[derive(Clone, Debug)]
struct Grouped {
    /// The number of ways of a group.
    ways: usize,
    order: GroupOrder,
    /// A tree for each group.
    trees: PlruTrees,
}

impl Grouped {
    fn new(shape: &RuleShape<'_>, order: GroupOrder) -> Self {
        let ways = shape.ways / GROUPS;
        Self {
            ways,
            order,
            trees: PlruTrees::new(shape.sets * GROUPS, ways),
        }
    }
}

impl Replace for Grouped {
    fn hit(&mut self, set: usize, way: usize) {
        let (group, inside) = (way / self.ways, way % self.ways);
        match &mut self.order {
            GroupOrder::AfterLast(last) => last[set] = group,
            GroupOrder::Ages(ages) => ages.renew(set, group),
        }
        self.trees.turn_away(set * GROUPS + group, inside);
    }

    fn fill(&mut self, set: usize, way: usize) {
        self.hit(set, way);
    }

    fn victim(&mut self, set: usize, ways: &[WayUse]) -> usize {
        let mut groups = [WayUse::Locked; GROUPS];
        for (group, found) in groups.iter_mut().zip(ways.chunks(self.ways)) {
            if found.iter().any(|found| *found != WayUse::Locked) {
                *group = WayUse::Used;
            }
        }
        let group = match &self.order {
            GroupOrder::AfterLast(last) => first_free(&groups, (last[set] + 1) % GROUPS),
            GroupOrder::Ages(ages) => ages.oldest(set, &groups),
        };
        let first = group * self.ways;
        let free = |inside| ways[first + inside] != WayUse::Locked;
        first + self.trees.pointed(set * GROUPS + group, free)
    }

    fn copy(&self) -> Box<dyn Replace> {
        Box::new(self.clone())
    }
}
