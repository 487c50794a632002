//! The superpages of one of two compared runs.

use crate::plan::{Came, Outcome};
use crate::seen::{BlockSeen, PAGES};
use std::collections::BTreeMap;

/// The superpages that one run made, by block.
#[derive(Debug, Default)]
pub(super) struct Superpages(pub(super) BTreeMap<u64, Superpage>);

/// A superpage. A superpage that the program broke stays in the list until the program returns its
/// added pages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Superpage {
    /// The contents of the block before the promotion.
    pub(super) before: BlockSeen,
    /// True until the superpage is broken.
    pub(super) is_whole: bool,
    /// True if the superpage counts in another process, which has the same superpage.
    pub(super) is_inherited: bool,
}

impl Superpages {
    pub(super) fn take_in(&mut self, outcome: &Outcome) {
        match outcome.came {
            Came::Promoted(before) => {
                // The rest of a broken superpage was added all the same.
                let broken = self.0.get(&outcome.block).filter(|made| !made.is_whole);
                let left = broken.map_or(0, |made| PAGES as u16 - made.before.present);
                let made = Superpage {
                    before: BlockSeen {
                        present: before.present - left.min(before.present),
                        ..before
                    },
                    is_whole: true,
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
        self.0.get(&block).is_some_and(|made| made.is_whole)
    }

    /// Returns the number of unbroken superpages. Inherited superpages count in the other process.
    pub(super) fn whole(&self) -> u64 {
        let counted = |made: &&Superpage| made.is_whole && !made.is_inherited;
        self.0.values().filter(counted).count() as u64
    }

    /// Returns the blocks of superpages that count in this process.
    pub(super) fn own(&self) -> impl Iterator<Item = u64> {
        let own = self.0.iter().filter(|(_, made)| !made.is_inherited);
        own.map(|(block, _)| *block)
    }

    /// Returns the superpages as a fork inherits them.
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
