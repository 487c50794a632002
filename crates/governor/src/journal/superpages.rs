//! Superpages of one of two runs that are compared.

use crate::plan::{Came, Outcome};
use crate::seen::{BlockSeen, PAGES};
use std::collections::BTreeMap;

/// Superpages that one run made, by block.
#[derive(Debug, Default)]
pub(super) struct Superpages(pub(super) BTreeMap<u64, Superpage>);

/// A superpage. One that the program broke stays here until what it added is given back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Superpage {
    /// What its block held before.
    pub(super) before: BlockSeen,
    pub(super) stands: bool,
    /// Whether another process has the same superpage. It counts there.
    pub(super) is_inherited: bool,
}

impl Superpages {
    pub(super) fn take_in(&mut self, outcome: &Outcome) {
        match outcome.came {
            Came::Promoted(before) => {
                // What is left of one that was broken was added all the same.
                let broken = self.0.get(&outcome.block).filter(|made| !made.stands);
                let left = broken.map_or(0, |made| PAGES as u16 - made.before.present);
                let made = Superpage {
                    before: BlockSeen {
                        present: before.present - left.min(before.present),
                        ..before
                    },
                    stands: true,
                    is_inherited: false,
                };
                self.0.insert(outcome.block, made);
            }
            Came::Demoted(_) => {
                self.0.remove(&outcome.block);
            }
            _ => {}
        }
    }

    /// Returns true if this run has an unbroken superpage in a block.
    pub(super) fn has(&self, block: u64) -> bool {
        self.0.get(&block).is_some_and(|made| made.stands)
    }

    /// The number of superpages that stand. Inherited superpages count in the other process.
    pub(super) fn standing(&self) -> u64 {
        let counted = |made: &&Superpage| made.stands && !made.is_inherited;
        self.0.values().filter(counted).count() as u64
    }

    /// The blocks of superpages that count in this process.
    pub(super) fn own(&self) -> impl Iterator<Item = u64> {
        let own = self.0.iter().filter(|(_, made)| !made.is_inherited);
        own.map(|(block, _)| *block)
    }

    /// The superpages as a fork has them.
    pub(super) fn inherited(&self) -> Self {
        let each = self.0.iter().map(|(block, made)| {
            let made = Superpage {
                is_inherited: true,
                ..*made
            };
            (*block, made)
        });
        Self(each.collect())
    }

    /// Counts an inherited superpage here if `is_first` says that no other process counts it.
    pub(super) fn take_over(&mut self, mut is_first: impl FnMut(u64) -> bool) {
        for (block, made) in &mut self.0 {
            made.is_inherited = made.is_inherited && !is_first(*block);
        }
    }
}
