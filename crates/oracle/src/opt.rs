//! The fewest misses of a set, by trying every choice of the entry that makes room.

use std::collections::BTreeSet;

/// The fewest misses of `pages` in a set of `ways` entries, whatever entry makes room. Short
/// streams only: the states of the set are followed together.
pub fn fewest_misses(pages: &[u64], ways: usize) -> u64 {
    // The sets of pages that can be held after so many misses.
    let mut reachable: Vec<(BTreeSet<u64>, u64)> = vec![(BTreeSet::new(), 0)];
    for page in pages {
        let mut next: Vec<(BTreeSet<u64>, u64)> = Vec::new();
        let mut reach = |held: BTreeSet<u64>, misses: u64| match next
            .iter_mut()
            .find(|(other, _)| *other == held)
        {
            Some((_, fewest)) => *fewest = misses.min(*fewest),
            None => next.push((held, misses)),
        };
        for (held, misses) in reachable {
            if held.contains(page) {
                reach(held, misses);
            } else if held.len() < ways {
                reach(held.into_iter().chain([*page]).collect(), misses + 1);
            } else {
                for victim in &held {
                    let mut others = held.clone();
                    others.remove(victim);
                    others.insert(*page);
                    reach(others, misses + 1);
                }
            }
        }
        reachable = next;
    }
    let fewest = reachable.into_iter().map(|(_, misses)| misses).min();
    fewest.unwrap_or(0)
}

/// Returns true for each of `pages` that misses if the page whose next use is farthest makes room
/// (Belady 1966).
pub fn belady(pages: &[u64], ways: usize) -> Vec<bool> {
    let mut held: Vec<u64> = Vec::new();
    let mut missed = Vec::new();
    for (at, page) in pages.iter().enumerate() {
        missed.push(!held.contains(page));
        if held.contains(page) {
            continue;
        }
        if held.len() == ways {
            let next_use = |held: &u64| {
                let later = pages[at..].iter().position(|page| page == held);
                later.unwrap_or(usize::MAX)
            };
            held.sort_by_key(next_use);
            held.pop();
        }
        held.push(*page);
    }
    missed
}
