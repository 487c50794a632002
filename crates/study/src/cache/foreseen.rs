//! The promotions that other policies foresee, as an entry of the cache keeps them.
//!
//! A policy with foresight needs to know which blocks another policy promotes. A first comparison
//! finds out, and needs a second pass. A later comparison expects the same promotions and checks
//! them while it replays, so its results do not depend on this file.

use std::collections::BTreeMap;

use broadleaf_model::foresight::{ForeseenPromotions, Promoted};
use broadleaf_units::{BlockNumber, SpaceId};

/// Runs of blocks by policy: the space, the first block and the number of blocks.
pub(super) type BlockRuns = BTreeMap<String, Vec<(u32, u64, u64)>>;

/// The maximum number of blocks that an entry names for each policy: 8 TiB.
const MOST_BLOCKS: u64 = 1 << 22;

/// The promotions as runs of blocks.
pub(super) fn in_runs(foreseen: &ForeseenPromotions) -> BlockRuns {
    let runs = |promoted: &Promoted| {
        let mut runs: Vec<(u32, u64, u64)> = Vec::new();
        for &(SpaceId(space), BlockNumber(block)) in promoted {
            match runs.last_mut() {
                Some((of, first, count)) if *of == space && *first + *count == block => *count += 1,
                _ => runs.push((space, block, 1)),
            }
        }
        runs
    };
    let policies = foreseen.iter();
    let policies = policies.map(|(policy, promoted)| (policy.clone(), runs(promoted)));
    policies.collect()
}

/// The promotions from runs of blocks. A policy with too many blocks is left out.
pub(super) fn from_runs(runs: &BlockRuns) -> ForeseenPromotions {
    let mut foreseen = ForeseenPromotions::new();
    for (policy, runs) in runs {
        let count = runs.iter().fold(0u64, |sum, run| sum.saturating_add(run.2));
        if count > MOST_BLOCKS {
            continue;
        }
        let blocks = runs.iter().flat_map(|&(space, first, count)| {
            let blocks = first..first.saturating_add(count);
            blocks.map(move |block| (SpaceId(space), BlockNumber(block)))
        });
        foreseen.insert(policy.clone(), blocks.collect());
    }
    foreseen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_name_the_blocks_that_they_were_made_from() {
        let blocks = [(1, 7), (1, 8), (1, 9), (1, 11), (2, 12), (2, 13)];
        let promoted = blocks.map(|(space, block)| (SpaceId(space), BlockNumber(block)));
        let foreseen = ForeseenPromotions::from([
            ("some".to_owned(), promoted.into_iter().collect()),
            ("none".to_owned(), Promoted::new()),
        ]);
        let mut runs = in_runs(&foreseen);
        assert_eq!(runs["some"], [(1, 7, 3), (1, 11, 1), (2, 12, 2)]);
        assert_eq!(from_runs(&runs), foreseen);
        runs.insert("some".to_owned(), vec![(1, 7, u64::MAX), (1, 9, 1)]);
        assert!(!from_runs(&runs).contains_key("some"));
    }
}
