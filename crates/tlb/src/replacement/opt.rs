//! OPT, also called Belady's MIN: the translation whose next use is farthest makes room.

use super::{Replace, Replacement, RuleNeed, WayUse, any_ways, free_ways, keeps_none};
use broadleaf_units::Described;
use std::collections::BTreeSet;

pub(super) static OPT: Replacement = Replacement {
    described: Described {
        name: "opt",
        summary: "the translation whose next use is farthest makes room",
        explanation: "The rule knows the future: Belady's MIN. No rule has fewer misses where an \
                       entry holds one page of one size, nothing is invalidated, and the structure \
                       is the first level. Elsewhere the rule is a heuristic: on short streams it \
                       had 0.3 percent more misses than the fewest with two page sizes. With blocks \
                       it had 5 percent more, and with two levels 31 percent more walks. A use \
                       that a level above answers counts as one. A walk entry gets the next use \
                       of the page whose walk used it. A policy that is notified of misses cannot \
                       have the rule, since its misses change the future.",
        source: "Belady 1966; Mattson and others 1970",
    },
    parameters: &[],
    refuses: any_ways,
    needs: &[RuleNeed::Future],
    ignores_hits: false,
    keeps_last: keeps_none,
    build: |shape| {
        Box::new(Opt {
            ways: shape.ways,
            next: vec![u64::MAX; shape.sets * shape.ways],
            foreseen: u64::MAX,
            coming: BTreeSet::new(),
            lookups: 0,
        })
    },
};

/// The time of the next use of each entry's translation, set after set.
#[derive(Clone, Debug)]
struct Opt {
    ways: usize,
    next: Vec<u64>,
    /// The next uses of all entries that have one, the soonest first. A level above may answer a
    /// use, so the entry is found by its time then.
    coming: BTreeSet<(u64, usize)>,
    /// The next use of the translation that is looked up now.
    foreseen: u64,
    /// The lookups so far that have a number.
    lookups: u64,
}

impl Opt {
    fn used_again_at(&mut self, entry: usize, next: u64) {
        let before = std::mem::replace(&mut self.next[entry], next);
        self.coming.remove(&(before, entry));
        if next != u64::MAX {
            self.coming.insert((next, entry));
        }
    }
}

impl Replace for Opt {
    fn hit(&mut self, set: usize, way: usize) {
        self.used_again_at(set * self.ways + way, self.foreseen);
    }

    fn fill(&mut self, set: usize, way: usize) {
        self.hit(set, way);
    }

    fn victim(&mut self, set: usize, ways: &[WayUse]) -> usize {
        let next = &self.next[set * self.ways..];
        // The first of the farthest: `max_by_key` returns the last.
        let farthest = free_ways(ways).min_by_key(|way| u64::MAX - next[*way]);
        farthest.unwrap_or(0)
    }

    fn foresee(&mut self, next: u64) {
        self.foreseen = next;
        // Entries whose next use is now hold the translation that is looked up.
        let now = (self.lookups, 0)..=(self.lookups, usize::MAX);
        while next != self.lookups
            && let Some(&(_, entry)) = self.coming.range(now.clone()).next()
        {
            self.used_again_at(entry, next);
        }
        self.lookups += 1;
    }

    fn copy(&self) -> Box<dyn Replace> {
        Box::new(self.clone())
    }
}
