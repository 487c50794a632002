//! The fewest misses of a short stream, by trying every choice of the entries that make room.
//!
//! A search follows all states that a TLB can have after each step, with the fewest misses that
//! lead there.

use std::collections::{BTreeMap, BTreeSet};

/// A step of a stream over pages of two sizes: small ones and large ones of several small pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowUse {
    /// A reference to a small page. A walk finds the large page around it if `large` is true.
    Page {
        /// The number of the small page.
        page: u64,
        /// The size that a walk finds.
        large: bool,
    },
    /// The translation of a large page, and those of its small pages, are invalidated.
    Invalidate {
        /// The number of the large page.
        large: u64,
    },
}

/// The states after each step: each state with the fewest misses that lead to it. `steps` returns
/// the states that can follow a state, with the misses of the step.
fn fewest<S: Ord, T>(start: S, stream: &[T], steps: impl Fn(&S, &T) -> Vec<(S, u64)>) -> u64 {
    let mut reachable = BTreeMap::from([(start, 0)]);
    for step in stream {
        let mut next: BTreeMap<S, u64> = BTreeMap::new();
        for (state, misses) in reachable {
            for (state, more) in steps(&state, step) {
                let fewest = next.entry(state).or_insert(u64::MAX);
                *fewest = (misses + more).min(*fewest);
            }
        }
        reachable = next;
    }
    reachable.into_values().min().unwrap_or(0)
}

/// The sets that can follow when `new` enters a set of `ways` entries.
fn entered<K: Ord + Clone>(held: &BTreeSet<K>, new: &K, ways: usize) -> Vec<BTreeSet<K>> {
    let with = |mut others: BTreeSet<K>| {
        others.insert(new.clone());
        others
    };
    if held.len() < ways {
        return vec![with(held.clone())];
    }
    let without = |victim: &K| held.iter().filter(|key| *key != victim).cloned().collect();
    held.iter().map(|victim| with(without(victim))).collect()
}

/// The fewest misses of `pages` in a set of `ways` entries.
pub fn fewest_misses(pages: &[u64], ways: usize) -> u64 {
    fewest(BTreeSet::new(), pages, |held, page| {
        if held.contains(page) {
            return vec![(held.clone(), 0)];
        }
        let states = entered(held, page, ways).into_iter();
        states.map(|state| (state, 1)).collect()
    })
}

/// The fewest misses of pages of two sizes in a set of `ways` entries. A large page is `many` small
/// ones. A translation that is held hits, whatever size a walk would find.
pub fn fewest_walks(stream: &[SlowUse], many: u64, ways: usize) -> u64 {
    fewest(BTreeSet::new(), stream, |held, step| match *step {
        SlowUse::Page { page, large } => {
            let (small, around) = ((page, false), (page / many, true));
            if held.contains(&small) || held.contains(&around) {
                return vec![(held.clone(), 0)];
            }
            let found = if large { around } else { small };
            let states = entered(held, &found, ways).into_iter();
            states.map(|state| (state, 1)).collect()
        }
        SlowUse::Invalidate { large } => {
            let is_inside = |(page, is_large): &(u64, bool)| match is_large {
                true => *page == large,
                false => *page / many == large,
            };
            let left = held.iter().filter(|key| !is_inside(key)).copied();
            vec![(left.collect(), 0)]
        }
    })
}

/// The fewest walks of `pages` in two levels of one set each. A walk fills both levels, and a hit
/// of the second level fills the first.
pub fn fewest_walks_of_levels(pages: &[u64], ways: [usize; 2]) -> u64 {
    let empty = [BTreeSet::new(), BTreeSet::new()];
    fewest(empty, pages, |[first, second], page| {
        if first.contains(page) {
            return vec![([first.clone(), second.clone()], 0)];
        }
        let (lower, misses) = match second.contains(page) {
            true => (vec![second.clone()], 0),
            false => (entered(second, page, ways[1]), 1),
        };
        let upper = entered(first, page, ways[0]);
        let pairs = upper.iter().flat_map(|first| {
            let second = lower.iter();
            second.map(move |second| ([first.clone(), second.clone()], misses))
        });
        pairs.collect()
    })
}

/// The fewest misses of `pages` in a set of `ways` blocks of `many` pages. A miss in a block that
/// has an entry loads its page alone.
pub fn fewest_walks_of_blocks(pages: &[u64], many: u64, ways: usize) -> u64 {
    let empty: BTreeSet<(u64, BTreeSet<u64>)> = BTreeSet::new();
    fewest(empty, pages, |held, page| {
        let block = page / many;
        let Some(entry) = held.iter().find(|(held, _)| *held == block) else {
            let new = (block, BTreeSet::from([*page]));
            let states = entered(held, &new, ways).into_iter();
            return states.map(|state| (state, 1)).collect();
        };
        if entry.1.contains(page) {
            return vec![(held.clone(), 0)];
        }
        let mut with = held.clone();
        with.remove(entry);
        let loaded = entry.1.iter().copied().chain([*page]).collect();
        with.insert((block, loaded));
        vec![(with, 1)]
    })
}
